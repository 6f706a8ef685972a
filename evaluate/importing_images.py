"""`snaprig import images`: labelled pictures from anywhere as frames without known light."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evaluate.coco_files import read_truth
from evaluate.errors import EvaluateError
from evaluate.importing import ImportReport, Source, SourceReport
from evaluate.importing_pictures import KIND as PICTURE
from evaluate.importing_pictures import Picture, picture_folder, put_pictures, scene_name
from evaluate.picture_files import FileError, file_row, place_file
from schemas.catalog import Catalog
from schemas.import_store import FrameRow, known_imports, put_import, put_instances, put_scenes
from schemas.records import Instance, Scene
from schemas.workspace import Workspace

KIND = "images"

_SUFFIXES = {".jpg", ".jpeg", ".png", ".bmp", ".webp"}

_FILE_COLUMNS = ("file", "path", "filename", "file_name", "image")
_LABEL_COLUMNS = ("label", "category", "class")

#: Pictures of one transaction: a crash costs no more than these.
_COMMIT_EVERY = 500


@dataclass(frozen=True)
class Labels:
    """Class and number of objects of each listed file; 0 where nobody counted."""

    by_file: dict[str, tuple[str, int]]


def import_images(
    catalog: Catalog,
    workspace: Workspace,
    folder: Path,
    labels_path: Path,
    boxes_path: Path | None = None,
) -> ImportReport:
    """Import the pictures of a folder that a list gives labels to.

    Parameters
    ----------
    labels_path : Path
        CSV with a column ``file`` (relative to the folder, or just the file's name) and a
        column ``label``; a column ``count`` is taken where it is there.
    boxes_path : Path or None
        COCO ground truth whose file names are those of the list.

    Raises
    ------
    EvaluateError
        If the list cannot be read, or names no picture of the folder.
    """
    report = ImportReport()
    listing = report.sources.setdefault(labels_path.name, SourceReport())
    labels = read_labels(labels_path, listing)
    boxes = {} if boxes_path is None else _boxes(boxes_path, report)
    files = sorted(one for one in folder.rglob("*") if one.suffix.lower() in _SUFFIXES)
    labelled = {}
    for path in files:
        name = path.relative_to(folder).as_posix()
        label = labels.by_file.get(name) or labels.by_file.get(path.name)
        if label is None:
            listing.reject("a picture that the list gives no label to", name)
        else:
            labelled[name] = label
    if not labelled:
        raise EvaluateError(
            f"no picture below {folder} is in {labels_path}: its column `file` must hold paths "
            "relative to that folder, or file names"
        )
    there = {name for path in files for name in (path.relative_to(folder).as_posix(), path.name)}
    for name in labels.by_file.keys() - there:
        listing.reject("a listed file that is not there", name)
    sources = (Source.read(folder / name, folder) for name in labelled)
    named = (Source(one.path, f"{folder.name}/{one.name}", one.sha256) for one in sources)
    new = report.split(named, known_imports(catalog, KIND))
    while group := list(itertools.islice(new, _COMMIT_EVERY)):
        _import_group(catalog, workspace, folder, group, labelled, boxes)
    return report


def _import_group(
    catalog: Catalog,
    workspace: Workspace,
    folder: Path,
    group: list[tuple[Source, SourceReport]],
    labels: dict[str, tuple[str, int]],
    boxes: dict[str, list[Instance]],
) -> None:
    pictures: list[Picture] = []
    objects: dict[str, list[Instance]] = {}
    for source, report in group:
        relative = source.name.removeprefix(f"{folder.name}/")
        name = scene_name(folder.name, relative)
        try:
            row = _take(workspace, name, source)
        except FileError as error:
            report.reject("not a whole picture", f"{source.name}: {error}")
            continue
        found = boxes.get(relative, boxes.get(source.path.name, []))
        label, count = labels[relative]
        count = count or sum(not one.crowd for one in found)
        pictures.append(Picture(Scene(name, label, count), row))
        report.counts["frames"] = report.counts["scenes"] = 1
        if found:
            objects[name] = found
            report.counts["instances"] = len(found)
    with catalog.write() as connection:
        put_pictures(connection, pictures, f"imported from {folder.name}")
        ids = put_scenes(connection, ())
        for name, found in objects.items():
            put_instances(connection, ids[name], found)
        for source, report in group:
            put_import(connection, KIND, source.name, source.sha256, report.to_json())


def _take(workspace: Workspace, scene: str, source: Source) -> FrameRow:
    target = workspace.frames / picture_folder(scene) / f"{PICTURE}{source.path.suffix.lower()}"
    row = file_row(source.path, source.sha256)
    place_file(source.path, target)
    return row._replace(path=workspace.relative(target))


def read_labels(path: Path, report: SourceReport) -> Labels:
    """The list of labels. A file listed twice with different labels is rejected."""
    by_file: dict[str, tuple[str, int]] = {}
    for row in _rows(path):
        file_name, label, count = row
        number = int(count) if count.isdigit() else 0
        if not file_name or not label:
            report.reject("a row without file or label", file_name)
        elif by_file.setdefault(file_name, (label, number)) != (label, number):
            report.reject("a file listed twice with different labels", file_name)
    return Labels(by_file)


def _rows(path: Path) -> Iterator[tuple[str, str, str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            header = {name.strip().lower(): name for name in reader.fieldnames or ()}
            file_column = next((header[name] for name in _FILE_COLUMNS if name in header), None)
            label_column = next((header[name] for name in _LABEL_COLUMNS if name in header), None)
            if file_column is None or label_column is None:
                raise EvaluateError(
                    f"{path} needs a column `file` and a column `label` "
                    f"(it has {', '.join(header) or 'none'})"
                )
            count_column = header.get("count", "")
            for row in reader:
                cells = (row[file_column], row[label_column], row.get(count_column))
                yield tuple((cell or "").strip() for cell in cells)  # type: ignore[misc]  # three
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise EvaluateError(f"{path} cannot be read as CSV: {error}") from error


def _boxes(path: Path, report: ImportReport) -> dict[str, list[Instance]]:
    rejected = report.sources.setdefault(path.name, SourceReport())
    truth = read_truth(path, rejected.reject)
    return {image.file_name: image.instances for image in truth.images.values()}
