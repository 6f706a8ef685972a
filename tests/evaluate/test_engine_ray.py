"""Ray as the engine, on this machine: killed workers, and who may join."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import pytest

# Ray reads these once, when it is first imported; nothing is written to the home folder then
os.environ["RAY_AUTH_MODE"] = "token"
os.environ["RAY_AUTH_TOKEN"] = "0123456789abcdef" * 4

from evaluate.engine import chunks
from evaluate.engine.crews import ray_crews
from evaluate.engine.run import Orders, run_models
from evaluate.engine.work import Settings
from evaluate.engine.worker import Worker
from evaluate.errors import EvaluateError
from evaluate.ray_cluster import connect
from tests.evaluate.held_model import held_row, load
from tests.evaluate.test_engine_pass import put_frames
from tests.evaluate.test_engine_processes import told


def test_two_killed_ray_workers_lose_nothing(make_lab, tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_FRAMES", 4)
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
            time.sleep(0.05)
        for path in found:
            killed.append(int(path.stem))
            os.kill(killed[-1], signal.SIGKILL)
        (folder / "hold").unlink()

    killer = threading.Thread(target=kill_both, daemon=True)
    killer.start()
    settings = Settings(there.workspace.root, batch_size=2, load=load)
    with ray_crews(settings, "local", 2) as hire:
        (run,) = run_models(there.catalog, rows, Orders(), hire).models
    killer.join()
    assert len(killed) == 2
    assert (run.asked, run.responses, run.failed, run.problem) == (24, 24, 0, "")
    assert told(there) == told(here)


def test_without_a_cluster_the_reason_is_one_line():
    with pytest.raises(EvaluateError, match="--address local"):
        connect("auto", 1)


@pytest.mark.soak
def test_a_cluster_with_a_token_refuses_those_without():
    """`ray start --head` as the documentation says; then a client with another token."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    code = f"from evaluate.ray_cluster import connect; connect('127.0.0.1:{port}', 1).shutdown()"
    # a short path: Unix sockets lie below it
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        head = subprocess.Popen(
            [
                *(sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"),
                *(f"--port={port}", "--node-ip-address=127.0.0.1", "--num-cpus=1"),
                *("--include-dashboard=false", f"--temp-dir={folder}"),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(port, head)
            wrong = {**os.environ, "RAY_AUTH_TOKEN": "f" * 64}
            for environment, joins in ((dict(os.environ), True), (wrong, False)):
                done = subprocess.run(
                    [sys.executable, "-c", code],
                    env=environment,
                    capture_output=True,
                    timeout=100,
                    check=False,
                )
                assert (done.returncode == 0) == joins, done.stderr.decode()
        finally:
            head.terminate()
            head.wait(timeout=30)


def wait_for(port, process):
    """Until somebody listens."""
    while process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                time.sleep(3)  # the first to listen is not yet ready for nodes and clients
                return
        time.sleep(0.2)
    raise AssertionError("Ray did not start")
