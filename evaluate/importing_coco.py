"""`snaprig import coco`: a COCO ground truth and the detections of one detector on it."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection

from evaluate.coco_files import CocoImage, CocoTruth, read_truth
from evaluate.detections import Detections, read_detections
from evaluate.importing import ImportReport, Source, SourceReport, without_collector
from evaluate.importing_pictures import Picture, name_scenes, put_pictures
from schemas.answer_store import DETECTION, put_observer
from schemas.catalog import Catalog
from schemas.import_store import (
    ResponseRow,
    Stimuli,
    delete_responses,
    known_imports,
    put_import,
    put_instances,
    put_responses,
    put_scenes,
)
from schemas.records import Observer, Scene

KIND = "coco"


def import_coco(
    catalog: Catalog, truth_path: Path, detections_path: Path, name: str | None = None
) -> ImportReport:
    """Import pictures with their objects, and what a detector found on them.

    Each picture becomes a scene of one frame, in the order of the COCO image ids, so that ties
    between scores fall as in the reference evaluation. A picture without detections gets an
    empty response: nothing was found there, nobody forgot to ask.

    Parameters
    ----------
    name : str or None
        Of the observer; the stem of the detections file by default.

    Raises
    ------
    EvaluateError
        If a file is not what it should be.
    """
    report = ImportReport()
    dataset = truth_path.stem
    observer_name = name or detections_path.stem
    known = known_imports(catalog, KIND)
    with without_collector():
        truth_source = _source(truth_path, dataset)
        new = dict(report.split([truth_source], known))
        truth_report = new.get(truth_source)
        truth = read_truth(truth_path, _quiet if truth_report is None else truth_report.reject)
        scene_of = name_scenes(dataset, {key: one.file_name for key, one in truth.images.items()})
        with catalog.write() as connection:
            frame_of = _put_truth(connection, truth_path.name, truth, scene_of)
            if truth_report is not None:
                _put_objects(connection, truth, scene_of, truth_report)
                put_import(
                    connection, KIND, truth_source.name, truth_source.sha256, truth_report.to_json()
                )
        source = _source(detections_path, f"{dataset}/{observer_name}")
        for _, found_report in report.split([source], known):
            spec = {"source": truth_path.name, "file": detections_path.name, "task": DETECTION}
            observer_id = put_observer(catalog, Observer(observer_name, "model", spec))
            found = read_detections(
                detections_path,
                detections_path.name,
                set(truth.images),
                set(truth.names),
                found_report.reject,
            )
            with catalog.write() as connection:
                delete_responses(connection, observer_id, [DETECTION])
                _put_answers(connection, truth, frame_of, observer_id, found, found_report)
                put_import(connection, KIND, source.name, source.sha256, found_report.to_json())
    return report


def _put_truth(
    connection: Connection, reason: str, truth: CocoTruth, scene_of: dict[int, str]
) -> dict[int, int]:
    """Scenes and frames of the pictures; frame ids by COCO image id."""
    pictures = [Picture(_scene(scene_of[key], image)) for key, image in truth.images.items()]
    frames = put_pictures(connection, pictures, f"imported from {reason}")
    return {key: frames[scene_of[key]] for key in truth.images}


def _put_objects(
    connection: Connection, truth: CocoTruth, scene_of: dict[int, str], report: SourceReport
) -> None:
    ids = put_scenes(connection, ())
    for key, image in truth.images.items():
        put_instances(connection, ids[scene_of[key]], image.instances)
        report.counts["instances"] += len(image.instances)
    report.counts["frames"] = report.counts["scenes"] = len(truth.images)


def _put_answers(
    connection: Connection,
    truth: CocoTruth,
    frame_of: dict[int, int],
    observer_id: int,
    found: Detections,
    report: SourceReport,
) -> None:
    stimuli = Stimuli(KIND).put(connection, DETECTION, dict.fromkeys(frame_of.values(), ()))
    rows = (
        ResponseRow(
            stimuli[frame_of[key]].id,
            observer_id,
            None,
            found.payload(key, truth.names, image.size_px),
        )
        for key, image in truth.images.items()
    )
    report.counts["responses"] = put_responses(connection, rows)
    report.counts["observers_detection"] = 1
    report.counts["frames_with_detections"] = len(found.image_ids())


def _source(path: Path, name: str) -> Source:
    return Source(path, name, Source.read(path, path.parent).sha256)


def _scene(name: str, image: CocoImage) -> Scene:
    """The scene of a picture: its class where all objects share one, and how many there are."""
    classes = {one.category for one in image.instances}
    category = classes.pop() if len(classes) == 1 else ""
    return Scene(name, category, sum(not one.crowd for one in image.instances))


def _quiet(_reason: str, _example: object) -> None:
    """What is rejected of a file that is in the catalog stands in its report already."""
