"""The catalog: migrations, one writer, exactly one row a shot, counts."""

import dataclasses
import multiprocessing
import os
import signal
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError

from schemas import answer_store, capture_store, frame_store
from schemas import tables as t
from schemas.catalog import HEAD, Catalog, CatalogError
from schemas.exposure import Exposure
from schemas.plan import Lighting, SweepPlan
from schemas.records import (
    Clipping,
    ExifSettings,
    Frame,
    Light,
    Observer,
    Outcome,
    Response,
    RunStatus,
    Scene,
    Stimulus,
)
from schemas.verdict_store import VerdictRow, put_verdict_rows

BRIGHT = Lighting(name="bright", lux=1000, ev_reference=11)
DEFAULT = Exposure(1 / 60, 400, 5.6)
EVERY = [shot.exposure for shot in SweepPlan()]
NOW = datetime(2026, 3, 1, 22, 5, 7, 123456, UTC)


@pytest.fixture
def catalog(tmp_path):
    with Catalog.create(tmp_path / "catalog.sqlite") as made:
        yield made


@pytest.fixture
def run_id(catalog):
    capture_store.add_scene(catalog, Scene("mugs", "cup", 3))
    capture_store.put_lighting(catalog, BRIGHT)
    return capture_store.start_run(
        catalog,
        scene="mugs",
        lighting="bright",
        plan=SweepPlan(),
        simulated=True,
        devices={"camera": {"serial": "1"}},
        versions={"snaprig": "0"},
    )


def frame(run_id: int, exposure: Exposure = DEFAULT, **changes: object) -> Frame:
    made = Frame(
        scene="mugs",
        lighting="bright",
        run_id=run_id,
        kind="manual",
        requested=exposure,
        outcome=Outcome.ACCEPTED,
        attempt=1,
        exif=ExifSettings(exposure.shutter_s, exposure.iso, exposure.f_number),
        ev=exposure.ev,
        ev_index=exposure.ev_index,
        ev_offset=exposure.ev_offset(11),
        histogram=bytes(1024),
        black_fraction=0.1,
        white_fraction=0.2,
        mean_luma=99.5,
        red=Clipping(0.1, 0.2),
        green=Clipping(0.3, 0.4),
        blue=Clipping(0.5, 0.6),
        light=Light(1000.5, 999.0, 1002.0, 4),
        path=f"frames/mugs/bright/0/{exposure.stem}.jpg",
        size_bytes=123,
        width_px=1920,
        height_px=1280,
        camera_sha256="a" * 64,
        sha256="a" * 64,
        commanded_at=NOW,
        captured_at=NOW + timedelta(seconds=1),
        stored_at=NOW + timedelta(seconds=2),
        camera_time="2026:03:01 23:05:08.12",
    )
    return dataclasses.replace(made, **changes)


def test_migrations_make_exactly_the_tables(catalog):
    with catalog.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_server_default": True})
        assert compare_metadata(context, t.metadata) == []


def test_head_is_the_newest_migration():
    folder = Path(t.__file__).parent / "migrations"
    assert ScriptDirectory(str(folder)).get_heads() == [HEAD]


def test_an_old_catalog_is_upgraded_when_opened(tmp_path):
    path = tmp_path / "catalog.sqlite"
    sqlite3.connect(path).close()  # an empty database: before the first migration
    with Catalog.open(path) as opened:
        assert opened.revision() == HEAD


def test_a_newer_catalog_is_refused(catalog, tmp_path):
    with catalog.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(CatalogError, match="newer release"):
        Catalog.open(tmp_path / "catalog.sqlite")


def test_another_kind_of_file_is_refused(tmp_path):
    path = tmp_path / "catalog.sqlite"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(CatalogError, match="not a snaprig catalog"):
        Catalog.open(path)


def test_a_missing_catalog_says_how_to_make_one(tmp_path):
    with pytest.raises(CatalogError, match="snaprig init"):
        Catalog.open(tmp_path / "catalog.sqlite")


def test_creating_over_a_catalog_is_refused(catalog):
    with pytest.raises(CatalogError, match="exists already"):
        Catalog.create(catalog.path)


def test_wal_foreign_keys_and_full_sync(catalog):
    with catalog.read() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "foreign_keys", "synchronous")
        }
    assert pragmas == {"journal_mode": "wal", "foreign_keys": 1, "synchronous": 2}


def test_a_failed_write_leaves_nothing(catalog):
    def write_and_fail() -> None:
        with catalog.write() as connection:
            connection.execute(
                insert(t.lightings).values(name="dim", lux=10, tolerance=0.1, ev_reference=5)
            )
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_and_fail()
    assert capture_store.list_lightings(catalog) == []


def test_readers_see_a_snapshot_while_another_connection_writes(catalog, run_id):
    with catalog.read() as reader:
        assert reader.execute(select(t.frames.c.id)).all() == []
        with Catalog.open(catalog.path) as writer:
            frame_store.add_frame(writer, frame(run_id))
        assert reader.execute(select(t.frames.c.id)).all() == []
    assert len(list(frame_store.list_frames(catalog))) == 1


def test_two_writers_queue(catalog, run_id):
    with Catalog.open(catalog.path) as other:
        for number in range(20):
            store = catalog if number % 2 else other
            frame_store.add_frame(store, frame(run_id, EVERY[number]))
    assert len(list(frame_store.list_frames(catalog))) == 20


def test_a_frame_comes_back_as_it_went_in(catalog, run_id):
    stored = frame(run_id)
    frame_id = frame_store.add_frame(catalog, stored)
    (found,) = frame_store.list_frames(catalog)
    assert found == dataclasses.replace(stored, histogram=None, id=frame_id)
    assert frame_store.load_histogram(catalog, frame_id) == stored.histogram


def test_what_was_measured_of_a_picture_that_was_taken_back_goes_with_it(catalog, run_id):
    black = dataclasses.replace(frame(run_id), outcome=Outcome.REJECTED_BLACK, path="", sha256="")
    frame_id = frame_store.add_frame(catalog, black)
    frame_store.withdraw_frame(catalog, frame_id, "doubtful")
    (found,) = frame_store.list_frames(catalog)
    assert (found.outcome, found.reason) == (Outcome.FAILED, "doubtful")
    assert frame_store.load_histogram(catalog, frame_id) == black.histogram
    given_up = dataclasses.replace(
        black, outcome=Outcome.FAILED, histogram=None, black_fraction=None
    )
    assert frame_store.add_frame(catalog, given_up) == frame_id
    assert frame_store.load_histogram(catalog, frame_id) is None


def test_only_a_black_row_can_be_taken_back(catalog, run_id):
    frame_id = frame_store.add_frame(catalog, frame(run_id))
    frame_store.withdraw_frame(catalog, frame_id, "doubtful")
    (found,) = frame_store.list_frames(catalog)
    assert found.outcome is Outcome.ACCEPTED


def test_frames_without_a_picture_come_back_too(catalog, run_id):
    bare = Frame(
        scene="mugs",
        lighting="bright",
        run_id=run_id,
        kind="manual",
        requested=Exposure(30, 100, 22),
        outcome=Outcome.FAILED,
        reason="no picture",
        attempt=3,
        stored_at=NOW,
    )
    frame_id = frame_store.add_frame(catalog, bare)
    (found,) = frame_store.list_frames(catalog)
    assert found == dataclasses.replace(bare, id=frame_id)
    assert frame_store.load_histogram(catalog, frame_id) is None


@pytest.mark.parametrize(
    "final", [Outcome.ACCEPTED, Outcome.REJECTED_BLACK, Outcome.REJECTED_WHITE]
)
def test_a_shot_that_ended_for_good_is_never_overwritten(catalog, run_id, final):
    frame_store.add_frame(catalog, frame(run_id, outcome=final))
    with pytest.raises(CatalogError, match="has its frame already"):
        frame_store.add_frame(catalog, frame(run_id))


@pytest.mark.parametrize("passing", [Outcome.FAILED, Outcome.SKIPPED])
def test_a_failed_or_skipped_shot_is_replaced(catalog, run_id, passing):
    frame_store.add_frame(catalog, frame(run_id, outcome=passing, histogram=None))
    frame_store.add_frame(catalog, frame(run_id, attempt=2))
    (found,) = frame_store.list_frames(catalog)
    assert (found.outcome, found.attempt) == (Outcome.ACCEPTED, 2)
    assert frame_store.load_attempts(catalog, "mugs", "bright") == {
        found.setting: (Outcome.ACCEPTED, 2)
    }


def test_auto_frames_are_apart_from_the_plan(catalog, run_id):
    auto = frame(run_id, kind="auto", requested=None, path="auto.jpg")
    frame_store.add_frame(catalog, auto)
    assert list(frame_store.list_frames(catalog)) == []
    (found,) = frame_store.list_frames(catalog, kind="auto")
    assert (found.setting, found.requested) == ("auto", None)


def test_unknown_outcomes_are_refused_by_the_database(catalog, run_id):
    frame_store.add_frame(catalog, frame(run_id))
    with pytest.raises(IntegrityError), catalog.write() as connection:
        connection.execute(t.frames.update().values(outcome="fine"))


def test_a_frame_of_an_unknown_scene_is_refused(catalog, run_id):
    with pytest.raises(CatalogError, match="no scene called 'plates'"):
        frame_store.add_frame(catalog, frame(run_id, scene="plates"))


def test_a_moment_without_a_zone_is_refused(catalog, run_id):
    with pytest.raises(Exception, match="without a zone"):
        frame_store.add_frame(catalog, frame(run_id, commanded_at=datetime(2026, 1, 1)))  # noqa: DTZ001


def test_scene_names_are_taken_once(catalog):
    scene = Scene("mugs", "cup", 3)
    capture_store.add_scene(catalog, scene)
    capture_store.add_scene(catalog, scene)  # the same again: nothing to do
    with pytest.raises(CatalogError, match="3 x cup"):
        capture_store.add_scene(catalog, Scene("mugs", "cup", 4))
    assert capture_store.list_scenes(catalog) == [scene]


def test_a_lighting_keeps_its_reference_under_its_frames(catalog, run_id):
    wider = BRIGHT.model_copy(update={"tolerance": 0.2})
    capture_store.put_lighting(catalog, wider)
    assert capture_store.list_lightings(catalog) == [wider]
    with pytest.raises(CatalogError, match="has frames"):
        capture_store.put_lighting(catalog, BRIGHT.model_copy(update={"ev_reference": 10}))


def test_a_lighting_without_runs_may_change(catalog):
    capture_store.put_lighting(catalog, BRIGHT)
    changed = BRIGHT.model_copy(update={"ev_reference": 10})
    capture_store.put_lighting(catalog, changed)
    assert capture_store.list_lightings(catalog) == [changed]


def test_a_run_without_a_status_crashed_or_runs(catalog, run_id):
    (run,) = capture_store.list_runs(catalog)
    assert (run.status, run.ended_at, run.plan) == (None, None, SweepPlan())
    capture_store.end_run(catalog, run_id, RunStatus.STOPPED, "the operator stopped it")
    (run,) = capture_store.list_runs(catalog, scene="mugs", lighting="bright")
    assert (run.status, run.reason) == (RunStatus.STOPPED, "the operator stopped it")
    assert run.simulated
    assert capture_store.list_runs(catalog, scene="other") == []


def test_readings_and_events_in_order(catalog, run_id):
    # Between the second and the third somebody set the wall clock back by an hour.
    moments_s = (0, 1, -3599, -3598)
    readings = [
        capture_store.StoredReading(NOW + timedelta(seconds=s), 1000 + nth, 250 * nth)
        for nth, s in enumerate(moments_s)
    ]
    for part in (readings[:3], readings[3:]):
        capture_store.add_readings(catalog, run_id, part)
    assert capture_store.list_readings(catalog, run_id) == readings
    capture_store.add_event(catalog, run_id, "retry", "1-60_400_f5-6", "busy")
    (event,) = capture_store.list_events(catalog, run_id)
    assert (event.kind, event.detail) == ("retry", "busy")


def test_stimuli_are_made_for_accepted_frames_only_and_once(catalog, run_id):
    frame_store.add_frame(catalog, frame(run_id))
    frame_store.add_frame(
        catalog, frame(run_id, Exposure(30, 100, 8), outcome=Outcome.REJECTED_WHITE, path="")
    )
    assert answer_store.ensure_stimuli(catalog, answer_store.CLASSIFICATION) == 1
    assert answer_store.ensure_stimuli(catalog, answer_store.CLASSIFICATION) == 0


def test_auto_and_reference_frames_are_shown_to_nobody(catalog, run_id):
    frame_store.add_frame(catalog, frame(run_id))
    frame_store.add_frame(catalog, frame(run_id, kind="auto", requested=None, path="auto.jpg"))
    frame_store.add_frame(catalog, frame(run_id, kind="reference", number=0, path="ref-000.jpg"))
    assert answer_store.ensure_stimuli(catalog, answer_store.CLASSIFICATION) == 1


def test_pending_is_subtraction(catalog, run_id):
    for denominator in (30, 60, 125):
        frame_store.add_frame(catalog, frame(run_id, Exposure(1 / denominator, 100, 8)))
    answer_store.ensure_stimuli(catalog, "classification")
    observer = answer_store.put_observer(catalog, Observer("net", "model", {"id": "x"}))
    pending = answer_store.pending_stimuli(catalog, observer, "classification")
    assert len(pending) == 3
    response = Response(
        stimulus_id=pending[0].stimulus_id,
        observer_id=observer,
        payload={"top5": [[968, "cup", 0.9]]},
        frame_sha256=pending[0].sha256,
        answered_at=NOW,
    )
    failure = Response(stimulus_id=pending[1].stimulus_id, observer_id=observer, error="broken")
    answer_store.add_responses(catalog, [response, failure])
    left = answer_store.pending_stimuli(catalog, observer, "classification")
    assert [p.stimulus_id for p in left] == [pending[2].stimulus_id]
    stored = list(answer_store.list_responses(catalog, observer, "classification"))
    assert dataclasses.replace(stored[0], id=None) == response
    with pytest.raises(IntegrityError):
        answer_store.add_responses(catalog, [response])
    assert answer_store.delete_failed_responses(catalog, observer) == 1
    assert len(answer_store.pending_stimuli(catalog, observer, "classification")) == 2


def test_one_name_one_observer(catalog):
    first = answer_store.put_observer(catalog, Observer("net", "model", {"weights": "1"}))
    assert answer_store.put_observer(catalog, Observer("net", "model", {"weights": "1"})) == first
    with pytest.raises(CatalogError, match="another specification"):
        answer_store.put_observer(catalog, Observer("net", "model", {"weights": "2"}))
    assert [o.name for o in answer_store.list_observers(catalog)] == ["net"]


def test_stored_options_win(catalog, run_id):
    frame_id = frame_store.add_frame(catalog, frame(run_id))
    for options in (("2", "3"), ("3", "2")):
        answer_store.add_stimuli(catalog, [Stimulus(frame_id, "original", "q4", options)])
    observer = answer_store.put_observer(catalog, Observer("net", "model"))
    (pending,) = answer_store.pending_stimuli(catalog, observer, "q4")
    assert pending.options == ("2", "3")


def test_verdicts_are_replaced_by_protocol(catalog, run_id):
    frame_store.add_frame(catalog, frame(run_id))
    answer_store.ensure_stimuli(catalog, "classification")
    observer = answer_store.put_observer(catalog, Observer("net", "model"))
    (pending,) = answer_store.pending_stimuli(catalog, observer, "classification")
    answer_store.add_responses(catalog, [Response(pending.stimulus_id, observer)])
    (stored,) = answer_store.list_responses(catalog, observer)
    for soft in (False, True):
        put_verdict_rows(catalog, "paper", [VerdictRow(stored.id, "{}", soft, soft, "")])
    put_verdict_rows(catalog, "release", [VerdictRow(stored.id, "{}", None, None, "")])
    with catalog.read() as connection:
        rows = connection.execute(select(t.verdicts).order_by(t.verdicts.c.protocol)).all()
    assert [(row.protocol, row.soft) for row in rows] == [("paper", 1), ("release", None)]


def _write_until_killed(path: Path, run_id: int) -> None:
    with Catalog.open(path) as catalog:
        for number, exposure in enumerate(EVERY, start=1):
            frame_store.add_frame(catalog, frame(run_id, exposure))
            if number == 20:
                os.kill(os.getpid(), signal.SIGKILL)


def test_rows_of_a_killed_writer_are_whole(catalog, run_id):
    writer = multiprocessing.get_context("fork").Process(
        target=_write_until_killed, args=(catalog.path, run_id)
    )
    writer.start()
    writer.join()
    assert writer.exitcode == -signal.SIGKILL
    found = list(frame_store.list_frames(catalog))
    assert len(found) == 20
    assert all(frame_store.load_histogram(catalog, f.id) == bytes(1024) for f in found)
