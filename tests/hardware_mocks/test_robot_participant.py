"""The robot's decisions: what it presses for what it is told. Its hands are recorded here."""

import io
import json

import pytest

from hardware_mocks import robot_participant
from hardware_mocks.robot_participant import Participant


class RecordedHands:
    def __init__(self):
        self.done = []

    def press(self, name):
        self.done.append(("press", name))
        return 1.5

    def type(self, text):
        self.done.append(("type", text))

    def click(self, x_px, y_px):
        self.done.append(("click", x_px, y_px))


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(robot_participant.time, "sleep", lambda _s: None)


def acting(accuracy=1.0, seed=0):
    hands, journal, out = RecordedHands(), io.StringIO(), io.StringIO()
    return Participant(hands, accuracy, seed, journal, out), hands, journal, out


OPTIONS = [
    {"label": "cup", "key": "1", "x_px": 10, "y_px": 20},
    {"label": "tie", "key": "2", "x_px": 30, "y_px": 40},
]
QUESTION = {"view": "options", "chosen": None, "options": OPTIONS}
TRUTH = {"trial": 3, "right": "tie", "wrong": ["cup"]}


@pytest.mark.parametrize(
    ("seen", "done"),
    [
        ({"view": "page"}, [("press", "space")]),
        ({"view": "text", "submitted": True}, [("press", "space")]),
        (
            {"view": "text", "submitted": False, "trial": 0, "right": "cup", "wrong": ["tie"]},
            [("type", "cup"), ("press", "Return")],
        ),
        ({**QUESTION, **TRUTH}, [("click", 30, 40)]),
        ({**QUESTION, **TRUTH, "chosen": "tie"}, [("press", "space")]),
        (QUESTION, [("click", 10, 20)]),
        ({"view": "keys", "keys": {"cup": "1", "tie": "2"}, **TRUTH}, [("type", "2")]),
    ],
)
def test_what_it_does_about_a_view(seen, done):
    robot, hands, _, _ = acting()
    robot.react(seen)
    assert hands.done == done


def test_it_is_wrong_as_often_as_it_is_told_and_says_so_in_its_journal():
    robot, hands, journal, _ = acting(0.9, seed=5)
    for _ in range(2000):
        robot.react({**QUESTION, **TRUTH})
    right = sum(one == ("click", 30, 40) for one in hands.done)
    assert right / 2000 == pytest.approx(0.9, abs=0.03)
    said = [json.loads(line) for line in journal.getvalue().splitlines()]
    assert sum(entry["right"] for entry in said) == right
    assert {entry["said"] for entry in said} == {"cup", "tie"}


def test_it_repeats_itself_with_its_seed():
    runs = []
    for _ in range(2):
        robot, hands, _, _ = acting(0.5, seed=7)
        for _ in range(50):
            robot.react({**QUESTION, **TRUTH})
        runs.append(hands.done)
    assert runs[0] == runs[1]


def test_stamps_are_reported_one_a_line_and_end_with_an_empty_one():
    robot, hands, _, out = acting()
    robot.react({"view": "stamps", "count": 3})
    assert hands.done == [("press", "space")] * 3
    assert out.getvalue() == '{"down_s": 1.5}\n' * 3 + "\n"
