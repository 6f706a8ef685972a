"""A real browser, headless, and pages in it that let no error pass."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.browser.canned import Canned


def _chromium() -> str:
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("SNAPRIG_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip("no Chromium: apt install chromium, or name one in SNAPRIG_CHROMIUM")
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests of this process."""
    with sync_playwright() as playwright:
        # The sandbox wants privileges that a build machine's container lacks.
        options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        started = playwright.chromium.launch(executable_path=_chromium(), args=options)
        yield started
        started.close()


class Tabs:
    """Opens pages of one browser profile, and keeps what goes wrong in them."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.errors: list[str] = []
        self.foreign: list[str] = []

    def open(self, url: str) -> Page:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._console)
        page.on("request", lambda request: self._request(request.url, url))
        page.goto(url)
        return page

    def _console(self, message: object) -> None:
        text = str(getattr(message, "text", ""))
        # What Chromium says by itself of an answer that the page handles.
        if getattr(message, "type", "") == "error" and "Failed to load resource" not in text:
            self.errors.append(text)

    def _request(self, asked: str, own: str) -> None:
        if not asked.startswith((own.rstrip("/") + "/", "blob:")):
            self.foreign.append(asked)


@pytest.fixture
def make_tabs(browser: Browser) -> Iterator[Callable[..., Tabs]]:
    """Browser profiles; each test ends with no error in any page, and no request to elsewhere."""
    made: list[Tabs] = []

    def make(**options: object) -> Tabs:
        defaults = {"viewport": {"width": 1440, "height": 900}, "reduced_motion": "reduce"}
        context = browser.new_context(**{**defaults, **options})  # type: ignore[arg-type]
        context.set_default_timeout(20_000)
        made.append(Tabs(context))
        return made[-1]

    yield make
    for tabs in made:
        tabs.context.close()
    assert [error for tabs in made for error in tabs.errors] == []
    assert [url for tabs in made for url in tabs.foreign] == []


@pytest.fixture
def tabs(make_tabs: Callable[..., Tabs]) -> Tabs:
    """One profile of a laptop's size."""
    return make_tabs()


@pytest.fixture
def canned() -> Iterator[Canned]:
    """A stand-in for the daemon."""
    server = Canned()
    yield server
    server.close()
