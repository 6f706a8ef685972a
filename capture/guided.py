"""The guided sweep: which shot to take next, and which need none. Pure.

What has no witness (`capture.evidence`) has to be shot in any case, so the art is only to meet the
two witnesses of an ISO early and cheaply: from EV offset 0 outward, one level of light at a time,
each tried first with its shortest shutter speed. A level is not tried while the verdict on the
one before it is out: one level too far in the light doubles the longest exposure.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from capture.evidence import WITNESS_FRACTION, Evidence, Judged, light_sixths, require_rule
from schemas.exposure import Exposure, stops_between
from schemas.plan import Shot, SweepPlan
from schemas.records import Outcome


@dataclass(frozen=True)
class Skip:
    """A shot that need not be taken, and the frame that proves it."""

    shot: Shot
    witness: Judged

    @property
    def reason(self) -> str:
        """For the row, naming the witness by its setting."""
        frame = self.witness
        if frame.outcome is Outcome.REJECTED_WHITE:
            return (
                f"witness {frame.exposure.stem}: {frame.white_fraction:.2%} of its pixels white, "
                "with no more light"
            )
        return (
            f"witness {frame.exposure.stem}: {frame.black_fraction:.2%} of its pixels black, "
            "with more light"
        )


@dataclass(frozen=True)
class Refuted:
    """An audited shot that did not turn out as its witness said."""

    exposure: Exposure
    outcome: Outcome
    witness: Judged

    def __str__(self) -> str:
        return (
            f"{self.exposure.stem} is {self.outcome.replace('_', ' ')}, though "
            f"{self.witness.exposure.stem} said {self.witness.outcome.replace('_', ' ')}"
        )


@dataclass
class _Level:
    """The shots of one ISO with the same light, and what became of them.

    Attributes
    ----------
    waiting : list of Shot
        Without a row and not handed out, shortest exposure first.
    out : set of Exposure
        Handed out, the verdict to come.
    """

    iso: int
    light: int
    offset_stops: float
    waiting: list[Shot]
    out: set[Exposure] = field(default_factory=set)


class Guide:
    """Chooses the next shot of a guided sweep, and says in the end what was certain.

    Parameters
    ----------
    plan : SweepPlan
    ev_reference : int
        Of the lighting: where the walk begins.
    known : iterable of Judged
        The frames that the catalog has of this scene and lighting, whatever plan they are of.
    audit : float
        Share of the certain shots that is shot all the same.
    limit : int or None
        Shots to hand out at most.
    fraction : float
        What a witness needs, to measure what another margin would do.

    Attributes
    ----------
    refuted : list of Refuted
        Audited shots that did not turn out as predicted: the claim has failed.

    Raises
    ------
    ValueError
        If the plan judges by another rule than `RULE`.
    """

    def __init__(
        self,
        plan: SweepPlan,
        ev_reference: int,
        known: Iterable[Judged] = (),
        *,
        audit: float = 0.0,
        limit: int | None = None,
        fraction: float = WITNESS_FRACTION,
    ) -> None:
        require_rule(plan)
        self._plan = plan
        self._audit = audit
        self._to_hand_out = math.inf if limit is None else limit
        self._evidence = Evidence(known, fraction)
        self._ladders = [self._ladder(iso, ev_reference) for iso in plan.iso]
        self._levels = [level for ladder in self._ladders for level in ladder]
        self._level_of = {(level.iso, level.light): level for level in self._levels}
        self._audited: dict[Exposure, Judged] = {}
        self._last: Exposure | None = None
        self.refuted: list[Refuted] = []

    def next(self) -> Shot | None:
        """What to shoot now; None while that depends on verdicts that are out, and at the end."""
        if self._to_hand_out < 1 or self.refuted:
            return None
        shot = self._choose(self._probes()) or self._choose(self._needed())
        if shot is None and not any(level.out for level in self._levels if not self._proof(level)):
            shot = self._choose(self.to_audit())
        if shot is None:
            return None
        level = self._level(shot.exposure)
        level.waiting.remove(shot)
        level.out.add(shot.exposure)
        if witness := self._proof(level):
            self._audited[shot.exposure] = witness
        self._to_hand_out -= 1
        self._last = shot.exposure
        return shot

    def learn(self, exposure: Exposure, frame: Judged | None) -> None:
        """A shot that was handed out has its row; `frame` is None if it was given up."""
        level = self._level_of.get((exposure.iso, light_sixths(exposure)))
        if level is None or exposure not in level.out:
            return  # not ours: taken beside the sweep
        level.out.remove(exposure)
        if frame is None:
            return
        self._evidence.add(frame)
        witness = self._audited.get(exposure)
        if witness is not None and frame.outcome is not witness.outcome:
            self.refuted.append(Refuted(exposure, frame.outcome, witness))

    def withdraw(self, exposure: Exposure) -> None:
        """A frame is not believed any more; its verdict is to come again."""
        self._evidence.remove(exposure)
        self._audited = {
            audited: witness
            for audited, witness in self._audited.items()
            if exposure not in (audited, witness.exposure)
        }
        level = self._level_of.get((exposure.iso, light_sixths(exposure)))
        if level is not None:
            level.out.add(exposure)

    def skips(self) -> list[Skip]:
        """What need not be shot; nothing before the sweep has come to its end.

        Until then a verdict may still take a witness away.
        """
        return [] if self.left() or self.to_audit() else self.certain()

    def certain(self) -> list[Skip]:
        """Shots without a frame that have a witness so far."""
        return [
            Skip(shot, witness)
            for level in self._levels
            if (witness := self._proof(level)) is not None
            for shot in level.waiting
        ]

    def left(self) -> list[Shot]:
        """Shots that nothing proves needless so far: an upper bound of what is still to come."""
        return [shot for level in self._levels for shot in self._uncertain(level)]

    def _proof(self, level: _Level) -> Judged | None:
        return self._evidence.witness(level.iso, level.light)

    def _uncertain(self, level: _Level) -> list[Shot]:
        return [] if self._proof(level) else level.waiting

    def _probes(self) -> list[Shot]:
        """The next step of each walk, upward and downward in every ISO, where it may be taken."""
        steps = []
        for ladder in self._ladders:
            start = min(range(len(ladder)), key=lambda n: abs(ladder[n].offset_stops))
            up, down = self._step(ladder[start:]), self._step(ladder[start::-1])
            steps += [up] if up is down else [up, down]
        return [shot for shot in steps if shot is not None]

    def _step(self, walk: list[_Level]) -> Shot | None:
        """The cheapest shot of the first level without a verdict; None if its verdict is out."""
        for level in walk:
            if self._evidence.reaches(level.iso, level.light):
                continue
            if level.out:
                return None
            if uncertain := self._uncertain(level):
                return uncertain[0]
        return None

    def _needed(self) -> list[Shot]:
        """Shots beside a judged one that was no witness."""
        return [
            shot
            for level in self._levels
            if level.waiting and self._evidence.reaches(level.iso, level.light)
            for shot in self._uncertain(level)
        ]

    def to_audit(self) -> list[Shot]:
        """The audited share of what is certain: the same shots, however often it is asked.

        A certain shot that has its frame counts as audited if the draw falls on it.
        """
        if not self._audit:
            return []
        proven = [
            shot
            for shot in self._plan
            if (witness := self._proof(self._level(shot.exposure))) is not None
            and witness.exposure != shot.exposure
        ]
        proven.sort(key=lambda shot: _draw(self._plan.seed, shot.exposure))
        drawn = proven[: math.ceil(self._audit * len(proven))]
        return [shot for shot in drawn if shot in self._level(shot.exposure).waiting]

    def _choose(self, shots: list[Shot]) -> Shot | None:
        """The one that changes least, the aperture first: it is the mechanical one.

        A plan in random order keeps its order as far as the walks allow.
        """
        if self._plan.order == "random" or self._last is None:
            return min(shots, key=lambda shot: shot.index, default=None)
        last = self._last
        return min(
            shots, key=lambda shot: (*_changes(last, shot.exposure), shot.index), default=None
        )

    def _level(self, exposure: Exposure) -> _Level:
        return self._level_of[exposure.iso, light_sixths(exposure)]

    def _ladder(self, iso: int, ev_reference: int) -> list[_Level]:
        """The levels of light of one ISO, darkest first."""
        levels: dict[int, _Level] = {}
        for shot in sorted(self._plan, key=lambda shot: shot.exposure.shutter_s):
            if shot.exposure.iso != iso:
                continue
            light = light_sixths(shot.exposure)
            # EV = log2(N^2 / t) - log2(ISO / 100), of the true values
            offset = ev_reference + light / 6 + math.log2(iso / 100)
            level = levels.setdefault(light, _Level(iso, light, offset, []))
            if shot.exposure not in self._evidence:
                level.waiting.append(shot)
        return [level for _, level in sorted(levels.items())]


def _changes(last: Exposure, to: Exposure) -> tuple[float, float, float]:
    return (
        abs(stops_between(to.f_number, last.f_number)),
        abs(stops_between(to.iso, last.iso)),
        abs(stops_between(to.shutter_s, last.shutter_s)),
    )


@cache
def _draw(seed: int, exposure: Exposure) -> bytes:
    """A number that depends on seed and settings alone: a resumed audit draws the same shots."""
    return hashlib.sha256(f"{seed}/{exposure.stem}".encode()).digest()
