"""The daemon over devices in memory: its states, its commands, and what they promise."""

import errno
import json
import threading
from datetime import timedelta

import pytest

import capture.daemon.live
import capture.storing
from capture.daemon.jobs import BatchSpec, JobBook, PreflightSpec, SweepSpec
from capture.daemon.past import offline_state
from capture.daemon.problems import RefusedError
from capture.daemon.service import Service
from capture.sweep import run_sweep
from rig.errors import Abort, AskOperator
from rig.ownership import owned
from schemas.capture_store import add_event, list_events, list_runs, put_lighting, start_run
from schemas.frame_store import list_frames
from schemas.records import utc_now
from tests.capture.daemon_lab import VERSION, DaemonLab, daemon_lab
from tests.capture.lab import BRIGHT, SMALL


@pytest.fixture
def daemon(lab, monkeypatch):
    with daemon_lab(lab, monkeypatch) as running:
        yield running


def outcomes(lab):
    return {f.setting: f.outcome for f in list_frames(lab.catalog)}


def kinds(lab):
    return [event.kind for event in list_events(lab.catalog)]


def test_a_sweep_ends_as_one_without_a_daemon(daemon, make_lab):
    assert (daemon.state["state"], daemon.state["next"]) == ("idle", "start a sweep")
    job = daemon.begin()
    state = daemon.wait("done", "failed")
    assert state["state"] == "done"
    assert (state["job"]["id"], state["job"]["cause"]) == (job, "completed")
    assert (state["job"]["planned"], state["job"]["done"]) == (8, 8)
    assert state["simulated"]
    other = make_lab()
    other.sweep()
    assert outcomes(daemon.lab) == outcomes(other)
    frames = [json.loads(data) for data in daemon.events("frame")]
    rows = {f.setting: (f.id, f.outcome) for f in list_frames(daemon.lab.catalog)}
    assert {f["stem"]: (f["id"], f["outcome"]) for f in frames} == rows
    assert len(frames) == 8


def test_a_pause_comes_after_the_frame_is_on_disk(daemon):
    daemon.shutter.hold_at(3)
    daemon.begin()
    daemon.shutter.wait_for(3)
    left_s = daemon.state["job"]["left_s"]
    daemon.service.pause()
    assert daemon.state["state"] == "pausing"
    daemon.service.pause()  # repeating changes nothing
    daemon.shutter.release()
    state = daemon.wait("paused")
    assert daemon.shutter.begun == 3
    assert len(outcomes(daemon.lab)) == 3 == state["job"]["done"]
    assert "on hold" in state["sentence"]
    assert state["job"]["left_s"] <= left_s
    daemon.service.resume()
    daemon.service.resume()
    assert daemon.wait("done")["job"]["done"] == 8
    assert kinds(daemon.lab).count("paused") == kinds(daemon.lab).count("pause_ended") == 1
    assert len(list_runs(daemon.lab.catalog)) == 1


@pytest.mark.parametrize("asleep", ["pausing", "paused"])
def test_a_stop_works_while_pausing_and_paused(daemon, asleep):
    daemon.shutter.hold_at(2)
    job = daemon.begin()
    daemon.shutter.wait_for(2)
    daemon.service.pause()
    if asleep == "paused":
        daemon.shutter.release()
    daemon.wait(asleep)
    daemon.service.stop(job)
    daemon.service.stop(job)
    daemon.shutter.release()
    state = daemon.wait("interrupted")
    assert state["job"]["cause"] == "stopped"
    assert len(outcomes(daemon.lab)) == 2
    assert "6 are missing" in state["sentence"]
    assert daemon.service.resume().id != job
    assert daemon.wait("done")["job"]["done"] == 8


def test_a_pause_that_does_not_come_says_so(lab, monkeypatch):
    ahead_s = [0.0]
    with daemon_lab(lab, monkeypatch, clock=lambda: ahead_s[0]) as daemon:
        daemon.shutter.hold_at(2)
        job = daemon.begin()
        daemon.shutter.wait_for(2)
        daemon.service.pause()
        assert daemon.service.trouble is None
        ahead_s[0] += 3600
        state = daemon.state
        assert state["state"] == "pausing"
        assert "takes longer than any exposure" in state["sentence"]
        assert state["can"]["stop"] is True
        key, fault = daemon.service.trouble
        assert (fault.code, job in key) == ("pause_late", True)
        daemon.service.stop(job)
        daemon.shutter.release()
        daemon.wait("interrupted")


def test_paused_time_is_no_work(lab, monkeypatch):
    """By a clock of its own: the wall clock may step by a day meanwhile."""
    ahead_s, ahead = [0.0], [timedelta()]
    monkeypatch.setattr(capture.daemon.live, "utc_now", lambda: utc_now() + ahead[0])
    with daemon_lab(lab, monkeypatch, clock=lambda: ahead_s[0]) as daemon:
        daemon.shutter.hold_at(2)
        daemon.begin()
        daemon.shutter.wait_for(2)
        ahead_s[0] += 30
        daemon.service.pause()
        daemon.shutter.release()
        left_s = daemon.wait("paused")["job"]["left_s"]
        ahead_s[0] += 3600
        ahead[0] = timedelta(days=-1)
        state = daemon.state
        assert (state["job"]["work_s"], state["job"]["paused_s"]) == (30, 3600)
        assert state["job"]["left_s"] == left_s
        ahead[0] = timedelta(days=1)
        daemon.service.resume()
        ended = daemon.wait("done")
        assert (ended["job"]["work_s"], ended["job"]["paused_s"]) == (30, 3600)


def test_a_start_is_one_job_however_often_it_is_sent(daemon):
    daemon.shutter.hold_at(1)
    spec = SweepSpec(scene="cups", lighting="bright", plan=SMALL, checklist_done=True)
    seen = daemon.state["rev"]
    first, begun = daemon.service.begin(spec, key="k", rev=seen)
    again, begun_again = daemon.service.begin(spec, key="k", rev=seen)
    assert (first.id, begun, begun_again) == (again.id, True, False)
    with pytest.raises(RefusedError) as busy:
        daemon.service.begin(spec, key="other")
    assert busy.value.reason == "busy"
    daemon.shutter.release()
    daemon.wait("done")
    with pytest.raises(RefusedError) as moved:
        daemon.service.begin(spec, key="third", rev=seen)
    assert moved.value.reason == "moved"
    assert daemon.service.begin(spec, key="k", rev=seen)[0].id == first.id


def test_commands_that_cannot_be_say_why(daemon):
    for command, reason in (
        (daemon.service.pause, "nothing_runs"),
        (lambda: daemon.service.stop("x"), "nothing_runs"),
        (daemon.service.resume, "nothing_to_resume"),
        (lambda: daemon.service.answer("x", "done"), "no_question"),
        (lambda: daemon.service.acknowledge("x"), "no_alert"),
    ):
        with pytest.raises(RefusedError) as error:
            command()
        assert error.value.reason == reason
    with pytest.raises(Abort, match="known: cups"):
        daemon.service.begin(SweepSpec(scene="mugs", lighting="bright"))
    with pytest.raises(Abort, match="no lighting"):
        daemon.service.begin(SweepSpec(scene="cups", lighting="dusk"))
    for name in ("../plan.toml", "/etc/passwd", "rig.toml", "missing.toml"):
        with pytest.raises(Abort, match="no file"):
            daemon.service.begin(SweepSpec(scene="cups", lighting="bright", plan=name))
    assert daemon.state["state"] == "idle"


def test_a_stop_needs_what_was_confirmed(daemon):
    daemon.shutter.hold_at(2)
    job = daemon.begin()
    daemon.shutter.wait_for(2)
    text = daemon.state["confirm"]["text"]
    assert "cups" in text
    assert "8 shots" in text
    for wrong in (None, "another job"):
        with pytest.raises(RefusedError, match="8 shots") as error:
            daemon.service.stop(wrong)
        assert error.value.reason == "confirm"
    assert not daemon.service.live.stop.asked
    daemon.service.stop(job)
    daemon.shutter.release()
    daemon.wait("interrupted")


# ---- a person is needed


def test_the_operator_is_asked_and_the_run_goes_on(daemon):
    daemon.lab.camera.faults.add("shoot", AskOperator("the card is full", "put in an empty one"))
    daemon.begin()
    state = daemon.wait("needs_operator")
    question = state["question"]
    assert (question["kind"], question["text"]) == ("operator", "the card is full")
    assert state["next"] == question["action"] == "put in an empty one"
    assert state["sentence"].startswith("Waiting for you: the card is full")
    assert daemon.service.trouble[1].code == "question"
    with pytest.raises(RefusedError):
        daemon.service.answer(question["id"], "no such answer")
    daemon.service.answer(question["id"], "done")
    assert daemon.wait("done")["job"]["done"] == 8
    with pytest.raises(RefusedError):
        daemon.service.answer(question["id"], "done")
    assert len(list_runs(daemon.lab.catalog)) == 1


def test_a_no_ends_the_job_resumably(daemon):
    daemon.lab.camera.faults.add("shoot", AskOperator("the card is full", "put in an empty one"))
    daemon.begin()
    daemon.service.answer(daemon.wait("needs_operator")["question"]["id"], "stop")
    state = daemon.wait("interrupted")
    assert state["job"]["cause"] == "stopped"
    assert state["can"]["resume"] is True


def test_a_stop_needs_no_answer(daemon):
    daemon.lab.camera.faults.add("shoot", AskOperator("the card is full", "put in an empty one"))
    job = daemon.begin()
    daemon.wait("needs_operator")
    daemon.service.stop(job)
    state = daemon.wait("interrupted")
    assert state["question"] is None
    assert state["job"]["cause"] == "stopped"


def test_what_the_preflight_refuses_can_be_put_right(daemon):
    daemon.lab.camera.dial = "P"
    daemon.begin()
    state = daemon.wait("needs_operator")
    assert "dial" in state["question"]["text"]
    daemon.lab.camera.dial = "Manual"
    daemon.service.answer(state["question"]["id"], "done")
    assert daemon.wait("done")["job"]["done"] == 8
    found = {one["check"]: one["status"] for one in daemon.service.live.found["findings"]}
    assert found["mode_dial"] == "ok"


def test_where_nobody_answers_the_job_ends_with_the_same_words(daemon, make_lab):
    daemon.lab.camera.dial = "P"
    daemon.begin(attended=False)
    state = daemon.wait("interrupted")
    assert state["job"]["cause"] == "needed_operator"
    assert "dial" in state["job"]["fault"]["text"]
    assert state["next"] == state["job"]["fault"]["action"]
    assert daemon.service.trouble[1].code == "needed_operator"
    daemon.lab.camera.dial = "Manual"
    error = AskOperator("the card is full", "put in an empty one")
    daemon.lab.camera.faults.add("shoot", error)
    daemon.begin(attended=False)
    state = daemon.until(lambda state: "card" in state["sentence"])
    assert state["next"] == "put in an empty one"


def test_a_full_disk_asks_and_a_new_run_takes_the_rest(daemon, monkeypatch):
    write, left = capture.storing.write_atomically, [1]

    def full_once(path, data):
        if left[0]:
            left[0] -= 1
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, data)

    monkeypatch.setattr(capture.storing, "write_atomically", full_once)
    daemon.begin()
    state = daemon.wait("needs_operator")
    assert "No space left" in state["sentence"]
    assert "make room" in state["next"]
    assert all(not path.name.endswith(".partial") for path in daemon.lab.workspace.stored_files())
    daemon.service.answer(state["question"]["id"], "done")
    assert daemon.wait("done")["job"]["done"] == 8
    assert [run.status for run in list_runs(daemon.lab.catalog)] == ["stopped", "done"]


def test_wrong_light_waits_for_somebody_and_ends_by_itself(daemon):
    daemon.shutter.hold_at(3)
    daemon.begin()
    daemon.shutter.wait_for(3)
    daemon.lab.meter.lux = 700
    daemon.shutter.release()
    state = daemon.wait("needs_operator")
    assert state["question"] is None
    assert "700 lux, outside 900 to 1100 lux" in state["sentence"]
    assert "set the panels" in state["next"]
    assert state["light"]["trouble"]
    assert daemon.service.trouble is None, "it may end by itself: no alarm at once"
    daemon.lab.meter.lux = 1000
    assert daemon.wait("done")["job"]["done"] == 8


def test_the_checklist_is_asked_statement_by_statement(daemon):
    daemon.begin(checklist_done=False)
    asked = []

    def answered(state):
        question = state["question"]
        if question and question["id"] not in asked:
            asked.append(question["id"])
            assert question["kind"] == "checklist"
            assert [one["id"] for one in question["answers"]] == ["yes", "no"]
            daemon.service.answer(question["id"], "yes")
        return state["state"] == "done"

    daemon.until(answered)
    assert len(asked) >= 3


def test_a_preflight_alone(daemon):
    daemon.service.begin(PreflightSpec(lighting="bright", burst=False, checklist_done=True))
    state = daemon.wait("done", "failed")
    assert "findings" in state["next"] or state["state"] == "failed"
    checks = {one["check"] for one in daemon.service.live.found["findings"]}
    assert {"mode_dial", "disk"} <= checks
    assert not list_runs(daemon.lab.catalog)
    assert json.loads(daemon.events("preflight")[-1])["findings"]


# ---- a batch


BATCH = """
plan = "small.toml"
lightings = ["bright", "dim"]
[[scene]]
name = "cups"
category = "cup"
count = 3
"""


def test_a_batch_leads_through_its_sweeps(daemon):
    root = daemon.lab.workspace.root
    (root / "small.toml").write_text(SMALL.to_toml())
    (root / "tonight.toml").write_text(BATCH)
    daemon.service.begin(BatchSpec(batch="tonight.toml", checklist_done=True))
    asked = []

    def obeyed(state):
        question = state["question"]
        if question and question["id"] not in asked:
            asked.append(question["id"])
            assert question["kind"] == "prompt"
            lux = 1000.0 if len(asked) == 1 else 10.0
            assert f"set the panels to {lux:g} lux" in question["action"]
            daemon.lab.meter.lux = daemon.lab.camera.lux = lux
            daemon.service.answer(question["id"], "done")
        return state["state"] in ("done", "failed")

    state = daemon.until(obeyed)
    assert state["state"] == "done", state["sentence"]
    assert len(asked) == 2
    assert [leg["state"] for leg in state["batch"]["legs"]] == ["complete", "complete"]
    assert len(list(list_frames(daemon.lab.catalog))) == 16


def test_a_batch_that_was_left_goes_on(daemon):
    root = daemon.lab.workspace.root
    (root / "small.toml").write_text(SMALL.to_toml())
    (root / "tonight.toml").write_text(BATCH)
    first = daemon.service.begin(BatchSpec(batch="tonight.toml", checklist_done=True))[0]
    state = daemon.wait("needs_operator")
    assert state["batch"]["legs"][0]["planned"] == 8
    daemon.service.answer(state["question"]["id"], "stop")
    assert daemon.wait("interrupted")["job"]["cause"] == "stopped"
    again = daemon.service.resume()
    assert (again.id != first.id, again.spec) == (True, first.spec)
    daemon.service.stop(again.id)
    daemon.wait("interrupted")


# ---- what stays


def test_a_killed_daemon_comes_back_and_says_what_was_interrupted(lab, monkeypatch):
    with daemon_lab(lab, monkeypatch) as daemon:
        daemon.shutter.hold_at(4)
        job = daemon.begin()
        daemon.shutter.wait_for(4)
        book = (lab.workspace.root / "daemon-jobs.json").read_bytes()  # as a kill leaves it
        daemon.service.stop(job)
        daemon.shutter.release()
        daemon.wait("interrupted")
    (lab.workspace.root / "daemon-jobs.json").write_bytes(book)
    with daemon_lab(lab, monkeypatch) as daemon:
        state = daemon.state
        assert (state["state"], state["job"]["cause"]) == ("interrupted", "killed")
        assert state["job"]["id"] == job
        assert "killed" in state["sentence"]
        assert "cups under bright" in state["sentence"]
        assert "4 of 8" in state["sentence"]
        assert state["can"]["resume"] is True
        assert daemon.service.trouble[1].code == "killed"
        taken = len(lab.camera.taken)
        daemon.service.resume()
        assert daemon.wait("done")["job"]["done"] == 8
        assert len(lab.camera.taken) == taken + 4


def test_a_run_without_a_daemon_that_was_killed_shows_the_same(lab, monkeypatch):
    def dies(_snapshot):
        if len(lab.camera.taken) == 3:
            raise SystemExit

    with pytest.raises(SystemExit):
        lab.sweep(watch=dies)
    with lab.catalog.write() as connection:
        connection.exec_driver_sql("UPDATE runs SET status = NULL, ended_at = NULL")
    with daemon_lab(lab, monkeypatch) as daemon:
        state = daemon.state
        assert (state["state"], state["job"]["cause"]) == ("interrupted", "killed")
        daemon.service.resume(checklist_done=True)
        assert daemon.wait("done")["job"]["done"] == 8


@pytest.mark.parametrize(
    ("events", "state", "words"),
    [
        ((), "running", "Shooting cups under bright"),
        (("suspended",), "needs_operator", "Waiting for the light: why"),
        (("suspended", "resumed"), "running", "Shooting"),
        (("paused",), "paused", "Paused"),
        (("paused", "pause_ended", "asked"), "needs_operator", "Waiting for you: why"),
        (("asked", "answered"), "running", "Shooting"),
    ],
)
def test_without_a_daemon_lock_and_events_tell_the_same(lab, events, state, words):
    put_lighting(lab.catalog, BRIGHT)
    run = start_run(
        lab.catalog,
        scene="cups",
        lighting="bright",
        plan=SMALL,
        simulated=True,
        devices={},
        versions={},
    )
    for kind in events:
        add_event(lab.catalog, run, kind, "", "why")
    with owned(lab.workspace):
        told = offline_state(lab.workspace, lab.catalog)
    assert (told["state"], told["sentence"][: len(words)]) == (state, words)
    cut_off = offline_state(lab.workspace, lab.catalog)
    assert (cut_off["state"], cut_off["job"]["cause"]) == ("interrupted", "killed")


@pytest.mark.parametrize("content", [b"", b"[", b'{"a": 1}', b'[{"id": "x"}]', b"[null]"])
def test_a_broken_book_costs_nothing_but_the_names(lab, monkeypatch, content):
    (lab.workspace.root / "daemon-jobs.json").write_bytes(content)
    with daemon_lab(lab, monkeypatch) as daemon:
        assert daemon.state["state"] == "idle"
        daemon.begin()
        daemon.wait("done")
    assert JobBook.open(lab.workspace).last.state == "done"


def test_the_book_says_what_it_was_told(lab, monkeypatch):
    with daemon_lab(lab, monkeypatch) as daemon:
        daemon.begin()
        daemon.wait("done")
        told = daemon.service.jobs[0].to_json()
    found = JobBook.open(lab.workspace).last
    assert {**found.to_json(), "plan": None} == {**told, "plan": None}


def test_a_daemon_that_ends_says_so_and_saves_the_frame(lab, monkeypatch):
    with daemon_lab(lab, monkeypatch) as daemon:
        daemon.shutter.hold_at(3)
        daemon.begin()
        daemon.shutter.wait_for(3)
        daemon.service.wind_down("SIGTERM")
        with pytest.raises(RefusedError, match="ending"):
            daemon.begin()
        daemon.shutter.release()
        daemon.wait("interrupted")
        assert daemon.state["job"]["cause"] == "daemon_ended"
        assert len(outcomes(lab)) == 3
        assert not lab.camera.is_open


def test_followers_that_do_nothing_delay_no_shot(daemon):
    """The loop is asked to wake its streams and never runs: the engine does not notice."""

    class StoppedLoop:
        asked = 0

        def call_soon_threadsafe(self, _work):
            self.asked += 1

    loop = StoppedLoop()
    daemon.hub.attach(loop)
    daemon.begin()
    assert daemon.wait("done")["job"]["done"] == 8
    assert loop.asked > 8


def test_a_defect_ends_its_job_and_no_other(daemon, monkeypatch):
    def broken(*_arguments, **_keys):
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("capture.shooting.run_sweep", broken)
    daemon.begin()
    state = daemon.wait("failed")
    assert state["job"]["fault"]["code"] == "defect"
    assert "ZeroDivisionError" in state["sentence"]
    monkeypatch.setattr("capture.shooting.run_sweep", run_sweep)
    daemon.begin()
    daemon.wait("done")


def test_two_pages_that_start_at_the_same_moment_get_one_job(daemon):
    daemon.shutter.hold_at(1)
    seen, results = daemon.state["rev"], []
    spec = SweepSpec(scene="cups", lighting=BRIGHT.name, plan=SMALL, checklist_done=True)

    def start(key):
        try:
            results.append(daemon.service.begin(spec, key=key, rev=seen)[0].id)
        except RefusedError as error:
            results.append(error.reason)

    threads = [threading.Thread(target=start, args=(f"page {n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([result for result in results if result not in ("busy", "moved")]) == 1
    daemon.shutter.release()
    daemon.wait("done")


def test_a_second_service_cannot_be_confused_with_the_first(lab, monkeypatch):
    with daemon_lab(lab, monkeypatch) as daemon:
        first = daemon.hub.boot
    again = DaemonLab(lab)
    assert again.hub.boot != first
    assert isinstance(again.service, Service)
    assert again.state["version"] == VERSION
    again.service.close(1)
