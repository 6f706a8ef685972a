"""Workers in other processes: the same answers, and nothing lost when some are killed."""

import threading
from contextlib import nullcontext

import pytest

from evaluate.engine import chunks
from evaluate.engine.chunks import same_reports
from evaluate.engine.processes import Processes
from evaluate.engine.run import Orders, run_models
from evaluate.engine.work import Loaded, Refused, Settings
from evaluate.errors import EvaluateError
from tests.evaluate.asking import row_named
from tests.evaluate.held_model import held_row, load
from tests.evaluate.test_engine_pass import put_frames
from tests.evaluate.two_kills import ask_while_two_die, told


@pytest.fixture(autouse=True)
def _small_shares(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_FRAMES", 4)


def crew_of(lab, workers, settings=None):
    settings = settings or Settings(lab.workspace.root, batch_size=2, load=load)
    return lambda rows: Processes(rows, settings, ["cpu"] * workers)


def test_two_killed_workers_lose_nothing(make_lab, tmp_path):
    folder = tmp_path / "pids"
    totals = ask_while_two_die(
        make_lab,
        folder,
        lambda settings: nullcontext(lambda rows: Processes(rows, settings, ["cpu"] * 2)),
    )
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
