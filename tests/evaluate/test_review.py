"""Review: what the parser is unsure of, and rulings that win over it."""

import json

import pytest
from click.testing import CliRunner

from evaluate.cli import evaluate as command
from evaluate.question_judges import FACTUAL, FAITHFULNESS, NO_ANSWER, UNSURE
from evaluate.review import (
    CONTRADICTION,
    EXCLUSIVE,
    INSIDE,
    LANGUAGE,
    SEVERAL,
    list_unsure,
    rule,
    why_unsure,
)
from evaluate.rulings import RULINGS, overrule
from evaluate.scoring import PAPER, RELEASE, score_catalog
from evaluate.vocabulary import load_vocabulary
from schemas.answer_store import (
    add_responses,
    add_stimuli,
    list_responses,
    pending_stimuli,
    put_observer,
)
from schemas.exposure import Exposure
from schemas.records import Observer, Response, Stimulus
from schemas.ruling_store import iter_judged, load_rulings
from schemas.verdict_store import VerdictRow

VOCABULARY = load_vocabulary()

#: Answers to Q1 about one cup, with the reason why a person should look.
SAID = {
    "cup": None,
    "giraffe": None,
    "I cannot tell": None,
    "a laptop and a cup": SEVERAL,
    "杯子": LANGUAGE,
    "There is some thing on a table which to me looks very much like a cup, from above": INSIDE,
}


def ask(lab, task, said, options=()):
    """One frame and response for each answer; response ids in order."""
    observer = put_observer(lab.catalog, Observer("vlm", "model", {}))
    frames = [
        lab.frame("1_cup", "bright", Exposure(1 / 60, 100 + number, 8.0), b"x")
        for number in range(len(said))
    ]
    add_stimuli(lab.catalog, [Stimulus(one, "original", task, options) for one in frames])
    pending = pending_stimuli(lab.catalog, observer, task)
    add_responses(
        lab.catalog,
        [Response(p.stimulus_id, observer, text) for p, text in zip(pending, said, strict=True)],
    )
    return [one.id for one in list_responses(lab.catalog, observer)]


def verdicts(lab, protocol=PAPER):
    return {
        row.response_id: (row.soft, row.hard, row.error_kind)
        for row in iter_judged(lab.catalog, protocol)
    }


def test_unsure_answers_are_found(lab):
    ids = ask(lab, "q1", list(SAID))
    found = list_unsure(lab.catalog, VOCABULARY, 10)
    expected = {key: why for key, why in zip(ids, SAID.values(), strict=True) if why}
    assert {one.row.response_id: one.reason for one in found.answers} == expected
    assert [one.reason for one in found.answers] == [LANGUAGE, SEVERAL, INSIDE]
    assert found.counts == {EXCLUSIVE: 0, CONTRADICTION: 0, LANGUAGE: 1, SEVERAL: 1, INSIDE: 1}


def test_the_most_doubtful_come_first_and_all_are_counted(lab):
    ask(lab, "q1", ["a laptop and a cup", "a cup or a tie", "杯子"])
    found = list_unsure(lab.catalog, VOCABULARY, 2)
    assert [one.row.text for one in found.answers] == ["杯子", "a laptop and a cup"]
    assert sum(found.counts.values()) == 3
    assert list_unsure(lab.catalog, VOCABULARY, 0).answers == []


def test_choices_that_contradict_themselves(lab):
    options = ("A) 2", "B) 5", "C) 4", "D) 3")
    ask(lab, "q4", ["A", "A) 5", "A or B", "B) 5"], options)
    found = list_unsure(lab.catalog, VOCABULARY, 10)
    assert {one.row.text: one.reason for one in found.answers} == {
        "A or B": EXCLUSIVE,
        "A) 5": CONTRADICTION,
    }


@pytest.mark.parametrize(
    ("text", "named", "kind", "reason"),
    [
        ("2 or 3", ("2", "3"), UNSURE, EXCLUSIVE),
        ("", (), NO_ANSWER, None),
        ("<think>" + "hm " * 40 + "</think>2", ("2",), "", None),
        ("<think>" + "hm " * 40, ("2",), "", None),
        ("long " * 20 + "Answer: 2", ("2",), "", None),
        ("long " * 20 + "2", ("2",), "", INSIDE),
        ("café", (), FACTUAL, LANGUAGE),
    ],
)
def test_reasons(text, named, kind, reason):
    assert why_unsure("q2", text, named, kind) == reason


def test_a_ruling_wins_and_is_kept(lab):
    first, second, third = ask(lab, "q1", ["杯子", "cup", "mug"])
    score_catalog(lab.catalog, VOCABULARY)
    assert verdicts(lab)[first][0] == 0
    rule(lab.catalog, VOCABULARY, {first: "right", second: "wrong", third: "no-answer"}, "anna")
    expected = {
        first: (1, 0, FAITHFULNESS),
        second: (0, 0, FACTUAL),
        third: (None, None, NO_ANSWER),
    }
    assert verdicts(lab) == expected
    # rebuilt from nothing, and again: the same
    score_catalog(lab.catalog, VOCABULARY)
    score_catalog(lab.catalog, VOCABULARY, only_new=True)
    assert verdicts(lab) == expected
    kept = load_rulings(lab.catalog)[first]
    assert (kept["ruling"], kept["by"]) == ("right", "anna")
    assert kept["at"].endswith("+00:00")
    (parsed,) = [
        json.loads(row.parsed)["ruling"]
        for row in iter_judged(lab.catalog, PAPER)
        if row.response_id == first
    ]
    assert parsed == kept
    assert list_unsure(lab.catalog, VOCABULARY, 10).answers == []


def test_a_later_ruling_wins_and_names_the_earlier(lab):
    (one,) = ask(lab, "q1", ["杯子"])
    rule(lab.catalog, VOCABULARY, {one: "right"}, "anna")
    rule(lab.catalog, VOCABULARY, {one: "wrong"}, "ben")
    kept = load_rulings(lab.catalog)[one]
    assert (kept["by"], kept["before"]["by"], kept["before"]["ruling"]) == ("ben", "anna", "right")
    assert verdicts(lab)[one][0] == 0


def test_the_released_rules_stay_as_released(lab):
    (one,) = ask(lab, "q1", ["杯子"])
    score_catalog(lab.catalog, VOCABULARY, RELEASE)
    before = verdicts(lab, RELEASE)
    rule(lab.catalog, VOCABULARY, {one: "right"}, "anna")
    score_catalog(lab.catalog, VOCABULARY, RELEASE)
    assert verdicts(lab, RELEASE) == before


@pytest.mark.parametrize("kind", ["", FACTUAL, FAITHFULNESS, UNSURE, NO_ANSWER])
@pytest.mark.parametrize("ruling", RULINGS)
def test_rulings_over_any_verdict(ruling, kind):
    parser = VerdictRow(7, '{"vocabulary": "v", "named": [], "length": 3}', None, None, kind)
    found = overrule("q2", parser, {"ruling": ruling})
    assert (found.response_id, json.loads(found.parsed)["vocabulary"]) == (7, "v")
    assert found.soft == {"right": True, "wrong": False, "no-answer": None}[ruling]
    assert not (found.hard and not found.soft)
    assert (ruling == "right") == (found.error_kind in ("", FAITHFULNESS))
    assert found.hard is not True or kind != FAITHFULNESS


def test_a_long_count_is_right_but_not_as_asked():
    parser = VerdictRow(7, '{"named": ["2", "3"], "length": 20}', None, None, UNSURE)
    assert overrule("q2", parser, {"ruling": "right"})[2:] == (True, False, FAITHFULNESS)
    with pytest.raises(ValueError, match="no ruling"):
        overrule("q2", parser, {"ruling": "maybe"})


def test_an_unknown_answer_keeps_nothing(lab):
    (one,) = ask(lab, "q1", ["杯子"])
    args = ["review", "--rule", f"{one}=right", "--rule", "999=wrong", "--by", "anna"]
    done = CliRunner().invoke(command, args, obj=lab.workspace.root)
    assert done.exit_code == 1
    assert "no answer to Q1 to Q4 has the id 999" in done.output
    assert load_rulings(lab.catalog) == {}


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--rule", "1=right"], "say who rules"),
        (["--rule", "1=right", "--by", " "], "say who rules"),
        (["--rule", "1=perhaps", "--by", "anna"], "is not of the form"),
        (["--rule", "x=right", "--by", "anna"], "is not of the form"),
        (["--rule", "1=right", "--rule", "1=wrong", "--by", "a"], "one ruling for each answer"),
    ],
)
def test_wrong_usage(lab, args, says):
    done = CliRunner().invoke(command, ["review", *args], obj=lab.workspace.root)
    assert (done.exit_code, says in done.output) == (2, True), done.output


def test_the_command(lab):
    ids = ask(lab, "q1", list(SAID))

    def call(*args):
        done = CliRunner().invoke(command, ["review", *args], obj=lab.workspace.root)
        assert done.exit_code == 0, done.output
        return done.stdout

    listed = json.loads(call("--json", "--limit", "1"))
    assert (listed["unsure"], listed["rulings"]) == (3, 0)
    (answer,) = listed["answers"]
    assert (answer["text"], answer["category"], answer["reason"]) == ("杯子", "cup", LANGUAGE)
    key = str(answer["response_id"])
    assert int(key) in ids
    assert "'杯子' (read: nothing" in call()
    ruled = json.loads(call("--rule", f"{key}=right", "--by", "anna", "--json"))
    assert ruled["ruled"][0]["by"] == "anna"
    assert (ruled["unsure"], ruled["rulings"]) == (2, 1)
    assert "1 answers have a person's ruling" in call()
    assert f"{key} wrong, by ben" in call("--rule", f"{key}=wrong", "--by", "ben")
    assert "Examples:" in call("--help")
