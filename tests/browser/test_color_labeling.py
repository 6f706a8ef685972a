"""People label colors in a browser, by keyboard alone."""

from __future__ import annotations

import io
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from evaluate.color.label_page.desk import Desk, Task
from evaluate.color.label_page.serve import PageServer
from evaluate.color.label_page.site import make_site
from schemas.color_store import list_color_labels
from schemas.exposure import Exposure
from tests.evaluate.conftest import Lab

#: A category comes from a folder's name, which anybody may have chosen.
HOSTILE = '<img src=x onerror="document.title=1">'
GREEN, GRAY, BLUE, WHITE, BLACK, BROWN, RED, OTHERS = "12345678"


@pytest.fixture
def lab(tmp_path) -> Iterator[Lab]:
    made = Lab(tmp_path / "lab")
    for scene, category in (("cups", "cup"), ("balls", "ball"), ("mugs", HOSTILE)):
        data = io.BytesIO()
        Image.linear_gradient("L").resize((96, 64)).convert("RGB").save(data, "JPEG")
        made.frame(scene, "bright", Exposure(1 / 60, 100, 5.6), data.getvalue(), category=category)
    yield made
    made.catalog.close()


@contextmanager
def served(lab: Lab, task: Task, at: str = "http://127.0.0.1:0") -> Iterator[str]:
    """The page's address, as long as the program runs."""
    server = PageServer(make_site(Desk(lab.catalog, task), lab.workspace, "1"))
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(("127.0.0.1", int(at.rpartition(":")[2])))
        sock.listen()
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
        thread.start()
        yield f"http://127.0.0.1:{sock.getsockname()[1]}"
        server.should_exit = True
        thread.join()


def seen(page: Page) -> None:
    """Wait until the picture at hand can be labeled."""
    expect(page.locator("#colors button").first).to_be_enabled()


def press(page: Page, foreground: str, background: str) -> None:
    """Label the picture at hand."""
    count = page.locator("#count").text_content()
    seen(page)
    page.keyboard.press(foreground)
    page.keyboard.press(background)
    expect(page.locator("#count")).not_to_have_text(str(count))


def stored(lab: Lab) -> list[tuple[str, int, str, str]]:
    return [
        (one.labeler, one.round, one.foreground, one.background)
        for one in list_color_labels(lab.catalog)
    ]


def question(page: Page, text: str) -> None:
    expect(page.locator("h1")).to_have_text(text)


def test_three_pictures_by_keyboard_and_once_more(lab, tabs):
    """Label, undo, put off, reload, restart, second round: nothing is lost, nothing shown early."""
    with served(lab, Task("L1")) as url:
        page = tabs.open(url)
        question(page, "What color is the object?")
        for rule in ("cover most of it", "the one that covers more", "others"):
            expect(page.locator(".rules")).to_contain_text(rule)
        press(page, RED, GREEN)
        assert stored(lab) == [("L1", 1, "red", "green")]
        seen(page)
        page.keyboard.press(BLACK)
        question(page, "What color is the background?")
        expect(page.locator("#said-foreground")).to_have_text("black (5)")
        assert stored(lab)[1:] == [("L1", 1, "black", "")]
        page.keyboard.press("u")
        question(page, "What color is the object?")
        page.keyboard.press("u")  # back to the first picture's background
        question(page, "What color is the background?")
        expect(page.locator("#count")).to_have_text("0 of 3 pictures")
        assert stored(lab) == [("L1", 1, "red", "")]
        page.reload()
        question(page, "What color is the background?")
        expect(page.locator("#said-foreground")).to_have_text("red (7)")
        seen(page)
        page.keyboard.press(BLUE)
        expect(page.locator("#count")).to_have_text("1 of 3 pictures")
        expect(page.locator("#pace")).to_contain_text("median")
        first = page.locator("#about-picture").text_content()
        page.keyboard.press("s")
        expect(page.locator("#later")).to_have_text("· 1 put off")
        expect(page.locator("#about-picture")).not_to_have_text(str(first))
        press(page, WHITE, WHITE)
        expect(page.locator("#about-picture")).to_have_text(str(first))
    with served(lab, Task("L1"), at=url):
        page.reload()
        expect(page.locator("#count")).to_have_text("2 of 3 pictures")
        press(page, OTHERS, BROWN)
        question(page, "All pictures are done")
        expect(page.locator("#next")).to_contain_text("--round 2")
    with served(lab, Task("L1", round=2), at=url):
        page.reload()
        expect(page.locator("#count")).to_have_text("0 of 3 pictures")
        expect(page.locator("#said")).not_to_contain_text(re.compile("red|white|others"))
        for _ in range(3):
            press(page, RED, RED)
        row = page.locator("#agreement tbody tr").first
        expect(row).to_have_text("L1 and L1, round 2foreground333.3 %0.00")
    assert sorted(stored(lab)) == [
        ("L1", 1, "others", "brown"),
        ("L1", 1, "red", "blue"),
        ("L1", 1, "white", "white"),
        *[("L1", 2, "red", "red")] * 3,
    ]


def label_all(lab: Lab, labeler: str, background: str) -> None:
    desk = Desk(lab.catalog, Task(labeler))
    for picture in [desk.state()["picture"]["id"], *desk.state()["ahead"]]:
        desk.label(picture, "foreground", "red")
        desk.label(picture, "background", background)


def test_a_person_decides_where_two_differ(lab, tabs):
    label_all(lab, "L1", "green")
    label_all(lab, "L2", "blue")
    with served(lab, Task("L3", adjudicate=True)) as url:
        page = tabs.open(url)
        # All agree on the object: only the background is asked.
        question(page, "What color is the background?")
        expect(page.locator("#opinions li")).to_have_count(2)
        expect(page.locator("#opinions")).to_contain_text("green (1)")
        expect(page.locator("#opinions")).to_contain_text("blue (3)")
        for number in (1, 2, 3):
            seen(page)
            page.keyboard.press(BLUE)
            expect(page.locator("#count")).to_have_text(f"{number} of 3 pictures")
        expect(page.locator("#next")).to_contain_text("Every difference is decided.")
    decided = [one for one in list_color_labels(lab.catalog) if one.kind == "adjudicated"]
    assert {(one.labeler, one.foreground, one.background) for one in decided} == {
        ("L3", "red", "blue")
    }
    assert len(decided) == 3


def test_names_are_text_and_broken_pictures_are_said(lab, make_tabs):
    with served(lab, Task("L1")) as url:
        page = make_tabs().open(url)
        names = set()
        for _ in range(3):
            seen(page)
            names.add(page.locator("#about-picture").text_content())
            at = page.locator("#picture").get_attribute("src")
            page.keyboard.press("s")
            expect(page.locator("#picture")).not_to_have_attribute("src", str(at))
        assert f"Object: {HOSTILE}" in names
        assert page.locator("#picture").count() == page.locator("img").count() == 1
        assert "/3" in page.title()
        for path in lab.workspace.frames.rglob("*.jpg"):
            path.write_bytes(path.read_bytes() + b"x")
        other = make_tabs().open(url)  # a profile that has no picture yet
        expect(other.locator("#broken")).to_contain_text("sha256")
        expect(other.locator("#colors button").first).to_be_disabled()
        other.keyboard.press(RED)
        other.keyboard.press("s")
        expect(other.locator("#later")).not_to_have_text("")
    assert stored(lab) == []


def test_colors_are_judged_in_true_colors_only(lab, tabs):
    """A night look hides the picture, and its keys do nothing."""
    with served(lab, Task("L1")) as url:
        page = tabs.open(url)
        seen(page)
        page.keyboard.press("n")
        expect(page.locator("#dark-only")).to_be_visible()
        expect(page.locator("#picture")).to_be_hidden()
        page.keyboard.press(RED)
        page.keyboard.press("n")
        page.keyboard.press("n")
        seen(page)
        page.keyboard.press("z")
        assert page.evaluate("document.activeElement.id") == "stage"
        expect(page.locator("#picture")).to_have_css("--zoom", "2")
    assert stored(lab) == []


#: Text against what lies behind it, by WCAG 2.1: least contrast ratio of all visible texts.
CONTRAST = """() => {
  const luminance = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).map(Number).map((v) => v / 255)
      .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (!color.startsWith('rgba') || !color.endsWith(', 0)')) return color;
    }
  };
  const ratios = [...document.querySelectorAll('main *')]
    .filter((node) => node.offsetParent && !node.disabled && !node.closest(':disabled'))
    .filter((node) => [...node.childNodes].some((one) => one.nodeType === 3 && one.data.trim()))
    .map((node) => [luminance(getComputedStyle(node).color), luminance(behind(node))])
    .map((pair) => (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05));
  return [ratios.length, Math.min(...ratios)];
}"""


def test_it_fits_a_telephone_and_can_be_read(lab, make_tabs: Callable):
    label_all(lab, "L1", "green")
    label_all(lab, "L2", "blue")
    with served(lab, Task("L3", adjudicate=True)) as url:
        page = make_tabs(viewport={"width": 360, "height": 740}).open(url)
        seen(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        texts, least = page.evaluate(CONTRAST)
        assert texts > 20
        assert least >= 4.5
        sizes = page.locator("main button").evaluate_all(
            "(all) => all.map((one) => one.getBoundingClientRect().height)"
        )
        assert min(sizes) >= 44
        expect(page.get_by_role("group", name="Colors").get_by_role("button")).to_have_count(8)
        expect(page.get_by_role("progressbar")).to_have_attribute("aria-valuetext", "0 of 3")
        # Without a keyboard: by touch.
        page.get_by_role("button", name="3 blue").click()
        expect(page.locator("#count")).to_have_text("1 of 3 pictures")
        expect(page.locator("#polite")).to_contain_text("picture 2 of 3")
