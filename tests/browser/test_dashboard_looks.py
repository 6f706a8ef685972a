"""What light the page gives, and whom it shuts out: looks, blackout, sizes, keys, contrast."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, Route, expect

from tests.browser.test_dashboard_page import IDLE, QUESTION, ask, seen

#: Fingers and eyes meet these; a label is the target of its radio button.
TARGETS = "main button, header button, .looks label, .check, input[type=text], dialog[open] button"


def pixels(page: Page, *, full: bool = False) -> np.ndarray:
    """Every pixel of the page, one row a pixel."""
    return colors(page.screenshot(full_page=full))


def colors(picture: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(picture)).convert("RGB")).reshape(-1, 3)


def choose(page: Page, look: str) -> None:
    page.locator(f"#looks [value={look}]").check()


def is_of(look: str, found: np.ndarray) -> bool:
    """Whether there is no light but the look's: pure red; amber, whose green is 40 % (or so)."""
    if look == "red":
        return not found[:, 1:].any()
    lit = found[found.any(axis=1)].astype(int)
    return not lit[:, 2].any() and bool((lit[:, 1] <= 0.4 * lit[:, 0] + 3).all())


def night_is_pure(page: Page, *, full: bool = False) -> None:
    """Whether what is shown now has the light of the look alone, in both night looks."""
    for look in ("red", "amber"):
        page.evaluate("(name) => document.querySelector(`#looks [value=${name}]`).click()", look)
        shown = pixels(page, full=full)
        assert shown.max() == 255
        assert is_of(look, shown), look


def test_a_night_look_has_no_other_light(canned, tabs):
    """Pictures, dialogs, disabled buttons, scrollbars, help and text fields included."""
    canned.documents["options"]["scenes"] = [
        {"name": f"cups-{n}", "category": "cup", "count": n} for n in range(12)
    ]
    page = tabs.open(canned.url)
    seen(page)
    night_is_pure(page, full=True)
    page.locator("#stop").click()
    night_is_pure(page)
    page.keyboard.press("Escape")
    page.locator(".block .c[data-o=accepted]").first.click()
    expect(page.locator("#cell canvas")).to_have_attribute("width", "480")
    night_is_pure(page)
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    night_is_pure(page)
    page.keyboard.press("Escape")
    ask(canned)
    expect(page.locator("#question")).to_be_visible()
    night_is_pure(page)
    canned.state(**IDLE, question=None, simulated=True)
    page.locator("#scene-filter").fill("cups")
    page.locator("#scene-filter").select_text()
    night_is_pure(page, full=True)


def test_the_look_is_kept_and_no_load_flashes(canned, tabs):
    """A page whose files are slow is black until it has its colors."""
    page = tabs.open(canned.url)
    seen(page)
    choose(page, "red")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/*.css", hold)
    painted: list[dict[str, Any]] = []
    cast = tabs.context.new_cdp_session(page)
    cast.on("Page.screencastFrame", lambda frame: painted.extend([frame]))
    cast.send("Page.startScreencast", {"format": "png"})
    page.goto(canned.url, wait_until="commit")
    page.wait_for_timeout(300)
    for route in held:
        route.continue_()
    assert len(held) == 2
    page.unroute("**/*.css")
    seen(page)
    expect(page.locator("html")).to_have_attribute("data-look", "red")
    assert painted
    for frame in painted:
        assert is_of("red", colors(base64.b64decode(frame["data"])))
    assert is_of("red", pixels(page))


def test_a_blackout_is_black_and_its_end_hits_nothing(canned, tabs):
    page = tabs.open(canned.url)
    seen(page)
    stop = page.locator("#stop").bounding_box()
    assert stop
    page.keyboard.press("b")
    assert pixels(page).max() == 0
    # A reload, or a browser that starts again, stays black.
    page.reload()
    expect(page.locator("#blackout")).to_have_attribute("open", "")
    assert pixels(page).max() == 0
    # The touch that wakes it lies on Stop, the key would pause: neither does more than wake.
    page.mouse.click(stop["x"] + 20, stop["y"] + 20)
    expect(page.locator("#blackout")).to_be_hidden()
    expect(page.locator("#stop-dialog")).to_be_hidden()
    page.keyboard.press("b")
    assert pixels(page).max() == 0
    page.keyboard.press("p")
    expect(page.locator("#blackout")).to_be_hidden()
    assert canned.posted == []
    assert pixels(page).max() > 0


@pytest.mark.parametrize("size", [(360, 760), (720, 450)], ids=["phone", "laptop at 200 %"])
def test_small_screens_have_all_of_it(canned, make_tabs, size):
    """No sideways scroll, and targets of 44 px; 200 % zoom halves the width of a laptop."""
    phone = size[0] < 400
    tabs = make_tabs(viewport={"width": size[0], "height": size[1]}, has_touch=phone)
    page = tabs.open(canned.url)
    seen(page)

    def fits() -> None:
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        boxes = page.locator(TARGETS).evaluate_all(
            "all => all.filter(e => e.checkVisibility()).map(e => [e.textContent || e.id, "
            "e.getBoundingClientRect().width, e.getBoundingClientRect().height])"
        )
        small = [box for box in boxes if min(box[1:]) < 44]
        # The grid of a wide page is for a mouse: there a cell has its own size.
        assert [box for box in small if phone or len(box[0]) > 1] == []
        assert len(boxes) > 20

    fits()
    if phone:
        page.get_by_role("button", name="f/8", exact=True).click()
        expect(page.locator(".block[data-open]")).to_have_attribute("data-f", "8")
    page.locator(".block .c[data-o=accepted]:visible").first.click()
    expect(page.locator("#cell canvas")).to_have_attribute("width", "480")
    fits()
    page.keyboard.press("Escape")
    page.locator("#stop").click()
    fits()
    page.keyboard.press("Escape")
    ask(canned)
    expect(page.locator("#question")).to_be_visible()
    fits()
    canned.state(**IDLE, question=None)
    expect(page.locator("#start")).to_be_visible()
    fits()


def test_everything_is_reached_and_done_by_keyboard(canned, tabs):
    page = tabs.open(canned.url)
    seen(page)
    reached: list[str] = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.id || document.activeElement.className")
        )
    order = [
        name for name in reached if name in {"black", "keys-open", "pause", "stop", "c", "sound"}
    ]
    assert order[:6] == ["black", "keys-open", "pause", "stop", "c", "sound"]

    page.locator("#stop").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#keep")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#stop")).to_be_focused()

    # The grid is one stop of the tab key; arrows walk in it, and over the edge of a block.
    page.locator(".c[tabindex='0']").focus()
    here = "document.activeElement.getAttribute('aria-label')"
    assert "30 s, ISO 100, f/5.6" in page.evaluate(here)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert "15 s, ISO 200, f/5.6" in page.evaluate(here)
    for _ in range(17):
        page.keyboard.press("ArrowRight")
    assert "30 s, ISO 200, f/8" in page.evaluate(here)
    assert page.locator(".block .c[tabindex='0']").count() == 1
    page.keyboard.press("Enter")
    expect(page.locator("#cell-title")).to_have_text("30 s, ISO 200, f/8")
    page.keyboard.press("Escape")

    with page.expect_response("**/api/pause"):
        page.keyboard.press("p")
    page.keyboard.press("x")
    expect(page.locator("#stop-dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    expect(page.locator("html")).to_have_attribute("data-look", "red")
    # Who speaks to the computer can have single keys do nothing.
    page.keyboard.press("?")
    page.get_by_label("Single keys act").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    expect(page.locator("html")).to_have_attribute("data-look", "red")
    assert canned.posted == [("pause", {})]


def luminance(color: str) -> float:
    """Relative luminance of ``rgb(r, g, b)`` (WCAG 2.2)."""
    channels = [int(v) / 255 for v in color.removeprefix("rgb(").rstrip(")").split(",")]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in channels]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


_TEXTS = """() => {
  const found = [];
  const solid = (node) => {
    for (let up = node; up; up = up.parentElement) {
      const { backgroundColor } = getComputedStyle(up);
      if (!backgroundColor.startsWith('rgba')) return backgroundColor;
    }
    return 'rgb(0, 0, 0)';
  };
  for (const node of document.querySelectorAll('body *')) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (!own || !node.checkVisibility() || node.closest('.hidden, .skip')) continue;
    found.push([node.textContent.trim().slice(0, 40), getComputedStyle(node).color, solid(node)]);
  }
  return found;
}"""


def test_every_text_has_contrast_aa(canned, tabs):
    canned.state(question=QUESTION, simulated=True)
    page = tabs.open(canned.url)
    seen(page)
    canned.state(can={"start": True, "pause": True, "stop": "no"})
    expect(page.locator("#start")).to_be_visible()
    for look in ("dark", "red", "amber"):
        choose(page, look)
        texts = page.evaluate(_TEXTS)
        assert len(texts) > 100
        assert [text for text in texts if contrast(text[1], text[2]) < 4.5] == []


def test_nothing_moves_for_who_wants_no_motion(canned, make_tabs):
    """And a screen reader gets names for everything that can be pressed."""
    page = make_tabs(reduced_motion="reduce").open(canned.url)
    seen(page)
    moving = page.evaluate(
        "[...document.querySelectorAll('*')].map((e) => getComputedStyle(e)).filter("
        "(s) => s.transitionDuration !== '0s' || s.animationName !== 'none').length"
    )
    assert moving == 0
    nameless = page.locator("button, input").evaluate_all(
        "all => all.filter(e => !(e.textContent.trim() || e.getAttribute('aria-label') || "
        "e.labels?.length)).map(e => e.outerHTML)"
    )
    assert nameless == []
    assert page.locator("[title]").count() == 0, "a tooltip opens in white"
    assert page.locator("select, input[list]").count() == 0, (
        "a list of the browser's opens in white"
    )
