"""Two workers are killed in the middle of a run: what the rest makes of it."""

import os
import signal
import threading
import time
from pathlib import Path

from evaluate.engine.run import Orders, Totals, run_models
from evaluate.engine.work import Settings
from evaluate.engine.worker import Worker
from schemas.answer_store import list_observers, list_responses
from tests.evaluate.held_model import held_row, load
from tests.evaluate.test_engine_pass import put_frames

FRAMES = 24


def told(lab):
    """The held model's answers by frame; each frame was answered once."""
    (observer,) = [o for o in list_observers(lab.catalog) if o.name == "held"]
    given = list(list_responses(lab.catalog, observer.id))
    assert len(given) == len({r.stimulus_id for r in given})
    return {r.frame_sha256: r.payload for r in given}


def ask_while_two_die(make_lab, folder: Path, crews) -> Totals:
    """Run a crew, SIGKILL its first two workers, and hold the answers to an undisturbed run's.

    Parameters
    ----------
    folder : Path
        Where workers leave their process ids.
    crews : callable
        From settings to a context manager that gives a `Hire`.
    """
    here, there = make_lab("here"), make_lab("there")
    for lab in (here, there):
        put_frames(lab, FRAMES)
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
    with crews(Settings(there.workspace.root, batch_size=2, load=load)) as hire:
        totals = run_models(there.catalog, rows, Orders(), hire)
    killer.join()
    (run,) = totals.models
    assert len(killed) == 2
    assert (run.asked, run.responses, run.failed, run.problem) == (FRAMES, FRAMES, 0, "")
    assert told(there) == told(here)
    return totals
