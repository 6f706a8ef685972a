"""The preflight in front of a run: quick, without pictures, and no way past a failure but --force.

It never fires the shutter: every exposure of a run is a shot of its plan. What only a burst shows
(flicker, focal length) is told from the last `capture preflight` of this body and lighting, and is
a warning when that is a day old. A run is watched by the light guard from then on, so half a second
of the meter is enough to see that it lives.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TextIO

import click

from capture.asking import has_input
from capture.preflight import Ask, Manner, Preflight, record, refuse
from capture.readiness import Readiness
from rig.bench import Bench
from rig.checklist import Question
from rig.config import RigConfig
from rig.preflight import Finding, Status, Task
from rig.preflight_read import Sleep
from schemas.catalog import Catalog
from schemas.plan import Lighting, Shot
from schemas.workspace import Workspace

#: Between two looks whether somebody asked to stop.
_SLICE_S = 0.2


def _say(text: str) -> None:
    click.echo(text, err=True)


def asker(*, checklist_done: bool, answers: TextIO | None = None) -> Ask | None:
    """Asks a person at the terminal; None where there is nobody, or nobody is to be asked.

    `answers` is where the answers come from, in place of a standard input that is a terminal.
    """
    if checklist_done or (answers is None and not (sys.stdin and sys.stdin.isatty())):
        return None
    source = answers or sys.stdin

    def ask(question: Question, stopped: Callable[[], bool]) -> bool | None:
        _say(f"{question.text}: is that so? (y or n)")
        while not stopped():  # a signal that asks to stop does not end a read of the terminal
            if not has_input(source, _SLICE_S):
                continue
            line = source.readline()
            if not line:
                return None
            if (letter := line.strip().lower()[:1]) in ("y", "n"):
                return letter == "y"
            _say("y for yes, n for no")
        return None

    return ask


def told(findings: Sequence[Finding]) -> list[str]:
    """A line for each finding that is not ok; those that say the same share one."""
    alike: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        if finding.status is not Status.OK:
            alike.setdefault((finding.status, finding.found, finding.action), []).append(finding)
    return [
        f"{group[0].status}: {group[0]}"
        if len(group) == 1
        else f"{status}: {', '.join(f.check.replace('_', ' ') for f in group)}: {found}: {action}"
        for (status, found, action), group in alike.items()
    ]


@dataclass(frozen=True)
class Gate:
    """How a run's preflight is answered and overruled.

    Attributes
    ----------
    checklist_done : bool
        Take every question for answered with yes.
    force : bool
        Shoot in spite of failures, and record that.
    ask : callable or None
        Asks a person.
    say : callable
        Tells a person.
    show : callable
        Gets all findings, worst first.
    """

    checklist_done: bool = False
    force: bool = False
    ask: Ask | None = None
    say: Callable[[str], None] = _say
    show: Callable[[Sequence[Finding]], None] = lambda _findings: None
    sleep: Sleep = field(default=time.sleep)

    @classmethod
    def at_terminal(cls, *, checklist_done: bool, force: bool) -> Gate:
        """Asks at the terminal, if there is one."""
        return cls(checklist_done, force, asker(checklist_done=checklist_done), sleep=time.sleep)

    def check(
        self,
        workspace: Workspace,
        catalog: Catalog,
        config: RigConfig,
        bench: Bench,
        shots: Sequence[Shot],
        lighting: Lighting,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Readiness:
        """Look at an open bench before `shots` are taken. The caller owns the workspace.

        Once `stopped` says so, nobody is asked any more.

        Raises
        ------
        AskOperator, Abort
            If a check fails, unless forced: somebody has to do something, or the plan does not
            fit this body.
        """
        task = Task(tuple(shot.exposure for shot in shots), lighting)
        manner = Manner(
            checklist_done=self.checklist_done, ask=self.ask, stopped=stopped, sleep=self.sleep
        )
        flight = Preflight(workspace, catalog, config, task, manner)
        try:
            flight.host()
            flight.camera(bench.camera, bench.camera_info)
            flight.meter(bench.meter, bench.meter_info)
        finally:
            flight.close()
        findings = flight.findings
        self.show(findings)
        for line in told(findings):
            self.say(line)
        if not self.force:
            refuse(findings)
        events = record(findings, forced=self.force)
        return Readiness(bench.camera.offered(), events=tuple(events), forced=len(events) > 1)
