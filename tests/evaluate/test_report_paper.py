"""The paper's figures and tables of a made release: numbers, order, reasons, files."""

import csv
import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from PIL import Image

from evaluate.release.importer import import_snap
from evaluate.report import write_report
from evaluate.report.chance import question_chance, top1_chance
from evaluate.report.curves import answer_curves
from evaluate.report.observed import load_conditions, load_observed
from evaluate.report.paper.classification import classification_figures
from evaluate.report.paper.figure import LeftOut
from evaluate.report.paper.pictures import picture_figures
from evaluate.report.paper.questions import question_figures
from evaluate.report.tables.models import classification_table
from evaluate.report.thumbnails import thumbnail_maker
from evaluate.scores import score_observers
from evaluate.scoring import score_catalog
from evaluate.vocabulary import load_vocabulary
from schemas.import_store import list_instances
from schemas.report_store import list_picture_frames
from schemas.workspace import Workspace
from tests.evaluate.made_release import (
    CLASS_QUESTION,
    COUNT_QUESTION,
    CUP,
    PATHS,
    Q3,
    Q4,
    MadeRelease,
)

FISH = "[(1, 'goldfish', 0.9), (968, 'cup', 0.05)]"
BOTTLE = "[(898, 'water bottle', 0.9), (1, 'goldfish', 0.05)]"

#: Manual frames by scene: two or one at EV offset -5, one at +1.
CUP_DARK, CUP_LIGHT = PATHS[:2], PATHS[2]
BOTTLE_DARK, BOTTLE_LIGHT = PATHS[5:7], PATHS[7]

FIGURES = {"3", "4", "5", "6", "7", "8", "9", "F.1", "F.2", "F.3", "F.4", "F.5"}


def answers(right):
    """Top-5 answers that are right about the chosen paths."""
    return {p: (CUP if "cup" in p else BOTTLE) if p in right else FISH for p in PATHS}


def design():
    """Every question about every manual frame, to two persons of one group each."""
    rows = []
    for number, path in enumerate([*CUP_DARK, CUP_LIGHT, *BOTTLE_DARK, BOTTLE_LIGHT]):
        count = "3" if "cup" in path else "2"
        truth = "cup" if "cup" in path else "water bottle"
        option = "['D', 3]" if "cup" in path else "['A', 2]"
        for person, question, words, answer in (
            (1, 3, CLASS_QUESTION, truth),
            (1, 6, Q4, option),
            (51, 4, COUNT_QUESTION, count),
            (51, 5, Q3, truth),
        ):
            rows.append([person, path, question, number, question, words, answer])
    return rows


def people():
    """Person 1 names the light frames only; person 51 counts all, and knows no class."""
    for path in [*CUP_DARK, CUP_LIGHT, *BOTTLE_DARK, BOTTLE_LIGHT]:
        light = path in (CUP_LIGHT, BOTTLE_LIGHT)
        truth = "cup" if "cup" in path else "water bottle"
        option = "D) 3" if "cup" in path else "A) 2"
        count = 3 if "cup" in path else 2
        for person, question, given, right in (
            (1, 1, truth if light else "no idea", light),
            (1, 4, option, True),
            (51, 2, count, True),
            (51, 3, "tie", False),
        ):
            said = {f"A{question}_pred": given, f"A{question}_acc": int(right)}
            yield {"Path": path, "Subject_id": person, **said}


def detections(release, instances):
    """Perfect boxes on the light frames, nothing on the others."""
    boxes = {
        scene: [[side * 960 / 60 for side in one.box_xywh_px] for one in found]
        for scene, found in instances.items()
    }
    items = [
        {"image_id": PATHS.index(path), "category_id": number, "score": 0.9, "bbox": box}
        for path, number in ((CUP_LIGHT, 41), (BOTTLE_LIGHT, 39))
        for box in boxes[path.partition("/")[0]]
    ]
    release.path("annotations/coco_categories.csv").write_text("id,name\n39,bottle\n41,cup\n")
    release.path("raw_results/object_detection/detr-resnet-50.json").write_text(json.dumps(items))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(workspace, catalog, report) of a release with every kind of answer."""
    root = tmp_path_factory.mktemp("paper")
    workspace = Workspace.create(root / "lab", "")
    release = MadeRelease(root / "release")
    release.csv_list()
    release.design(design())
    release.classifier("resnet50.tv_in1k", answers({CUP_DARK[0], CUP_LIGHT, BOTTLE_LIGHT}))
    release.classifier("own_net%1", answers({CUP_LIGHT}))
    vlm = [
        [path, "cup" if "cup" in path else "water bottle, or a tie", 3, "cup", "D) 3"]
        for path in PATHS
    ]
    release.vlm("Qwen2-VL-7B-Instruct", ["A1", "A2", "A3", "A4"], vlm)
    release.people(people())
    release.mask("1_cup", [(2, 2, 12, 12), (20, 2, 32, 14), (40, 20, 52, 32)])
    release.mask("2_water_bottle", [(2, 2, 12, 30), (30, 5, 42, 35)])
    with workspace.catalog() as catalog:
        import_snap(catalog, workspace, release.root)
        detections(release, list_instances(catalog))
        import_snap(catalog, workspace, release.root)
        done = write_report(catalog, workspace, workspace.reports / "index.html")
        yield workspace, catalog, done


def table(done, name):
    """Rows of a figure's CSV file."""
    (files,) = (one for one in done.figures if one.name == name)
    with files.csv.open(newline="") as file:
        return list(csv.DictReader(file))


def result(done, name):
    """Rows of a table's CSV file."""
    (files,) = (one for one in done.tables if one.name == name)
    with files.csv.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_figure_with_data_is_there_and_the_others_say_why(made):
    _, _, done = made
    found = done.as_json()
    assert {one["number"] for one in found["figures"]} - {""} == FIGURES
    assert {(one["number"], one["reason"]) for one in found["left_out"]} == {
        (number, "no picture files in the workspace") for number in ("B.1", "B.2", "B.3")
    }
    text = done.path.read_text()
    assert "Figure B.1, Overview of the scenes: no picture files in the workspace." in text
    for number in FIGURES:
        assert f"Figure {number}: " in text


def test_files_are_whole(made):
    _, _, done = made
    for one in done.as_json()["figures"]:
        assert ET.parse(one["svg"]).getroot().tag.endswith("svg")  # noqa: S314 - our own file
        with Image.open(one["png"]) as picture:
            assert min(picture.size) > 300
    for one in done.as_json()["tables"]:
        assert one["tex"].endswith(".tex")
        assert one["md"].endswith(".md")
    assert {page["name"] for page in done.as_json()["pages"]} == {
        "resnet50.tv_in1k",
        "own_net%1",
        "Qwen2-VL-7B-Instruct",
        "people",
        "detr-resnet-50",
    }


def test_figure_4_has_the_accuracy_of_every_ev_offset_best_model_first(made):
    _, _, done = made
    rows = table(done, "fig-4-top1-by-ev-offset")
    assert [(r["place"], r["model"], r["ev_offset"], r["n"], r["value"]) for r in rows] == [
        ("1", "ResNet50", "-5", "4", "0.25"),
        ("1", "ResNet50", "1", "2", "1.0"),
        ("2", "own_net%1", "-5", "4", "0.0"),
        ("2", "own_net%1", "1", "2", "0.5"),
    ]
    for row in rows:
        assert float(row["low"]) <= float(row["value"]) <= float(row["high"])
    assert {row["simulated"] for row in rows} == {"0"}


def test_figure_3_stands_from_worst_to_best_with_published_and_sensitivity(made):
    _, _, done = made
    worst, best = table(done, "fig-3-top1-boxes")
    assert (worst["model"], worst["imagenet_top1"]) == ("own_net%1", "")
    assert (best["model"], best["imagenet_top1"]) == ("ResNet50", "0.7613")
    # the dark cup set has one right of two: its coefficient of variation is above 1
    assert (float(best["ps"]), float(best["ps_mixed"])) == (0.25, 0.25)
    assert (float(worst["ps"]), float(worst["ps_mixed"])) == (0.0, 0.0)
    # the mean counts each EV offset once for every frame, hence is the mean of all frames
    assert float(best["mean"]) == pytest.approx(float(best["overall"])) == 0.5


def test_figure_9_puts_people_first_and_counts_each_question_the_same(made):
    _, _, done = made
    rows = table(done, "fig-9-hard-by-ev-offset")
    people_rows = [row for row in rows if row["kind"] == "person"]
    assert [row["place"] for row in people_rows] == ["1", "1"]
    # Q1 only in the light, Q2 and Q4 always, Q3 never
    assert [(row["ev_offset"], row["value"]) for row in people_rows] == [
        ("-5", "0.5"),
        ("1", "0.75"),
    ]
    # Q1: cups (bottles only in the soft sense); Q2, Q3, Q4: cups
    model = [row for row in rows if row["model"] == "Qwen2-VL-7B"]
    assert [row["value"] for row in model] == ["0.5", "0.5"]


def test_soft_and_hard_accuracy_stand_apart(made):
    _, _, done = made
    rows = {row["model"]: row for row in table(done, "fig-7-vqa-accuracy")}
    assert list(rows) == ["Qwen2-VL-7B", "people"]
    assert (rows["Qwen2-VL-7B"]["hard"], rows["Qwen2-VL-7B"]["soft"]) == ("0.5", "0.625")
    assert rows["people"]["hard"] == pytest.approx("0.583333")
    long, brief = table(done, "fig-8-answer-length")
    assert float(long["overall"]) > float(brief["overall"])
    questions = {row["question"]: row for row in result(done, "people")}
    assert [questions[q]["hard"] for q in ("Q1", "Q2", "Q3", "Q4")] == [
        "0.333333",
        "1.0",
        "0.0",
        "1.0",
    ]


def test_panels_stand_in_the_papers_order(made):
    _, _, done = made
    for name in ("fig-f4-questions-by-ev-offset", "fig-f5-question-boxes"):
        measures = list(dict.fromkeys(row["measure"] for row in table(done, name)))
        assert measures == ["hard_q1", "hard_q3", "hard_q2", "hard_q4"], name
    measures = list(dict.fromkeys(row["measure"] for row in table(done, "fig-f3-olrp-parts")))
    assert measures == ["olrp_fp", "olrp_loc", "olrp_fn"]
    panels = list(dict.fromkeys(row["panel"] for row in table(done, "fig-f1-size-and-training")))
    assert panels == ["(a)", "(b)", "(c)"]


def test_detections_find_the_objects_of_scenes_that_coco_names_otherwise(made):
    _, _, done = made
    found = {(row["ev_offset"], row["value"]) for row in table(done, "fig-6-olrp-by-ev-offset")}
    assert found == {("-5", "1.0"), ("1", "0.0")}
    parts = {
        (row["measure"], row["ev_offset"]): row["value"] for row in table(done, "fig-f3-olrp-parts")
    }
    assert parts["olrp_fn", "-5"] == "1.0"
    assert ("olrp_loc", "-5") not in parts or parts["olrp_loc", "-5"] == ""
    (row,) = result(done, "detection")
    # of three objects sets: the two dark frames of each scene hold nothing that was found
    assert float(row["ap"]) == pytest.approx(np.mean([35 / 101, 35 / 101]), abs=0.02)
    (box,) = table(done, "fig-f2-ap-boxes")
    assert box["coco_ap"] == "0.42"


def test_tables_count_frames(made):
    _, _, done = made
    rows = {row["category"]: row for row in result(done, "dataset-by-category")}
    assert (rows["cup"]["frames_dim"], rows["cup"]["frames_bright"]) == ("2", "1")
    assert (rows["all"]["auto_frames"], rows["all"]["frames"]) == ("4", "10")
    offsets = {row["ev_offset"]: row["frames"] for row in result(done, "dataset-by-ev-offset")}
    assert offsets == {"-5": "4", "1": "2"}
    values = {row["parameter"]: row["values"] for row in result(done, "camera-settings")}
    assert values["F-number"] == "5.6, 11, 16, 22"
    best, other = result(done, "classification-by-category")
    assert (best["cup"], best["water_bottle"]) == ("0.666667", "0.333333")
    assert (other["cup"], other["water_bottle"]) == ("0.333333", "0.0")


def test_names_in_latex_and_markdown_are_escaped(made):
    _, _, done = made
    (files,) = (one for one in done.tables if one.name == "classification")
    text = files.tex.read_text()
    assert r"own\_net\%1" in text
    assert text.count("{") == text.count("}")
    assert "own_net%1" in files.md.read_text()
    # as many cells in each row as in its head
    rows = [line for line in text.splitlines() if line.rstrip().endswith(r"\\")]
    assert len({line.replace(r"\&", "").count("&") for line in rows}) == 1


def test_chance_is_of_the_options_and_truths_that_were_there(made):
    workspace, catalog, _ = made
    conditions = load_conditions(catalog)
    chance = question_chance(conditions)
    assert (chance["q1"], chance["q2"]) == (0.5, 0.5)
    assert (chance["q3"], chance["q4"]) == (0.25, 0.25)
    assert chance["all"] == 0.375
    vocabulary = load_vocabulary(workspace.root)
    # two classes for cups, one for bottles
    assert top1_chance(conditions, vocabulary, "paper") == pytest.approx(0.0015)
    assert top1_chance(conditions, vocabulary, "release") == pytest.approx(0.001)


def test_the_release_protocol_is_said_and_scores_by_its_own_rules(made, tmp_path):
    workspace, catalog, _ = made
    done = write_report(catalog, workspace, tmp_path / "r" / "page.html", "release")
    assert done.as_json()["protocol"] == "release"
    assert "released scripts&#39; own rules" in done.path.read_text()
    # all frames count, auto frames included
    (row,) = (r for r in result(done, "classification") if r["model"] == "ResNet50")
    assert (row["n"], row["top1"]) == ("10", "0.3")
    assert (tmp_path / "r/observers/people.html").is_file()
    assert 'href="observers/people.html"' in done.path.read_text()


def test_pictures_are_named_when_too_few(made, tmp_path):
    workspace, catalog, _ = made
    frames = list_picture_frames(catalog)
    assert frames == []
    found = picture_figures(frames, thumbnail_maker(workspace))
    assert all(isinstance(one, LeftOut) for one in found)


@pytest.fixture(scope="module")
def public(snaprig_data, tmp_path_factory):
    """Curves of people and one classifier of the public release, by protocol."""
    root = tmp_path_factory.mktemp("public")
    for name in (
        "annotations/data.csv",
        "eval_results/human/all_subjects.xlsx",
        "human_experiment/data/exp_samples.xlsx",
        "raw_results/image_classification/resnet50.tv_in1k.xlsx",
    ):
        path = root / "release" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(snaprig_data / "snap" / name)
    workspace = Workspace.create(root / "lab", "")
    found = {}
    with workspace.catalog() as catalog:
        import_snap(catalog, workspace, root / "release")
        conditions = load_conditions(catalog)
        for protocol in ("release", "paper"):
            score_catalog(catalog, load_vocabulary(), protocol)
            observers = load_observed(catalog, protocol, conditions)
            found[protocol] = [curve for one in observers for curve in answer_curves(one)]
        yield found, question_chance(conditions), score_observers(catalog, "release")


def test_published_and_known_values_of_the_release(public):
    curves, chance, entries = public
    lines = {f.number: f for f in question_figures(curves["release"], chance, "release")}
    peak = max(lines["9"].rows, key=lambda row: row["value"])
    assert (peak["model"], peak["ev_offset"]) == ("people", 1)
    assert peak["value"] == pytest.approx(0.88844, abs=5e-6)
    ends = {row["ev_offset"]: row["value"] for row in lines["9"].rows}
    assert ends[-5] == pytest.approx(0.0751, abs=5e-5)
    assert ends[8] == pytest.approx(0.5334, abs=5e-5)
    choice = {
        row["ev_offset"]: row["value"] for row in lines["F.4"].rows if row["measure"] == "hard_q3"
    }
    assert choice[1] == pytest.approx(0.98235, abs=5e-6)
    (bar,) = lines["7"].rows
    assert bar["hard"] == pytest.approx(0.66310, abs=5e-6)
    assert bar["hard_low"] < bar["hard"] < bar["hard_high"]
    assert chance["q3"] == pytest.approx(1 / 11)
    (row,) = classification_table(curves["release"], entries).rows
    assert row["top1"] == pytest.approx(0.416886, abs=5e-7)


@pytest.mark.parametrize(
    ("protocol", "top1", "ps"), [("release", 0.416513, 0.0825), ("paper", 0.419166, 0.0801)]
)
def test_figures_3_and_4_of_the_public_classifier(public, protocol, top1, ps):
    curves, _, _ = public
    boxes, lines = classification_figures(curves[protocol], None)
    (box,) = boxes.rows
    assert box["overall"] == pytest.approx(top1, abs=5e-7)
    assert box["mean"] == pytest.approx(top1, abs=5e-7)
    assert box["ps"] == pytest.approx(ps, abs=5e-5)
    assert [row["ev_offset"] for row in lines.rows] == list(range(-5, 9))
    assert sum(row["n"] for row in lines.rows) == 37317
    assert sum(row["n"] * row["value"] for row in lines.rows) / 37317 == pytest.approx(
        top1, abs=5e-7
    )
