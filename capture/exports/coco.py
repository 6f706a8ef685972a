"""`export coco`: a COCO ground truth, the objects of its scene in every frame."""

from __future__ import annotations

import json
from typing import Any

from capture.exports.coco_rules import CocoRules
from capture.exports.facts import Facts
from capture.exports.job import IMAGES, Job, Picture, image_name
from capture.exports.json_items import JsonItems
from capture.exports.objects import ObjectInFrame, Objects
from schemas.export_store import ExportRow

FILE = "annotations/instances.json"


def write_coco(job: Job) -> None:
    """Write pictures and one ground truth; file names are relative to ``images/``.

    Ids count from 1 in the order of the export; categories by name. Every part is held against
    our own rules as it is written.
    """
    objects, rules = Objects(job.facts.instances), CocoRules()
    categories = _categories(job)
    ids = {one["name"]: one["id"] for one in categories}
    for category in categories:
        rules.category(category)
    with JsonItems(job.folder.root) as images, JsonItems(job.folder.root) as annotations:
        named = ((row, image_name(row)) for row in job.rows())
        for row, picture in job.pictures(named):
            image = _image(images.number + 1, row, picture)
            rules.image(image)
            images.add(image)
            for one in objects.of(row.scene, picture.size_px):
                item = _annotation(annotations.number + 1, image, one, ids)
                rules.annotation(item)
                annotations.add(item)
        if rules.faults:
            raise ValueError("; ".join(rules.faults))
        with job.folder.file(FILE) as file:
            file.write(b'{"info":' + json.dumps(_info(job.facts)).encode())
            file.write(b',\n"licenses":' + json.dumps(_licenses(job.facts)).encode())
            file.write(b',\n"categories":' + json.dumps(categories).encode() + b',\n"images":')
            images.write_list(file)
            file.write(b',\n"annotations":')
            annotations.write_list(file)
            file.write(b"}\n")
    note_unmarked(job.facts)


def note_unmarked(facts: Facts) -> None:
    """Say how many scenes have no objects: their frames look empty to a detector's scores."""
    missing = sorted(facts.scenes.keys() - set(facts.annotated))
    if missing:
        named = ", ".join(missing[:3]) + (", …" if len(missing) > 3 else "")
        facts.notes.append(
            f"the objects of {len(missing)} scenes are not marked ({named}), "
            "their frames have no annotations: `snaprig scene annotate` marks them"
        )


def _categories(job: Job) -> list[dict[str, Any]]:
    names = {
        one.category
        for scene, found in job.facts.instances.items()
        if not job.selection.scenes or scene in job.selection.scenes
        for one in found
    }
    return [{"id": number, "name": name} for number, name in enumerate(sorted(names), start=1)]


def _image(number: int, row: ExportRow, picture: Picture) -> dict[str, Any]:
    return {
        "id": number,
        "file_name": picture.name.removeprefix(IMAGES + "/"),
        "width": picture.size_px[0],
        "height": picture.size_px[1],
        "license": 1,
        "sha256": row.sha256,
        "scene": row.scene,
        "category": row.category,
        "count": row.objects,
        "lighting": row.lighting,
        "lux": row.lux,
        "ev_offset": row.ev_offset,
        "shutter_s": row.shutter_s,
        "iso": row.iso,
        "f_number": row.f_number,
    }


def _annotation(
    number: int, image: dict[str, Any], one: ObjectInFrame, ids: dict[str, int]
) -> dict[str, Any]:
    item: dict[str, Any] = {
        "id": number,
        "image_id": image["id"],
        "category_id": ids[one.category],
        "bbox": list(one.box_xywh_px),
        "area": one.area_px,
        "iscrowd": int(one.crowd),
        "segmentation": [],
    }
    if one.counts is not None:
        item["segmentation"] = {"size": [image["height"], image["width"]], "counts": one.counts}
    return item


def _info(facts: Facts) -> dict[str, Any]:
    return {
        "description": facts.about.name,
        "version": facts.about.version,
        "url": facts.about.url,
        "contributor": facts.about.creator,
    }


def _licenses(facts: Facts) -> list[dict[str, Any]]:
    return [{"id": 1, "name": facts.about.license or "to be filled in by the lab", "url": ""}]
