"""Ray as the engine, on this machine: killed workers, and who may join."""

import os
import socket
import subprocess
import sys
import tempfile
import time

import pytest

# Ray reads these once, when it is first imported; nothing is written to the home folder then
os.environ["RAY_AUTH_MODE"] = "token"
os.environ["RAY_AUTH_TOKEN"] = "0123456789abcdef" * 4

from evaluate.engine import chunks
from evaluate.engine.crews import ray_crews
from evaluate.errors import EvaluateError
from evaluate.ray_cluster import connect
from tests.evaluate.two_kills import ask_while_two_die


def test_two_killed_ray_workers_lose_nothing(make_lab, tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK_FRAMES", 4)
    ask_while_two_die(make_lab, tmp_path / "pids", lambda made: ray_crews(made, "local", 2))


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
