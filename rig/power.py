"""Switch the camera's power off and on, by whatever command the lab has for it.

A hub with switched ports (``uhubctl``), a mains plug on the network, a relay at a dummy battery:
the command is `rig.toml`'s. It is started without a shell, gets no input, and is not waited for
beyond its time.
"""

from __future__ import annotations

import logging
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

from rig.errors import Retry

_log = logging.getLogger(__name__)

#: Of what the command says, this much is kept for the record.
_KEPT_CHARACTERS = 500
_ACTION = "Try the command of [camera] power_cycle in rig.toml by hand."


@dataclass(frozen=True)
class PowerSwitch:
    """How the camera is switched off and on.

    Attributes
    ----------
    command : tuple of str
        Program and arguments; empty where there is none.
    timeout_s : float
        It is killed after so long.
    boot_s : float
        What a body takes to answer after its power is back.
    """

    command: tuple[str, ...] = ()
    timeout_s: float = 60.0
    boot_s: float = 10.0

    def cycle(self) -> str:
        """Run the command and return the end of what it said.

        Raises
        ------
        Retry
            If it cannot be started, fails, or takes too long.
        """
        return run_bounded(self.command, self.timeout_s)


def run_bounded(command: Sequence[str], timeout_s: float) -> str:
    """Run a program for `timeout_s` at most and return the end of its output. Raises Retry."""
    name = command[0]
    # A file, not a pipe: what the program leaves running could keep a pipe open for ever.
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        except OSError as error:
            raise Retry(f"{name} could not be started: {error}", _ACTION) from error
        try:
            status = process.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            raise Retry(f"{name} took longer than {timeout_s:g} s", _ACTION) from error
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        output.seek(0)
        said = output.read().decode(errors="replace").strip()[-_KEPT_CHARACTERS:]
    _log.info("%s ended with status %d: %s", name, status, said)
    if status != 0:
        raise Retry(f"{name} failed with status {status}: {said or 'it said nothing'}", _ACTION)
    return said
