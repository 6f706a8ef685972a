"""A made catalog with known numbers, hostile names, and what is left out."""

import csv
import json
import math
import re
import xml.etree.ElementTree as ET
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from click.testing import CliRunner

from evaluate.color.data import gather
from evaluate.color.localization import best_overlap, localization
from evaluate.color.report import write_report
from evaluate.color.scores import ALL, VEHICLES, robustness, score_subset, severity_accuracies
from evaluate.scoring import score_catalog
from evaluate.vocabulary import load_vocabulary
from rig.cli import snaprig
from schemas.answer_store import DETECTION, add_responses, put_observer
from schemas.color_store import FRAME, SCENE, ColorLabel, list_color_frames, put_color_labels
from schemas.exposure import Exposure
from schemas.import_store import Stimuli, put_instances
from schemas.records import Instance, Observer, Response
from tests.evaluate.color_catalog import PAIRS, Made, answer, put_made
from tests.evaluate.conftest import jpeg

HOSTILE = "<script>alert(1)</script>--><b>&\"'$x^2$\n--!>"


class Page(HTMLParser):
    VOID = ("meta", "img", "br", "link", "input", "hr")

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.addresses = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        self.addresses += [
            value for key, value in attrs if key in ("src", "href", "xlink:href", "action")
        ]

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [
            value for key, value in attrs if key in ("src", "href", "xlink:href", "action")
        ]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def model(name, **spec):
    return Observer(name, "model", spec)


def rights(ids, n):
    """The first `n` of some frames are right."""
    return {frame_id: place < n for place, frame_id in enumerate(ids)}


def put_groups(lab, sizes, prefix="s", **more):
    """Scenes of one frame each; their ids by group."""
    made = [
        Made(f"{prefix}-{group}-{number}", group, **more)
        for group, size in sizes.items()
        for number in range(size)
    ]
    ids = put_made(lab, made)
    return {
        group: [i for one, i in zip(made, ids, strict=True) if one.group == group]
        for group in sizes
    }


def gathered(lab):
    vocabulary = load_vocabulary()
    score_catalog(lab.catalog, vocabulary, only_new=True)
    return gather(lab.catalog, vocabulary)


def report(lab):
    return write_report(
        lab.catalog,
        lab.workspace,
        lab.workspace.reports / "color/index.html",
        lambda _done, _total: None,
    )


def table(done, name):
    [found] = [one for one in done.tables if one.name == name]
    return found.rows


def test_the_worked_example(lab):
    """Groups of 100, 200 and 100 answers with 60, 70 and 80 % right, none else."""
    ids = put_groups(lab, {"Hard": 10, "Medium": 20, "Easy": 10})
    right = rights(ids["Hard"], 6) | rights(ids["Medium"], 14) | rights(ids["Easy"], 8)
    answer(lab, model("resnet50"), right)
    [row] = table(report(lab), "accuracy-by-group")
    assert (row["hard"], row["medium"], row["easy"]) == (0.6, 0.7, 0.8)
    assert row["accuracy"] == 0.7
    assert row["ag"] == pytest.approx(0.2)
    assert row["scvr"] == pytest.approx(9.8995, abs=1e-4)
    assert row["accuracy_over_ag"] == pytest.approx(3.5)
    assert (row["family"], row["training"], row["answers"]) == ("ResNet", "standard", 40)
    assert row["hard_low"] < 0.6 < row["hard_high"]


def test_others_count_in_the_total_and_in_no_gap(lab):
    ids = put_groups(lab, {"Hard": 4, "Medium": 4, "Easy": 4, "Others": 4})
    right = rights(ids["Hard"], 2) | rights(ids["Medium"], 2) | rights(ids["Easy"], 2)
    answer(lab, model("m"), right | rights(ids["Others"], 4))
    data = gathered(lab)
    found = score_subset(data.frames, data.models[0], ALL)
    assert found.n == (4, 4, 4, 4)
    assert (found.ag, found.scvr, found.total) == (0, math.inf, 10 / 16)


def test_corruptions_severities_and_the_scaled_metrics(lab):
    ids = put_groups(lab, {"Hard": 10, "Medium": 10, "Easy": 10})
    every = [i for group in ids.values() for i in group]
    answer(lab, model("m"), rights(every, 30))
    for severity, share in zip(range(1, 6), (7, 6, 5, 4, 3), strict=True):
        right = {}
        for group in ids.values():
            right |= rights(group, share)
        answer(lab, model("m"), right, view=f"corruption:gaussian_noise:{severity}")
    data = gathered(lab)
    [one] = data.models
    assert severity_accuracies(data.frames, one) == pytest.approx(
        {1: 0.7, 2: 0.6, 3: 0.5, 4: 0.4, 5: 0.3}
    )
    found = robustness(data.frames, one)
    assert found["scr"] == pytest.approx(3.5355, abs=1e-4)
    assert found["scvr_corrupted"] == math.inf
    done = report(lab)
    names = {figure.name for figure in done.figures}
    assert {"figure-6-corruptions", "figure-6-gaussian-noise", "figure-12-severity"} <= names
    [gap] = table(done, "table-1-gaps")
    assert gap["corrupted"] == 0


def test_vehicles_luma_grayscale_and_frequencies_are_subsets(lab):
    ids = put_groups(lab, {"Hard": 4, "Medium": 4, "Easy": 4}, luma=0.5)
    cars = put_groups(
        lab, {"Hard": 4, "Medium": 4, "Easy": 4}, prefix="car", category="ambulance", luma=0.85
    )
    categories = {i: "ambulance" for group in cars.values() for i in group}
    for number, name in enumerate(("a", "b", "c")):
        right = rights(ids["Hard"], 2) | rights(ids["Medium"], 3) | rights(ids["Easy"], 4)
        right |= rights(cars["Hard"], number % 2) | rights(cars["Medium"], 2)
        right |= rights(cars["Easy"], 4)
        answer(lab, model(name), right, categories=categories)
        for view in ("grayscale", "low:8", "high:8"):
            answer(lab, model(name), dict.fromkeys(right, False) | rights(ids["Easy"], number),
                   view=view, categories=categories)  # fmt: skip
    data = gathered(lab)
    assert score_subset(data.frames, data.models[0], VEHICLES).compared == (0, 0.5, 1)
    done = report(lab)
    rows = {(row["subset"], row["observer"]): row for row in table(done, "accuracy-subsets")}
    assert rows["luma_0.2", "a"]["answers"] == 12
    assert rows["luma_0.4", "a"]["answers"] == 24
    assert rows["vehicles", "b"]["hard"] == 0.25
    assert rows["grayscale", "c"]["easy"] == 0.25
    assert rows["low_8", "b"]["easy"] == 0.125
    assert table(done, "table-3-luma")[0]["luma_0.2"] == "50.00/75.00/100.00"
    tests = {(row["subset"], row["compared"]): row for row in table(done, "tests")}
    assert tests["vehicles", "Hard < Medium < Easy"]["statistic"] == 42  # 3 models in full order
    assert "all differences are equal" in tests["luma_0.2", "Hard - Easy"]["reason"]
    assert tests["vehicles", "AG: all - land vehicles"]["n"] == 3
    assert {row["subset"] for row in table(done, "table-4-frequencies")} == {"low_8", "high_8"}


def test_luma_difference_where_a_mask_told_it(lab):
    ids = put_groups(lab, {"Hard": 3, "Medium": 3, "Easy": 3})
    put_color_labels(
        lab.catalog,
        [
            ColorLabel(i, FRAME, "measured", *PAIRS[group], "mask", 1, None, 100, 100 + apart)
            for group, members in ids.items()
            for i, apart in zip(members, (-20, 90, 130), strict=True)
        ],
    )
    answer(lab, model("m"), {i: True for group in ids.values() for i in group})
    rows = {row["subset"]: row for row in table(report(lab), "accuracy-subsets")}
    assert rows["luma_difference_0.2"]["answers"] == 3
    assert rows["luma_difference_0.4"]["answers"] == 6
    assert "luma_0.2" not in rows


def test_colors_by_themselves_and_reaction_times(lab):
    ids = put_groups(lab, {"Hard": 4, "Medium": 4, "Easy": 4})
    right = rights(ids["Hard"], 1) | rights(ids["Medium"], 2) | rights(ids["Easy"], 4)
    for number in range(3):
        seconds = {
            i: base + 0.01 * number * (1 + base)
            for group, base in (("Hard", 0.6), ("Medium", 0.5), ("Easy", 0.4))
            for i in ids[group]
        }
        person = Observer(f"p{number}", "person", {"dataset": "lab"})
        answer(lab, person, right, latency_s=seconds)
    done = report(lab)
    colors = {(row["side"], row["color"]): row for row in table(done, "colors")}
    assert colors["background", "black"]["accuracy"] == 1
    assert colors["foreground", "red"]["accuracy"] == 3 / 8
    assert colors["foreground", "red"]["degradation"] == pytest.approx(3 / 8 - 7 / 12)
    times = table(done, "reaction-times")
    assert [round(row["hard_mean_s"], 3) for row in times] == [0.6, 0.616, 0.632]
    assert times[0]["easy_accuracy"] == 1
    tests = {(row["subset"], row["compared"]): row for row in table(done, "tests")}
    assert tests["reaction_time", "Hard - Easy"]["p"] < 0.01
    assert tests["reaction_time", "Easy < Medium < Hard"]["statistic"] == 42
    [people] = table(done, "accuracy-by-group")
    assert (people["observer"], people["answers"]) == ("people of lab", 36)


def test_exposure_and_color_apart(lab):
    """The example of the page: half Hard and half Easy at 0, nine of ten Hard at +4."""
    frames = [
        Made(f"{group}-{number}", group, 0, apparent=group)
        for group in ("Hard", "Easy")
        for number in range(5)
    ]
    frames += [
        Made(f"{group}-{number}", group, 4, apparent="Hard" if place < 9 else "Easy")
        for place, (group, number) in enumerate(
            (group, number) for group in ("Hard", "Easy") for number in range(5)
        )
    ]
    ids = put_made(lab, frames)
    right = rights(ids[:5], 3) | rights(ids[5:10], 4) | rights(ids[10:19], 3) | rights(ids[19:], 1)
    answer(lab, model("m"), right)
    done = report(lab)
    at_0, at_4 = table(done, "exposure")
    assert (at_0["raw"], at_0["standardized"]) == (0.7, pytest.approx(0.7))
    assert at_4["raw"] == 0.4
    assert at_4["standardized"] == pytest.approx((3 / 9 + 1) / 2)
    assert at_4["covered"] == pytest.approx(1)
    names = {figure.name for figure in done.figures}
    assert {"exposure-groups", "exposure-standardized", "exposure-within-groups"} <= names
    with (done.page.parent / "figures/exposure-groups.csv").open() as file:
        mix = list(csv.DictReader(file))
    assert [(row["ev_offset"], row["hard"], row["easy"]) for row in mix] == [
        ("0", "5", "5"),
        ("4", "9", "1"),
    ]


def test_an_observer_that_saw_nothing_labeled_is_left_out(lab):
    [frame_id] = put_made(lab, [Made("s", "")])
    answer(lab, model("m"), {frame_id: True})
    done = report(lab)
    reasons = {one.name: one.reason for one in done.missing}
    assert "both colors known" in reasons["accuracy-by-group"]
    assert "figure-3-models" in reasons
    html = done.page.read_text()
    for one in done.missing:
        assert "\n" not in one.reason
        assert one.title in unescape(html)


def box(x, category="cup"):
    return Instance(category, (x, 0.0, 10.0, 10.0), 100.0, (100, 50))


def test_best_overlap():
    payload = {
        "labels": ["spoon", "cup"],
        "scores": [0.2, 0.9],
        "boxes_xywh_px": [[0, 0, 10, 10], [5, 0, 10, 10]],
        "size_px": [100, 50],
    }
    assert best_overlap(payload, [box(0), box(80)]) == pytest.approx(1 / 3)
    assert best_overlap(payload | {"size_px": [200, 100]}, [box(2.5)]) == pytest.approx(1 / 4)
    assert best_overlap(payload, [box(0, "spoon")]) == 0
    assert best_overlap(payload | {"labels": [], "scores": [], "boxes_xywh_px": []}, [box(0)]) == 0


def test_localization_by_group(lab):
    ids = put_groups(lab, {"Hard": 2, "Easy": 2})
    every = [*ids["Hard"], *ids["Easy"]]
    scenes = {row.frame_id: row.scene_id for row in list_color_frames(lab.catalog)}
    key = put_observer(lab.catalog, model("detector"))
    with lab.catalog.write() as connection:
        for frame_id in every:
            put_instances(connection, scenes[frame_id], [box(0)])
        stimuli = Stimuli("").put(connection, DETECTION, dict.fromkeys(every, ()))
    # overlaps: Hard .333 and none, Easy .6 and 1
    for frame_id, x, label in zip(every, (5, 0, 2.5, 0), ("cup", "dog", "cup", "cup"), strict=True):
        payload = {
            "labels": [label],
            "scores": [0.9],
            "boxes_xywh_px": [[x, 0, 10, 10]],
            "size_px": [100, 50],
        }
        add_responses(lab.catalog, [Response(stimuli[frame_id].id, key, payload=payload)])
    found = localization(lab.catalog, gathered(lab))["detector"]
    by_threshold = {t: (s.hits[0], s.hits[2]) for (part, t), s in found.items() if part == "all"}
    assert by_threshold == {0.3: (1, 2), 0.5: (0, 2), 0.7: (0, 1)}
    done = report(lab)
    assert {"figure-10-localization", "figure-15a-localization", "figure-15b-localization"} <= {
        figure.name for figure in done.figures
    }
    assert len(table(done, "table-5-localization")) == 3


def test_mistakes_are_shown_and_luma_is_read_once(lab):
    frame_id = lab.frame("mug", "bright", Exposure(1 / 60, 100, 8.0), jpeg(3))
    put_color_labels(lab.catalog, [ColorLabel(frame_id, SCENE, "human", *PAIRS["Hard"], "ann")])
    answer(lab, model("m"), {frame_id: False})
    done = report(lab)
    assert "figure-11-mistakes" in {figure.name for figure in done.figures}
    [row] = list_color_frames(lab.catalog)
    assert 100 < row.mean_luma < 155  # noise around the middle
    html = done.page.read_text()
    assert all(a.startswith(("data:", "#")) for a in Page(html).addresses)


def test_hostile_names_change_nothing(lab):
    ids = put_groups(lab, {"Hard": 2, "Medium": 2, "Easy": 2})
    right = {i: True for group in ids.values() for i in group}
    answer(lab, model(HOSTILE, family=HOSTILE, training="advanced"), right)
    person = Observer(f"person {HOSTILE}", "person", {"dataset": HOSTILE})
    answer(lab, person, right, latency_s=dict.fromkeys(right, 0.5))
    done = report(lab)
    html = done.page.read_text()
    page = Page(html)
    assert page.open == []
    assert "script" not in page.tags
    assert "<script" not in html
    assert "default-src 'none'" in html
    assert all(a.startswith(("data:", "#")) for a in page.addresses)
    for figure in done.figures:
        ET.parse(figure.svg)  # noqa: S314 - our own file
        assert figure.png.stat().st_size > 1000
    json.dumps(done.as_json(), allow_nan=False)


def test_the_same_catalog_gives_the_same_files(lab):
    ids = put_groups(lab, {"Hard": 2, "Medium": 2, "Easy": 2})
    answer(lab, model("m"), {i: True for group in ids.values() for i in group})
    first = {f.name: (f.svg.read_bytes(), f.csv.read_bytes()) for f in report(lab).figures}
    again = {f.name: (f.svg.read_bytes(), f.csv.read_bytes()) for f in report(lab).figures}
    assert first == again


def test_command_on_an_empty_workspace(lab, tmp_path):
    out = tmp_path / "out"
    done = CliRunner().invoke(
        snaprig, ["-w", str(lab.workspace.root), "color", "report", "--json", "--out", str(out)]
    )
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert set(document["tables"]) == {"table-6-groups", "table-7-pairs"}
    assert [row["pairs"] for row in document["tables"]["table-6-groups"]] == [7, 12, 9, 8]
    assert sum(row["frames"] for row in document["tables"]["table-6-groups"]) == 0
    assert document["figures"] == []
    text = (out / "index.html").read_text()
    assert re.search(r"Table VII: color pairs", text)
    assert np.all([one["reason"] for one in document["left_out"]])
