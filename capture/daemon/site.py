"""The daemon as one application: API, page and files, behind the guard."""

from __future__ import annotations

from dataclasses import replace

from fastapi import FastAPI, Request
from fastapi.responses import Response

from capture.daemon.api import make_api
from capture.daemon.problems import NotFoundError
from capture.daemon.service import Service
from capture.dashboard.page import dashboard_page, login_page, static_files
from rig.web.security import Guard, Policy

_FILES = "/static/"


def make_site(service: Service, policy: Policy, version: str) -> Guard:
    """Everything that the daemon serves."""
    app = make_api(service)
    _add_page(app, version)
    login = login_page(version)
    return Guard(
        app,
        replace(policy, public=(_FILES,), login=login.html, login_policy=login.policy),
    )


def _add_page(app: FastAPI, version: str) -> None:
    page, files = dashboard_page(version), static_files()

    @app.get("/", include_in_schema=False)
    async def dashboard() -> Response:
        headers = {"Content-Security-Policy": page.policy, "Cache-Control": "no-cache"}
        return Response(page.html, media_type="text/html; charset=utf-8", headers=headers)

    @app.get(_FILES + "{name:path}", include_in_schema=False)
    async def file(name: str, request: Request) -> Response:
        asset = files.get(name)
        if asset is None:
            raise NotFoundError("there is no such file")
        headers = {"ETag": asset.etag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == asset.etag:
            return Response(status_code=304, headers=headers)
        return Response(asset.content, media_type=asset.content_type, headers=headers)
