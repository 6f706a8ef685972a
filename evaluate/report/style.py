"""One look for all figures: colors that color-blind people tell apart, ink that can invert.

Lighting and outcome colors are of Okabe and Ito (2008). Ink, muted, grid and paper are exact
values that stand for nothing else, so that `evaluate.report.figures` can exchange them in the
page's dark scheme.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from schemas.records import Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK = "#1b1b1f"
MUTED = "#666a72"
GRID = "#dcdee2"
PAPER = "#fdfdfd"

#: What each becomes on a dark page.
DARK = {INK: "#e7e8ea", MUTED: "#a4a9b2", GRID: "#3b3e45", PAPER: "none", "#0072b2": "#3d9ddb"}

#: By brightness, brightest first.
LIGHTING_COLORS = ("#e69f00", "#0072b2", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
LIGHTING_MARKERS = ("o", "s", "^", "D", "v", "P")

NOT_SHOT = "not shot yet"

#: Fill, hatch and words of each outcome; lightness alone tells the first three apart.
OUTCOMES: dict[str, tuple[str, str, str]] = {
    Outcome.REJECTED_BLACK: ("#20242c", "", "rejected: black"),
    Outcome.ACCEPTED: ("#56b4e9", "", "accepted"),
    Outcome.REJECTED_WHITE: ("#fff3c4", "", "rejected: white"),
    Outcome.FAILED: ("#d55e00", "xxx", "failed"),
    Outcome.SKIPPED: ("#b9bcc3", "///", "skipped"),
    NOT_SHOT: (PAPER, "", NOT_SHOT),
}

RIGHT, WRONG, NONE = "#009e73", "#d55e00", "#8a8e96"

SIMULATED = "simulated frames (virtual dark room)"

#: Models: colors that color-blind people tell apart, then other dashes, with other markers.
_SERIES_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a6d3b")
_SERIES_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.6)), (0, (1, 1.2)), (0, (5, 1.4, 1, 1.4)))
_SERIES_MARKERS = "os^DvPX*"

#: How chance, a result published elsewhere, parameter sensitivity and a box look.
CHANCE: dict[str, Any] = {"color": MUTED, "linestyle": (0, (6, 4)), "linewidth": 1.1, "zorder": 1}
PUBLISHED: dict[str, Any] = {
    "marker": "x", "color": "#d55e00", "markersize": 7, "markeredgewidth": 1.8, "zorder": 6,
}  # fmt: skip
SENSITIVITY: dict[str, Any] = {"marker": "o", "color": "#0072b2", "markersize": 6, "zorder": 6}
BOX = GRID

#: Of bars: hard accuracy, and what soft accuracy adds.
SOFT_AND_HARD = ("#009e73", "#56b4e9")

RC: dict[str, Any] = {
    "text.parse_math": False,  # a scene may have a $ in its name
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "hatch.linewidth": 0.6,
    "svg.fonttype": "path",
}


def mark_simulated(figure: Figure, simulated: bool) -> None:
    """Say on the figure itself that its frames come from a virtual dark room."""
    if simulated:
        figure.supxlabel(SIMULATED, x=0.995, ha="right", fontsize=7.5, color=WRONG)


def series_look(number: int) -> dict[str, Any]:
    """Color, dash and marker of a line; 28 differ in color or dash."""
    return {
        "color": _SERIES_COLORS[number % len(_SERIES_COLORS)],
        "linestyle": _SERIES_DASHES[number // len(_SERIES_COLORS) % len(_SERIES_DASHES)],
        "marker": _SERIES_MARKERS[number % len(_SERIES_MARKERS)],
        "linewidth": 1.3,
        "markersize": 3.6,
    }


def signed(offset: float, _position: object = None) -> str:
    """An EV offset as a tick label, with a sign of the width of the plus."""
    return "0" if offset == 0 else f"{offset:+g}".replace("-", "\N{MINUS SIGN}")


def ev_offset_axis(axes: Axes, low: int, high: int) -> None:
    """The x axis of EV offsets, one tick a stop."""
    axes.set_xlim(low - 0.6, high + 0.6)
    axes.set_xticks(range(low, high + 1), [signed(offset) for offset in range(low, high + 1)])
    axes.set_xlabel("EV offset in stops (left: under-exposed, right: over-exposed)")
