"""The rungs on a camera in memory, one by one, and what the record says of them."""

import io
import os
import sys
from dataclasses import replace

import pytest

from capture.asking import asker
from capture.rescue import Recovery
from capture.states import RunState
from capture.stopping import StopRequest
from rig.errors import AskOperator, Reconnect, Retry
from rig.power import PowerSwitch, run_bounded
from schemas.capture_store import list_events
from tests.capture.lab import SMALL

FIRST = next(iter(SMALL)).exposure.stem


def rungs(lab):
    return [event.kind for event in list_events(lab.catalog)]


def switch(code, *, timeout_s=20.0):
    return PowerSwitch((sys.executable, "-c", code), timeout_s=timeout_s, boot_s=0.0)


def fails(lab, verb, errors):
    lab.camera.faults.add(verb, *errors)


# ---- the camera's ladder


@pytest.mark.parametrize(
    ("failures", "last"),
    [(1, "retry"), (3, "retry"), (4, "rebuild"), (5, "reconnect"), (7, "reconnect")],
)
def test_so_many_failures_lead_to_this_rung_and_the_sweep_is_whole(lab, failures, last):
    fails(lab, "shoot", [Retry("busy")] * failures)
    summary = lab.sweep()
    assert (summary.status, summary.failed, len(lab.frames())) == ("done", 0, 8)
    assert rungs(lab)[-1] == last
    assert sum(summary.retries.values()) == failures == len(rungs(lab))
    assert lab.frames()[0].attempt == failures + 1


def test_at_the_top_the_operator_is_asked_with_the_cause_and_what_to_do(lab):
    fails(lab, "shoot", [Retry("error 70")] * 8)
    summary = lab.sweep()
    assert summary.status == "stopped"
    assert summary.reason == "the camera failed 8 times in a row: error 70"
    assert "switch the camera off and on" in summary.next
    assert rungs(lab)[-1] == "ask"
    assert lab.sweep().status == "done"


def test_one_picture_leads_back_to_the_ground(lab):
    shoot, calls = lab.camera.shoot, []

    def every_second(timeout_s):
        calls.append(timeout_s)
        if len(calls) % 2:
            raise Retry("busy")
        return shoot(timeout_s)

    lab.camera.shoot = every_second
    assert lab.sweep().status == "done"
    assert rungs(lab) == ["retry"] * 8


def test_a_new_session_has_all_settings_sent_again(lab):
    fails(lab, "shoot", [Reconnect("pulled")])
    lab.sweep()
    names = [name for name, _ in lab.camera.sets]
    assert names[:6] == ["shutter", "iso", "f_number"] * 2


def test_leftovers_of_the_lost_session_are_discarded_and_noted(lab):
    shoot = lab.camera.shoot

    def lost_once(timeout_s):
        picture = shoot(timeout_s)
        if len(lab.camera.taken) == 2:
            lab.camera.buffer.append(picture.data)
            raise Reconnect("pulled during the download")
        return picture

    lab.camera.shoot = lost_once
    assert lab.sweep().status == "done"
    assert rungs(lab) == ["reconnect", "leftover"]


def test_a_body_that_is_busy_for_a_while_is_asked_until_it_takes_a_setting(lab):
    """The probe after a refusal outlasts a busy body: one rung, one exposure."""
    fails(lab, "apply", [Retry("busy")] * 12)
    summary = lab.sweep()
    assert summary.status == "done"
    assert summary.retries == {"retry": 1}


def test_deadlines_come_from_exposure_and_margin(lab):
    shoot, waits = lab.camera.shoot, []

    def noted(timeout_s):
        waits.append(timeout_s)
        return shoot(timeout_s)

    lab.camera.shoot = noted
    lab.sweep(recovery=Recovery(margin_s=7.0))
    assert sorted(set(waits)) == sorted({2 * s.exposure.shutter_s + 7.0 for s in SMALL})


# ---- the power


def test_the_power_is_cycled_when_nothing_else_helped(lab, tmp_path):
    mark = tmp_path / "mark"
    power = switch(f"open({str(mark)!r}, 'a').write('x'); print('port 2 off, on')")
    fails(lab, "shoot", [Retry("busy")] * 8)
    summary = lab.sweep(recovery=Recovery(power))
    assert summary.status == "done"
    assert mark.read_text() == "x"
    assert rungs(lab)[-2:] == ["power_cycle", "power"]
    assert list_events(lab.catalog)[-1].detail == "port 2 off, on"
    assert summary.retries["power_cycle"] == 1


@pytest.mark.parametrize(
    ("code", "said"), [("import sys; sys.exit('no hub')", "status 1: no hub"), ("1/0", "status 1")]
)
def test_a_power_command_that_fails_is_noted_and_the_climb_goes_on(lab, code, said):
    fails(lab, "shoot", [Retry("busy")] * 8)
    assert lab.sweep(recovery=Recovery(switch(code))).status == "done"
    assert rungs(lab)[-2:] == ["power_cycle", "reconnect"]
    assert said in list_events(lab.catalog)[-1].detail


def test_after_the_power_came_back_in_vain_the_operator_is_asked(lab):
    fails(lab, "shoot", [Retry("busy")] * 20)
    summary = lab.sweep(recovery=Recovery(switch("")))
    assert (summary.status, rungs(lab)[-1]) == ("stopped", "ask")
    assert summary.retries == {
        "retry": 3,
        "rebuild": 1,
        "reconnect": 5,
        "power_cycle": 1,
        "ask": 1,
    }


def test_a_power_command_that_hangs_is_killed():
    with pytest.raises(Retry, match=r"longer than 0\.2 s"):
        run_bounded((sys.executable, "-c", "import time; time.sleep(600)"), 0.2)


def test_what_a_power_command_leaves_running_is_not_waited_for():
    lasting = "[sys.executable, '-c', 'import time; time.sleep(9)']"
    code = f"import subprocess, sys; subprocess.Popen({lasting})"
    assert run_bounded((sys.executable, "-c", code), 60.0) == ""


def test_a_power_command_that_does_not_exist_is_named():
    with pytest.raises(Retry, match="no-such-program could not be started"):
        run_bounded(("no-such-program",), 1.0)


# ---- the ladder of pictures


def spoil_all(lab, wrong):
    """Every picture while `wrong` says so is cut off."""
    shoot = lab.camera.shoot

    def spoiled(timeout_s):
        picture = shoot(timeout_s)
        return replace(picture, data=picture.data[:500]) if wrong(lab.camera) else picture

    lab.camera.shoot = spoiled


def test_pictures_that_are_refused_shot_after_shot_stop_the_run(lab):
    spoil_all(lab, lambda _camera: True)
    summary = lab.sweep()
    assert summary.status == "stopped"
    assert "no picture was what was asked for" in summary.reason
    assert summary.remaining == 8
    # In doubt each verdict is waited for: not the whole night is given up for one cause.
    assert 1 <= len(lab.frames()) <= 4
    assert {frame.outcome for frame in lab.frames()} == {"failed"}
    assert set(rungs(lab)) == {"undecodable", "rebuild", "reconnect", "ask"}


def test_refused_pictures_that_a_new_session_cures(lab):
    opened, sessions = lab.camera.open, []

    def opens():
        sessions.append(1)
        return opened()

    lab.camera.open = opens
    spoil_all(lab, lambda _camera: len(sessions) < 2)
    summary = lab.sweep()
    assert (summary.status, summary.failed, len(lab.frames())) == ("done", 0, 8)
    assert rungs(lab).count("rebuild") == 1


# ---- a person at the terminal


def test_the_run_goes_on_in_place_when_the_operator_says_so(lab):
    asked = []

    def ask(error):
        asked.append((str(error), error.action))
        return True

    fails(lab, "shoot", [AskOperator("the card is full", "put in an empty card")])
    summary = lab.sweep(recovery=Recovery(ask=ask))
    assert (summary.status, len(lab.frames())) == ("done", 8)
    assert asked == [("the card is full", "put in an empty card")]
    assert rungs(lab) == ["asked", "answered"]
    assert RunState.ASKING in {snapshot.state for snapshot in lab.snapshots}


def test_the_run_ends_when_the_operator_says_no(lab):
    fails(lab, "shoot", [AskOperator("the card is full", "put in an empty card")])
    summary = lab.sweep(recovery=Recovery(ask=lambda _error: False))
    assert (summary.status, summary.reason) == ("stopped", "the card is full")


def test_the_operator_is_asked_again_while_it_is_not_done(lab):
    lab.camera.faults.add("shoot", AskOperator("error 99", "switch it off and on"))
    answers = iter([True, True, False])

    def ask(_error):
        lab.camera.dial = "P"
        return next(answers)

    summary = lab.sweep(recovery=Recovery(ask=ask))
    assert summary.status == "stopped"
    assert "dial is on P" in summary.reason
    assert rungs(lab) == ["asked", "answered", "asked", "answered", "asked"]


def test_a_stop_ends_the_waiting_for_the_operator():
    stop = StopRequest()
    stop.ask("Ctrl-C")
    with _Pipe("") as answers:
        assert asker(stop, lambda _text: None, answers)(AskOperator("error 99")) is False


@pytest.mark.parametrize(("typed", "goes_on"), [("\n", True), ("q\n", False), ("Q\n", False)])
def test_enter_goes_on_and_q_stops(typed, goes_on):
    said = []
    with _Pipe(typed) as answers:
        ask = asker(StopRequest(), said.append, answers)
        assert ask(AskOperator("the lamp is off", "switch it on")) is goes_on
    assert said[0] == "WAITING FOR YOU: the lamp is off"
    assert "switch it on" in said[1]


def test_the_end_of_the_input_is_no_answer():
    with _Pipe("") as answers:
        answers.end()
        assert asker(StopRequest(), lambda _text: None, answers)(AskOperator("x")) is False


def test_nobody_is_asked_without_a_terminal(monkeypatch):
    for stdin in (None, io.StringIO("")):
        monkeypatch.setattr(sys, "stdin", stdin)
        assert asker(StopRequest(), lambda _text: None) is None


class _Pipe:
    """What a person types, as a file that `select` knows."""

    def __init__(self, typed):

        reading, self._writing = os.pipe()
        self._file = os.fdopen(reading)
        os.write(self._writing, typed.encode())

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.end()
        self._file.close()

    def end(self):

        if self._writing is not None:
            os.close(self._writing)
            self._writing = None

    def fileno(self):
        return self._file.fileno()

    def readline(self):
        return self._file.readline()
