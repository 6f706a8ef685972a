"""Workers in other processes: the same answers, and nothing lost when some are killed."""

import os
import signal
import threading
import time

import pytest

from evaluate.engine import chunks
from evaluate.engine.chunks import same_reports
from evaluate.engine.processes import Processes
from evaluate.engine.run import Orders, run_models
from evaluate.engine.work import Loaded, Refused, Settings
from evaluate.engine.worker import Worker
from evaluate.errors import EvaluateError
from schemas.answer_store import list_observers, list_responses
from tests.evaluate.asking import row_named
from tests.evaluate.held_model import held_row, load
from tests.evaluate.test_engine_pass import put_frames


@pytest.fixture(autouse=True)
def _small_shares(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_FRAMES", 4)


def crew_of(lab, workers, settings=None):
    settings = settings or Settings(lab.workspace.root, batch_size=2, load=load)
    return lambda rows: Processes(rows, settings, ["cpu"] * workers)


def told(lab):
    (observer,) = [o for o in list_observers(lab.catalog) if o.name == "held"]
    given = list(list_responses(lab.catalog, observer.id))
    assert len(given) == len({r.stimulus_id for r in given})
    return {r.frame_sha256: r.payload for r in given}


def test_two_killed_workers_lose_nothing(make_lab, tmp_path):
    here, there = make_lab("here"), make_lab("there")
    for lab in (here, there):
        put_frames(lab, 24)
    folder = tmp_path / "pids"
    folder.mkdir()
    rows = [held_row(folder)]
    settings = Settings(here.workspace.root, batch_size=2, load=load)
    run_models(here.catalog, rows, Orders(), lambda group: Worker(group, settings))
    (own,) = folder.glob("*.pid")
    own.unlink()

    (folder / "hold").touch()
    killed = []

    def kill_both():
        while len(found := list(folder.glob("*.pid"))) < 2:
            time.sleep(0.02)
        for path in found:
            killed.append(int(path.stem))
            os.kill(killed[-1], signal.SIGKILL)
        (folder / "hold").unlink()

    killer = threading.Thread(target=kill_both, daemon=True)
    killer.start()
    totals = run_models(there.catalog, rows, Orders(), crew_of(there, 2))
    killer.join()
    (run,) = totals.models
    assert len(killed) == 2
    assert (run.asked, run.responses, run.failed, run.problem) == (24, 24, 0, "")
    assert told(there) == told(here)
    # two more took their places
    assert len(list(folder.glob("*.pid"))) > 2
    assert totals.memory_bytes > 0


def test_a_model_that_one_process_lacks_is_named_and_a_stop_hands_in_what_is_done(lab, tmp_path):
    put_frames(lab, 24)
    rows = [held_row(tmp_path), held_row(tmp_path, "absent")]
    stopped = threading.Event()
    totals = run_models(
        lab.catalog,
        rows,
        Orders(),
        crew_of(lab, 2),
        stop=stopped.is_set,
        watch=lambda run: stopped.set() if run.done else None,
    )
    held, absent = totals.models
    assert absent.problem == "absent cannot run here: nobody has it"
    assert held.interrupted
    assert 4 <= held.responses == len(told(lab)) <= 12
    totals = run_models(lab.catalog, rows[:1], Orders(), crew_of(lab, 1))
    assert totals.models[0].responses == 24 - held.responses


def test_a_worker_that_dies_over_its_models_is_one_line(lab, tmp_path):
    put_frames(lab, 2)
    totals = run_models(lab.catalog, [held_row(tmp_path, "dies")], Orders(), crew_of(lab, 1))
    assert "exit status 9" in totals.models[0].problem
    assert "--workers" in totals.models[0].problem


def test_workers_must_hold_the_same_models():
    one, other = Loaded({"sha256": "a"}, ("q1",), "cuda:0"), Loaded({"sha256": "a"}, ("q1",), "cpu")
    rows = [row_named("m")]
    assert same_reports(rows, [[one], [other]]) == [one]
    for different in (Loaded({"sha256": "b"}, ("q1",), "cpu"), Refused("no weights")):
        with pytest.raises(EvaluateError, match="not the same on all workers"):
            same_reports(rows, [[one], [different]])
