"""A session: the order of things, what is on the disk when, and how it goes on after anything."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from experiment import texts
from experiment.dialogs import STOP
from experiment.errors import ExperimentError
from experiment.session import MAX_SHOWINGS, DeclinedError, Opening, question_of
from experiment.trial import AnswerKind, Question
from experiment.trial_log import End, Event, LogWriter, TrialRecord, read_log
from experiment.views import Mask, OptionsView, Page, Picture, TextView
from tests.experiment.scripted_screen import ScriptedScreen, diligent
from tests.experiment.scripted_session import PICTURE, make_plan, make_trial, start


@pytest.fixture
def log_file(tmp_path):
    return tmp_path / "sessions" / "P01" / "questions.jsonl"


def trials_in(path):
    return [record for record in read_log(path) if isinstance(record, TrialRecord)]


def events_in(path):
    return [record.name for record in read_log(path) if isinstance(record, Event)]


def pages(screen):
    return [view.title for view, _, _ in screen.runs() if isinstance(view, Page)]


def test_every_trial_of_the_plan_is_recorded_once_in_order(log_file):
    end, _ = start(log_file)
    shown = trials_in(log_file)
    assert [record.index for record in shown] == [0, 1, 2, 3, 4, 5]
    assert [record.task for record in shown] == ["q1"] * 3 + ["q4"] * 3
    assert {record.showing for record in shown} == {1}
    assert {record.status for record in shown} == {"proven"}
    assert [record.answer for record in shown] == ["cup"] * 3 + ["A) 3"] * 3
    assert (end.status, end.trials) == ("done", 6)
    assert isinstance(read_log(log_file)[-1], End)


def test_a_record_holds_the_evidence_of_its_timing(log_file):
    _, screen = start(log_file)
    record = trials_in(log_file)[0]
    at = {type(view): at_s for view, at_s, _ in reversed(screen.runs()[:8])}
    assert record.image_onset_s == pytest.approx(at[Picture], abs=1e-6)
    assert record.mask_onset_s == pytest.approx(at[Mask], abs=1e-6)
    assert record.prompt_onset_s == pytest.approx(at[TextView], abs=1e-6)
    assert record.image_s == pytest.approx(0.2, abs=1e-6)
    assert record.mask_s == pytest.approx(0.2, abs=1e-6)
    assert (record.image_frames, record.mask_frames, record.dropped_frames) == (12, 12, 0)
    assert record.latency_s == pytest.approx(0.8, abs=1e-6)
    assert record.frame_sha256 == make_trial(0, 0, "q1").sha256


def test_a_block_opens_with_its_question_and_breaks_lie_between(log_file):
    _, screen = start(log_file)
    assert pages(screen) == [
        "Instructions", "Block 1 of 2", texts.BREAK_TITLE, "Block 2 of 2", texts.END_TITLE,
    ]  # fmt: skip
    openings = [v for v, _, _ in screen.runs() if isinstance(v, Page) and v.title == "Block 2 of 2"]
    assert openings[0].body == "Question q4?"


def test_each_trial_is_on_the_disk_before_the_next_fixation(log_file):
    screen = ScriptedScreen()
    on_disk = []

    def react(one, view, at_s):
        if isinstance(view, Picture):
            on_disk.append(len(trials_in(log_file)))
        diligent()(one, view, at_s)

    screen.on_view = react
    start(log_file, screen=screen)
    assert on_disk == [0, 1, 2, 3, 4, 5]


def failing(numbers):
    """A screen that drops a refresh in the pictures of these numbers, counted as shown."""
    screen = ScriptedScreen()
    seen = []

    def react(one, view, at_s):
        if isinstance(view, Picture):
            if len(seen) in numbers:
                one.drop_at.add(len(one.shown) + 3)
            seen.append(view)
        diligent()(one, view, at_s)

    screen.on_view = react
    return screen


def test_a_trial_whose_timing_failed_is_kept_and_shown_again_at_the_end_of_its_block(log_file):
    _, screen = start(log_file, screen=failing({1}))
    shown = trials_in(log_file)
    assert [(r.index, r.showing, r.status) for r in shown] == [
        (0, 1, "proven"), (1, 1, "failed"), (2, 1, "proven"), (1, 2, "proven"),
        (3, 1, "proven"), (4, 1, "proven"), (5, 1, "proven"),
    ]  # fmt: skip
    assert shown[1].dropped_frames == 1
    assert "Once more" in pages(screen)


def test_a_trial_that_fails_again_is_not_shown_for_ever(log_file):
    end, _ = start(log_file, screen=failing(range(1000)))
    shown = trials_in(log_file)
    assert len(shown) == 6 * MAX_SHOWINGS
    assert end == End("done", 6)


def test_consent_is_asked_once_and_recorded(log_file):
    opening = Opening("Look.", consent="The study.\n\nYour rights.")
    _, screen = start(log_file, opening=opening)
    consents = [r for r in read_log(log_file) if isinstance(r, Event) and r.name == "consent"]
    digest = hashlib.sha256(opening.consent.encode()).hexdigest()
    assert [r.detail for r in consents] == [{"answer": texts.AGREE, "text_sha256": digest}]
    assert pages(screen)[0] == texts.CONSENT_TITLE
    assert texts.CONSENT_TITLE not in pages(start(log_file, opening=opening)[1])
    changed = Opening("Look.", consent="Another study.")
    assert texts.CONSENT_TITLE in pages(start(log_file, opening=changed)[1])


def test_without_consent_nothing_is_shown_and_the_next_start_asks_again(log_file):
    def decline(screen, view, at_s):
        if isinstance(view, OptionsView):
            screen.type(at_s + 0.5, "2")
        elif isinstance(view, Page):
            screen.key(at_s + 0.2, "space")

    opening = Opening("Look.", consent="The study.")
    screen = ScriptedScreen(on_view=decline)
    with pytest.raises(DeclinedError):
        start(log_file, screen=screen, opening=opening)
    assert not any(isinstance(view, Picture) for _, view in screen.shown)
    assert trials_in(log_file) == []
    assert texts.CONSENT_TITLE in pages(start(log_file, opening=opening)[1])


def test_age_and_sex_are_handed_over_and_never_written_to_the_log(log_file):
    said = []

    def react(screen, view, at_s):
        if isinstance(view, TextView) and view.prompt == texts.AGE_QUESTION and not view.text:
            screen.type(at_s + 0.1, "thirty-four")
            screen.key(at_s + 0.2, "enter")
        elif isinstance(view, TextView) and view.prompt == texts.SEX_QUESTION:
            screen.key(at_s + 0.2, "enter")
        else:
            diligent()(screen, view, at_s)

    opening = Opening("Look.", ask_person=True)
    start(log_file, screen=ScriptedScreen(on_view=react), opening=opening, person=said.append)
    assert said == [{"age": "thirty-four", "sex": ""}]
    assert b"thirty-four" not in log_file.read_bytes()


def test_practice_is_shown_and_not_recorded(log_file):
    practice = tuple((Question("What?", AnswerKind.TEXT), PICTURE) for _ in range(4))
    _, screen = start(log_file, opening=Opening("Look.", practice=practice))
    assert len([view for view, _, _ in screen.runs() if isinstance(view, Picture)]) == 4 + 6
    assert len(trials_in(log_file)) == 6
    assert "practice" in events_in(log_file)


def leaving(at_picture, say_yes=True):
    """A participant who presses Esc at a picture and, asked, stops."""
    seen = []

    def react(screen, view, at_s):
        if isinstance(view, Picture):
            seen.append(view)
            if len(seen) == at_picture:
                screen.key(at_s + 0.05, "escape")
        if isinstance(view, OptionsView) and view.boxes[-1].label == STOP:
            screen.type(at_s + 0.3, "2" if say_yes else "1")
        else:
            diligent()(screen, view, at_s)

    return ScriptedScreen(on_view=react)


def test_who_leaves_keeps_the_answers_so_far_and_can_go_on(log_file):
    end, _ = start(log_file, screen=leaving(3))
    assert end == End("left", 2)
    assert [record.index for record in trials_in(log_file)] == [0, 1]
    end, screen = start(log_file)
    assert end.status == "done"
    assert [record.index for record in trials_in(log_file)] == [0, 1, 2, 3, 4, 5]
    flagged = [r.index for r in trials_in(log_file) if r.extra.get("maybe_seen_before")]
    assert flagged == [2], "its picture had been visible before"
    assert pages(screen)[:2] == ["Instructions", "Block 1 of 2"]


def test_a_finished_session_that_is_started_again_shows_no_picture(log_file):
    start(log_file)
    _, screen = start(log_file)
    assert not any(isinstance(view, Picture) for _, view in screen.shown)
    assert len(trials_in(log_file)) == 6


def test_a_log_of_another_design_is_refused_before_anything_is_shown(log_file):
    from experiment.trial_log import Header

    with LogWriter(log_file) as log:
        log.append(Header("P01", "questions", 1, "other", 1, {}, {}, "frames"))
    screen = ScriptedScreen(on_view=diligent())
    with pytest.raises(ExperimentError, match="design"):
        start(log_file, screen=screen)
    assert screen.shown == []


def test_a_failed_trial_whose_repetition_was_cut_off_is_shown_again_after_resume(log_file):
    start(log_file, screen=failing({1}))
    lines = log_file.read_bytes().splitlines(keepends=True)
    repeated = next(i for i, line in enumerate(lines) if json.loads(line).get("showing") == 2)
    log_file.write_bytes(b"".join(lines[:repeated]))
    start(log_file)
    assert [(r.index, r.showing) for r in trials_in(log_file)][3] == (1, 2)


def test_another_window_that_takes_the_keyboard_is_recorded(log_file):
    screen = ScriptedScreen(on_view=diligent())
    alerts = [["another window took the keyboard"]]
    screen.alerts = lambda: alerts.pop() if alerts else []
    start(log_file, screen=screen)
    noted = [r for r in read_log(log_file) if isinstance(r, Event) and r.name == "screen"]
    assert [r.detail["trial"] for r in noted] == [0]


def test_the_reaction_time_task_records_a_miss_as_no_answer_in_time(log_file):
    plan = make_plan(("choice",), 2, study="rt3")
    seen = []

    def react(screen, view, at_s):
        if isinstance(view, Picture):
            seen.append(view)
            if len(seen) == 1:
                screen.type(at_s + 0.7, "2")
        else:
            diligent()(screen, view, at_s)

    start(log_file, plan, ScriptedScreen(on_view=react))
    first, second = trials_in(log_file)
    assert (first.answer, first.error, first.latency_s) == ("leopard", "", pytest.approx(0.7))
    assert (second.answer, second.error, second.latency_s) == ("", "missed", None)


def test_a_question_is_asked_by_what_the_stimulus_offers():
    kinds = {task: question_of(make_trial(0, 0, task), "?").kind for task in ("q1", "q4", "choice")}
    assert kinds == {
        "q1": AnswerKind.TEXT, "q4": AnswerKind.OPTIONS, "choice": AnswerKind.KEYS,
    }  # fmt: skip
    assert question_of(make_trial(0, 0, "choice"), "?").deadline_s == 2.5


def test_sigkill_at_every_step_loses_the_trial_on_screen_at_most(tmp_path):
    """Real processes, killed at each view, before, within and after each append."""
    script = Path(__file__).with_name("kill_session.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    starts = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(starts) > 40
    assert starts[-1]["killed"] is False, "the last one ran to its end"
    assert all(one["killed"] for one in starts[:-1])
    for one in starts:
        assert one["at_end"] == [0, 1, 2, 3], one
        assert one["showings"] == [1, 1, 1, 1], one
        assert one["status"] == "done", one
        # what was shown to its end before the kill is never lost
        assert one["after_kill"] == list(range(len(one["after_kill"]))), one
        assert one["answered"] - len(one["after_kill"]) <= 1, one
