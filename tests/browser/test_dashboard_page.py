"""The dashboard in a browser, over a stand-in for the daemon: what it shows, and never shows."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser import canned as rig
from tests.browser.canned import Canned

QUESTION = {
    "id": "q1",
    "kind": "operator",
    "text": "The mode dial is on P.",
    "action": "Turn the dial to M.",
    "answers": [{"id": "done", "label": "Done, go on"}, {"id": "stop", "label": "Stop here"}],
}
IDLE = {
    "state": "idle",
    "sentence": "Idle: ready for a sweep.",
    "job": None,
    "last_frame": None,
    "confirm": None,
    "can": {"start": True, "pause": "no", "resume": "no", "stop": "no", "answer": "no"},
}


def ask(canned: Canned) -> None:
    canned.state(
        state="needs_operator",
        sentence="Waiting for you: the mode dial is on P.",
        next="Turn the dial to M.",
        question=QUESTION,
        can={**canned.documents["state"]["can"], "pause": "no", "answer": True},
    )


def seen(page: Page) -> None:
    """Wait until the page shows everything."""
    expect(page.locator("#link")).to_have_text("live")
    expect(page.locator("#frame canvas")).to_have_attribute("width", "480")


def pixels(page: Page, *, full: bool = True) -> np.ndarray:
    picture = Image.open(io.BytesIO(page.screenshot(full_page=full)))
    return np.asarray(picture.convert("RGB")).reshape(-1, 3)


def test_a_sweep_is_shown_whole(canned, tabs):
    """Sentence, progress, frame, light, faults, grid, preflight, 100 sweeps of the past."""
    page = tabs.open(canned.url)
    seen(page)
    expect(page.locator("h1")).to_have_text(canned.documents["state"]["sentence"])
    expect(page.locator("#bar")).to_have_attribute("aria-valuenow", "214")
    expect(page.locator("#left")).to_have_text("21 min left")
    expect(page.locator("#counts")).to_have_text("174 accepted · 20 black · 19 white · 1 failed")
    expect(page.locator("#frame .title")).to_have_text("1/60 s, ISO 100, f/5.6")
    expect(page.locator("#light .lux")).to_have_text("998.2 lux")
    expect(page.locator("#light .off")).to_have_count(1)
    expect(page.locator("#notes li")).to_have_count(1)
    expect(page.locator("#preflight .tag").first).to_have_text("warn")
    expect(page.locator("#history > li")).to_have_count(100)
    # No outcome by color alone: each has its letter, its border, and its words.
    cells = {
        outcome: page.locator(f".block .c[data-o={outcome}]").first
        for outcome in ("accepted", "rejected_black", "rejected_white", "failed", "skipped")
    }
    assert [cell.text_content() for cell in cells.values()] == ["A", "B", "W", "F", "-"]
    assert "failed" in str(cells["failed"].get_attribute("aria-label"))
    expect(page.locator(".block .c[data-o=now]")).to_have_count(1)
    assert page.locator(".block .c").count() == 630
    assert "214/630" in page.title()


def drawn(page: Page) -> np.ndarray:
    """The picture as the page draws it."""
    canvas = "document.querySelector('#frame canvas').toDataURL('image/png').split(',')[1]"
    picture = Image.open(io.BytesIO(base64.b64decode(page.evaluate(canvas))))
    return np.asarray(picture.convert("RGB"))


def test_clipped_areas_are_marked_and_can_be_seen_without(canned, tabs):
    page = tabs.open(canned.url)
    seen(page)
    marked = drawn(page)
    page.get_by_label("Mark clipped areas").uncheck()
    plain = drawn(page)
    changed = (marked != plain).any(axis=2)
    gray = np.asarray(Image.open(io.BytesIO(rig.picture("L"))))
    assert changed[gray == 127].mean() > 0.1
    assert changed[gray == 255].mean() > 0.2
    assert not changed[gray == 0].any()


def test_a_cell_opens_its_frame_and_says_what_has_none(canned, tabs):
    page = tabs.open(canned.url)
    seen(page)
    page.get_by_role("button", name="1/60 s, ISO 100, f/5.6: accepted").click()
    expect(page.locator("#cell-title")).to_have_text("1/60 s, ISO 100, f/5.6")
    expect(page.locator("#cell-frame .facts")).to_contain_text("998 lux")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="1/8 s, ISO 100, f/22: not shot yet").click()
    expect(page.locator("#cell-frame")).to_have_text("This triplet is not shot yet.")
    canned.documents["frames/214"] |= {"has_file": False, "outcome": "rejected_black"}
    page.keyboard.press("Escape")
    page.get_by_role("button", name="1/60 s, ISO 200, f/5.6: accepted").click()
    expect(page.locator("#cell-frame .nothing")).to_contain_text("No picture is kept")


def test_events_fill_the_page_as_they_come(canned, tabs):
    page = tabs.open(canned.url)
    seen(page)
    stem = rig.stem("1/125", 100, 22)
    frame = {"job": "job-1", "id": 9, "stem": stem, "outcome": "rejected_black"}
    canned.send("frame", {**frame, "scene": "cups-3", "lighting": "bright"})
    expect(page.locator(f'[data-stem="{stem}"]')).to_have_text("B")
    canned.send("note", {"at": "2026-03-01T20:02:00Z", "text": "The camera is busy."})
    expect(page.locator("#notes li").first).to_contain_text("The camera is busy.")
    canned.state(job=rig_job(canned, done=400), sentence="Shooting: 400 of 630 shots.")
    expect(page.locator("h1")).to_have_text("Shooting: 400 of 630 shots.")
    # A quarter more: said once, politely.
    expect(page.locator("#polite")).to_have_text("Shooting: 400 of 630 shots.")
    expect(page.locator("#alert")).to_have_text("")


def rig_job(canned: Canned, **changes):
    return {**canned.documents["state"]["job"], **changes}


def test_a_question_is_asked_loudly_and_answered(canned, tabs):
    page = tabs.open(canned.url)
    seen(page)
    ask(canned)
    expect(page.locator("#question-text")).to_have_text("The mode dial is on P.")
    expect(page.locator("#alert")).to_contain_text("Turn the dial to M.")
    expect(page.locator("#state")).to_have_text("Waiting for you")
    first = page.locator("#alert").text_content()
    ask_again = {**QUESTION, "id": "q2"}
    canned.state(question=ask_again)
    # The same words again: the node changes, or nobody would hear them.
    expect(page.locator("#alert")).to_have_js_property("textContent", f"{first}\u200b")
    with page.expect_response("**/api/answer"):
        page.get_by_role("button", name="Done, go on").click()
    assert canned.posted == [("answer", {"question": "q2", "answer": "done"})]


def test_stop_says_what_is_lost_and_keeps_running_unless_meant(canned, tabs):
    page = tabs.open(canned.url)
    seen(page)
    page.locator("#stop").click()
    expect(page.locator("#stop-says")).to_contain_text("cups-3")
    expect(page.locator("#stop-says")).to_contain_text("416 are missing")
    expect(page.locator("#keep")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#stop-dialog")).to_be_hidden()
    assert canned.posted == []
    stop = page.locator("#stop").bounding_box()
    pause = page.locator("#pause").bounding_box()
    assert stop
    assert pause
    assert stop["x"] - (pause["x"] + pause["width"]) > 100
    page.locator("#stop").click()
    with page.expect_response("**/api/stop"):
        page.locator("#stop-now").click()
    expect(page.locator("#stop-dialog")).to_be_hidden()
    assert canned.posted == [("stop", {"confirm": "job-1"})]


def test_a_refused_command_says_why(canned, tabs):
    canned.answers["pause"] = (409, {"detail": "Nothing runs any more.", "state": "done"})
    page = tabs.open(canned.url)
    seen(page)
    page.locator("#pause").click()
    expect(page.locator("#refused")).to_have_text("Nothing runs any more.")


def test_an_answer_that_comes_late_does_not_undo_what_came_since(canned, tabs):
    """A stream may tell of the next question before the answer to the last one has arrived."""
    page = tabs.open(canned.url)
    seen(page)
    canned.answers["pause"] = (200, {**canned.documents["state"], "sentence": "Long ago."})
    canned.state(sentence="Just now.")
    expect(page.locator("h1")).to_have_text("Just now.")
    with page.expect_response("**/api/pause"):
        page.locator("#pause").click()
    expect(page.locator("#pause")).to_be_enabled()
    expect(page.locator("h1")).to_have_text("Just now.")


def test_a_start_quotes_what_was_seen(canned, tabs):
    canned.state(**IDLE)
    page = tabs.open(canned.url)
    page.get_by_role("radio", name="cups-3").check()
    page.get_by_role("radio", name="dim").check()
    with page.expect_response("**/api/start"):
        page.locator("#start-now").click()
    ((name, body),) = canned.posted
    assert name == "start"
    key = body.pop("key")
    assert len(key) == 32
    assert body == {
        "kind": "sweep",
        "scene": "cups-3",
        "lighting": "dim",
        "plan": None,
        "sweep": "exhaustive",
        "rev": 17,
    }
    # Somebody else changed something meanwhile: the choices are read anew, and said to be.
    canned.answers["start"] = (409, {"detail": "The rig has moved on.", "reason": "moved"})
    canned.documents["options"]["rev"] = 18
    page.locator("#start-now").click()
    expect(page.locator("#refused")).to_have_text("The rig has moved on.")
    canned.answers.clear()
    expect(page.locator("#start-now")).to_be_enabled()
    with page.expect_response("**/api/start"):
        page.locator("#start-now").click()
    assert canned.posted[-1][1]["rev"] == 18
    assert canned.posted[-1][1]["key"] != key


def test_a_batch_shows_where_it_is(canned, tabs):
    first = {"number": 1, "scene": "cups-3", "lighting": "bright", "planned": 630}
    second = {**first, "number": 2, "lighting": "dim", "state": "current", "done": 20}
    legs = [
        {**first, "state": "complete", "done": 630, "left_s": 0},
        {**second, "left_s": 2400},
    ]
    canned.state(batch={"name": "tonight", "at": 2, "legs": legs, "left_text": "40 min left"})
    page = tabs.open(canned.url)
    seen(page)
    expect(page.locator("#batch li")).to_have_count(2)
    expect(page.locator("#batch [aria-current]")).to_contain_text("20 of 630, about 40 min left")
    expect(page.locator("#left")).to_have_text("21 min left · batch: 40 min left")


def test_hostile_text_stays_text_in_every_view(canned, tabs):
    """Scene, camera, faults, findings, questions: whatever a device or a person may have named."""
    text = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    for name, document in canned.documents.items():
        if not isinstance(document, bytes):
            canned.documents[name] = rig.hostile(document, text)
    canned.state(question=rig.hostile(QUESTION, text), state="needs_operator", simulated=True)
    page = tabs.open(canned.url)
    seen(page)
    for place in ("h1", "#question-text", "#answers", "#about", "#grid-title", "#light", "#notes",
                  "#preflight", "#history", "#frame"):  # fmt: skip
        expect(page.locator(place)).to_contain_text(text)
    page.locator("#stop").click()
    expect(page.locator("#stop-says")).to_have_text(text)
    page.keyboard.press("Escape")
    page.locator(".block .c[data-o=accepted]").first.click()
    expect(page.locator("#cell-frame")).to_contain_text(text)
    page.keyboard.press("Escape")
    canned.answers["pause"] = (409, {"detail": text})
    canned.state(can={"start": True, "pause": True})
    expect(page.locator("#scenes")).to_contain_text(text)
    page.locator("#pause").click()
    expect(page.locator("#refused")).to_have_text(text)
    assert page.locator("img, main script").count() == 0
    assert "owned" not in page.title().replace(text, "")
    # Even our own code could not: the browser refuses to make markup of text.
    with pytest.raises(Exception, match="TrustedHTML"):
        page.evaluate("document.body.innerHTML = '<b>x</b>'")
    assert ["TrustedHTML" in error for error in tabs.errors] == [True]
    tabs.errors.clear()


def test_an_older_page_asks_to_be_loaded_again(canned, tabs):
    page = tabs.open(canned.url)
    seen(page)
    expect(page.locator("#outdated")).to_be_hidden()
    canned.beat(version="9.9.9")
    expect(page.locator("#outdated")).to_be_visible()
    page.locator("#reload").click()
    seen(page)
    expect(page.locator("#outdated")).to_be_hidden()


def test_simulated_devices_are_said(canned, tabs):
    canned.state(simulated=True)
    page = tabs.open(canned.url)
    expect(page.locator("#simulated")).to_be_visible()
    expect(page.locator("#simulated")).to_contain_text("virtual dark room")


def test_a_browser_without_a_session_is_asked_for_the_token(canned, tabs):
    canned.signed_in = False
    canned.answers["session"] = (401, {"detail": "no"})
    page = tabs.open(canned.url)
    page.get_by_label("Token").fill("wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#refused")).to_have_text("That is not the token.")
    canned.answers["session"] = (200, {})
    canned.signed_in = True
    page.get_by_label("Token").fill("right")
    page.keyboard.press("Enter")
    seen(page)
    assert canned.posted == [("session", {"token": "wrong"}), ("session", {"token": "right"})]
