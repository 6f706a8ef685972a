"""Pages of observers, their tables and likeness, and the frames they disagree about."""

import csv
import io
import json
import math
from html.parser import HTMLParser

import numpy as np
import pytest

from evaluate.importing_coco import import_coco
from evaluate.importing_trials import import_trials
from evaluate.report.detector_facts import load_detected
from evaluate.report.disagreement import (
    COLUMNS,
    MODELS_RIGHT,
    PEOPLE_RIGHT,
    SPLIT,
    find_disputes,
)
from evaluate.report.observed import load_conditions, load_observed, load_words, share_of
from evaluate.report.observer_facts import gather_observer, spec_digest
from evaluate.report.observer_page import gather_observers, render_observer, write_observer_pages
from evaluate.report.relations import relate, shared_pairs
from evaluate.scores import score_observers
from evaluate.scoring import score_catalog
from evaluate.vocabulary import load_vocabulary
from schemas.answer_store import (
    CLASSIFICATION,
    add_responses,
    add_stimuli,
    ensure_stimuli,
    pending_stimuli,
    put_observer,
)
from schemas.records import Observer, Response, Stimulus

CUP, MUG, IRON = (968, "cup"), (504, "coffee mug"), (606, "iron")


class Page(HTMLParser):
    """Balanced tags, text and addresses of a page."""

    def __init__(self, html):
        super().__init__()
        self.open, self.text, self.addresses = [], [], []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)
        self.addresses += [v for k, v in attrs if k in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def classify(lab, name, answers, spec=None):
    """A classifier whose answers follow `answers`, taken in turn, over all frames."""
    key = put_observer(lab.catalog, Observer(name, "model", spec or {"id": name}))
    ensure_stimuli(lab.catalog, CLASSIFICATION)
    new = []
    for place, one in enumerate(pending_stimuli(lab.catalog, key, CLASSIFICATION)):
        index, label = answers[place % len(answers)]
        payload = {"top5": [[index, label, 0.6]]}
        new.append(Response(one.stimulus_id, key, payload=payload, frame_sha256=one.sha256))
    add_responses(lab.catalog, new)


def ask(lab, task, said):
    """Answers in words: observer to (kind, texts in turn)."""
    frames = [one.frame_id for one in pending_stimuli_of(lab)]
    add_stimuli(lab.catalog, [Stimulus(frame_id, "original", task) for frame_id in frames])
    for name, (kind, texts) in said.items():
        key = put_observer(lab.catalog, Observer(name, kind, {"id": name}))
        pending = pending_stimuli(lab.catalog, key, task)
        add_responses(
            lab.catalog,
            [
                Response(one.stimulus_id, key, text=texts[place % len(texts)], frame_sha256="")
                for place, one in enumerate(pending)
                if texts[place % len(texts)] is not None
            ],
        )


def pending_stimuli_of(lab):
    nobody = put_observer(lab.catalog, Observer("nobody", "model", {}))
    ensure_stimuli(lab.catalog, CLASSIFICATION)
    return pending_stimuli(lab.catalog, nobody, CLASSIFICATION)


def observed(lab, protocol="paper"):
    score_catalog(lab.catalog, load_vocabulary(lab.workspace.root), protocol)
    conditions = load_conditions(lab.catalog)
    found = list(load_observed(lab.catalog, protocol, conditions))
    return {one.name: one for one in found}, conditions


@pytest.fixture
def cups(lab):
    for light in ("bright", "dim"):
        lab.fill("cup-1", light)
    return lab


# ---- the columns ----


def test_columns_give_what_evaluate_score_gives(cups):
    classify(cups, "one", [CUP, IRON, MUG])
    ask(cups, "q2", {"vlm": ("model", ["1", "two", "one", None]), "ann": ("person", ["1"])})
    for protocol in ("paper", "release"):
        by_name, _ = observed(cups, protocol)
        for entry in score_observers(cups.catalog, protocol):
            found = by_name[entry["name"]].counted()
            if entry["task"] == CLASSIFICATION:
                assert share_of(found.soft) == entry["metrics"]["top1"]
                assert len(found) == entry["n"]
            else:
                some = found.task_of("q2")
                assert share_of(some.soft) == entry["questions"]["q2"]["soft"]
                assert share_of(some.hard) == entry["questions"]["q2"]["hard"]


def test_words_stand_in_the_order_of_the_answers(cups):
    classify(cups, "one", [CUP, IRON, MUG])
    by_name, _ = observed(cups)
    one = by_name["one"]
    said = load_words(cups.catalog, one)
    right = one.soft == 1
    for place in one.where(right).index:
        assert said[place].named in ("cup", "coffee mug")
    assert {said[place].named for place in one.where(~right).index} == {"iron"}


# ---- the tables ----


def test_every_condition_has_a_table_and_its_lines_add_up(cups):
    cups.fill("cup-2", "bright")
    cups.fill("phone-1", "dim", category="phone")
    classify(cups, "one", [CUP, IRON, MUG, CUP])
    by_name, _ = observed(cups)
    (section,) = gather_observer(
        by_name["one"], load_words(cups.catalog, by_name["one"]), []
    ).sections
    titles = [table.title for table in section.tables]
    assert titles == [
        "Exposure range", "EV offset (stops)", "Lighting", "Category", "Shutter speed (s)",
        "ISO", "F-number",
    ]  # fmt: skip
    hits = section.scores[0].value * section.n
    for table in section.tables:
        assert sum(line.n for line in table.lines) == section.n
        assert sum(line.n * line.scores[0].value for line in table.lines) == pytest.approx(hits)
        assert all(line.scores[0].low <= line.scores[0].value <= line.scores[0].high
                   for line in table.lines)  # fmt: skip
    (confusions,) = [some for task, some in section.confusions if task == CLASSIFICATION]
    assert {one.answer for one in confusions if one.category == "cup"} == {"iron"}


def test_questions_show_length_form_and_mistakes(cups):
    ask(cups, "q1", {"vlm": ("model", ["cup", "A teapot on a table", ""])})
    by_name, _ = observed(cups)
    facts = gather_observer(by_name["vlm"], load_words(cups.catalog, by_name["vlm"]), [])
    (section,) = facts.sections
    assert section.measures == ("soft", "hard", "Q1 hard")
    ((task, rows),) = section.answering
    assert (task, rows[0].ev_offset) == ("q1", None)
    n = section.n
    lengths = [len(text) for text in ("cup", "A teapot on a table", "")]
    assert rows[0].length == pytest.approx(sum(lengths[k % 3] for k in range(n)) / n)
    assert sum(row.n for row in rows[1:]) == n
    assert rows[0].unanswered == pytest.approx(section.unanswered / n)
    ((_, confusions),) = section.confusions
    assert "\N{LEFT DOUBLE QUOTATION MARK}a teapot on a table\N{RIGHT DOUBLE QUOTATION MARK}" in [
        one.answer for one in confusions
    ]


# ---- likeness ----


def test_most_and_least_alike_and_the_people(cups):
    said = ["cup", "iron", "cup", "cup", "iron"]
    other = ["iron", "cup", "iron", "iron", "cup"]
    for number in range(6):
        cups.fill(f"more-{number}", "bright")
    ask(cups, "q1", {
        "first": ("model", said), "twin": ("model", said), "opposite": ("model", other),
        "ann": ("person", said), "bea": ("person", [None, "cup"]),
    })  # fmt: skip
    by_name, _ = observed(cups)
    found = relate(by_name["first"], list(by_name.values()))
    assert {one.other for one in found.most} == {"twin"}
    assert found.most[0].found.kappa == pytest.approx(1)
    assert {one.other for one in found.least} == {"opposite"}
    assert found.least[0].found.kappa < 0
    assert [one.other for one in found.people] == ["people"]
    kappas = dict(found.mean_kappa)
    assert kappas["twin"] > kappas["people"] > kappas["opposite"]
    # each person's answer makes a pair with the model's to the same stimulus
    people, model = by_name["people"], by_name["first"]
    rows, others = shared_pairs(model, people)
    assert len(rows) == len(people)
    assert (model.row[rows] == people.row[others]).all()
    back = shared_pairs(people, model)
    assert sorted(zip(*back, strict=True)) == sorted(zip(others, rows, strict=True))
    assert len(shared_pairs(people, people)[0]) == 0


def test_the_digest_is_of_the_specification():
    one = Observer("a", "model", {"weights": "1", "size": 224})
    assert spec_digest(one) == spec_digest(Observer("b", "model", {"size": 224, "weights": "1"}))
    assert spec_digest(one) != spec_digest(Observer("a", "model", {"size": 225, "weights": "1"}))


# ---- the page ----


def test_pages_are_balanced_whole_and_escaped(cups, tmp_path):
    evil = "a/../<script>alert(1)</script>"
    classify(cups, evil, [CUP, (606, "<b>iron</b>")], {"note": "<img src=x>"})
    classify(cups, "A/../<script>alert(1)</SCRIPT>", [CUP])
    ask(cups, "q1", {"vlm": ("model", ["cup", "<i>what</i>"]), "ann": ("person", ["cup"]),
                     "bea": ("person", ["cup", "tie"])})  # fmt: skip
    by_name, conditions = observed(cups)
    facts = list(gather_observers(cups.catalog, list(by_name.values()), conditions))
    folder = tmp_path / "observers"
    pages = write_observer_pages(facts, folder, "../index.html", simulated=True)
    assert len({page.path for page in pages}) == 4
    assert all(page.path.parent == folder and page.path.is_file() for page in pages)
    for page in pages:
        html = page.path.read_text()
        parsed = Page(html)
        assert parsed.addresses == ["../index.html"]
        assert "<script" not in html.lower()
        assert "<b>iron" not in html
        assert "simulated" in html
    people = next(page for page in pages if page.kind == "person")
    text = " ".join(Page(people.path.read_text()).text)
    assert "2 people, each alone" in text


def test_a_page_of_a_detector(lab, tmp_path):
    truth = {
        "images": [{"id": k, "width": 96, "height": 64, "file_name": f"{k}.jpg"} for k in (1, 2)],
        "categories": [{"id": 1, "name": "cup"}],
        "annotations": [
            {"id": k, "image_id": k, "category_id": 1, "bbox": [4, 4, 20, 20], "area": 400,
             "iscrowd": 0} for k in (1, 2)
        ],
    }  # fmt: skip
    results = [{"image_id": 1, "category_id": 1, "bbox": [4, 4, 20, 20], "score": 0.9}]
    for name, document in (("truth", truth), ("found", results)):
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
    import_coco(lab.catalog, tmp_path / "truth.json", tmp_path / "found.json", "boxes")
    by_name, conditions = observed(lab)
    (facts,) = gather_observers(lab.catalog, list(by_name.values()), conditions)
    (section,) = facts.sections
    assert section.measures[:3] == ("AP", "AP50", "oLRP")
    assert section.scores[0].value == pytest.approx(51 / 101)
    assert section.scores[2].value == pytest.approx(0.5)
    assert facts.relations is None
    assert "not defined" in render_observer(facts, "../index.html")
    assert load_detected(lab.catalog, Observer("x", "model", {}, 99), {}, conditions) is None


def test_choice_trials_have_a_page_with_the_shape_bias(lab, tmp_path):
    rows = [
        ("s1", 1, 1, 0.5, "cat", "cat", "0", "cat1-dog2.png"),
        ("s1", 1, 2, 0.5, "dog", "cat", "0", "cat2-dog2.png"),
        ("s1", 1, 3, 0.5, "cat", "cat", "0", "cat3-clock1.png"),
        ("s1", 1, 4, 0.5, "cat", "dog", "0", "dog1-clock1.png"),
    ]
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow("subj session trial rt object_response category condition imagename".split())
    writer.writerows(rows)
    folder = tmp_path / "cue-conflict"
    folder.mkdir()
    (folder / "cue-conflict_subject-01_session_1.csv").write_text(text.getvalue())
    import_trials(lab.catalog, folder)
    by_name, conditions = observed(lab)
    (facts,) = gather_observers(lab.catalog, list(by_name.values()), conditions)
    (section,) = facts.sections
    assert (section.title, section.scores[0].value) == ("Choices between options", 0.5)  # 2 of 4
    assert section.extra == (("shape bias", pytest.approx(2 / 3)),)
    assert "shape bias" in render_observer(facts, "../index.html")


# ---- disagreement ----


def test_split_frames_come_first_and_in_the_same_order(cups):
    cups.fill("cup-2", "dim")
    classify(cups, "always", [CUP])
    classify(cups, "never", [IRON])
    classify(cups, "sometimes", [CUP, IRON])
    classify(cups, "other", [IRON, IRON, CUP])
    by_name, conditions = observed(cups)
    observers = list(by_name.values())
    found = find_disputes(cups.catalog, observers, conditions)
    (split,) = found
    assert (split.kind, split.task) == (SPLIT, CLASSIFICATION)
    assert [one.models_right / one.models for one in split.frames] == [0.5, 0.5]
    assert {one.scene for one in split.frames} == {"cup-1", "cup-2"}  # a scene once
    assert [one.scene for one in split.frames] == ["cup-1", "cup-2"]
    assert find_disputes(cups.catalog, observers[::-1], conditions) == found
    first = split.frames[0]
    assert first.path
    assert first.truth == "cup"
    assert (first.answers[0].observer, first.answers[0].right) == ("always", True)
    assert {row["observer"] for row in first.rows()} == set(by_name)
    assert all(tuple(row)[: len(COLUMNS)] and set(COLUMNS) == row.keys() for row in first.rows())


def test_people_against_models(cups):
    cups.fill("cup-2", "bright")
    ask(cups, "q1", {
        "one": ("model", ["cup", "iron"]), "two": ("model", ["cup", "iron"]),
        "ann": ("person", ["iron", "cup"]), "bea": ("person", [None, "cup"]),
    })  # fmt: skip
    by_name, conditions = observed(cups)
    found = {one.kind: one for one in find_disputes(
        cups.catalog, list(by_name.values()), conditions)}  # fmt: skip
    people, models = found[PEOPLE_RIGHT].frames[0], found[MODELS_RIGHT].frames[0]
    assert (people.people_right, people.people, people.models_right) == (2, 2, 0)
    assert (models.models_right, models.models, models.people_right) == (2, 2, 0)
    assert [one.observer for one in people.answers if one.kind == "person"] == ["ann", "bea"]


def test_frames_without_files_still_have_settings_and_answers(cups):
    classify(cups, "always", [CUP])
    classify(cups, "never", [IRON])
    with cups.catalog.write() as connection:
        connection.exec_driver_sql("UPDATE frames SET path = ''")
    by_name, conditions = observed(cups)
    (split,) = find_disputes(cups.catalog, list(by_name.values()), conditions)
    assert split.frames[0].path == ""
    assert str(split.frames[0].exposure).startswith("1/")
    assert len(split.frames[0].answers) == 2


def test_one_observer_has_nobody_to_disagree_with(cups):
    classify(cups, "alone", [CUP, IRON])
    by_name, conditions = observed(cups)
    assert find_disputes(cups.catalog, list(by_name.values()), conditions) == []
    assert find_disputes(cups.catalog, [], conditions) == []
    relations = relate(by_name["alone"], list(by_name.values()))
    assert relations.mean_kappa == ()
    assert not np.isnan(share_of(by_name["alone"].soft))
    assert math.isnan(share_of(np.zeros(0)))
