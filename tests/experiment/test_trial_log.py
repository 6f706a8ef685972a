"""The log: what was written is read back whole, whatever power cuts and answers did to it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from experiment.errors import ExperimentError
from experiment.records import Block, ParticipantPlan, Trial
from experiment.trial_log import (
    End,
    Event,
    LogWriter,
    encode,
    finished_trials,
    log_path,
    read_log,
)
from tests.experiment.design_lab import DesignLab, header, record, write_session

TRIALS = tuple(
    Trial(
        index=index,
        block=0,
        stimulus_id=index + 1,
        frame_id=index + 1,
        scene=f"s{index}",
        lighting="bright",
        setting="1-60_100_f8",
        category="water_bottle",
        objects=3,
        ev_offset=-4,
        task="q3",
        options=("cup", "water bottle", "other"),
        path="frames/x.jpg",
        sha256="00ff",
    )
    for index in range(3)
)
PLAN = ParticipantPlan("P01", "questions", 2, 0, "d" * 64, (Block(0, "q3", "What?", TRIALS),))

# half surrogate pairs too: broken input methods send them
ANSWERS = st.text(st.characters(exclude_categories=()))


def records():
    return [
        header(PLAN),
        Event("self-test", {"keys": True}),
        record(TRIALS[0], "water bottle"),
        record(TRIALS[1], "pâté שלום\n苹果", status="failed", early_keys=("a", "space")),
        record(TRIALS[1], "cup", showing=2),
        End("left", 2),
    ]


def without_time(found):
    return [{**vars(one), "at": ""} for one in found]


def test_what_is_appended_is_read_back(tmp_path):
    path = tmp_path / "P01" / "questions.jsonl"
    with LogWriter(path) as log:
        for one in records():
            log.append(one)
    assert without_time(read_log(path)) == without_time(records())
    assert all(one.at.endswith("+00:00") for one in read_log(path))
    assert len(path.read_bytes().splitlines()) == len(records())


@given(ANSWERS)
def test_any_answer_stays_one_line_and_comes_back(text):
    line = encode(record(TRIALS[0], text))
    assert line.count(b"\n") == 1
    assert json.loads(line)["answer"] == text
    line.decode()  # valid UTF-8


def test_cut_at_any_byte_loses_the_last_line_only(tmp_path):
    lines = [encode(one) for one in records()]
    data = b"".join(lines)
    path = tmp_path / "log.jsonl"
    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        # a line that lacks nothing but its end is whole
        whole = sum(cut >= len(b"".join(lines[: n + 1])) - 1 for n in range(len(lines)))
        assert len(read_log(path)) == whole
        if cut % 101 and data[cut - 3 : cut + 3].count(b"\n") == 0:
            continue  # a sync to the disk takes its time
        with LogWriter(path) as log:
            log.append(End("done", 3))
        found = read_log(path)
        assert len(found) == whole + 1
        assert isinstance(found[-1], End)


def test_zeros_of_a_power_cut_are_passed_over(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(encode(header(PLAN)) + b"\0" * 512)
    with LogWriter(path) as log:
        log.append(record(TRIALS[0], "cup"))
    assert [type(one).__name__ for one in read_log(path)] == ["Header", "TrialRecord"]


def test_what_no_session_wrote_is_refused(tmp_path):
    path = tmp_path / "log.jsonl"
    for line, what in (
        (b"[1, 2]\n", "is no record"),
        (b'{"type": "other"}\n', "is no record"),
        (b'{"type": "trial", "index": 1}\n', "lacks part"),
    ):
        path.write_bytes(encode(header(PLAN)) + line)
        with pytest.raises(ExperimentError, match=f"line 2 {what}"):
            read_log(path)
    assert read_log(tmp_path / "none.jsonl") == []


def test_a_newer_release_may_add_fields(tmp_path):
    path = tmp_path / "log.jsonl"
    document = json.loads(encode(End("done", 3)))
    path.write_text(json.dumps({**document, "added_later": 1}))
    assert read_log(path)[0].status == "done"


def test_what_was_shown_is_told_by_the_plan():
    shown = finished_trials(PLAN, records())
    assert {index: len(showings) for index, showings in shown.items()} == {0: 1, 1: 2}
    for changed in ({"participant": "P02"}, {"design_digest": "e" * 64}):
        with pytest.raises(ExperimentError, match="nothing was added"):
            finished_trials(PLAN, [header(PLAN, **changed), *records()[1:]])


@given(st.lists(ANSWERS, min_size=3, max_size=3))
@settings(max_examples=25, deadline=None)
def test_a_session_goes_through_a_file(tmp_path_factory, answers):
    path = tmp_path_factory.mktemp("log") / "log.jsonl"
    with LogWriter(path) as log:
        for trial, answer in zip(TRIALS, answers, strict=True):
            log.append(record(trial, answer))
    assert [one.answer for one in read_log(path)] == answers


def test_logs_lie_below_the_participant(tmp_path):
    lab = DesignLab(tmp_path / "lab", scenes=4)
    lab.design(trials=4)
    plan = lab.plan("P07")
    path = write_session(lab, plan, lambda trial: "x")
    lab.catalog.close()
    assert path == log_path(lab.workspace, "P07")
    assert path.relative_to(lab.workspace.root).as_posix() == "sessions/P07/questions.jsonl"
