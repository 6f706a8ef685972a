"""Examines the pictures of one run, in their order, whether each is the one asked for.

The rules are pure and stand in `capture.verification`, `capture.truth`, `capture.prediction` and
`capture.reference`. Here is what they need to know of the pictures before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from capture.analysis import Analysis, analyze, small_luma
from capture.black_rows import BlackRow
from capture.frames import Exposed, Sweep
from capture.prediction import BLACK_SHARE, DOUBTFUL, SILENT, Expectation, light_stops
from capture.reference import (
    CREEP_STOPS,
    MOVED_BELOW,
    Reference,
    creep_stops,
    fault,
    similarity,
)
from capture.truth import Fault, History, claim, judge, old_bytes
from capture.verification import mismatches
from schemas.jpeg import JpegError
from schemas.records import Light


class Examiner:
    """The witness of a run: one for all its pictures, used by one thread.

    Parameters
    ----------
    sweep : Sweep
    first : Reference or None
        The sweep's first reference frame, where an earlier run took it.
    black : iterable of BlackRow
        Rows of earlier runs that a picture of this one may contradict.
    """

    def __init__(
        self, sweep: Sweep, first: Reference | None = None, black: Iterable[BlackRow] = ()
    ) -> None:
        self._sweep = sweep
        self._history = History(focal_length_mm=first.focal_length_mm if first else None)
        self._first = first
        self._expectation: Expectation | None = None
        self._references = 0
        self._doubted: dict[str, int] = {}  # references believed when a shot was first doubted
        self._black = {row.shot.exposure.stem: row for row in black}
        self._since_shown: set[str] = set()  # of those, taken after the last that shows something
        self._shutter_died = False
        self._events: list[tuple[str, str, str]] = []

    def look(self, exposed: Exposed) -> Analysis | Fault:
        """All that a picture says of itself, or what is wrong with it. Each picture once.

        Complete and decodable; settings as requested; no flash; not one of the pictures
        before; a clock and a count that advance.
        """
        picture, exposure = exposed.picture, exposed.shot.exposure
        digest = hashlib.sha256(picture.data).hexdigest()
        try:
            seen = analyze(picture.data)
        except JpegError as error:
            self._history.digests.add(digest)
            return Fault("undecodable", str(error))
        if (old := old_bytes(self._history, digest)) is not None:
            return old
        wrong = mismatches(exposure, seen.exif, self._sweep.offered)
        if wrong:
            self._history.digests.add(digest)
            return Fault("wrong_exif", "; ".join(wrong))
        doubted = self._history.doubted
        self._history, found = judge(
            self._history,
            claim(
                digest,
                seen.exif,
                picture.name,
                (seen.width_px, seen.height_px),
                picture.commanded_monotonic_s,
                exposure.shutter_s,
            ),
        )
        for witness in self._history.doubted - doubted:
            detail = "the camera's clock or count contradicts every picture: not asked any more"
            self._note("witness_doubted", exposed, f"{witness}: {detail}")
        return found or seen

    def weigh(self, exposed: Exposed, seen: Analysis, light: Light) -> Fault | None:
        """Whether brightness agrees with settings and light, and a reference shows the same scene.

        A picture without fault becomes evidence for those after it.
        """
        # Between the lighting's limits by now; a silent meter would have had it refused.
        lux = light.lux or self._sweep.lighting.lux
        stops = light_stops(exposed.shot.exposure, lux)
        deviation = self._expectation and self._expectation.deviation(seen.histogram, stops)
        if deviation and self._expectation and deviation.kind == SILENT:
            self._expectation.distrust_shutter()
            self._shutter_died = True
        if deviation and not (deviation.kind == DOUBTFUL and self._confirmed(exposed)):
            return Fault(deviation.kind, deviation.detail)
        if exposed.reference is not None:
            return self._weigh_reference(exposed, seen, lux)
        if self._expectation is not None:
            self._expectation.learn(seen.histogram, stops)
        if seen.luma.black_fraction <= BLACK_SHARE:
            self._since_shown.clear()
        return None

    def note_black(self, exposed: Exposed, seen: Analysis, frame: int, light: Light) -> None:
        """A believed picture became a row that says `rejected_black`, with this id."""
        if exposed.setting in self._doubted:
            return  # black twice, with a sound reference frame in between
        if seen.luma.black_fraction <= BLACK_SHARE:
            return  # by the rule `mean`; it shows something
        lux = light.lux or self._sweep.lighting.lux
        stops = light_stops(exposed.shot.exposure, lux)
        self._black[exposed.setting] = BlackRow(exposed.shot, exposed.attempt, frame, stops)
        self._since_shown.add(exposed.setting)

    def contradicted(self) -> list[BlackRow]:
        """Black rows that the pictures since make doubtful, each once: to be shot again."""
        if self._expectation is None:
            return []
        found = [
            setting
            for setting, row in self._black.items()
            if self._expectation.doubts_black(row.stops)
            or (self._shutter_died and setting in self._since_shown)
        ]
        self._shutter_died = False
        self._doubted |= dict.fromkeys(found, self._references)
        return [self._black.pop(setting) for setting in found]

    def _confirmed(self, exposed: Exposed) -> bool:
        """Whether a black picture is so again, with a sound reference frame in between."""
        return self._doubted.setdefault(exposed.setting, self._references) < self._references

    def events(self) -> list[tuple[str, str, str]]:
        """Kind, setting and detail of what was noticed since the last call."""
        noticed, self._events = self._events, []
        return noticed

    def _weigh_reference(self, exposed: Exposed, seen: Analysis, lux: float) -> Fault | None:
        useless = fault(seen.histogram)
        if useless:
            return Fault("bad_reference", useless)
        new = Reference(
            exposed.reference or 0,
            exposed.shot.exposure,
            lux,
            seen.histogram,
            small_luma(exposed.picture.data),
            seen.exif.focal_length_mm,
        )
        if self._first is None:
            self._first = new
        alike = similarity(self._first.luma, new.luma)
        if alike < MOVED_BELOW:
            return Fault(
                "scene_moved",
                f"the scene moved: reference frame {new.number} correlates with number "
                f"{self._first.number} by {alike:.3f} only (moved below {MOVED_BELOW})",
            )
        creep = creep_stops(self._first, new)
        if abs(creep) >= CREEP_STOPS:
            detail = f"{creep:+.2f} stops since reference frame {self._first.number}"
            self._note("light_creep", exposed, f"{detail}, not explained by the light meter")
        self._since_shown.clear()
        self._references += 1
        if self._expectation is None:
            self._expectation = Expectation(new.histogram, new.stops)
        else:
            self._expectation.renew(new.histogram, new.stops)
        return None

    def _note(self, kind: str, exposed: Exposed, detail: str) -> None:
        self._events.append((kind, exposed.setting, detail))
