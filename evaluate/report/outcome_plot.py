"""What became of each triplet: shutter x ISO, one panel an F-number, one band a lighting."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from evaluate.report.figures import Drawing, draw
from evaluate.report.style import INK, MUTED, NOT_SHOT, OUTCOMES, PAPER, mark_simulated
from schemas.exposure import Exposure, spell_shutter
from schemas.plan import Lighting

#: Panels beside each other; more F-numbers (1/3-stop grids have 13) wrap.
_PER_ROW = 5

#: Shutter speeds that have room for a label under a panel.
_LABELS = 18

#: Cells from which on a vector file would grow by many megabytes.
_RASTER_CELLS = 3000

#: (lighting, triplet) -> how many scenes ended so, by outcome or NOT_SHOT.
Counts = Mapping[tuple[str, Exposure], Mapping[str, int]]


def count_cells(
    planned: Iterable[tuple[str, str, Exposure]],
    ended: Iterable[tuple[str, Exposure, str, int]],
) -> dict[tuple[str, Exposure], Counter[str]]:
    """Outcomes of each triplet over all scenes; planned ones without a frame are not shot yet.

    Parameters
    ----------
    planned
        Distinct (scene, lighting, triplet).
    ended
        (lighting, triplet, outcome, number of scenes).
    """
    cells: dict[tuple[str, Exposure], Counter[str]] = defaultdict(Counter)
    for lighting, exposure, outcome, number in ended:
        cells[lighting, exposure][outcome] += number
    wanted = Counter((lighting, exposure) for _, lighting, exposure in planned)
    for key, number in wanted.items():
        missing = number - cells[key].total()
        if missing > 0:
            cells[key][NOT_SHOT] = missing
    return dict(cells)


def outcome_plot(
    cells: Counts, lightings: Sequence[Lighting], scenes: int, simulated: bool
) -> Drawing:
    """Draw a cell for each triplet, split by the share of scenes with each outcome."""
    shown = [light for light in lightings if any(name == light.name for name, _ in cells)]
    exposures = {exposure for _, exposure in cells}
    shutters = sorted({exposure.shutter_s for exposure in exposures})
    isos = sorted({exposure.iso for exposure in exposures})
    f_numbers = sorted({exposure.f_number for exposure in exposures})
    columns = min(_PER_ROW, len(f_numbers))
    bands = math.ceil(len(f_numbers) / columns)
    present = [name for name in OUTCOMES if any(counts.get(name) for counts in cells.values())]
    cell_in = min(0.32, 11.0 / columns / len(shutters))
    panel_in = (cell_in * len(shutters) + 0.25, max(1.0, 0.26 * len(isos)) + 0.75)

    def paint(figure: Figure) -> None:
        blocks = figure.subfigures(len(shown), 1, squeeze=False)
        for block, light in zip(blocks[:, 0], shown, strict=True):
            block.suptitle(
                f"{light.name} ({light.lux:g} lux, EV offset 0 = EV {light.ev_reference})",
                x=0.01, ha="left", fontsize=10, fontweight="bold",
            )  # fmt: skip
            grid = block.subplots(bands, columns, sharex=True, sharey=True, squeeze=False)
            for panel in grid.flat[len(f_numbers) :]:
                panel.set_visible(False)
            for panel, f_number in zip(grid.flat, f_numbers, strict=False):
                panel.set_title(f"f/{f_number:g}", fontweight="normal")
                _paint_panel(panel, cells, light, f_number, shutters, isos)
            for panel in grid.flat[max(0, len(f_numbers) - columns) : len(f_numbers)]:
                panel.tick_params(labelbottom=True)  # the last one in its column
            for panel in grid[:, 0]:
                panel.set_ylabel("ISO")
        handles = [
            Patch(fc=fill, ec=MUTED, hatch=hatch, label=words)
            for name, (fill, hatch, words) in OUTCOMES.items()
            if name in present
        ]
        figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))
        blocks[-1, 0].supxlabel("shutter in s (a dot marks EV offset 0)", fontsize=9)
        mark_simulated(figure, simulated)

    return draw(
        "outcome-grid",
        f"Outcome of every shutter, ISO and F-number triplet over {scenes} scenes",
        (max(6.5, columns * panel_in[0] + 0.9), len(shown) * (bands * panel_in[1] + 0.45) + 0.8),
        paint,
        ("lighting", "shutter_s", "iso", "f_number", "ev", "ev_offset", "outcome", "scenes",
         "simulated"),
        _rows(cells, lightings, simulated),
    )  # fmt: skip


def _paint_panel(
    axes: Axes,
    cells: Counts,
    light: Lighting,
    f_number: float,
    shutters: Sequence[float],
    isos: Sequence[int],
) -> None:
    axes.grid(visible=False)
    # One collection an outcome, not one patch a cell: ten times quicker to draw.
    parts: dict[str, list[Rectangle]] = {name: [] for name in OUTCOMES}
    frames: list[Rectangle] = []
    dots: list[tuple[int, int]] = []
    for column, shutter_s in enumerate(shutters):
        for row, iso in enumerate(isos):
            exposure = Exposure(shutter_s, iso, f_number)
            counts = cells.get((light.name, exposure))
            if counts is None:
                continue  # no plan asks for it
            left, total = column - 0.5, sum(counts.values())
            for name, rectangles in parts.items():
                width = counts.get(name, 0) / total
                if width:
                    rectangles.append(Rectangle((left, row - 0.5), width, 1))
                    left += width
            frames.append(Rectangle((column - 0.5, row - 0.5), 1, 1))
            if exposure.ev_offset(light.ev_reference) == 0:
                dots.append((column, row))
    raster = len(cells) > _RASTER_CELLS
    for name, (fill, hatch, _) in OUTCOMES.items():
        axes.add_collection(
            PatchCollection(parts[name], fc=fill, hatch=hatch, ec=MUTED, lw=0, rasterized=raster)
        )
    axes.add_collection(PatchCollection(frames, fc="none", ec=MUTED, lw=0.5, rasterized=raster))
    axes.plot([x for x, _ in dots], [y for _, y in dots], "o", ms=3.2, mfc=PAPER, mec=INK, mew=0.8)
    axes.set_xlim(-0.6, len(shutters) - 0.4)
    axes.set_ylim(-0.6, len(isos) - 0.4)
    labelled = range(0, len(shutters), math.ceil(len(shutters) / _LABELS))
    axes.set_xticks(labelled, [spell_shutter(shutters[n]) for n in labelled], rotation=90)
    axes.set_yticks(range(len(isos)), [str(iso) for iso in isos])
    axes.tick_params(length=0, labelsize=7.5)
    axes.spines[:].set_visible(False)


def _rows(
    cells: Counts, lightings: Sequence[Lighting], simulated: bool
) -> list[tuple[object, ...]]:
    references = {light.name: light.ev_reference for light in lightings}
    return [
        (
            lighting,
            exposure.shutter_s,
            exposure.iso,
            exposure.f_number,
            round(exposure.ev, 6),
            exposure.ev_offset(references[lighting]),
            outcome,
            number,
            int(simulated),
        )
        for (lighting, exposure), counts in sorted(cells.items())
        for outcome, number in sorted(counts.items())
    ]
