"""`export snap`: the layout of the public SNAP release, so that its own tools read it.

``ID_CATEGORY/LUX/OFFSET/S_I_F.jpg`` with places in the release's lists of settings,
``annotations/data.csv`` with its columns, mask pictures, and ``SNAP_VQA.json`` where the catalog
has the questions. What the release has no place for stands beside: the lightings, and the names
of the scenes in the workspace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

from capture.exports.job import Job
from capture.exports.json_items import JsonItems
from rig.errors import Abort
from schemas.capture_store import list_lightings, list_scenes
from schemas.catalog import Catalog
from schemas.export_store import ExportRow, Selection, questions_of
from schemas.exposure import Exposure
from schemas.masks import decode_rle
from schemas.plan import Lighting
from schemas.questions import TASKS, question_text, true_answer
from schemas.records import Instance, Scene
from schemas.release_paths import Shot, spell_path, spell_seconds, split_scene

COLUMNS = (
    "Path Object_name Object_id Category EV_offset EV_idx Lux Shutter_speed ISO F-Number "
    "Num_objects"
).split()

LIGHTING_COLUMNS = ("name", "lux", "tolerance", "ev_reference")
_SCENE_COLUMNS = ("Object_name", "scene", "category", "count")

_SWEEP_COLUMNS = ("Object_name", "Lux", "simulated")

OFF_GRID = "settings that the release's lists do not have"

_TASKS = ("q1", "q2", "q3", "q4")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Names:
    """What scenes and lightings are called in the release's layout."""

    scenes: dict[str, str]
    lux: dict[str, int]
    lightings: tuple[Lighting, ...]

    @classmethod
    def of(cls, catalog: Catalog, selection: Selection) -> Names:
        """Names for a selection of a catalog.

        Raises
        ------
        Abort
            If two lightings have one illuminance, or one is no whole number of lux: the folders
            of the release are called after it.
        """
        chosen = [
            light
            for light in list_lightings(catalog)
            if not selection.lightings or light.name in selection.lightings
        ]
        by_lux: dict[float, str] = {}
        for light in chosen:
            if light.lux != round(light.lux):
                raise Abort(
                    f"lighting {light.name} has {light.lux:g} lux; the release's folders are whole "
                    "numbers",
                    "choose lightings with --lighting",
                )
            if light.lux in by_lux:
                raise Abort(
                    f"lightings {by_lux[light.lux]} and {light.name} have {light.lux:g} lux both: "
                    "they would share a folder",
                    f"export one of them with --lighting {light.name}",
                )
            by_lux[light.lux] = light.name
        return cls(
            name_scenes(list_scenes(catalog)),
            {light.name: round(light.lux) for light in chosen},
            tuple(chosen),
        )


def name_scenes(scenes: list[Scene]) -> dict[str, str]:
    """Names of the form ``ID_CATEGORY`` by the scenes' own; those of that form stay.

    The others get the numbers that are free, in the order they were added.
    """
    named: dict[str, str] = {}
    taken: set[int] = set()
    for scene in scenes:
        parts = split_scene(scene.name)
        if parts is not None and parts[1] == scene.category and str(parts[0]) in scene.name:
            named[scene.name] = scene.name
            taken.add(parts[0])
    number = 1
    for scene in scenes:
        if scene.name not in named:
            while number in taken:
                number += 1
            taken.add(number)
            named[scene.name] = f"{number}_{_UNSAFE.sub('_', scene.category)}"
    return named


def write_snap(job: Job, names: Names) -> None:
    """Write the release's layout."""
    with JsonItems(job.folder.root) as asked:
        with job.folder.table("annotations/data.csv", COLUMNS) as table:
            for row, picture in job.pictures(_named(job, names)):
                table.writerow(_cells(row, picture.name, names))
                options = questions_of(job.connection, row.id)
                if options.keys() >= set(TASKS):
                    asked.add_pair(picture.name, _questions(row, options))
        if asked.number:
            with job.folder.file("annotations/SNAP_VQA.json") as file:
                asked.write_object(file)
    _write_masks(job, names)
    _write_tables(job, names)


def _named(job: Job, names: Names) -> Iterator[tuple[ExportRow, str]]:
    for row in job.rows():
        try:
            yield row, spell_path(_shot(row, names))
        except ValueError:
            job.facts.left_out[OFF_GRID] += 1


def _shot(row: ExportRow, names: Names) -> Shot:
    scene, lux = names.scenes[row.scene], names.lux[row.lighting]
    if row.kind == "auto":
        return Shot(scene, lux)
    return Shot(scene, lux, Exposure(row.shutter_s, row.iso, row.f_number), row.ev_offset)


def _cells(row: ExportRow, path: str, names: Names) -> list[object]:
    """A row of ``data.csv``: an auto frame has no EV there."""
    name = names.scenes[row.scene]
    number, _, category = name.partition("_")
    auto = row.kind == "auto"
    return [
        path,
        name,
        number,
        category,
        "auto" if auto else row.ev_offset,
        -1 if auto else row.ev_index,
        names.lux[row.lighting],
        spell_seconds(row.shutter_s),
        row.iso,
        f"{row.f_number:g}",
        row.objects,
    ]


def _questions(row: ExportRow, options: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """As ``SNAP_VQA.json`` has them, with their true answers."""
    asked = {f"Q{task[1]}": question_text(task, options[task]) for task in TASKS}
    right = {
        f"A{task[1]}": true_answer(task, row.category, row.objects, options[task]) for task in TASKS
    }
    return asked | right


def _write_masks(job: Job, names: Names) -> None:
    """One picture a scene, a color an object. Objects without a mask cannot be painted."""
    for scene in job.facts.annotated:
        instances = job.facts.instances[scene]
        if any(one.rle is None or one.crowd for one in instances):
            job.facts.notes.append(f"scene {scene} has objects without masks: no mask picture")
            continue
        painted, covered = paint(instances)
        if covered:
            job.facts.notes.append(f"scene {scene}: objects overlap, the later covers the earlier")
        with job.folder.file(f"annotations/masks_SNAP/{names.scenes[scene]}_10_auto.png") as file:
            Image.fromarray(painted).save(file, "PNG", optimize=True)


def paint(instances: list[Instance]) -> tuple[npt.NDArray[np.uint8], bool]:
    """A mask picture of shape (H, W, 3), and whether objects cover each other in it.

    Colors grow with the number of the object, so that reading it keeps their order.
    """
    height, width = instances[0].image_size_px[1], instances[0].image_size_px[0]
    painted = np.zeros((height, width, 3), np.uint8)
    covered = False
    for number, one in enumerate(instances, start=1):
        value = number * 0xFFFFFF // len(instances)
        mask = decode_rle(one.rle or {})
        covered |= bool(painted[mask].any())
        painted[mask] = (value >> 16, value >> 8 & 0xFF, value & 0xFF)
    return painted, covered


def _write_tables(job: Job, names: Names) -> None:
    """What the release has no place for: lightings, origin, and what scenes are called here."""
    used = [light for light in names.lightings if light.name in job.facts.lightings]
    lights = [[one.name, f"{one.lux:g}", one.tolerance, one.ev_reference] for one in used]
    with job.folder.table("annotations/lightings.csv", LIGHTING_COLUMNS) as table:
        table.writerows(lights)
    with job.folder.table("annotations/sweeps.csv", _SWEEP_COLUMNS) as table:
        for (scene, light), simulated in job.facts.sweeps.items():
            table.writerow([names.scenes[scene], names.lux[light], simulated])
    scenes = [[names.scenes[name], name, *said] for name, said in job.facts.scenes.items()]
    with job.folder.table("annotations/scenes.csv", _SCENE_COLUMNS) as table:
        table.writerows(scenes)
