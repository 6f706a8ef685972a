"""The page shell: what a browser is told to allow, and that every file of a page is there."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest

from capture.dashboard.page import dashboard_page, login_page, static_files
from rig.web.shell import STATIC, page

FILES = static_files()
PAGES = {"dashboard": dashboard_page("1.0"), "login": login_page("1.0")}


def test_a_title_is_text():
    made = page("<b>&", "<p>body</p>", version='1"2')
    assert b"<title>&lt;b&gt;&amp;</title>" in made.html
    assert b'content="1&quot;2"' in made.html
    assert b"<p>body</p>" in made.html


@pytest.mark.parametrize("name", PAGES)
def test_exactly_the_inline_code_is_allowed_by_its_hash(name):
    made = PAGES[name]
    text = made.html.decode()
    inline = re.findall(r"<style>(.*?)</style>|<script>(.*?)</script>", text, re.DOTALL)
    assert len(inline) == 2
    for style, script in inline:
        digest = base64.b64encode(hashlib.sha256((style or script).encode()).digest()).decode()
        kind = "style-src" if style else "script-src"
        assert f"{kind} 'self' 'sha256-{digest}'" in made.policy
    assert "unsafe" not in made.policy
    assert made.policy.startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in made.policy
    assert not re.search(r"\son\w+=|\sstyle=", text), "the policy forbids these in markup"


@pytest.mark.parametrize("name", PAGES)
def test_black_stands_in_the_first_bytes(name):
    """Before anything that could be painted, and before any file is asked for."""
    start = PAGES[name].html[:400]
    assert b'<meta name="color-scheme" content="dark"><style>html{background:#000' in start


@pytest.mark.parametrize("name", PAGES)
def test_every_file_that_is_asked_for_is_there(name):
    asked = set(re.findall(rf'(?:href|src)="{STATIC}([^"]+)"', PAGES[name].html.decode()))
    seen: set[str] = set()
    while asked - seen:
        for one in asked - seen:
            seen.add(one)
            folder = one.split("/")[0]
            imports = re.findall(r"^(?:import|export) .*? from '(.+?)';", _text(one), re.MULTILINE)
            asked = asked | {
                path.removeprefix("../") if path.startswith("../") else f"{folder}/{path[2:]}"
                for path in imports
            }
    assert asked <= set(FILES)
    assert len(asked) >= 5


@pytest.mark.parametrize("name", FILES)
def test_no_file_asks_elsewhere_or_makes_markup_of_text(name):
    text = _text(name).replace("http://www.w3.org/2000/svg", "")
    assert re.findall(r"""["'`(]\s*(?:\w+:)?//""", text) == []
    for way in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "@import",
    ):
        assert way not in text


def test_a_file_has_a_name_for_its_bytes():
    assert len({asset.etag for asset in FILES.values()}) == len(FILES)
    assert FILES["shell/look.js"].content_type.startswith("text/javascript")
    assert FILES["shell/shell.css"].content_type.startswith("text/css")


def _text(name: str) -> str:
    return FILES[name].content.decode()
