"""Raw results of the release's detectors: COCO JSON whose image ids are rows of the list."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from sqlalchemy import Connection

from evaluate.detections import read_detections
from evaluate.errors import EvaluateError
from evaluate.importing import Source, SourceReport
from schemas.answer_store import DETECTION
from schemas.import_store import ResponseRow, Stimuli, put_responses

#: The release evaluated its detectors on pictures of this size.
SIZE_PX = (960, 640)

#: COCO's classes that the release's scenes know by another name: objects and detections are
#: compared by name.
SCENE_NAMES = {"book": "comic_book", "bottle": "water_bottle", "cell phone": "phone"}


def read_categories(path: Path) -> dict[int, str]:
    """The release's numbering of COCO's 80 classes, from 0 (``coco_categories.csv``).

    Classes that scenes have are named as the scenes' categories are.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return {
                int(row["id"]): SCENE_NAMES.get(row["name"], row["name"])
                for row in csv.DictReader(file)
            }
    except (OSError, KeyError, ValueError) as error:
        raise EvaluateError(f"{path} is no list of category ids and names: {error!r}") from error


def read_image_ids(coco: Path | None, listed: list[str]) -> dict[int, str]:
    """Paths by image id: from ``SNAP_COCO.json`` if at hand, else the place in the list.

    The released ground truth numbers the frames by their row in ``data.csv``.
    """
    if coco is None:
        return dict(enumerate(listed))
    try:
        images = json.loads(coco.read_text(encoding="utf-8"))["images"]
        return {int(image["id"]): str(image["file_name"]) for image in images}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise EvaluateError(f"{coco} is no COCO ground truth: {error!r}") from error


def import_detector(
    connection: Connection,
    stimuli: Stimuli,
    source: Source,
    observer_id: int,
    names: dict[int, str],
    image_ids: dict[int, str],
    frames: dict[str, int],
    report: SourceReport,
) -> None:
    """Responses to the detection task: every frame gets one, also where nothing was found."""
    known = {image_id: frames[path] for image_id, path in image_ids.items() if path in frames}
    found = read_detections(source.path, source.name, set(known), set(names), report.reject)
    stored = stimuli.put(connection, DETECTION, dict.fromkeys(known.values(), ()))
    report.counts["responses"] = put_responses(
        connection,
        (
            ResponseRow(
                stored[frame_id].id, observer_id, None, found.payload(image_id, names, SIZE_PX)
            )
            for image_id, frame_id in known.items()
        ),
    )
    report.counts["frames_with_detections"] = len(found.image_ids())
