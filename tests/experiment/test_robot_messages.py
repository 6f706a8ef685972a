"""What a robot is told, and the truth it is told about."""

from dataclasses import replace

import pytest

from experiment.options_view import lay_out, option_at, option_for_key, option_keys
from experiment.robot import message, right_answer, wrong_answers
from experiment.views import Blank, Fixation, Mask, OptionsView, Page, Picture, TextView
from tests.experiment.scripted_session import OPTIONS, make_trial

CATEGORIES = ("cup", "water_bottle")
CLASSES = ("cup", "water bottle", "other")


def trial(task, **changed):
    return replace(make_trial(4, 0, task), **changed)


@pytest.mark.parametrize(
    ("one", "right", "wrong"),
    [
        (trial("q1", category="water_bottle"), "water bottle", {"cup"}),
        (trial("q2", objects=3), "3", {"4", "5"}),
        (trial("q3", options=CLASSES), "cup", {"water bottle", "other"}),
        (trial("q3", options=CLASSES, category="tie"), "other", {"cup", "water bottle"}),
        (trial("q4", objects=5), "C) 5", set(OPTIONS) - {"C) 5"}),
        (trial("choice", category="leopard"), "leopard", {"penguin", "ship"}),
    ],
)
def test_right_and_wrong(one, right, wrong):
    assert right_answer(one) == right
    assert set(wrong_answers(one, CATEGORIES)) == wrong


def test_positions_are_those_of_the_screen_from_its_upper_left_corner():
    view = OptionsView("?", lay_out(CLASSES))
    told = message(trial("q3", options=CLASSES), view, (1680, 1050), CATEGORIES)
    assert [one["label"] for one in told["options"]] == list(CLASSES)
    assert [(one["x_px"], one["y_px"]) for one in told["options"]] == [
        (540, 465), (840, 465), (1140, 465),
    ]  # fmt: skip
    assert (told["right"], told["chosen"]) == ("cup", None)


def test_a_text_is_told_with_its_state_and_a_reaction_with_its_keys():
    one = trial("q1")
    assert message(one, TextView("?", "", 0), (1, 1), CATEGORIES)["submitted"] is False
    assert message(one, TextView("?", "cup", None), (1, 1), CATEGORIES)["submitted"] is True
    keys = message(trial("choice"), Picture("1 a"), (1, 1), ())["keys"]
    assert keys == {"penguin": "1", "leopard": "2", "ship": "3"}


@pytest.mark.parametrize("view", [Blank(), Fixation(), Picture(), Mask()])
def test_nothing_is_told_while_timing_matters(view):
    assert message(trial("q1"), view, (1, 1), ()) is None


def test_outside_of_trials_there_is_no_truth():
    assert message(None, Page("Break"), (1, 1), ()) == {"view": "page"}


def test_options_lie_in_rows_apart_from_each_other():
    boxes = lay_out([f"option {n}" for n in range(11)])
    assert [box.y_px for box in boxes].count(boxes[0].y_px) == 4
    for n, one in enumerate(boxes):
        assert option_at(boxes, one.x_px, one.y_px) == one.label
        for other in boxes[n + 1 :]:
            apart_x = abs(one.x_px - other.x_px) >= one.width_px
            assert apart_x or abs(one.y_px - other.y_px) >= one.height_px
    assert sum(box.x_px for box in boxes) == pytest.approx(0)
    assert max(abs(box.x_px) + box.width_px / 2 for box in boxes) <= 600
    assert option_at(boxes, 700, 0) is None


def test_the_key_of_a_number_is_the_number_itself():
    """Were 4 the key of the fourth option, it would choose another number than it says."""
    boxes = lay_out(OPTIONS)
    assert [box.key for box in boxes] == ["3", "2", "5", "4"]
    assert option_for_key(boxes, "4") == "D) 4"
    assert option_for_key(boxes, "1") is None
    assert {hint for _, hint in option_keys(OPTIONS)} == {""}


def test_other_options_have_keys_in_their_order_that_are_shown():
    boxes = lay_out([f"option {n}" for n in range(11)])
    assert "".join(box.key for box in boxes) == "1234567890a"
    assert all(box.hint == box.key for box in boxes)
    assert option_for_key(boxes, "A") == "option 10"


def test_without_keys_only_a_click_chooses():
    (box,) = lay_out(("Click here",), keys=False)
    assert option_for_key((box,), "") is None


def test_more_options_than_keys_are_refused():
    with pytest.raises(ValueError, match="at most"):
        lay_out([f"option {n}" for n in range(40)])
