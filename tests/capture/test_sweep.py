"""Sweeps over devices in memory: what is stored, what is shot again, what ends a run."""

import errno
import hashlib
import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import capture.examiner
import capture.storing
from capture.sweep import survey
from rig.errors import Abort, AskOperator, Reconnect, Retry
from schemas.acceptance import RULES
from schemas.capture_store import list_readings, list_runs, put_lighting, start_run
from schemas.exposure import Exposure
from schemas.frame_store import list_frames, load_histogram
from schemas.plan import Lighting, SweepPlan
from schemas.records import Outcome, Scene
from schemas.stamp import provenance, read_stamp, unstamp
from tests.capture.lab import BRIGHT, SMALL
from tests.devices import FakeClock, render

FROZEN = FakeClock().now()
DIM = Lighting(name="dim", lux=10, ev_reference=5)


def settings(plan=SMALL):
    return [shot.exposure.stem for shot in plan]


def garbled(data: bytes) -> bytes:
    return data[: len(data) // 2]


# ---- a run without faults


def test_every_planned_shot_ends_as_one_row(lab):
    lab.camera.lux = 200.0  # dark enough for both rejections
    summary = lab.sweep()
    frames = lab.frames()
    assert sorted(f.setting for f in frames) == sorted(settings())
    counts = Counter(f.outcome for f in frames)
    assert summary.planned == len(SMALL) == 8
    assert summary.accepted == counts[Outcome.ACCEPTED] > 0
    assert summary.rejected_black == counts[Outcome.REJECTED_BLACK] > 0
    assert summary.rejected_white == counts[Outcome.REJECTED_WHITE] > 0
    assert (summary.failed, summary.skipped, summary.remaining) == (0, 0, 0)
    assert (summary.status, summary.attempts, summary.next) == ("done", 8, "")
    assert summary.simulated
    json.dumps(summary.to_json())


def test_a_frame_holds_what_the_picture_says(lab):
    lab.sweep()
    for frame in lab.frames():
        data = None
        if frame.outcome is Outcome.ACCEPTED:
            data = lab.workspace.resolve(frame.path).read_bytes()
            assert hashlib.sha256(data).hexdigest() == frame.sha256
            assert hashlib.sha256(unstamp(data)).hexdigest() == frame.camera_sha256
            (run,) = list_runs(lab.catalog)
            assert read_stamp(data) == provenance(frame, Scene("cups", "cup", 3), run)
            assert frame.size_bytes == len(data)
            offset = frame.requested.ev_offset(11)
            assert frame.path == f"frames/cups/bright/{offset}/{frame.setting}.jpg"
            assert frame.reason == ""
        else:
            assert (frame.path, frame.sha256) == ("", "")
            assert len(frame.camera_sha256) == 64
            assert frame.reason.startswith("pixels95: ")
        histogram = np.frombuffer(load_histogram(lab.catalog, frame.id), dtype="<u4")
        assert RULES["pixels95"](histogram) == frame.outcome
        assert histogram.sum() == frame.width_px * frame.height_px
        assert frame.black_fraction == pytest.approx(histogram[0] / histogram.sum())
        assert frame.red == frame.green == frame.blue
        assert (frame.exif.iso, frame.exif.f_number) == (100, frame.requested.f_number)
        assert frame.ev == frame.requested.ev
        assert frame.ev_offset == 11 - frame.ev_index
        assert frame.commanded_at < frame.captured_at
        assert frame.camera_time
        assert frame.attempt == 1
    stored = list(lab.workspace.stored_files())
    assert len(stored) == sum(bool(frame.path) for frame in lab.frames())


def test_the_light_is_stored_with_frames_and_run(lab):
    lab.sweep()
    (run,) = list_runs(lab.catalog)
    assert len(list_readings(lab.catalog, run.id)) >= 1
    lit = [frame for frame in lab.frames() if frame.light.readings]
    assert all(frame.light.lux == 1000 for frame in lit)


def test_the_run_records_who_took_the_frames(lab):
    lab.sweep()
    (run,) = list_runs(lab.catalog)
    assert run.plan == SMALL
    assert run.plan_digest == SMALL.digest
    assert run.simulated
    assert run.devices["camera"]["serial"] == run.devices["meter"]["serial"] == "VIRTUAL-MEMORY"
    assert {"snaprig", "gphoto2", "yoctopuce", "python", "platform"} <= set(run.versions)


def test_the_camera_is_left_as_it_was_found(lab):
    found = dict(lab.camera.settings)
    lab.sweep()
    assert lab.camera.settings["review"] == found["review"]
    assert not lab.camera.is_open


def test_the_mean_rule_decides_where_the_plan_says_so(lab):
    plan = SweepPlan(**{**SMALL.model_dump(), "acceptance": "mean"})
    lab.sweep(plan)
    for frame in lab.frames():
        histogram = np.frombuffer(load_histogram(lab.catalog, frame.id), dtype="<u4")
        assert RULES["mean"](histogram) == frame.outcome


# ---- failed attempts


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        (garbled, "undecodable"),
        (lambda _data: b"", "undecodable"),
        (lambda _data: render(Exposure(1 / 60, 200, 8.0), 1000, FROZEN), "wrong_exif"),
    ],
)
@pytest.mark.parametrize("shot", [0, 4, 7])
def test_a_bad_picture_is_shot_again(lab, how, kind, shot):
    lab.spoil(shot, 2, how)
    summary = lab.sweep()
    assert (summary.status, summary.failed, summary.attempts) == ("done", 0, 10)
    attempts = {frame.setting: frame.attempt for frame in lab.frames()}
    assert attempts.pop(settings()[shot]) == 3
    assert set(attempts.values()) == {1}
    refused = [event for event in lab.events() if event[0] != "rebuild"]
    again = "stale_picture" if kind == "wrong_exif" else kind  # the same bytes once more
    assert refused == [(kind, settings()[shot]), (again, settings()[shot])]
    assert summary.retries[kind] == 2 - (kind != again)


def test_a_bad_picture_is_given_up_and_the_sweep_goes_on(lab):
    lab.spoil(2, 9, garbled)
    summary = lab.sweep(attempts=2)
    assert (summary.status, summary.failed, summary.remaining) == ("failed", 1, 1)
    assert settings()[2] in summary.reason
    assert "capture resume" in summary.next
    assert len(lab.frames()) == 8
    (failed,) = [frame for frame in lab.frames() if frame.outcome is Outcome.FAILED]
    assert (failed.setting, failed.attempt, failed.path) == (settings()[2], 2, "")
    assert "undecodable, 2 attempts" in failed.reason


def test_a_failed_shot_is_shot_again_on_resume(lab):
    lab.spoil(2, 2, garbled)
    lab.sweep(attempts=2)
    summary = lab.sweep(attempts=2)
    assert (summary.status, summary.attempts, summary.failed) == ("done", 1, 0)
    assert len(lab.frames()) == 8
    assert {f.setting: f.attempt for f in lab.frames()}[settings()[2]] == 3


def test_a_wrong_exif_makes_the_driver_send_everything_again(lab):
    lab.camera.ignored_sets = 1  # the first shutter speed is accepted and not obeyed
    summary = lab.sweep()
    assert summary.status == "done"
    assert ("wrong_exif", settings()[0]) in lab.events()
    for frame in lab.frames():
        assert frame.exif.shutter_s == pytest.approx(frame.requested.shutter_s)
    assert len(lab.frames()) == 8


def test_a_busy_camera_is_tried_again(lab):
    lab.camera.faults.add("apply", Retry("busy"))
    lab.camera.faults.add("shoot", Retry("no picture"))
    summary = lab.sweep()
    assert summary.status == "done"
    assert lab.events() == [("retry", settings()[0])] * 2
    assert lab.frames()[0].attempt == 3


def test_a_camera_that_stays_busy_costs_time_and_no_shot(lab):
    lab.camera.faults.add("shoot", *(Retry("busy") for _ in range(6)))
    summary = lab.sweep(attempts=3)
    assert (summary.failed, summary.status) == (0, "done")
    rungs = ["retry"] * 3 + ["rebuild"] + ["reconnect"] * 2
    assert lab.events() == [(rung, settings()[0]) for rung in rungs]


# ---- a lost camera


@pytest.mark.parametrize("verb", ["apply", "shoot"])
def test_a_lost_camera_is_opened_anew(lab, verb):
    lab.camera.faults.add(verb, Reconnect("pulled"))
    summary = lab.sweep()
    assert summary.status == "done"
    assert lab.events() == [("reconnect", settings()[0])]
    assert len(lab.frames()) == 8


def test_reconnects_are_counted_in_a_row_only(lab):
    shoot, calls = lab.camera.shoot, []

    def every_second(timeout_s):
        calls.append(timeout_s)
        if len(calls) % 2:
            lab.camera.is_open = False
            raise Reconnect("pulled")
        return shoot(timeout_s)

    lab.camera.shoot = every_second
    summary = lab.sweep()
    assert summary.status == "done"
    assert lab.events().count(("reconnect", settings()[0])) == 1
    assert len(lab.events()) == 8


def test_a_camera_that_is_lost_again_and_again_stops_the_run(lab):
    lab.camera.faults.add("shoot", *(Reconnect("pulled") for _ in range(9)))
    summary = lab.sweep()
    assert (summary.status, summary.remaining) == ("stopped", 8)
    assert "4 times in a row" in summary.reason
    assert "capture resume" in summary.next
    lab.camera.faults.queued.clear()
    assert lab.sweep().status == "done"


def test_another_body_after_a_reconnect_stops_the_run(lab):
    opened = lab.camera.open

    def other():
        return replace(opened(), serial="ANOTHER") if lab.camera.taken else opened()

    lab.camera.open = other
    lab.spoil(0, 0, garbled)
    shoot = lab.camera.shoot

    def once(timeout_s):
        picture = shoot(timeout_s)
        if len(lab.camera.taken) == 2:
            raise Reconnect("pulled")
        return picture

    lab.camera.shoot = once
    summary = lab.sweep()
    assert summary.status == "stopped"
    assert "another camera answered" in summary.reason
    assert len(lab.frames()) == 1


def test_a_dial_that_moved_during_a_reconnect_stops_the_run(lab):
    lab.camera.faults.add("shoot", Reconnect("pulled"))
    lab.camera.faults.add("offered")  # nothing queued: the first check passes
    opened = lab.camera.open

    def turned():
        info = opened()
        lab.camera.dial = "P" if lab.camera.sets else "Manual"
        return info

    lab.camera.open = turned
    summary = lab.sweep()
    assert summary.status == "stopped"
    assert "dial is on P" in summary.reason


# ---- what ends a run


def test_the_operator_is_asked_with_the_errors_own_sentence(lab):
    lab.camera.faults.add("shoot", AskOperator("the card is full", "put in an empty card"))
    summary = lab.sweep()
    assert (summary.status, summary.reason) == ("stopped", "the card is full")
    assert summary.next == "put in an empty card"


def test_a_full_disk_stops_the_run_and_loses_nothing(lab, monkeypatch):
    write, calls = capture.storing.write_atomically, []

    def full(path, data):
        calls.append(path)
        if len(calls) == 2:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_name(path.name + ".partial").write_bytes(data[:10])
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path, data)

    monkeypatch.setattr(capture.storing, "write_atomically", full)
    summary = lab.sweep()
    assert summary.status == "stopped"
    assert "No space left" in summary.reason
    assert "make room" in summary.next
    assert lab.sweep().status == "done"
    assert ("orphan", "") in lab.events()
    assert len(lab.frames()) == 8
    assert not [p for p in lab.workspace.stored_files() if p.suffix == ".partial"]


def test_a_defect_ends_the_run_with_its_name_and_is_raised(lab, monkeypatch):
    monkeypatch.setattr(capture.examiner, "analyze", lambda _data: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        lab.sweep()
    (run,) = list_runs(lab.catalog)
    assert run.status == "failed"
    assert "ZeroDivisionError" in run.reason


def test_an_interrupt_stops_at_once_and_keeps_what_is_in_hand(lab):
    shoot = lab.camera.shoot

    def interrupted(timeout_s):
        if len(lab.camera.taken) == 3:
            raise KeyboardInterrupt
        return shoot(timeout_s)

    lab.camera.shoot = interrupted
    summary = lab.sweep()
    assert (summary.status, summary.reason) == ("stopped", "stopped at once")
    assert len(lab.frames()) == 3
    assert not lab.camera.is_open


def test_a_limit_stops_the_run(lab):
    summary = lab.sweep(limit=3)
    assert (summary.status, summary.remaining, summary.attempts) == ("stopped", 5, 3)
    assert lab.sweep(limit=5).status == "done"


# ---- resume is subtraction


def test_a_complete_sweep_touches_no_device(lab):
    lab.sweep()
    taken = len(lab.camera.taken)
    summary = lab.sweep()
    assert (summary.run, summary.status, summary.reason) == (None, "done", "complete already")
    assert len(lab.camera.taken) == taken
    assert len(list_runs(lab.catalog)) == 1


def test_a_larger_plan_adds_what_is_missing(lab):
    lab.sweep(SMALL.subset(f_number=(22,)))
    summary = lab.sweep()
    assert (summary.attempts, summary.planned, summary.status) == (4, 8, "done")
    assert len(lab.frames()) == 8


def test_another_acceptance_rule_is_refused(lab):
    lab.sweep(limit=1)
    with pytest.raises(Abort, match="one sweep has one rule"):
        lab.sweep(SweepPlan(**{**SMALL.model_dump(), "acceptance": "mean"}))


def test_lightings_are_swept_apart(lab):
    lab.sweep()
    lab.meter.lux = 10.0
    assert lab.sweep(lighting=DIM).attempts == 8
    offsets = {f.ev_offset - f.ev_index for f in list_frames(lab.catalog, lighting="dim")}
    assert offsets != {
        f.ev_offset - f.ev_index for f in list_frames(lab.catalog, lighting="bright")
    }
    assert survey(lab.catalog, "cups", "bright", SMALL).remaining == ()


def test_orphans_are_swept_and_named(lab):
    lab.sweep(limit=4)
    folder = lab.workspace.sweep_folder("cups", "bright")
    (folder / "9").mkdir()
    (folder / "9" / "30_100_f8.jpg").write_bytes(b"whole, but without a row")
    (folder / "9" / "15_100_f8.jpg.partial").write_bytes(b"half")
    (folder / "notes.txt").write_text("not ours")
    elsewhere = lab.workspace.sweep_folder("other", "bright")
    elsewhere.mkdir(parents=True)
    (elsewhere / "x.jpg").write_bytes(b"another scene's")
    lab.sweep()
    assert lab.events().count(("orphan", "")) == 2
    assert not (folder / "9" / "30_100_f8.jpg").exists()
    assert not (folder / "9" / "15_100_f8.jpg.partial").exists()
    aside = lab.workspace.root / "quarantine/orphans/cups/bright/9/30_100_f8.jpg"
    assert aside.read_bytes() == b"whole, but without a row"
    assert (folder / "notes.txt").exists()
    assert (elsewhere / "x.jpg").exists()


# ---- before the first shot


def test_a_setting_that_the_body_lacks_is_refused(lab):
    plan = SweepPlan(shutter=("1/60",), iso=(100, 12800), f_number=(5.6, 64))
    with pytest.raises(Abort, match="ISO 12800, f/64"):
        lab.sweep(plan)
    assert not list_runs(lab.catalog)


def test_snapshots_count_up_to_the_plan(lab):
    lab.sweep()
    finished = [snapshot.finished for snapshot in lab.snapshots]
    assert finished == sorted(finished)
    assert finished[-1] == 8
    assert lab.snapshots[-1].left_s == pytest.approx(0, abs=1e-6)
    assert any(snapshot.shot for snapshot in lab.snapshots)


def test_an_interrupted_run_keeps_its_missing_status(lab):
    put_lighting(lab.catalog, BRIGHT)
    start_run(
        lab.catalog,
        scene="cups",
        lighting="bright",
        plan=SMALL,
        simulated=True,
        devices={},
        versions={},
    )
    lab.sweep()
    assert [run.status for run in list_runs(lab.catalog)] == [None, "done"]
