"""The pictures of the documents, taken of a real sweep in the virtual dark room.

``SNAPRIG_SCREENSHOTS=1 pytest tests/browser/test_dashboard_pictures.py`` renews docs/images.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from schemas.plan import SweepPlan
from tests.browser.live_rig import live_rig
from tests.browser.test_dashboard_daemon import begin, is_now
from tests.darkroom_process import ROOT

PLAN = SweepPlan(
    shutter=("1/4", "1/15", "1/60", "1/250", "1/1000", "1/4000"),
    iso=(100, 400, 1600, 6400),
    f_number=(5.6, 11, 22),
)


@pytest.mark.soak
@pytest.mark.wire
def test_the_pictures_of_the_documents(tmp_path, make_tabs):
    """A sweep on a wide screen, in red, on a phone, with a question, and when it is done."""
    renew = os.environ.get("SNAPRIG_SCREENSHOTS")
    images = ROOT / "docs" / "images" if renew else tmp_path
    tabs = make_tabs(viewport={"width": 1440, "height": 1000})
    with live_rig(tmp_path / "rig") as rig:
        (rig.workspace.root / "evening.toml").write_text(PLAN.to_toml())
        page = tabs.open(rig.url)
        begin(page, "plates", "quick.toml")
        is_now(page, "done")
        rig.room.script("dial_moved", 60)
        begin(page, "cups", "evening.toml")
        expect(page.locator(".block .c[data-o]:not([data-o=now])").nth(8)).to_be_attached(
            timeout=60_000
        )
        expect(page.locator("#frame canvas")).to_have_attribute("width", "640")
        page.screenshot(path=images / "dashboard.png", full_page=True)
        page.locator("#looks [value=red]").check()
        page.screenshot(path=images / "dashboard-red.png")
        page.locator("#looks [value=dark]").check()
        is_now(page, "needs_operator")
        page.set_viewport_size({"width": 1440, "height": 800})
        page.screenshot(path=images / "dashboard-question.png")
        page.set_viewport_size({"width": 360, "height": 760})
        page.screenshot(path=images / "dashboard-phone.png")
        rig.room.post("/dial", {"mode": "M"})
        page.locator("[data-answer=done]").click()
        is_now(page, "done")
    red = np.asarray(Image.open(images / "dashboard-red.png").convert("RGB"))
    assert red[..., 0].max() == 255
    assert red[..., 1:].max() == 0
    assert all(darkness(path) > 0.7 for path in images.glob("dashboard*.png"))


def darkness(path: Path) -> float:
    """Share of black pixels: the page is to give little light."""
    return float((np.asarray(Image.open(path).convert("L")) < 40).mean())
