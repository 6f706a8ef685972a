"""`export croissant`: pictures and tables with JSON-LD record sets of the Croissant format 1.1.

Written by ourselves: the reference library takes 370 MB with what it needs, and is a test's.
`metadata.csv` has the column ``file_name`` that folders of pictures have in the datasets library.

Source: MLCommons, "Croissant Format Specification" 1.1.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from capture.exports.coco import note_unmarked
from capture.exports.columns import FRAME_COLUMNS, Kind
from capture.exports.facts import Facts
from capture.exports.job import IMAGES, Job, image_name
from capture.exports.objects import Objects

FRAMES, SCENES, OBJECTS = "metadata.csv", "scenes.csv", "objects.csv"
DESCRIPTION = "croissant.json"

_TYPES: dict[Kind, str] = {
    "text": "sc:Text",
    "integer": "sc:Integer",
    "real": "sc:Float",
    "boolean": "sc:Boolean",
    "moment": "sc:DateTime",
}

_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}

_SCENE_COLUMNS: tuple[tuple[str, str, Kind], ...] = (
    ("scene", "arrangement of objects", "text"),
    ("category", "class of all its objects", "text"),
    ("count", "number of objects", "integer"),
    ("frames", "accepted frames of it", "integer"),
)

_OBJECT_COLUMNS: tuple[tuple[str, str, Kind], ...] = (
    ("scene", "arrangement that the object stands in; valid for all its frames", "text"),
    ("number", "1-based within the scene", "integer"),
    ("category", "class", "text"),
    ("x_px", "left edge of its box in a frame, in pixels", "real"),
    ("y_px", "top edge", "real"),
    ("box_width_px", "width of the box", "real"),
    ("box_height_px", "height of the box", "real"),
    ("area_px", "area of the object in pixels", "real"),
    ("crowd", "a region of many objects", "boolean"),
    ("image_width_px", "width of the frames that the pixels refer to", "integer"),
    ("image_height_px", "height of the frames", "integer"),
    ("mask", "compressed run lengths of COCO, column by column; empty without a mask", "text"),
)


def write_croissant(job: Job) -> None:
    """Write pictures, their table, that of the scenes and objects, and the description."""
    sizes: dict[str, tuple[int, int]] = {}
    columns = ["file_name", *(column.name for column in FRAME_COLUMNS)]
    with job.folder.table(FRAMES, columns) as table:
        for row, picture in job.pictures((row, image_name(row)) for row in job.rows()):
            cells = (_cell(column.of(row, picture)) for column in FRAME_COLUMNS)
            table.writerow([picture.name, *cells])
            sizes.setdefault(row.scene, picture.size_px)
    facts = job.facts
    scenes = [[name, *said, facts.by_scene[name]] for name, said in facts.scenes.items()]
    with job.folder.table(SCENES, [name for name, _, _ in _SCENE_COLUMNS]) as table:
        table.writerows(scenes)
    objects = _objects(facts, sizes)
    if objects:
        with job.folder.table(OBJECTS, [name for name, _, _ in _OBJECT_COLUMNS]) as table:
            table.writerows(objects)
    document = describe(job, has_objects=bool(objects))
    job.folder.put_text(DESCRIPTION, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    note_unmarked(facts)


def describe(job: Job, *, has_objects: bool) -> dict[str, Any]:
    """The JSON-LD description of what was written."""
    about, facts = job.facts.about, job.facts
    document: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": about.name,
        "description": _sentence(facts),
        "license": about.license or "to be filled in by the lab",
        "creator": {"@type": "sc:Organization", "name": about.creator or "to be filled in"},
        "url": about.url or "https://example.org/to-be-filled-in",
        "version": about.version,
        "citeAs": about.name,
    }
    if facts.last is not None:  # the first day on which it can have been published
        document["datePublished"] = facts.last.date().isoformat()
    tables = [FRAMES, SCENES, *([OBJECTS] if has_objects else [])]
    document["distribution"] = [
        *(_file(job, name) for name in tables),
        {
            "@type": "cr:FileSet",
            "@id": IMAGES,
            "description": "one JPEG a frame, with the camera's Exif and its provenance as XMP",
            "encodingFormat": "image/jpeg",
            "includes": f"{IMAGES}/**/*.jpg",
        },
    ]
    document["recordSet"] = [_frames(), _table("scenes", SCENES, _SCENE_COLUMNS, ["scene"])]
    if has_objects:
        document["recordSet"].append(
            _table("objects", OBJECTS, _OBJECT_COLUMNS, ["scene", "number"])
        )
    return document


def _sentence(facts: Facts) -> str:
    origin = "virtual devices" if facts.simulated == facts.frames else "a camera"
    if 0 < facts.simulated < facts.frames:
        origin = "a camera and virtual devices"
    return (
        f"{facts.frames} photographs by {origin} of {len(facts.scenes)} scenes of "
        f"{len(facts.categories)} categories under {len(facts.lightings)} lightings, each with "
        "shutter speed, ISO, F-number, EV offset and measured illuminance."
    )


def _file(job: Job, name: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "contentUrl": name,
        "encodingFormat": "text/csv",
        "sha256": job.folder.digest(name),
    }


def _frames() -> dict[str, Any]:
    """Frames: the picture joined to its row by its path."""
    fields = [
        {
            "@type": "cr:Field",
            "@id": "frames/file_name",
            "description": "path of the picture within the dataset",
            "dataType": "sc:Text",
            "source": {
                "fileSet": {"@id": IMAGES},
                "extract": {"fileProperty": "fullpath"},
                # the reference library joins paths as objects, equal to no text of a table;
                # an expression makes a text of them
                "transform": {"regex": "^(.+)$"},
            },
            "references": {"fileObject": {"@id": FRAMES}, "extract": {"column": "file_name"}},
        },
        {
            "@type": "cr:Field",
            "@id": "frames/image",
            "description": "the picture",
            "dataType": "sc:ImageObject",
            "source": {"fileSet": {"@id": IMAGES}, "extract": {"fileProperty": "content"}},
        },
        *(
            _field("frames", column.name, column.meaning, column.kind, FRAMES)
            for column in FRAME_COLUMNS
        ),
    ]
    return {
        "@type": "cr:RecordSet",
        "@id": "frames",
        "name": "frames",
        "description": "accepted frames with their settings, light and scene",
        "key": {"@id": "frames/file_name"},
        "field": fields,
    }


def _table(
    name: str, file: str, columns: tuple[tuple[str, str, Kind], ...], key: list[str]
) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "key": [{"@id": f"{name}/{one}"} for one in key],
        "field": [_field(name, *column, file) for column in columns],
    }


def _field(table: str, name: str, meaning: str, kind: Kind, file: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{table}/{name}",
        "description": meaning,
        "dataType": _TYPES[kind],
        "source": {"fileObject": {"@id": file}, "extract": {"column": name}},
    }


def _objects(facts: Facts, sizes: dict[str, tuple[int, int]]) -> list[list[Any]]:
    fitted = Objects(facts.instances)
    return [
        [
            scene,
            number,
            one.category,
            *one.box_xywh_px,
            one.area_px,
            _cell(one.crowd),
            *size_px,
            one.counts or "",
        ]
        for scene, size_px in sizes.items()
        for number, one in enumerate(fitted.of(scene, size_px), start=1)
    ]


def _cell(value: Any) -> Any:  # noqa: ANN401 - a cell of a CSV file
    if isinstance(value, bool):
        return "True" if value else "False"
    if isinstance(value, datetime):
        return value.isoformat()
    return "" if value is None else value
