"""How the page stays alive: one stream for many tabs, reconnecting, and weeks in an open tab."""

from __future__ import annotations

from playwright.sync_api import CDPSession, Page, expect

from tests.browser import canned as rig
from tests.browser.canned import Canned
from tests.browser.test_dashboard_page import seen

#: Plain HTTP from another computer: the browser gives such a page no locks.
NO_LOCKS = "Object.defineProperty(Navigator.prototype, 'locks', { value: undefined });"


def test_eight_tabs_share_one_stream_and_all_can_act(canned, tabs):
    """Six connections are all that a browser opens: a stream a tab would hang the seventh."""
    pages = [tabs.open(canned.url) for _ in range(8)]
    canned.state(sentence="Seen by all.")
    for page in pages:
        expect(page.locator("h1")).to_have_text("Seen by all.")
    assert canned.most_streams == 1
    with pages[7].expect_response("**/api/pause"):
        pages[7].locator("#pause").click()
    # The tab that holds the stream is closed: another one takes over, and none misses anything.
    opened = canned.opened_streams
    pages[0].close()
    while canned.opened_streams == opened:
        pages[1].wait_for_timeout(20)
    wait_for_stream(canned, pages[1])
    canned.state(sentence="Still seen by all.")
    for page in pages[1:]:
        expect(page.locator("h1")).to_have_text("Still seen by all.")
    assert len(canned.streams) == 1


def wait_for_stream(canned: Canned, page: Page, count: int = 1) -> None:
    """Wait until there are so many; a server notices a closed one when it writes to it."""
    while len(canned.streams) != count:
        canned.beat()
        page.wait_for_timeout(20)


def test_a_hidden_tab_without_locks_lets_go_of_its_stream(canned, tabs):
    tabs.context.add_init_script(NO_LOCKS)
    page = tabs.open(canned.url)
    seen(page)
    wait_for_stream(canned, page)
    hide = "Object.defineProperty(document, 'hidden', { value: %s, configurable: true });"
    tell = "document.dispatchEvent(new Event('visibilitychange'))"
    page.evaluate(hide % "true" + tell)
    wait_for_stream(canned, page, 0)
    canned.documents["state"] |= {"sentence": "It went on meanwhile.", "turn": 40}
    page.evaluate(hide % "false" + tell)
    expect(page.locator("h1")).to_have_text("It went on meanwhile.")
    wait_for_stream(canned, page)


def test_a_stream_that_ends_or_skips_is_caught_up(canned, tabs):
    page = tabs.open(canned.url)
    seen(page)
    canned.documents["state"] |= {"sentence": "Told by nobody.", "turn": 50}
    canned.send("resync", {"seq": 50})
    expect(page.locator("h1")).to_have_text("Told by nobody.")
    canned.hang_up()
    wait_for_stream(canned, page, 0)
    wait_for_stream(canned, page)
    canned.state(sentence="Back again.")
    expect(page.locator("h1")).to_have_text("Back again.")
    # Another process answers: its numbers begin anew, and are believed.
    canned.documents["state"] |= {"sentence": "A new daemon.", "seq": 0, "turn": 0, "boot": "c"}
    canned.beat()
    expect(page.locator("h1")).to_have_text("A new daemon.")


def weight(page: Page, session: CDPSession) -> dict[str, float]:
    """Nodes and bytes of the page, rubbish collected."""
    session.send("HeapProfiler.collectGarbage")
    found = session.send("Performance.getMetrics")["metrics"]
    return {one["name"]: one["value"] for one in found}


def test_a_tab_stays_light_for_weeks(canned, tabs):
    """5,000 frames with readings, faults and ends of sweeps leave nodes and heap as they were."""
    page = tabs.open(canned.url)
    seen(page)
    session = tabs.context.new_cdp_session(page)
    session.send("Performance.enable")
    cells = canned.documents["grid"]["cells"]

    def shoot(first: int, last: int) -> None:
        for n in range(first, last):
            cell = cells[n % len(cells)]
            row = {"id": n, "stem": cell["stem"], "outcome": ("accepted", "failed")[n % 2]}
            canned.send("frame", {**row, "job": "job-1", "scene": "cups-3", "lighting": "bright"})
            canned.send("light", [1_772_500_000 + n, 1000 + n % 50])
            canned.send("note", {"at": "2026-03-01T20:00:00Z", "text": f"Retry {n}."})
            if n % 20 == 0:
                canned.state(last_frame={"id": 214 if n % 40 else 215})
        expect(page.locator("#notes li").first).to_contain_text(f"Retry {last - 1}.")

    canned.documents["frames/215"] = {**canned.documents["frames/214"], "id": 215}
    for kind in ("thumbnail", "clipping"):
        canned.documents[f"frames/215/{kind}"] = rig.picture("L" if kind == "clipping" else "RGB")
    shoot(0, 1000)
    before = weight(page, session)
    shoot(1000, 5000)
    after = weight(page, session)
    assert after["Nodes"] < 1.1 * before["Nodes"]
    assert after["JSHeapUsedSize"] < 1.25 * before["JSHeapUsedSize"]
    assert page.locator("#notes li").count() <= 60
