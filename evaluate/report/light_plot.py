"""The lux trace of each run with the band that its lighting tolerates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from evaluate.report.figures import Drawing, draw
from evaluate.report.style import INK, LIGHTING_COLORS, MUTED, RIGHT, mark_simulated
from schemas.capture_store import Run, StoredReading
from schemas.plan import Lighting

#: Points drawn of one run; more readings are drawn as the range of each bin.
BINS = 300

#: Panels of the figure; runs that left their band come first.
MAX_PANELS = 24

_PER_ROW = 3


@dataclass(frozen=True, eq=False)
class Trace:
    """Light over one run, at most `BINS` points.

    Attributes
    ----------
    minutes, low, mean, high : arrays of float, shape (points,)
        Time since the run's first moment; illuminance in lux.
    readings : int
        All readings behind it.
    inside : float
        Share of readings within the lighting's tolerance; NaN without readings.
    """

    run: Run
    lighting: Lighting
    minutes: npt.NDArray[np.float64]
    low: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    readings: int
    inside: float


def trace(run: Run, lighting: Lighting, readings: Sequence[StoredReading]) -> Trace:
    """Reduce the readings of a run, in order of time."""
    lux = np.array([reading.lux for reading in readings], dtype=np.float64)
    minutes = np.array([(r.at - run.started_at).total_seconds() / 60 for r in readings])
    if lux.size == 0:
        return Trace(run, lighting, minutes, lux, lux, lux, 0, math.nan)
    low, high = lighting.band_lux
    inside = float(((lux >= low) & (lux <= high)).mean())
    edges = np.linspace(0, lux.size, min(BINS, lux.size) + 1).astype(int)
    starts, sizes = edges[:-1], np.diff(edges)
    return Trace(
        run,
        lighting,
        np.add.reduceat(minutes, starts) / sizes,
        np.minimum.reduceat(lux, starts),
        np.add.reduceat(lux, starts) / sizes,
        np.maximum.reduceat(lux, starts),
        lux.size,
        inside,
    )


def light_plot(traces: Sequence[Trace], lightings: Sequence[str], simulated: bool) -> Drawing:
    """Draw one small panel a run."""
    measured = [found for found in traces if found.readings]
    shown = sorted(measured, key=lambda found: found.inside)[:MAX_PANELS]
    shown.sort(key=lambda found: found.run.id)
    columns = 2 if len(shown) == 4 else min(_PER_ROW, len(shown))
    rows = math.ceil(len(shown) / columns)

    def paint(figure: Figure) -> None:
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes in grid.flat[len(shown) :]:
            axes.set_visible(False)
        for axes, found in zip(grid.flat, shown, strict=False):
            low, high = found.lighting.band_lux
            color = LIGHTING_COLORS[lightings.index(found.lighting.name) % len(LIGHTING_COLORS)]
            axes.axhspan(low, high, color=RIGHT, alpha=0.12, lw=0)
            axes.axhline(found.lighting.lux, color=MUTED, lw=0.8, ls=":")
            axes.fill_between(found.minutes, found.low, found.high, color=color, alpha=0.35, lw=0)
            axes.plot(found.minutes, found.mean, color=color, lw=1.1)
            room = 0.6 * (high - low)
            axes.set_ylim(
                max(0.0, min(low - room, found.low.min())), max(high + room, found.high.max())
            )
            axes.set_xlim(0, max(float(found.minutes.max()), 1e-3))
            axes.set_title(f"{found.run.scene}, {found.lighting.name}", fontsize=9, color=INK)
            axes.tick_params(labelsize=8)
        for axes in grid[:, 0]:
            axes.set_ylabel("illuminance in lux")
        for place, axes in enumerate(grid.flat[: len(shown)]):
            if place >= len(shown) - columns:
                axes.set_xlabel("minutes since the start")
        mark_simulated(figure, simulated)

    return draw(
        "light-trace",
        f"Illuminance over each of {len(shown)} runs with its tolerance band",
        (min(11.5, 3.9 * columns), 0.5 + 2.3 * rows),
        paint,
        ("run", "scene", "lighting", "minutes", "lux_min", "lux_mean", "lux_max", "target_lux",
         "tolerance", "simulated"),
        [
            (f.run.id, f.run.scene, f.lighting.name, round(at, 5), round(low, 4), round(mean, 4),
             round(high, 4), f.lighting.lux, f.lighting.tolerance, int(f.run.simulated))
            for f in shown
            for at, low, mean, high in zip(
                f.minutes.tolist(), f.low.tolist(), f.mean.tolist(), f.high.tolist(), strict=True
            )
        ],
    )  # fmt: skip
