"""Top-1 against EV offset, one line a lighting, one panel an observer."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from evaluate.report.figures import Drawing, draw
from evaluate.report.style import (
    LIGHTING_COLORS,
    LIGHTING_MARKERS,
    ev_offset_axis,
    mark_simulated,
)
from evaluate.summary import OffsetShare, Summary
from schemas.plan import Lighting

#: Lines of several lightings stand a little apart, so that their bars do not cover each other.
_APART = 0.14

#: Observers in the figure; its CSV file holds all.
MAX_PANELS = 12


def accuracy_plot(
    summaries: Sequence[Summary], lightings: Sequence[Lighting], simulated: bool
) -> Drawing:
    """Draw top-1 with 95 % intervals over the number of frames at each EV offset.

    Parameters
    ----------
    lightings
        Brightest first: they fix the colors.
    """
    answered = [summary for summary in summaries if summary.by_ev_offset]
    shown = answered[:MAX_PANELS]
    names = [summary.observer.name for summary in shown]
    offsets = [point.ev_offset for summary in shown for point in summary.by_ev_offset]

    def paint(figure: Figure) -> None:
        grid = figure.subplots(
            2 * len(shown), 1, sharex=True, squeeze=False, height_ratios=[4, 1] * len(shown)
        )
        for place, summary in enumerate(shown):
            top, bottom = grid[2 * place, 0], grid[2 * place + 1, 0]
            for number, lighting in enumerate(lightings):
                points = [p for p in summary.by_ev_offset if p.lighting == lighting.name]
                if not points:
                    continue
                shift = (number - (len(lightings) - 1) / 2) * _APART
                x = [point.ev_offset + shift for point in points]
                y = [point.top1.value for point in points]
                low = [point.top1.value - point.top1.low for point in points]
                high = [point.top1.high - point.top1.value for point in points]
                color = LIGHTING_COLORS[number % len(LIGHTING_COLORS)]
                marker = LIGHTING_MARKERS[number % len(LIGHTING_MARKERS)]
                top.errorbar(
                    x,
                    y,
                    (low, high),
                    color=color,
                    marker=marker,
                    capsize=2.5,
                    label=f"{lighting.name}, {lighting.lux:g} lux",
                )
                width = 0.8 / len(lightings)
                bars = [p.ev_offset + (number - (len(lightings) - 1) / 2) * width for p in points]
                bottom.bar(bars, [point.top1.n for point in points], width, color=color)
            top.set_ylim(-0.03, 1.03)
            top.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
            top.set_ylabel("top-1")
            top.set_title(summary.observer.name)
            top.legend(loc="lower right", bbox_to_anchor=(1, 0.99), ncols=len(lightings))
            bottom.set_ylabel("frames")
            bottom.yaxis.set_major_locator(MaxNLocator(2, integer=True))
            ev_offset_axis(bottom, min(offsets), max(offsets))
            if place < len(shown) - 1:
                bottom.set_xlabel("")
        mark_simulated(figure, simulated)

    return draw(
        "top1-by-ev-offset",
        f"Top-1 against EV offset by lighting, of {', '.join(names)}",
        (8.6, 0.6 + 3.6 * len(shown)),
        paint,
        ("observer", "lighting", "ev_offset", "n", "top1", "low", "high", "interval", "simulated"),
        [_row(summary, point, simulated) for summary in answered for point in summary.by_ev_offset],
    )


def _row(summary: Summary, point: OffsetShare, simulated: bool) -> tuple[object, ...]:
    share = point.top1
    return (
        summary.observer.name,
        point.lighting,
        point.ev_offset,
        share.n,
        round(share.value, 6),
        round(share.low, 6),
        round(share.high, 6),
        share.method,
        int(simulated),
    )
