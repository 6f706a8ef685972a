"""The dashboard over a real daemon in the virtual dark room, as a technician uses it."""

from __future__ import annotations

import secrets
import signal
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from rig.config import default_rig_toml
from schemas.workspace import Workspace
from tests.browser.live_rig import QUICK, SHORT, LiveRig, free_port, live_rig

pytestmark = pytest.mark.wire
#: For what a sweep of seconds leads to; a hang fails the test all the same.
LONG_MS = 60_000


@pytest.fixture(scope="module")
def rig(tmp_path_factory) -> Iterator[LiveRig]:
    """One daemon for all tests of this module; each shoots a scene of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", "")
        with live_rig(tmp_path_factory.mktemp("dashboard")) as running:
            yield running


@pytest.fixture
def page(rig, tabs) -> Page:
    rig.room.post("/reset", {})
    page = tabs.open(rig.url)
    expect(page.locator("#link")).to_have_text("live")
    return page


def begin(page: Page, scene: str, plan: str) -> None:
    """Start a sweep, and answer what the checklist asks."""
    page.get_by_role("radio", name=scene).check()
    page.get_by_role("radio", name="bright").check()
    page.get_by_role("radio", name=plan).check()
    page.locator("#start-now").click()
    expect(page.locator("#start")).to_be_hidden()
    yes = page.locator("[data-answer=yes]:not(:disabled)")
    while page.locator("#state").get_attribute("data-state") in {"preparing", "needs_operator"}:
        if yes.is_visible():
            yes.click()
        page.wait_for_timeout(50)
    is_now(page, "running")


def is_now(page: Page, state: str) -> None:
    expect(page.locator("#state")).to_have_attribute("data-state", state, timeout=LONG_MS)


def test_a_sweep_is_started_watched_and_done(rig, page):
    """From the choice of a scene to the last frame: the grid fills, nothing is reloaded."""
    is_now(page, "idle")
    begin(page, "cups", "quick.toml")
    expect(page.locator("#simulated")).to_be_visible()
    expect(page.locator(".block .c")).to_have_count(len(QUICK))
    expect(page.locator("#light .lux")).to_contain_text("lux")
    is_now(page, "done")
    expect(page.locator("h1")).to_contain_text("complete, 6 of 6 shots")
    expect(page.locator("#bar")).to_have_attribute("aria-valuenow", "6")
    expect(page.locator(".block .c[data-o]")).to_have_count(len(QUICK))
    outcomes = page.locator(".block .c").evaluate_all("all => all.map(c => c.dataset.o)")
    assert {"accepted", "rejected_white"} <= set(outcomes)
    expect(page.locator("#history > li").first).to_contain_text("cups under bright")
    expect(page.locator("#history .tag").first).to_have_text("done")
    expect(page.locator("#preflight li").first).to_be_visible()
    page.locator(".block .c[data-o=accepted]").first.click()
    expect(page.locator("#cell canvas")).to_have_attribute("width", "640")
    page.keyboard.press("Escape")


def test_pause_resume_wrong_light_and_stop(rig, page):
    begin(page, "balls", "slow.toml")
    page.locator("#pause").click()
    is_now(page, "paused")
    expect(page.locator("#state")).to_contain_text("on hold")
    expect(page.locator("#pause")).to_be_hidden()
    held = page.locator("#bar").get_attribute("aria-valuenow")
    page.locator("#resume").click()
    is_now(page, "running")

    # The light leaves its band: somebody must act, and it goes on by itself when somebody did.
    rig.room.post("/lux", {"lux": 700})
    is_now(page, "needs_operator")
    expect(page.locator("#light .lux")).to_have_class("lux wrong")
    expect(page.locator("#next")).to_contain_text("panels")
    rig.room.post("/lux", {"lux": 1000})
    is_now(page, "running")
    page.reload()
    expect(page.locator("#light .off").first).to_be_attached()

    page.locator("#stop").click()
    expect(page.locator("#stop-says")).to_contain_text("balls under bright")
    expect(page.locator("#keep")).to_be_focused()
    page.locator("#stop-now").click()
    is_now(page, "interrupted")
    assert int(page.locator("#bar").get_attribute("aria-valuenow") or 0) >= int(held or 0)
    expect(page.locator("#history .tag").first).to_have_text("stopped")
    expect(page.locator("#resume")).to_have_text("Go on with what is unfinished")


def test_a_fault_asks_and_goes_on_after_the_answer(rig, page):
    """The dial is moved: the page says what to do; it is done, and the sweep ends complete."""
    rig.room.afresh().script("dial_moved", 3)
    begin(page, "mugs", "quick.toml")
    is_now(page, "needs_operator")
    expect(page.locator("#question")).to_be_visible()
    expect(page.locator("#question")).to_contain_text("dial")
    expect(page.locator("#alert")).to_contain_text("dial")
    expect(page.locator("h1")).to_contain_text("Waiting for you")
    rig.room.post("/dial", {"mode": "M"})
    page.locator("[data-answer=done]").click()
    is_now(page, "done")
    expect(page.locator("#question")).to_be_hidden()
    expect(page.locator("#notes li").first).to_be_visible()


@pytest.mark.parametrize("how", ["network is off", "daemon hangs"])
def test_a_lost_connection_looks_lost_and_comes_back(rig, page, tabs, how):
    """The browser may believe for minutes that a dead stream is open: its silence decides."""

    def lose(lost: bool) -> None:
        if how == "network is off":
            tabs.context.set_offline(lost)
        else:
            rig.process.send_signal(signal.SIGSTOP if lost else signal.SIGCONT)

    expect(page.locator("#start-now")).to_be_enabled()
    page.clock.install()
    page.reload()
    expect(page.locator("#link")).to_have_text("live")
    lose(True)
    try:
        while page.locator("#stale").is_hidden():
            page.clock.run_for(1000)
        expect(page.locator("#stale")).to_contain_text("Last update")
        expect(page.locator("#start-now")).to_be_disabled()
        expect(page.locator("html")).to_have_attribute("data-stale", "")
    finally:
        lose(False)
    while page.locator("#stale").is_visible():
        page.clock.run_for(1000)
    expect(page.locator("#link")).to_have_text("live")
    expect(page.locator("#start-now")).to_be_enabled()


def test_a_token_is_asked_for_once_and_opens_the_stream(rig, tabs, tmp_path):
    """A browser cannot send a token with an event stream: a session cookie goes with it."""
    token = secrets.token_urlsafe(24)
    (tmp_path / "token").write_text(token)
    workspace = Workspace.create(tmp_path / "lab", default_rig_toml())
    options = ("--token-file", str(tmp_path / "token"))
    guarded = LiveRig(rig.room, workspace, free_port(), options=options)
    guarded.start()
    try:
        page = tabs.open(guarded.url)
        page.get_by_label("Token").fill("wrong")
        page.keyboard.press("Enter")
        expect(page.locator("#refused")).to_have_text("That is not the token.")
        page.get_by_label("Token").fill(token)
        page.keyboard.press("Enter")
        expect(page.locator("#link")).to_have_text("live")
        expect(page.locator("h1")).to_contain_text("Idle")
        assert token not in page.url + page.content()
        page.reload()
        expect(page.locator("#link")).to_have_text("live")
    finally:
        guarded.end()


def test_a_killed_daemon_comes_back_and_goes_on_when_told(rig, page):
    """Kill -9 in the middle of a sweep: the open page shows the new daemon by itself."""
    begin(page, "lamps", "short.toml")
    expect(page.locator(".block .c[data-o=accepted]").first).to_be_visible(timeout=LONG_MS)
    rig.end(signal.SIGKILL)
    rig.start()
    is_now(page, "interrupted")
    expect(page.locator("#history .tag").first).to_have_text("interrupted", timeout=LONG_MS)
    page.locator("#resume").click()
    is_now(page, "running")
    is_now(page, "done")
    expect(page.locator("#bar")).to_have_attribute("aria-valuenow", str(len(SHORT)))
