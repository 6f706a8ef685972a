"""Kill a session at its first step, its second, …; resume each. One JSON line a kill.

A step is a view that becomes visible, or an append: before it, half-way, after it. Run as a
process of its own, which forks: each session is a real process that dies by a real SIGKILL.
"""

import json
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from experiment.trial_log import End, LogWriter, TrialRecord, encode, read_log
from experiment.views import OptionsView, TextView
from tests.experiment.scripted_screen import ScriptedScreen, diligent
from tests.experiment.scripted_session import make_plan, start

PLAN = make_plan(each=2)


class Steps:
    def __init__(self, last, answered):
        self.left, self.answered = last, answered

    def step(self):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def view(self, screen, view, at_s):
        done = isinstance(view, TextView) and view.caret is None
        done |= isinstance(view, OptionsView) and view.chosen is not None
        if done:
            os.write(self.answered, b".")
        self.step()
        diligent()(screen, view, at_s)


def killed_log(steps):
    class KilledLog(LogWriter):
        def append(self, record):
            steps.step()
            line = encode(record)
            if steps.left == 1:
                os.write(self._file, line[: len(line) // 2])
            steps.step()
            super().append(record)
            steps.step()

    return KilledLog


def run(path, last, answered):
    """Whether the process was killed."""
    child = os.fork()
    if child == 0:
        steps = Steps(last, answered)
        start(path, PLAN, ScriptedScreen(on_view=steps.view), log=killed_log(steps))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    if os.WEXITSTATUS(status):
        raise SystemExit(f"step {last}: the session failed")
    return False


def main(folder):
    last, killed = 0, True
    while killed:
        last += 1
        path = folder / f"{last}.jsonl"
        read, write = os.pipe()
        killed = run(path, last, write)
        os.close(write)
        answered = len(os.read(read, 1000))
        os.close(read)
        after = [r.index for r in read_log(path) if isinstance(r, TrialRecord)]
        if killed and run(path, 0, os.open(os.devnull, os.O_WRONLY)):
            raise SystemExit("a session that nobody kills was killed")
        records = read_log(path)
        trials = [r for r in records if isinstance(r, TrialRecord)]
        report = {
            "killed": killed, "answered": answered, "after_kill": after,
            "at_end": [r.index for r in trials], "showings": [r.showing for r in trials],
            "status": next(r.status for r in reversed(records) if isinstance(r, End)),
        }  # fmt: skip
        sys.stdout.write(json.dumps(report) + "\n")


main(Path(sys.argv[1]))
