"""The page's documents and files, for whoever serves them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from rig.web.shell import Asset, Page, assets, page, shell_assets

_FOLDER = Path(__file__).parent / "files"


def dashboard_page(version: str) -> Page:
    """The dashboard; `version` is what the daemon's heartbeats say."""
    return _page("snaprig", "dashboard", version)


def login_page(version: str) -> Page:
    """What a browser without a session gets: asks for the token, posts it to ``/api/session``."""
    return _page("snaprig: sign in", "login", version)


@cache
def static_files() -> dict[str, Asset]:
    """Every file that the pages ask for, by its name under `rig.web.shell.STATIC`."""
    return shell_assets() | assets(_FOLDER, "dashboard")


@cache
def _page(title: str, name: str, version: str) -> Page:
    return page(
        title,
        (_FOLDER / f"{name}.html").read_text(encoding="utf-8"),
        version=version,
        styles=("dashboard/dashboard.css",),
        modules=(f"dashboard/{name}.js",),
    )
