import pytest

from evaluate.errors import EvaluateError
from evaluate.model import Label
from evaluate.scoring import PAPER, parse_top5, score_catalog, score_labels
from evaluate.vocabulary import load_vocabulary
from schemas.answer_store import (
    CLASSIFICATION,
    add_responses,
    ensure_stimuli,
    list_answers,
    pending_stimuli,
    put_observer,
)
from schemas.exposure import Exposure
from schemas.records import Observer, Response
from schemas.verdict_store import iter_truths

TOP5 = [[968, "cup", 0.5], [504, "coffee mug", 0.2], [1, "goldfish", 0.1]]


def respond(lab, payloads):
    """One response a frame, in order."""
    observer = put_observer(lab.catalog, Observer("m", "model", {}))
    ensure_stimuli(lab.catalog, CLASSIFICATION)
    pending = pending_stimuli(lab.catalog, observer, CLASSIFICATION)
    new = [
        Response(item.stimulus_id, observer, payload=payload or {}, error="" if payload else "lost")
        for item, payload in zip(pending, payloads, strict=True)
    ]
    add_responses(lab.catalog, new)
    return observer


def answers(lab, observer):
    return list(list_answers(lab.catalog, observer, PAPER, CLASSIFICATION))


def frames(lab, count, category):
    for number in range(count):
        exposure = Exposure(1 / 60, 100 * 2**number, 8.0)
        lab.frame(category, "bright", exposure, b"x", category=category)


def test_parse_top5():
    assert parse_top5({"top5": TOP5})[0] == Label(968, "cup", 0.5)
    for broken in ({}, {"top5": 3}, {"top5": [[1, "x"]]}):
        with pytest.raises(EvaluateError, match="not a top-5 answer"):
            parse_top5(broken)


@pytest.mark.parametrize(
    ("accepted", "place"), [({968}, 1), ({504}, 2), ({1, 504}, 2), ({7}, None), (set(), None)]
)
def test_place_of_the_truth(accepted, place):
    assert score_labels(parse_top5({"top5": TOP5}), frozenset(accepted)) == place


def test_right_wrong_and_no_answer_are_three_things(lab):
    frames(lab, 3, "cup")
    wrong = [[1, "goldfish", 0.6], [968, "cup", 0.2]]
    observer = respond(lab, [{"top5": TOP5}, {"top5": wrong}, None])
    assert score_catalog(lab.catalog, load_vocabulary()).scored == 3
    found = answers(lab, observer)
    assert [a.soft for a in found] == [True, False, None]
    assert [a.error_kind for a in found] == ["", "factual", "no_answer"]
    assert [a.parsed.get("place") for a in found] == [1, 2, None]
    assert [a.ev_offset for a in found] == [-1, 0, 1]
    assert {(a.scene, a.lighting, a.category, a.f_number) for a in found} == {
        ("cup", "bright", "cup", 8.0)
    }


def test_an_unknown_category_is_neither_right_nor_wrong_until_it_is_told(lab):
    frames(lab, 1, "gizmo")
    observer = respond(lab, [{"top5": TOP5}])
    done = score_catalog(lab.catalog, load_vocabulary())
    assert "vocabulary.toml" in done.unscorable["gizmo"]
    assert [(a.soft, a.error_kind) for a in answers(lab, observer)] == [(None, "unscorable")]
    (lab.workspace.root / "vocabulary.toml").write_text("[category.gizmo]\nimagenet = [968]\n")
    told = score_catalog(lab.catalog, load_vocabulary(lab.workspace.root), only_new=True)
    assert (told.scored, told.unscorable) == (1, {})
    assert [a.soft for a in answers(lab, observer)] == [True]


def test_only_what_is_new_or_judged_by_another_vocabulary_is_scored_again(lab):
    frames(lab, 2, "cup")
    respond(lab, [{"top5": TOP5}] * 2)
    vocabulary = load_vocabulary()
    waiting = iter_truths(lab.catalog, [CLASSIFICATION], PAPER, vocabulary.digest)
    assert sum(map(len, waiting)) == 2
    assert score_catalog(lab.catalog, vocabulary, only_new=True).scored == 2
    assert score_catalog(lab.catalog, vocabulary, only_new=True).scored == 0
    assert score_catalog(lab.catalog, vocabulary).scored == 2
