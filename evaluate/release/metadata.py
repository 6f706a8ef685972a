"""The release's list of frames (``data.csv`` or ``SNAP.xlsx``) into scenes and frames."""

from __future__ import annotations

import csv
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sqlalchemy import Connection, select

from evaluate.errors import EvaluateError
from evaluate.importing import SourceReport
from evaluate.release.sheets import Cell, Table, text_of
from schemas.capture_store import IMPORTED
from schemas.exposure import Exposure, ev_index, parse_f_number, parse_shutter_s
from schemas.import_store import FrameRow, put_frames, put_runs, put_scenes
from schemas.plan import Lighting
from schemas.records import Scene
from schemas.release_paths import Shot, parse_path, spell_path, split_scene
from schemas.tables import frames, lightings, runs, scenes
from schemas.workspace import WorkspaceError, safe_name

RUN_REASON = "imported from the SNAP release"

_COLUMNS = (
    "Path Object_name Category EV_offset EV_idx Lux Shutter_speed ISO F-Number Num_objects"
).split()


@dataclass(frozen=True)
class Listed:
    """One row of the list, checked against its own path."""

    shot: Shot
    scene: Scene
    settings: Exposure


def import_metadata(
    connection: Connection,
    table: Table,
    lights: Mapping[int, Lighting],
    report: SourceReport,
    simulated: Collection[tuple[str, int]] = (),
) -> None:
    """Add the scenes and frames of a list, taken under `lights` by lux.

    `simulated` are the (scene, lux) whose frames came from virtual devices.

    Rows whose settings, EV or EV offset contradict their path are rejected: the path is the
    key that everything else is joined by.
    """
    places = [table.column(name) for name in _COLUMNS]
    path_column = table.column("Path")
    report.note_order(str(row[path_column]) for row in table.rows)
    listed: dict[str, Listed] = {}
    for row in table.rows:
        path, *cells = (row[place] for place in places)
        found = _read_row(str(path), cells, lights)
        if isinstance(found, str):
            report.reject(found, path)
        elif str(path) in listed:
            report.reject("path twice in the list", path)
        else:
            listed[str(path)] = found
    _reject_contradictions(listed, report)
    scene_ids = put_scenes(
        connection, {one.scene.name: one.scene for one in listed.values()}.values()
    )
    known = {
        name: int(key) for name, key in connection.execute(select(lightings.c.name, lightings.c.id))
    }
    light_ids = {lux: known[light.name] for lux, light in lights.items()}
    keys = {
        path: (scene_ids[one.scene.name], light_ids[one.shot.lux]) for path, one in listed.items()
    }
    virtual = {keys[p] for p, one in listed.items() if (one.scene.name, one.shot.lux) in simulated}
    run_ids = put_runs(connection, keys.values(), RUN_REASON, virtual)
    rows = [
        _frame_row(one, lights, *keys[path], run_ids[keys[path]]) for path, one in listed.items()
    ]
    put_frames(connection, rows)
    report.counts["frames"] = sum(row.kind == "manual" for row in rows)
    report.counts["auto_frames"] = sum(row.kind == "auto" for row in rows)
    report.counts["scenes"] = len({one.scene.name for one in listed.values()})


def read_lightings(path: Path) -> dict[int, Lighting]:
    """The lightings of an exported dataset, by lux.

    Raises
    ------
    EvaluateError
        If the file is no list of lightings.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            lights = [
                Lighting(
                    name=safe_name(row["name"]),
                    lux=float(row["lux"]),
                    tolerance=float(row["tolerance"]),
                    ev_reference=int(row["ev_reference"]),
                )
                for row in csv.DictReader(file)
            ]
    except (OSError, ValueError, KeyError, TypeError, WorkspaceError) as error:
        raise EvaluateError(f"{path} is no list of lightings: {error}") from error
    return {int(light.lux): light for light in lights}


def read_simulated(path: Path) -> set[tuple[str, int]]:
    """Sweeps (scene, lux) of an exported dataset that came from virtual devices.

    Raises
    ------
    EvaluateError
        If the file is no list of sweeps.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return {
                (row["Object_name"], int(row["Lux"]))
                for row in csv.DictReader(file)
                if row["simulated"] == "True"
            }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EvaluateError(f"{path} is no list of sweeps: {error!r}") from error


def frames_by_path(connection: Connection) -> dict[str, int]:
    """Ids of the release's frames in the catalog, by path, in the order they came."""
    query = (
        select(
            scenes.c.name,
            lightings.c.lux,
            frames.c.kind,
            frames.c.ev_offset,
            frames.c.shutter_s,
            frames.c.iso,
            frames.c.f_number,
            frames.c.id,
        )
        .select_from(frames)
        .join(runs, frames.c.run_id == runs.c.id)
        .join(scenes, frames.c.scene_id == scenes.c.id)
        .join(lightings, frames.c.lighting_id == lightings.c.id)
        .where(runs.c.kind == IMPORTED, runs.c.reason == RUN_REASON)
        .order_by(frames.c.id)
    )
    found = {}
    for scene, lux, kind, offset, shutter_s, iso, f_number, frame_id in connection.execute(query):
        manual = kind == "manual"
        exposure = Exposure(shutter_s, iso, f_number) if manual else None
        shot = Shot(scene, int(lux), exposure, offset if manual else None)
        found[spell_path(shot)] = int(frame_id)
    return found


def _read_row(path: str, cells: list[Cell], lights: Mapping[int, Lighting]) -> Listed | str:
    """The row, or why it cannot be used."""
    name, category, offset, index, lux, shutter, iso, f_number, count = map(text_of, cells)
    shot = parse_path(path)
    of_path = None if shot is None else split_scene(shot.scene)
    if shot is None or of_path is None:
        return "path is not spelled as in the release"
    try:
        settings = _settings(shutter, iso, f_number)
        scene = Scene(name, category, int(count))
    except ValueError:
        return "settings or count are not numbers"
    if (name, category, lux) != (shot.scene, of_path[1], str(shot.lux)):
        return "scene, category or lux differs from the path"
    if scene.count < 1 or shot.lux not in lights:
        known = " nor ".join(f"{lux}" for lux in lights)
        return f"no objects, or a light that is neither {known} lux"
    reference = lights[shot.lux].ev_reference
    return _contradiction(shot, settings, index, offset, reference) or Listed(shot, scene, settings)


def _contradiction(shot: Shot, settings: Exposure, index: str, offset: str, reference: int) -> str:
    """In what the row's settings, EV and offset disagree; empty if in nothing."""
    if shot.exposure is None:
        return "" if offset == "auto" else "EV offset of an auto frame"
    if settings != shot.exposure:
        return "settings differ from the path"
    if index != str(settings.ev_index):
        return "EV index differs from the settings"
    expected = settings.ev_offset(reference)
    same = offset == str(expected) == str(shot.ev_offset)
    return "" if same else "EV offset differs from the settings"


def _reject_contradictions(listed: dict[str, Listed], report: SourceReport) -> None:
    """Drop rows that give a scene another number of objects than its first row does."""
    first: dict[str, Scene] = {}
    for path, one in list(listed.items()):
        if first.setdefault(one.scene.name, one.scene) != one.scene:
            report.reject("number of objects differs from the scene's first row", path)
            del listed[path]


@cache  # 37,557 rows share a few hundred settings
def _settings(shutter: str, iso: str, f_number: str) -> Exposure:
    return Exposure(parse_shutter_s(shutter), int(iso), parse_f_number(f_number))


def _frame_row(
    one: Listed, lights: Mapping[int, Lighting], scene_id: int, lighting_id: int, run_id: int
) -> FrameRow:
    settings = one.settings
    reference = lights[one.shot.lux].ev_reference
    triplet = (settings.shutter_s, settings.iso, settings.f_number)
    nothing = (None, None, None)
    exact = _ev(settings)
    index = ev_index(exact)
    key = (scene_id, lighting_id, run_id)
    if one.shot.exposure is None:  # the camera chose: what it wrote, not what was commanded
        return FrameRow(*key, "auto", "auto", *nothing, *triplet, exact, index, reference - index)
    stem = _stem(settings)
    return FrameRow(*key, "manual", stem, *triplet, *nothing, exact, index, reference - index)


@cache
def _ev(settings: Exposure) -> float:
    return settings.ev


@cache
def _stem(settings: Exposure) -> str:
    return settings.stem
