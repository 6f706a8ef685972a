"""Import a checkout of the SNAP release: one transaction a source file, joined by path.

Sources come in the order of their dependence: the list of frames, masks, questions, raw
results, pictures. A source whose digest is in the catalog is skipped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from sqlalchemy import Connection

from evaluate.errors import EvaluateError
from evaluate.importing import ImportReport, Source, SourceReport, without_collector
from evaluate.release import answers, detectors, people, pictures, questions
from evaluate.release.layout import Layout, find_layout
from evaluate.release.metadata import (
    frames_by_path,
    import_metadata,
    read_lightings,
    read_simulated,
)
from evaluate.release.sheets import Table, read_csv, read_xlsx
from schemas.answer_store import CLASSIFICATION, DETECTION, put_observer
from schemas.capture_store import list_scenes, put_lighting
from schemas.catalog import Catalog
from schemas.import_store import (
    Stimuli,
    delete_responses,
    known_imports,
    put_import,
    put_instances,
    put_scenes,
)
from schemas.masks import MaskError, read_mask
from schemas.plan import Lighting
from schemas.records import Instance, Observer
from schemas.release_paths import LIGHTINGS, split_scene
from schemas.workspace import Workspace

KIND = "snap"

Progress = Callable[[str], None]

#: A mask file with its report, and its scene and objects (or why it cannot be read) to come.
_MaskRead = tuple[Source, SourceReport, Future[tuple[str, list[Instance] | str]]]


def import_snap(
    catalog: Catalog,
    workspace: Workspace,
    root: Path,
    progress: Progress = lambda _name: None,
) -> ImportReport:
    """Import whatever of the release lies in a folder.

    Parameters
    ----------
    progress : callable
        Told the name of each source before it is read.

    Raises
    ------
    EvaluateError
        If nothing of the release is there, or a file is not what its name says.
    """
    layout = find_layout(root)
    release = _Release(catalog, workspace, root, layout, ImportReport(), progress)
    with without_collector():
        release.run()
    return release.report


class _Release:
    """One import: what it reads from, writes to, and remembers on the way."""

    def __init__(
        self,
        catalog: Catalog,
        workspace: Workspace,
        root: Path,
        layout: Layout,
        report: ImportReport,
        progress: Progress,
    ) -> None:
        self.catalog = catalog
        self.workspace = workspace
        self.root = root
        self.layout = layout
        self.report = report
        self.progress = progress
        self._known = known_imports(catalog, KIND)
        self._stimuli = Stimuli(questions.ORIGIN)

    def run(self) -> None:
        """Import everything, in the order of dependence."""
        for light in self._lights.values():
            put_lighting(self.catalog, light)
        self._metadata()
        if not self.frames:
            raise EvaluateError(
                f"{self.root} has no annotations/data.csv or SNAP.xlsx, and the catalog holds no "
                "frames of the release yet: name the folder of a checkout that has one of them"
            )
        with ThreadPoolExecutor(2) as pool:  # files are decoded while others are written
            masks_read = self._read_masks(pool)
            self._questions()
            self._classifiers(pool)
            self._vlms(pool)
            self._detectors()
            self._people()
            self._put_masks(masks_read)
        self._pictures()
        self.report.not_used = [
            path.relative_to(self.root).as_posix() for path in self.layout.not_used
        ]

    @cached_property
    def frames(self) -> dict[str, int]:
        """Frame ids by path, in the order of the list."""
        with self.catalog.read() as connection:
            return frames_by_path(connection)

    @cached_property
    def _lights(self) -> Mapping[int, Lighting]:
        """The lightings by lux: the release's two, or those listed beside an exported dataset."""
        if self.layout.lightings is None:
            return LIGHTINGS
        return read_lightings(self.layout.lightings)

    @cached_property
    def _design(self) -> Table | None:
        """The design of the human experiment, read once for options and places in sessions."""
        if self.layout.design is None:
            return None
        return read_xlsx(self.layout.design, self.layout.design.name)

    def _metadata(self) -> None:
        if self.layout.metadata is None:
            return
        sweeps = self.layout.sweeps
        simulated = set() if sweeps is None else read_simulated(sweeps)
        for source, report in self._new([self.layout.metadata]):
            table = _read_list(source)
            with self._write(source, report) as connection:
                import_metadata(connection, table, self._lights, report, simulated)

    def _read_masks(self, pool: ThreadPoolExecutor) -> list[_MaskRead]:
        scenes = {scene.name for scene in list_scenes(self.catalog)}
        return [
            (source, report, pool.submit(_read_mask, source, scenes))
            for source, report in self._new(self.layout.masks)
        ]

    def _put_masks(self, read: list[_MaskRead]) -> None:
        listed = {scene.name: scene.count for scene in list_scenes(self.catalog)}
        with self.catalog.write() as connection:
            ids = put_scenes(connection, ())
            for source, report, future in read:
                scene, objects = future.result()
                if scene not in listed:
                    report.reject("mask of no listed scene", source.name)
                elif isinstance(objects, str):
                    report.reject("mask cannot be decoded", objects)
                elif len(objects) != listed[scene]:
                    found = f"{source.name}: {len(objects)}, listed {listed[scene]}"
                    report.reject("number of colors differs from the list", found)
                else:
                    put_instances(connection, ids[scene], objects)
                    report.counts["instances"] = len(objects)
                put_import(connection, KIND, source.name, source.sha256, report.to_json())

    def _questions(self) -> None:
        for source, report in self._new([self.layout.design]):
            design = self._design
            if design is not None:
                with self._write(source, report) as connection:
                    questions.import_design(connection, self._stimuli, design, self.frames, report)
        for source, report in self._new([self.layout.vqa_json]):
            with self._write(source, report) as connection:
                questions.import_vqa_json(
                    connection, self._stimuli, source.path, source.name, self.frames, report
                )
        for source, report in self._new([self.layout.practice]):
            table = read_xlsx(source.path, source.name)
            with self._write(source, report):
                questions.reject_practice(table, self.frames, report)

    def _classifiers(self, pool: ThreadPoolExecutor) -> None:
        for source, report, table in self._tables(pool, self.layout.classifiers):
            observer_id = self._observer(source, CLASSIFICATION, report)
            with self._write(source, report) as connection:
                _forget(connection, observer_id, report)
                answers.import_classifier(
                    connection, self._stimuli, table, observer_id, self.frames, report
                )

    def _vlms(self, pool: ThreadPoolExecutor) -> None:
        for source, report, table in self._tables(pool, self.layout.vlms):
            observer_id = self._observer(source, "vqa", report)
            with self._write(source, report) as connection:
                _forget(connection, observer_id, report)
                answers.import_vlm(
                    connection, self._stimuli, table, observer_id, self.frames, report
                )

    def _detectors(self) -> None:
        for source, report in self._new(self.layout.detectors):
            if self.layout.categories is None:
                raise EvaluateError(
                    f"{source.name} numbers its classes as annotations/coco_categories.csv does, "
                    "and that file is missing"
                )
            names = detectors.read_categories(self.layout.categories)
            observer_id = self._observer(source, DETECTION, report)
            with self._write(source, report) as connection:
                _forget(connection, observer_id, report)
                detectors.import_detector(
                    connection,
                    self._stimuli,
                    source,
                    observer_id,
                    names,
                    self._image_ids,
                    self.frames,
                    report,
                )

    def _observer(self, source: Source, task: str, report: SourceReport) -> int:
        """The model behind a file of raw results, named like the file."""
        spec = {"source": "SNAP release", "file": source.name, "task": task}
        report.counts[f"observers_{task}"] = 1
        return put_observer(self.catalog, Observer(source.path.stem, "model", spec))

    def _tables(
        self, pool: ThreadPoolExecutor, paths: list[Path]
    ) -> Iterator[tuple[Source, SourceReport, Table]]:
        """New workbooks, each read while the one before it is written."""
        new = list(self._new(paths))
        read = deque(pool.submit(read_xlsx, one.path, one.name) for one, _ in new[:1])
        for place, (source, report) in enumerate(new):
            read += [pool.submit(read_xlsx, one.path, one.name) for one, _ in new[place + 1 :][:1]]
            self.progress(source.name)
            yield source, report, read.popleft().result()

    @cached_property
    def _image_ids(self) -> dict[int, str]:
        listed = list(self.frames)
        if self.layout.coco is None and self.layout.metadata is not None:
            table = _read_list(Source(self.layout.metadata, self.layout.metadata.name, ""))
            listed = [str(row[table.column("Path")]) for row in table.rows]
        return detectors.read_image_ids(self.layout.coco, listed)

    def _people(self) -> None:
        for source, report in self._new([self.layout.people]):
            table = read_xlsx(source.path, source.name, people.SHEET)
            trials = people.read_trials(table, report)
            observers = {
                subject: put_observer(self.catalog, people.observer_of(subject, source.name))
                for subject in sorted({trial.subject for trial in trials})
            }
            places = {} if self._design is None else people.read_places(self._design)
            with self._write(source, report) as connection:
                for observer_id in observers.values():
                    _forget(connection, observer_id, report)
                people.import_trials(
                    connection, self._stimuli, trials, observers, places, self.frames, report
                )

    def _pictures(self) -> None:
        of_release = {
            path: spelled
            for path in self.layout.pictures
            if (spelled := pictures.release_path(self._name(path), self.frames)) is not None
        }
        self.layout.not_used += [path for path in self.layout.pictures if path not in of_release]
        for source, report in self._new(of_release):
            spelled = of_release[source.path]
            with self._write(source, report) as connection:
                pictures.import_picture(
                    connection,
                    self.workspace,
                    source,
                    spelled,
                    self._lights,
                    self.frames[spelled],
                    report,
                )

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def _new(self, paths: Iterable[Path | None]) -> Iterator[tuple[Source, SourceReport]]:
        """Sources that are there and not in the catalog yet, with their empty reports."""
        there = (Source.read(path, self.root) for path in paths if path is not None)
        for source, report in self.report.split(there, self._known):
            self.progress(source.name)
            yield source, report

    @contextmanager
    def _write(self, source: Source, report: SourceReport) -> Iterator[Connection]:
        """One transaction for a source, with the note that it is in the catalog."""
        with self.catalog.write() as connection:
            yield connection
            put_import(connection, KIND, source.name, source.sha256, report.to_json())


def _read_list(source: Source) -> Table:
    read = read_csv if source.path.suffix == ".csv" else read_xlsx
    return read(source.path, source.name)


def _read_mask(source: Source, scenes: Iterable[str]) -> tuple[str, list[Instance] | str]:
    """Scene of a mask file, and its objects or why it cannot be read."""
    scene = source.path.stem.removesuffix("_auto").rpartition("_")[0]
    of_name = split_scene(scene)
    if scene not in scenes or of_name is None:
        return scene, ""
    try:
        return scene, read_mask(source.path, of_name[1])
    except MaskError as error:
        return scene, str(error)


def _forget(connection: Connection, observer_id: int, report: SourceReport) -> None:
    """A changed file replaces the answers that its former content gave."""
    tasks = (CLASSIFICATION, DETECTION, *answers.QUESTIONS)
    if replaced := delete_responses(connection, observer_id, tasks):
        report.counts["responses_replaced"] = replaced
