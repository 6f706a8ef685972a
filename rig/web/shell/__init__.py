"""The page shell: a dark frame with night mode and blackout for the project's own pages.

The technician sits beside a dark room, so a page must never flash: black is in its first bytes,
before any file is asked for. A page is one HTML document, style sheets and small modules of plain
JavaScript, all served by the same process: no build step, and no request to anywhere else.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template

_FOLDER = Path(__file__).parent

#: Path under which `assets` are served.
STATIC = "/static/"

_CONTENT_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

#: Before anything else is known: no white moment, and the look that was chosen last.
_BOOT_STYLE = "html{background:#000;color-scheme:dark}html[data-blackout] body{visibility:hidden}"
_BOOT_SCRIPT = (
    "(function(h){h.dataset.look='dark';try{h.dataset.look=localStorage['snaprig.look']||'dark';"
    "if(localStorage['snaprig.blackout'])h.dataset.blackout=''}"
    "catch(e){console.info('no stored look:',e.message)}})(document.documentElement)"
)


@dataclass(frozen=True)
class Page:
    """A document and the Content-Security-Policy to send with it.

    The policy allows our own files only and, of inline code, exactly the two boot snippets by
    their hash. `require-trusted-types-for` makes the browser refuse text that becomes markup.
    """

    html: bytes
    policy: str


@dataclass(frozen=True)
class Asset:
    """A file of a page: what to send, as what; `etag` names its bytes."""

    content: bytes
    content_type: str
    etag: str


def page(
    title: str,
    body: str,
    *,
    version: str,
    styles: Iterable[str] = (),
    modules: Iterable[str] = (),
) -> Page:
    """A page in the shell.

    Parameters
    ----------
    title : str
        Any text; it is escaped.
    body : str
        Markup of the page's own, never made of data: data is filled in by its modules, as text.
    version : str
        Of the program; a page that hears of another one from the server asks to be reloaded.
    styles, modules : iterable of str
        Names of assets, e.g. ``dashboard/grid.js``, beside the shell's own.
    """
    lines = [
        *(
            f'<link rel="stylesheet" href="{STATIC}{name}">'
            for name in ("shell/shell.css", *styles)
        ),
        *(
            f'<script type="module" src="{STATIC}{name}"></script>'
            for name in ("shell/look.js", *modules)
        ),
    ]
    text = Template((_FOLDER / "shell.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(title),
        version=html.escape(version),
        boot_style=_BOOT_STYLE,
        boot_script=_BOOT_SCRIPT,
        files="\n".join(lines),
        body=body,
    )
    return Page(text.encode(), _policy())


def assets(folder: Path, under: str) -> dict[str, Asset]:
    """The style sheets, modules and drawings in `folder`, by name: ``{under}/{file name}``."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.suffix in _CONTENT_TYPES:
            content = path.read_bytes()
            digest = hashlib.sha256(content).hexdigest()[:16]
            found[f"{under}/{path.name}"] = Asset(
                content, _CONTENT_TYPES[path.suffix], f'"{digest}"'
            )
    return found


@cache
def shell_assets() -> dict[str, Asset]:
    """The shell's own files."""
    return assets(_FOLDER, "shell")


def _policy() -> str:
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' {_source(_BOOT_SCRIPT)}",
            f"style-src 'self' {_source(_BOOT_STYLE)}",
            "img-src 'self' blob:",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _source(inline: str) -> str:
    digest = base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()
    return f"'sha256-{digest}'"
