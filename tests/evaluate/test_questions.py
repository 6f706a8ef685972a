"""Questions: the paper's words, options shuffled once for each frame and stored."""

import json
from collections import Counter

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from evaluate.question_judges import QuestionJudge
from evaluate.questions import (
    COUNTS,
    category_options,
    count_options,
    make_questions,
    offered_categories,
)
from evaluate.questions_cli import make
from evaluate.release.questions import parse_options
from evaluate.release.rules import CLASSES
from evaluate.vocabulary import load_vocabulary
from schemas.answer_store import add_stimuli, pending_stimuli, put_observer
from schemas.capture_store import add_scene, start_run
from schemas.exposure import Exposure
from schemas.question_store import stored_options
from schemas.questions import question_text
from schemas.records import Observer, Outcome, Scene, Stimulus
from schemas.verdict_store import TruthRow

TEN = offered_categories(["cup"])
KEYS = st.tuples(st.text(max_size=5), st.text(max_size=5), st.text(max_size=5))


def scene(lab, name, category, objects):
    """A scene with three frames, one of them rejected."""
    add_scene(lab.catalog, Scene(name, category, objects))
    lab.runs[name, "bright"] = start_run(
        lab.catalog,
        scene=name,
        lighting="bright",
        plan=None,
        simulated=True,
        devices={},
        versions={},
    )
    for iso, outcome in (
        (100, Outcome.ACCEPTED),
        (200, Outcome.ACCEPTED),
        (400, Outcome.REJECTED_WHITE),
    ):
        lab.frame(name, "bright", Exposure(1 / 60, iso, 8.0), b"x", outcome=outcome)


def test_the_papers_words():
    # as they stand in the design of the published experiment
    assert question_text("q1") == (
        "Objects of what class are in the image? Answer with the name of the class."
    )
    assert question_text("q2") == "How many objects are in the image? Answer with one number."
    assert question_text("q4", ("A) 2", "B) 5", "C) 4", "D) 3")) == (
        "How many objects are in the image? "
        "Select one of the following options: A) 2    B) 5    C) 4    D) 3"
    )
    assert question_text("q3", ("tie", "water bottle", "other")) == (
        "Objects of what class are in the image? "
        "Select one of the following options: tie, water bottle, other"
    )
    with pytest.raises(ValueError, match="'q5' is no question"):
        question_text("q5")


@given(st.integers(), KEYS)
def test_options_are_a_shuffle_that_the_release_parser_reads_back(seed, key):
    classes, counts = category_options(seed, key, TEN), count_options(seed, key)
    assert sorted(classes[:-1]) == sorted(TEN)
    assert classes[-1] == "other"
    assert [one[:3] for one in counts] == ["A) ", "B) ", "C) ", "D) "]
    assert sorted(int(one[3:]) for one in counts) == list(COUNTS)
    assert parse_options(question_text("q3", classes), "q3") == classes
    assert parse_options(question_text("q4", counts), "q4") == counts


def test_every_place_is_as_likely():
    # 4 counts x 4 places, 2000 frames: each cell 500, six standard deviations are 116
    places = Counter(
        place
        for number in range(2000)
        for place in count_options(7, ("1_cup", "bright", str(number)))
    )
    assert len(places) == 16
    assert all(abs(count - 500) < 116 for count in places.values())


def test_the_order_is_the_same_in_every_process():
    assert count_options(1, ("1_cup", "bright", "s")) == ("A) 5", "B) 2", "C) 4", "D) 3")


def test_the_ten_stand_for_any_part_of_them():
    assert len(TEN) == 10
    assert "comic book" in TEN
    assert offered_categories(CLASSES) == offered_categories(["tie", "other"]) == TEN
    assert offered_categories(["cat", "coffee_cup"]) == ("cat", "coffee cup")


def test_accepted_frames_get_four_questions(lab):
    scene(lab, "a", "cup", 3)
    scene(lab, "b", "water_bottle", 7)
    made = make_questions(lab.catalog, 1).as_json()
    assert made["frames"] == 4
    assert made["added"] == {"q1": 4, "q2": 4, "q3": 4, "q4": 2}
    assert list(made["left_out"].values()) == [2]
    observer = put_observer(lab.catalog, Observer("m", "model", {}))
    for task, length in (("q1", 0), ("q2", 0), ("q3", 11), ("q4", 4)):
        pending = pending_stimuli(lab.catalog, observer, task)
        assert [len(one.options) for one in pending] == [length] * made["added"][task]


def test_what_is_stored_wins(lab):
    scene(lab, "a", "cup", 3)
    add_stimuli(
        lab.catalog,
        [
            Stimulus(1, "original", "q4", ("A) 5", "B) 4", "C) 3", "D) 2")),
            Stimulus(2, "original", "q3", ("cup", "cat", "other")),
        ],
    )
    first = make_questions(lab.catalog, 1).as_json()
    stored = {task: stored_options(lab.catalog, task) for task in ("q3", "q4")}
    assert json.loads(stored["q4"][1]) == ["A) 5", "B) 4", "C) 3", "D) 2"]
    assert stored["q3"][2] == '["cup", "cat", "other"]'
    assert first["kept_with_others"]["q3"] == 1
    again = make_questions(lab.catalog, 2).as_json()
    assert set(again["added"].values()) == {0}
    assert {task: stored_options(lab.catalog, task) for task in ("q3", "q4")} == stored


def test_the_order_of_rows_does_not_matter(make_lab):
    found = []
    for name, order in (("one", "ab"), ("two", "ba")):
        lab = make_lab(name)
        for letter in order:
            scene(lab, letter, "cup", 3)
        make_questions(lab.catalog, 5)
        options = list(stored_options(lab.catalog, "q4").values())
        found.append(options if order == "ab" else [*options[2:], *options[:2]])
    assert found[0] == found[1]


@given(st.integers(0, 1000), st.sampled_from(COUNTS))
def test_an_oracle_is_right_whatever_the_order(seed, objects):
    judge = QuestionJudge(load_vocabulary(), release=False)
    options = count_options(seed, ("s", "l", "k"))
    right = next(one for one in options if one.endswith(str(objects)))
    for said in (right, right[0], right[3:]):
        row = TruthRow(1, "q4", "model", "cup", objects, json.dumps(options), said, "{}", "")
        assert judge.verdict(row).hard


def test_the_command(lab):
    scene(lab, "a", "cup", 3)
    done = CliRunner().invoke(make, ["--seed", "3", "--json"], obj=lab.workspace.root)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["added"]["q4"] == 2
    said = CliRunner().invoke(make, ["--seed", "3"], obj=lab.workspace.root).output
    assert "q4: 0 added, 2 there already" in said
    assert CliRunner().invoke(make, [], obj=lab.workspace.root).exit_code == 2
    assert "Examples:" in CliRunner().invoke(make, ["--help"]).output
