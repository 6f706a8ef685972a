"""The labeling page as one application: page, files, pictures and what a person says."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.responses import Response
from PIL import Image, UnidentifiedImageError
from pydantic import BaseModel, ConfigDict

from evaluate.color.groups import Color
from evaluate.color.label_page.desk import Desk, StaleError, UnknownPictureError
from evaluate.errors import EvaluateError
from evaluate.images import read_bytes
from rig.web.security import Guard, Policy
from rig.web.shell import STATIC, Asset, Page, assets, page, shell_assets
from schemas.color_store import ColorFrame
from schemas.workspace import Workspace, WorkspaceError

_FOLDER = Path(__file__).parent / "files"

#: What a browser shows, by Pillow's name of it. Whatever else a file says it is, it is not sent.
_TYPES = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp", "BMP": "image/bmp"}


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Said(_Body):
    """One side's color."""

    picture: int
    side: Literal["foreground", "background"]
    color: Color


class Skipped(_Body):
    """The picture to put off."""

    picture: int


class Nothing(_Body):
    """A command without arguments: ``{}``."""


def make_site(desk: Desk, workspace: Workspace, version: str, host: str = "127.0.0.1") -> Guard:
    """Everything that is served, for whoever asks from this machine."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    _add_files(app, version)
    _add_work(app, desk)

    @app.get("/api/pictures/{picture}")
    def picture(picture: int) -> Response:
        content, kind = read_picture(workspace, desk.frame(picture))
        # The same for good: the bytes were checked against the catalog's digest.
        headers = {"Cache-Control": "private, max-age=3600"}
        return Response(content, media_type=kind, headers=headers)

    for error, status in ((StaleError, 409), (UnknownPictureError, 404), (EvaluateError, 422)):
        app.add_exception_handler(error, _answer(status))
    return Guard(app, Policy.of(host))


def read_picture(workspace: Workspace, frame: ColorFrame) -> tuple[bytes, str]:
    """The stored bytes and their media type.

    Raises
    ------
    EvaluateError
        If the file is missing, has other bytes than the catalog says, or is no picture that a
        browser shows.
    """
    try:
        data = read_bytes(workspace.resolve(frame.path), frame.sha256)
    except WorkspaceError as error:
        raise EvaluateError(str(error)) from error
    try:
        with Image.open(io.BytesIO(data), formats=tuple(_TYPES)) as found:
            return data, _TYPES[str(found.format)]
    except (OSError, SyntaxError, ValueError, KeyError, UnidentifiedImageError) as error:
        raise EvaluateError(f"{frame.path} is no JPEG, PNG, WebP or BMP") from error


@cache
def label_page(version: str) -> Page:
    """The document."""
    return page(
        "snaprig: label colors",
        (_FOLDER / "label.html").read_text(encoding="utf-8"),
        version=version,
        styles=("label/label.css",),
        modules=("label/label.js",),
    )


@cache
def static_files() -> dict[str, Asset]:
    """Every file that the page asks for, by its name under `rig.web.shell.STATIC`."""
    return shell_assets() | assets(_FOLDER, "label")


def _add_files(app: FastAPI, version: str) -> None:
    document, files = label_page(version), static_files()

    @app.get("/")
    async def index() -> Response:
        headers = {"Content-Security-Policy": document.policy, "Cache-Control": "no-cache"}
        return Response(document.html, media_type="text/html; charset=utf-8", headers=headers)

    @app.get(STATIC + "{name:path}")
    async def file(name: str) -> Response:
        asset = files.get(name)
        if asset is None:
            return _problem(404, "there is no such file")
        return Response(asset.content, media_type=asset.content_type)


def _add_work(app: FastAPI, desk: Desk) -> None:
    @app.get("/api/state")
    def state() -> dict[str, Any]:
        return desk.state()

    @app.get("/api/summary")
    def summary() -> dict[str, Any]:
        return desk.summary()

    @app.post("/api/label")
    def label(said: Said) -> dict[str, Any]:
        return desk.label(said.picture, said.side, said.color)

    @app.post("/api/undo")
    def undo(_body: Nothing) -> dict[str, Any]:
        return desk.undo()

    @app.post("/api/skip")
    def skip(skipped: Skipped) -> dict[str, Any]:
        return desk.skip(skipped.picture)


def _answer(status: int) -> Callable[[Request, Exception], Response]:
    return lambda _request, error: _problem(status, str(error))


def _problem(status: int, text: str) -> Response:
    body = json.dumps({"detail": text})
    return Response(body, status_code=status, media_type="application/json")
