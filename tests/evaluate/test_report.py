"""The page in all states of a workspace, and that names from the catalog cannot break it."""

import csv
import hashlib
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from PIL import Image

from evaluate.report import write_report
from evaluate.report.sheet import choose_scenes
from schemas.annotation_store import set_instances
from schemas.answer_store import (
    CLASSIFICATION,
    add_responses,
    ensure_stimuli,
    pending_stimuli,
    put_observer,
)
from schemas.capture_store import StoredReading, add_readings, end_run
from schemas.exposure import Exposure
from schemas.records import Instance, Observer, Outcome, Response, RunStatus, Scene, utc_now

ALL = {
    "top1-by-ev-offset",
    "outcome-grid",
    "contact-sheet",
    "equal-exposure-pairs",
    "light-trace",
}

#: Those that need a classifier's answers.
OF_ANSWERS = {
    "top1-by-ev-offset",
    "fig-3-top1-boxes",
    "fig-4-top1-by-ev-offset",
    "sensitivity-top1",
}

#: Those that need pictures, in the paper's way.
OF_PICTURES = {"fig-b1-scenes", "fig-b2-equal-exposure", "fig-b3-ev-offsets"}


class Page(HTMLParser):
    """Text, tags and every address of a page."""

    VOID = ("meta", "img", "br", "link", "input", "hr")

    def __init__(self, html):
        super().__init__()
        self.open, self.text, self.addresses, self.tags = [], [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        self.addresses += [v for k, v in attrs if k in ("src", "href", "srcset", "data", "action")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.text.append(data)


def report(lab):
    done = write_report(lab.catalog, lab.workspace, lab.workspace.reports / "index.html")
    html = done.path.read_text()
    page = Page(html)
    assert page.open == []
    assert "script" not in page.tags
    # nothing is fetched: pictures are inside, links stay on the page
    assert all(a.startswith(("data:image/", "#", "observers/")) for a in page.addresses)
    assert all((done.path.parent / a).is_file() for a in page.addresses if a.startswith("obs"))
    assert re.findall(r"url\(|@import|https?://", html.split("</style>")[0]) == []
    return done, page, " ".join(" ".join(page.text).split())


def answer(lab, right):
    """An observer that is right about some frames: `right` takes its place in the order."""
    observer = put_observer(lab.catalog, Observer("m<1>", "model", {"weights": {"sha256": "ab"}}))
    ensure_stimuli(lab.catalog, CLASSIFICATION)
    pending = pending_stimuli(lab.catalog, observer, CLASSIFICATION)
    cup, fish = [968, "cup", 0.5], [1, "goldfish", 0.25]
    add_responses(
        lab.catalog,
        [
            Response(
                item.stimulus_id,
                observer,
                payload={"top5": [cup, fish] if right(place) else [fish, cup]},
            )
            for place, item in enumerate(pending)
        ],
    )


def add_light(lab, lux=1000.0):
    for run_id in lab.runs.values():
        now = utc_now()
        add_readings(lab.catalog, run_id, [StoredReading(now, lux, 1), StoredReading(now, lux, 2)])


def test_everything_at_once(lab):
    for lighting in ("bright", "dim"):
        lab.fill("mugs", lighting)
    add_light(lab)
    for run_id in lab.runs.values():
        end_run(lab.catalog, run_id, RunStatus.DONE, "all shots have their frame")
    answer(lab, lambda place: place % 4 != 0)
    done, _, text = report(lab)
    assert {f.name for f in done.figures} == ALL | OF_ANSWERS | OF_PICTURES
    for figure in done.figures:
        ET.parse(figure.svg)  # noqa: S314 - our own file
        with Image.open(figure.png) as picture:
            assert picture.size[0] > 600
        with figure.csv.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert rows
        assert {row["simulated"] for row in rows} == {"1"}
    assert "All frames here are simulated." in text
    assert "16 frames accepted of 24 shots planned" in text
    assert "0 / 8 rejected as black / as white" in text
    assert "Canon EOS 2000D" in text
    assert "all shots have their frame" in text
    assert "weights sha256 ab" in text
    (observer,) = done.as_json()["observers"]
    assert observer["n"] == 16
    assert observer["top1"] == pytest.approx(12 / 16)
    assert observer["top5"] == 1.0
    assert sum(point["n"] for point in observer["by_ev_offset"]) == 16
    assert {"ps", "ps_mixed", "name", "kind", "task", "no_answer"} <= set(observer)


def test_numbers_in_the_csv_are_those_of_the_summary(lab):
    lab.fill("mugs", "bright")
    answer(lab, lambda place: place < 3)
    done, _, _ = report(lab)
    (figure,) = (f for f in done.figures if f.name == "top1-by-ev-offset")
    with figure.csv.open(newline="") as file:
        rows = list(csv.DictReader(file))
    points = done.as_json()["observers"][0]["by_ev_offset"]
    assert [(int(r["ev_offset"]), int(r["n"])) for r in rows] == [
        (p["ev_offset"], p["n"]) for p in points
    ]
    assert [float(r["top1"]) for r in rows] == pytest.approx([p["top1"] for p in points], abs=1e-6)
    assert sum(round(p["top1"] * p["n"]) for p in points) == 3


def test_the_same_catalog_gives_the_same_figures(lab):
    lab.fill("mugs", "bright")
    add_light(lab)
    answer(lab, lambda place: place % 2 == 0)

    def digests():
        done, _, _ = report(lab)
        return {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for figure in done.figures
            for path in (figure.svg, figure.png, figure.csv)
        }

    assert digests() == digests()


def test_an_empty_workspace_says_what_to_do(lab):
    done, page, text = report(lab)
    assert done.figures == ()
    assert done.as_json()["observers"] == []
    assert "img" not in page.tags
    assert "snaprig capture run" in text
    assert "simulated" not in text


def test_frames_without_answers(lab):
    lab.fill("mugs", "bright")
    done, _, text = report(lab)
    assert {f.name for f in done.figures} == (ALL | OF_PICTURES) - {
        "top1-by-ev-offset",
        "light-trace",
    }
    assert "No answers yet" in text
    assert "evaluate run" in text


def test_an_unfinished_run_with_one_lighting(lab):
    for iso in (100, 400):
        lab.frame("mugs", "bright", Exposure(1 / 60, iso, 8.0), None, outcome=Outcome.FAILED)
    _, _, text = report(lab)
    assert "Unfinished: 10 of 12 planned shots have no frame yet." in text
    assert "running, or crashed" in text
    assert "2 / 0 failed / skipped" in text


def test_real_frames_are_not_called_simulated(make_lab):
    real = make_lab("real")
    real.run("mugs", "bright", simulated=False)
    real.fill("mugs", "bright")
    done, _, text = report(real)
    assert "simulated" not in text
    assert not done.simulated
    mixed = make_lab("mixed")
    mixed.run("mugs", "bright", simulated=False)
    mixed.fill("mugs", "bright")
    mixed.fill("mugs", "dim")
    _, _, text = report(mixed)
    assert "Some frames here are simulated." in text


def test_hostile_names_stay_text(lab):
    evil = '<script>alert("1")</script>${{7*7}}&'
    run_id = lab.run(evil, "bright", category='"><img src=x onerror=alert(1)>')
    end_run(lab.catalog, run_id, RunStatus.FAILED, "</table><h1>gone</h1>")
    _, page, text = report(lab)
    assert evil in text
    assert "img src=x" in text
    assert page.tags.count("h1") == 1


def test_hostile_scene_names_in_figures(lab):
    # a $ starts a formula in Matplotlib; the name may also be no font's business
    lab.run("$\\frac{$", "bright")
    add_light(lab)
    done, _, _ = report(lab)
    assert {f.name for f in done.figures} == {"outcome-grid", "light-trace"}


def test_a_lost_file_leaves_the_rest(lab):
    lab.fill("mugs", "bright")
    for path in list(lab.workspace.frames.rglob("*.jpg"))[::2]:
        path.write_bytes(b"no picture")
    _, _, text = report(lab)
    assert "unreadable" in text


def test_annotated_objects_are_drawn(lab):
    lab.fill("mugs", "bright")
    frame = next(lab.workspace.frames.rglob("*.jpg"))
    with Image.open(frame) as picture:
        size_px = picture.size
    width, height = size_px
    box = (0.0, 0.0, width / 2, height / 2)
    set_instances(
        lab.catalog,
        "mugs",
        [Instance("cup", box, box[2] * box[3], crowd=False, rle=None, image_size_px=size_px)],
    )
    _, page, text = report(lab)
    assert "#objects" in page.addresses
    assert "mugs : 1 object" in text
    # marked on a picture of other proportions: said, not drawn
    set_instances(
        lab.catalog,
        "mugs",
        [Instance("cup", box, 1.0, crowd=False, rle=None, image_size_px=(width, 9 * height))],
    )
    _, _, text = report(lab)
    assert "not shown:" in text


def test_unknown_categories_are_named(lab):
    lab.fill("things", "bright", category="gizmo")
    answer(lab, lambda _place: True)
    done, _, text = report(lab)
    assert "Not scored: category 'gizmo'" in text
    assert done.as_json()["observers"][0]["n"] == 0
    assert done.as_json()["observers"][0]["unscorable"] == 8
    assert done.as_json()["observers"][0]["top1"] is None


def test_many_scenes_are_bounded_and_evenly_chosen():
    scenes = [Scene(f"{number}", f"category{number % 10}", 1) for number in range(100)]
    chosen = choose_scenes(scenes, 20)
    assert len(chosen) == 20
    assert {scene.category for scene in chosen} == {scene.category for scene in scenes}
    assert chosen == sorted(chosen, key=lambda scene: int(scene.name))
    assert choose_scenes(scenes[:3], 20) == scenes[:3]
