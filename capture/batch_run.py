"""Walk through a batch with an operator: say what to place, wait for the light, shoot, go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol, TextIO, TypeVar

from capture.asking import has_input
from capture.batch import Batch, Leg, Standing, instruction, standing
from capture.light_log import LightLog
from capture.pace import Pace
from capture.progress import duration
from capture.states import Snapshot
from capture.stopping import StopRequest
from capture.sweep import Summary
from rig.bench import Bench
from rig.errors import Abort, AskOperator, RigError
from rig.light_guard import Band
from rig.protocols import LightMeter
from schemas.catalog import Catalog
from schemas.plan import Lighting, SweepPlan
from schemas.records import Frame, RunStatus

#: How often the light is looked at, and said where there is no terminal to redraw.
_LOOK_S, _SAY_EVERY_S = 0.25, 10.0

_T = TypeVar("_T")


class LeftError(Exception):
    """The operator leaves, or there is none. The batch goes on with the same command."""


class Console(Protocol):
    """The operator."""

    def say(self, text: str) -> None:
        """Show a line."""
        ...

    def confirm(self, text: str) -> None:
        """Show what is to be done and wait for Enter. Raises LeftError."""
        ...

    def light(self, text: str) -> None:
        """Show where the light is, now."""
        ...


class Terminal:
    """An operator at standard input and error.

    Parameters
    ----------
    stop : StopRequest
        A signal does not end a read: it is looked at in between.
    source : file
        Where Enter comes from: a terminal, or a pipe.
    write : callable
        Shows a line.
    draw : callable or None
        Shows a text over the one before it, in one line; None where the output is no terminal.
    waits : bool
        False: nobody is there, go on at once.
    clock : callable
        Monotonic, in seconds.
    """

    def __init__(
        self,
        stop: StopRequest,
        source: TextIO,
        write: Callable[[str], None],
        *,
        draw: Callable[[str], None] | None = None,
        waits: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stop = stop
        self._source = source
        self._write = write
        self._draw = draw
        self._waits = waits
        self._clock = clock
        self._said_s: float | None = None

    def say(self, text: str) -> None:
        """Show a line."""
        if self._draw and self._said_s is not None:
            self._draw("")
        self._said_s = None
        self._write(text)

    def confirm(self, text: str) -> None:
        """Show what is to be done; back on Enter. Raises LeftError on q, Ctrl-C, end of input."""
        self.say(f"{text}, press Enter (q leaves)" if self._waits else text)
        while self._waits:
            if self._stop.asked:
                raise LeftError(self._stop.reason)
            if not has_input(self._source, _LOOK_S):
                continue
            answer = self._source.readline()
            if answer == "":
                raise LeftError("nobody is at the terminal (--no-wait goes on without)")
            if answer.strip().lower() in ("q", "quit"):
                raise LeftError("left at a prompt")
            return

    def light(self, text: str) -> None:
        """Show the light: live on a terminal, else now and then."""
        now_s = self._clock()
        if self._draw:
            self._draw(text)
            self._said_s = now_s
        elif self._said_s is None or now_s - self._said_s >= _SAY_EVERY_S:
            self._write(text)
            self._said_s = now_s


@dataclass(frozen=True)
class Means:
    """What a batch works with; the command gives the real ones.

    Attributes
    ----------
    meter : callable
        Opens the light meter alone, for the time in which the panels are set.
    bench : callable
        Opens camera and meter, for one sweep.
    sweep : callable
        (bench, leg, pace, more) -> how the sweep ended.
    auto_frame : callable
        (bench, leg) -> the frame.
    make_light : callable
        Makes a light log of a meter.
    """

    meter: Callable[[], AbstractContextManager[LightMeter]]
    bench: Callable[[], AbstractContextManager[Bench]]
    sweep: Callable[[Bench, Leg, Pace, Callable[[Snapshot], str]], Summary]
    auto_frame: Callable[[Bench, Leg], Frame]
    make_light: Callable[[LightMeter, Band], LightLog] = LightLog


@dataclass
class BatchRun:
    """One walk through a batch.

    Attributes
    ----------
    patience_s : float or None
        How long the light is waited for; None for as long as it takes the operator.
    shutter_life : int
        Exposures that the shutter is trusted for.
    """

    catalog: Catalog
    batch: Batch
    plan: SweepPlan
    legs: tuple[Leg, ...]
    console: Console
    means: Means
    stop: StopRequest
    attended: bool
    patience_s: float | None
    shutter_life: int
    summaries: list[Summary] = field(default_factory=list)
    pace: Pace = field(default_factory=Pace)
    _standings: dict[Leg, Standing] = field(default_factory=dict)
    _counted: bool = False

    def walk(self) -> Iterator[Summary]:
        """Shoot what the batch lacks; yields how each sweep ended.

        A sweep that failed does not hold up the others; one that stopped ends the walk.

        Raises
        ------
        LeftError
            If the operator leaves between sweeps, or nobody sets the light in time.
        RigError
            Where nobody can be asked.
        """
        self._standings = {one.leg: one for one in self.standings()}
        before: Leg | None = None
        for leg, now in self._standings.items():
            if now.complete:
                self.console.say(f"{self._of(leg)} {leg}: complete, skipped")
                continue
            self.console.say(f"{self._of(leg)} {leg}: {self._left(now)}")
            self.console.confirm(instruction(leg, before))
            summary = self._shoot(now)
            before = leg
            if summary is None:  # only the auto frame was missing
                continue
            self.summaries.append(summary)
            yield summary
            if summary.status is RunStatus.STOPPED:
                return

    def standings(self) -> list[Standing]:
        """Where each leg stands."""
        return [standing(self.catalog, leg, self.batch, self.plan) for leg in self.legs]

    def _of(self, leg: Leg) -> str:
        return f"[{leg.number} of {len(self.legs)}]"

    def _left(self, now: Standing) -> str:
        """The sweep, and the batch from here on."""
        this_s = now.left_s(self.pace)
        return (
            f"{len(now.remaining)} of {now.planned} shots left, about {duration(this_s)}; "
            f"whole batch about {duration(this_s + self._later_s(now.leg))} of shooting"
        )

    def _later_s(self, leg: Leg) -> float:
        """Seconds of the legs behind this one; they stand as they did at the start."""
        later = (one for one in self._standings.values() if one.leg.number > leg.number)
        return sum(one.left_s(self.pace) for one in later)

    def _shoot(self, now: Standing) -> Summary | None:
        leg = now.leg
        self._helped(lambda: self._await_light(leg.lighting))
        if now.auto_frame:
            self.console.confirm("turn the mode dial to P")
            self._helped(lambda: self._auto_frame(leg))
            self.console.confirm("turn the mode dial back to M")
        if not now.remaining:
            return None

        def more(snapshot: Snapshot) -> str:
            if snapshot.left_s is None:
                return ""
            return f"batch {duration(snapshot.left_s + self._later_s(leg))} left"

        def shoot() -> Summary:
            with self.means.bench() as bench:
                self._count_shutter(bench)
                return self.means.sweep(bench, leg, self.pace, more)

        return self._helped(shoot)

    def _helped(self, work: Callable[[], _T]) -> _T:
        """Do it; what a person can put right is asked of the operator, and tried again."""
        while True:
            try:
                return work()
            except Abort:
                raise
            except RigError as error:
                if not self.attended or self.stop.asked:
                    raise
                self.console.say(str(error))
                self.console.confirm(error.action or "put it right")

    def _await_light(self, lighting: Lighting) -> None:
        band = Band.of(lighting)
        with self.means.meter() as meter, self.means.make_light(meter, band) as light:
            begun_s = light.clock()
            while why := light.trouble:
                if self.stop.asked:
                    raise LeftError(self.stop.reason)
                waited_s = light.clock() - begun_s
                if self.patience_s is not None and waited_s > self.patience_s:
                    raise AskOperator(
                        f"the light is not that of {lighting.name} after "
                        f"{duration(waited_s)}: {why}",
                        "set the panels, then run the same command again",
                    )
                if not light.starting:
                    self.console.light(f"waiting for the light: {_seen(light.latest_lux, why)}")
                light.wait(_LOOK_S)
            lux = light.latest_lux
        self.console.say(f"the light is right: {lux:.4g} lux" if lux else "the light is right")

    def _auto_frame(self, leg: Leg) -> None:
        with self.means.bench() as bench:
            frame = self.means.auto_frame(bench, leg)
        self.console.say(f"{frame.path}: EV offset {frame.ev_offset}")

    def _count_shutter(self, bench: Bench) -> None:
        """Say once what the batch does to the shutter's life."""
        if self._counted:
            return
        self._counted = True
        adds = sum(one.exposures for one in self.standings())
        text = bench.camera.read_settings().get("shuttercounter", "")
        if text.isdigit() and int(text):
            after = int(text) + adds
            self.console.say(
                f"shutter: {text} exposures so far, {after} after this batch, "
                f"{after / self.shutter_life:.0%} of the {self.shutter_life} trusted"
            )
        else:
            share = shutter_share(adds, self.shutter_life)
            self.console.say(f"{share} (the body does not tell its count)")


def _seen(lux: float | None, why: str) -> str:
    """The light now, and what is wrong with it, the number once."""
    seen = "no reading" if lux is None else f"{lux:.4g} lux"
    return why if why.startswith(seen) else f"{seen}; {why}"


def shutter_share(exposures: int, life: int) -> str:
    """What a batch takes of the shutter's life."""
    return f"shutter: {exposures} exposures more, {exposures / life:.1%} of the {life} trusted"
