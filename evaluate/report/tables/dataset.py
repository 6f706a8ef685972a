"""The data set: frames by category, by EV offset, and the camera settings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from evaluate.report.tables.table import Column, Table
from schemas.exposure import spell_shutter

SECTION = "data set"

#: A row of `schemas.report_store.count_frames`.
FrameCount = tuple[Any, ...]


def dataset_tables(counts: Sequence[FrameCount]) -> list[Table]:
    """The tables that the frames allow; none without frames."""
    found = [_by_category(counts), _by_offset(counts), _settings(counts)] if counts else []
    return [table for table in found if table.rows]


def _by_category(counts: Iterable[FrameCount]) -> Table:
    counts = list(counts)
    lightings = _lightings(counts)
    categories: dict[str, list[FrameCount]] = defaultdict(list)
    for row in counts:
        categories[row[1]].append(row)
    rows = [_category(name, rows, lightings) for name, rows in sorted(categories.items())]
    rows.append(_category("all", counts, lightings))
    return Table(
        "dataset-by-category",
        SECTION,
        "Frames of each category",
        "Accepted frames; auto-exposure frames and pictures without a sweep are counted in all.",
        (
            Column("category", "Category"),
            Column("scenes", "Scenes", "count"),
            Column("objects", "Objects in a scene"),
            *(Column(f"frames_{light}", f"Frames, {light}", "count") for light in lightings),
            Column("auto_frames", "Auto frames", "count"),
            Column("frames", "Frames", "count"),
        ),
        rows,
    )


def _category(name: str, rows: list[FrameCount], lightings: list[str]) -> dict[str, object]:
    objects = sorted({row[2] for row in rows})
    return {
        "category": name,
        "scenes": len({row[0] for row in rows}),
        "objects": str(objects[0])
        if len(objects) == 1
        else f"{objects[0]}\N{EN DASH}{objects[-1]}",
        **{
            f"frames_{light}": sum(r[-1] for r in rows if r[3] == light and r[5] != "auto")
            for light in lightings
        },
        "auto_frames": sum(row[-1] for row in rows if row[5] == "auto"),
        "frames": sum(row[-1] for row in rows),
    }


def _by_offset(counts: Iterable[FrameCount]) -> Table:
    counts = [row for row in counts if row[5] == "manual" and row[6] is not None]
    lightings = _lightings(counts)
    offsets = sorted({row[6] for row in counts})
    rows = [
        {
            "ev_offset": offset,
            **{
                f"frames_{light}": sum(r[-1] for r in counts if (r[3], r[6]) == (light, offset))
                for light in lightings
            },
            "frames": sum(row[-1] for row in counts if row[6] == offset),
            "scenes": len({row[0] for row in counts if row[6] == offset}),
        }
        for offset in offsets
    ]
    return Table(
        "dataset-by-ev-offset",
        SECTION,
        "Frames of each EV offset",
        "Accepted frames with settings of their own (no auto frames).",
        (
            Column("ev_offset", "EV offset", "signed"),
            *(Column(f"frames_{light}", f"Frames, {light}", "count") for light in lightings),
            Column("frames", "Frames", "count"),
            Column("scenes", "Scenes", "count"),
        ),
        rows,
    )


def _settings(counts: Iterable[FrameCount]) -> Table:
    used = [row for row in counts if row[5] == "manual"]
    rows: list[dict[str, object]] = []
    for name, place, spell in (
        ("Shutter speed (s)", 7, spell_shutter),
        ("ISO", 8, str),
        ("F-number", 9, "{:g}".format),
    ):
        frames: Counter[Any] = Counter()
        for row in used:
            if row[place] is not None:
                frames[row[place]] += row[-1]
        if frames:
            rows.append(
                {
                    "parameter": name,
                    "number": len(frames),
                    "values": ", ".join(spell(value) for value in sorted(frames)),
                }
            )
    return Table(
        "camera-settings",
        SECTION,
        "Camera settings of the frames",
        "Of accepted frames with settings of their own.",
        (
            Column("parameter", "Camera parameter"),
            Column("number", "Values", "count"),
            Column("values", "Which"),
        ),
        rows,
    )


def _lightings(counts: Iterable[FrameCount]) -> list[str]:
    """Names of the lightings, brightest first."""
    lux = {row[3]: row[4] for row in counts if row[5] != "auto"}
    return sorted(lux, key=lambda name: (-lux[name], name))
