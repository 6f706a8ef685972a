"""An observer's accuracy at each exposure against how often a training set has that exposure."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from scipy.stats import spearmanr  # type: ignore[import-untyped]

from evaluate.bias.distribution import EV_RANGE, Distribution
from evaluate.report.figures import Drawing, draw
from evaluate.report.style import INK, series_look
from schemas.answer_store import Answer
from schemas.exposure import Exposure

_BOOTSTRAP: Final = 1000


@dataclass(frozen=True)
class Point:
    """One lighting and EV offset.

    Attributes
    ----------
    ev : int
        EV index of the frames.
    answers : int
        Scored ones.
    accuracy : float
        Share of them that are right.
    density : float
        Share of the training set's pictures that have this EV.
    """

    lighting: str
    ev_offset: int
    ev: int
    answers: int
    accuracy: float
    density: float


@dataclass(frozen=True)
class Comparison:
    """Accuracy against density.

    Attributes
    ----------
    correlation : float
        Spearman's rank correlation over the points; NaN below 3 points.
    low, high : float
        Its 95 % bootstrap interval, scenes drawn anew.
    """

    observer: str
    collection: str
    points: tuple[Point, ...]
    correlation: float
    low: float
    high: float

    def as_json(self) -> dict[str, Any]:
        """As `snaprig bias compare --json` prints it."""
        return {
            "observer": self.observer,
            "collection": self.collection,
            "spearman": _number(self.correlation),
            "spearman_interval": [_number(self.low), _number(self.high)],
            "points": [vars(point) for point in self.points],
        }


def compare(
    observer: str, answers: Iterable[Answer], training: Distribution, seed: int = 0
) -> Comparison:
    """Accuracy by lighting and EV offset beside the density of that EV in a training set.

    Answers without a verdict are left out.
    """
    right: dict[tuple[str, int, int], dict[str, list[bool]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for answer in answers:
        if answer.soft is not None:
            exposure = Exposure(answer.shutter_s, answer.iso, answer.f_number)
            key = (answer.lighting, answer.ev_offset, exposure.ev_index)
            right[key][answer.scene].append(answer.soft)
    keys = sorted(right)
    density = np.array([_density(training, key[2]) for key in keys])
    scenes = sorted({scene for by_scene in right.values() for scene in by_scene})
    hits = np.zeros((len(keys), len(scenes)))
    counts = np.zeros_like(hits)
    for row, key in enumerate(keys):
        for column, scene in enumerate(scenes):
            found = right[key].get(scene, [])
            hits[row, column], counts[row, column] = sum(found), len(found)
    points = tuple(
        Point(*key, int(n), float(h / n), float(d))
        for key, h, n, d in zip(keys, hits.sum(1), counts.sum(1), density, strict=True)
    )
    low, high = _interval(hits, counts, density, seed)
    return Comparison(
        observer,
        training.collection.name,
        points,
        _spearman(np.array([p.accuracy for p in points]), density),
        low,
        high,
    )


def comparison_figure(found: Comparison) -> Drawing:
    """Accuracy and density over EV, and one against the other."""
    lightings = sorted({point.lighting for point in found.points})

    def paint(canvas: Figure) -> None:
        over, against = canvas.subplots(1, 2, width_ratios=(3, 2))
        evs = sorted({point.ev: point.density for point in found.points}.items())
        shade = over.twinx()
        shade.bar([e for e, _ in evs], [d for _, d in evs], width=0.86, color="#c9ccd2", zorder=0)
        shade.set_ylabel(f"share of {found.collection}")
        shade.grid(visible=False)
        over.set_zorder(shade.get_zorder() + 1)
        over.patch.set_visible(False)
        for number, lighting in enumerate(lightings):
            points = sorted((p for p in found.points if p.lighting == lighting), key=_by_ev)
            look = series_look(number)
            over.plot([p.ev for p in points], [p.accuracy for p in points], label=lighting, **look)
            against.plot(
                [p.density for p in points],
                [p.accuracy for p in points],
                **look | {"linestyle": "none"},
            )
        over.set_xlabel("exposure value at ISO 100")
        over.set_ylabel(f"accuracy of {found.observer}")
        over.set_ylim(0, 1)
        over.legend(loc="upper left")
        against.set_xlabel(f"share of {found.collection} at this EV")
        against.set_ylim(0, 1)
        if not math.isnan(found.correlation):
            against.set_title(
                f"Spearman {found.correlation:.2f} [{found.low:.2f}, {found.high:.2f}]", color=INK
            )

    rows = [tuple(vars(point).values()) for point in found.points]
    return draw(
        "compare",
        f"Accuracy of {found.observer} and the exposures of {found.collection}",
        (9.0, 3.6),
        paint,
        ("lighting", "ev_offset", "ev", "answers", "accuracy", "density"),
        rows,
    )


def _by_ev(point: Point) -> int:
    return point.ev


def _density(training: Distribution, index: int) -> float:
    low, high = EV_RANGE
    if not low <= index <= high or not training.with_all_three:
        return 0.0
    return float(training.ev[index - low] / training.with_all_three)


def _interval(
    hits: npt.NDArray[np.float64],
    counts: npt.NDArray[np.float64],
    density: npt.NDArray[np.float64],
    seed: int,
) -> tuple[float, float]:
    scenes = hits.shape[1]
    if scenes < 2 or len(density) < 3:
        return math.nan, math.nan
    random = np.random.default_rng(seed)
    found = []
    for _ in range(_BOOTSTRAP):
        drawn = random.integers(0, scenes, scenes)
        total = counts[:, drawn].sum(1)
        there = total > 0
        found.append(_spearman(hits[:, drawn].sum(1)[there] / total[there], density[there]))
    known = [value for value in found if not math.isnan(value)]
    if not known:
        return math.nan, math.nan
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)


def _spearman(accuracy: npt.NDArray[np.float64], density: npt.NDArray[np.float64]) -> float:
    """NaN where one side is constant: then there is no order to agree on."""
    if len(accuracy) < 3 or np.ptp(accuracy) == 0 or np.ptp(density) == 0:
        return math.nan
    return float(spearmanr(accuracy, density).statistic)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 6)
