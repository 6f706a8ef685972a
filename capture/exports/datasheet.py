"""README of a dataset: a card that hubs read, numbers from the catalog, questions to the lab.

The sections are those of a datasheet. What only the lab can say is marked; an edited README is
never overwritten.

Source: Gebru et al., "Datasheets for Datasets" (2021).
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from capture.exports.facts import Facts
from capture.exports.folder import MANIFEST, ExportFolder
from schemas.exposure import spell_shutter

FILL_IN = "**TO BE FILLED IN BY THE LAB**"

#: Hubs' classes of size, by the first number that is too many.
_SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
)

_TASKS = {
    "vqa": "visual-question-answering",
    "coco": "object-detection",
}

_LAYOUT = {
    "snap": (
        "The layout of the public SNAP release: `ID_CATEGORY/LUX/OFFSET/S_I_F.jpg` with places in "
        "its lists of shutter speeds, ISO speeds and F-numbers (22 first), listed in "
        "`annotations/data.csv`. `annotations/scenes.csv` has the scenes' own names, "
        "`annotations/lightings.csv` the lightings."
    ),
    "coco": (
        "`images/` and `annotations/instances.json`, a COCO ground truth whose file names are "
        "relative to `images/`. Masks are compressed run lengths."
    ),
    "vqa": (
        "`images/`, `questions.json` and `annotations.json` in the format of the VQA challenge; "
        "each question names its picture, relative to `images/`, and its options in their order."
    ),
    "croissant": (
        "`images/`, `metadata.csv` (a row a frame), `scenes.csv`, `objects.csv` where objects are "
        "marked, and `croissant.json`, which describes them all. The datasets library reads the "
        'folder with `load_dataset("imagefolder", data_dir=…)`.'
    ),
    "parquet": ("`data/*.parquet` with the pictures in the column `image`."),
    "parquet-by-path": (
        "`images/` and `metadata.parquet`, whose column `file_name` names the picture of each row."
    ),
}


def write_datasheet(facts: Facts, folder: ExportFolder, form: str) -> str:
    """The README, from what was counted."""
    return "\n".join(
        [
            *_card(facts, folder, form),
            "",
            f"# {facts.about.name}",
            "",
            _first_sentence(facts),
            "",
            *_numbers(facts),
            *_collection(facts),
            *_use(facts, form),
            *_questions(facts),
        ]
    )


def _card(facts: Facts, folder: ExportFolder, form: str) -> Iterable[str]:
    """The head that hubs read. JSON values are YAML values."""
    yield "---"
    yield f"pretty_name: {json.dumps(facts.about.name)}"
    yield f"license: {json.dumps((facts.about.license or 'unknown').lower())}"
    yield f"size_categories: {json.dumps([_size(facts.frames)])}"
    yield f"task_categories: {json.dumps([_TASKS.get(form, 'image-classification')])}"
    yield f"tags: {json.dumps(['snaprig', *(['simulated'] if facts.simulated else [])])}"
    shards = [name for name in folder.names if name.startswith("data/")]
    if shards:
        yield "configs:"
        yield f"- config_name: {json.dumps('default')}"
        yield f"  data_files: {json.dumps([{'split': 'train', 'path': shards}])}"
    yield "---"


def _first_sentence(facts: Facts) -> str:
    if not facts.simulated:
        origin = "None of them comes from a virtual camera."
    elif facts.simulated == facts.frames:
        origin = "**Every picture comes from a virtual camera in a virtual dark room.**"
    else:
        origin = f"**{facts.simulated} pictures come from virtual devices, the others do not.**"
    return (
        f"{facts.frames} photographs of {len(facts.scenes)} scenes, each scene under every "
        f"combination of shutter speed, ISO and F-number that exposed it usably. {origin}"
    )


def _numbers(facts: Facts) -> Iterable[str]:
    yield "## Composition"
    yield ""
    yield "| | |"
    yield "|---|---|"
    yield f"| frames | {facts.frames} |"
    yield f"| size of the pictures | {facts.size_bytes / 1e6:.1f} MB |"
    yield f"| scenes | {len(facts.scenes)}, of {len(facts.annotated)} the objects are marked |"
    for category, number in sorted(facts.categories.items()):
        scenes = sum(said[0] == category for said in facts.scenes.values())
        yield f"| category {category} | {scenes} scenes, {number} frames |"
    for name, (lux, reference) in facts.lightings.items():
        light = f"{lux:g} lux, EV reference {reference}"
        yield f"| lighting {name} | {light}: {facts.by_lighting[name]} frames |"
    if facts.shutters_s:
        ends = spell_shutter(min(facts.shutters_s)), spell_shutter(max(facts.shutters_s))
        yield f"| shutter speeds | {len(facts.shutters_s)}, {ends[0]} to {ends[1]} s |"
        yield f"| ISO | {_list(facts.isos)} |"
        yield f"| F-numbers | {_list(facts.f_numbers)} |"
    offsets = ", ".join(f"{key:+d}: {facts.by_offset[key]}" for key in sorted(facts.by_offset))
    yield f"| frames by EV offset | {offsets} |"
    yield ""
    if facts.left_out or facts.notes:
        for reason, number in facts.left_out.items():
            yield f"- left out: {number} frames, {reason}"
        for note in facts.notes:
            yield f"- {note}"
        yield ""


def _collection(facts: Facts) -> Iterable[str]:
    yield "## Collection"
    yield ""
    yield (
        "EV = log2(N²/t) - log2(ISO/100) of the marked settings, as the nearest integer; EV offset "
        "= EV reference of the lighting - EV: positive is over-exposed. Frames that were almost "
        "wholly black or white were rejected and are not here. Illuminance was measured during "
        "each exposure."
    )
    yield ""
    for part in ("camera", "meter"):
        for said in facts.described_devices(part) or ["not recorded"]:
            yield f"- {part}: {said}"
    if facts.first and facts.last:
        yield f"- taken from {facts.first:%Y-%m-%d} to {facts.last:%Y-%m-%d} (UTC)"
    yield (
        "- the files are as the rig stored them: camera's Exif (with its serial number, and the "
        "owner's name if one is set in the camera) and provenance as XMP"
    )
    yield ""


def _use(facts: Facts, form: str) -> Iterable[str]:
    yield "## Files"
    yield ""
    yield _LAYOUT[form]
    yield ""
    yield f"`{MANIFEST}` has the sha256 of every file; `sha256sum -c {MANIFEST}` checks them."
    yield ""
    yield "## License"
    yield ""
    yield facts.about.license or f"{FILL_IN}: until then nobody may use this dataset."
    yield ""


def _questions(facts: Facts) -> Iterable[str]:
    for title, question in (
        ("Motivation", "For what purpose was it made, by whom, and who paid for it?"),
        ("Uses", "What is it meant for, and what should it not be used for?"),
        ("Distribution and maintenance", "Where does it live, who answers questions about it?"),
    ):
        yield f"## {title}"
        yield ""
        by = (
            f" Made by {facts.about.creator}." if facts.about.creator and "whom" in question else ""
        )
        at = f" {facts.about.url}" if facts.about.url and "live" in question else ""
        yield f"{question}{by}{at} {FILL_IN}."
        yield ""


def _size(frames: int) -> str:
    return next((name for limit, name in _SIZES if frames < limit), "1M<n<10M")


def _list(values: Iterable[float]) -> str:
    return ", ".join(f"{value:g}" for value in sorted(values))
