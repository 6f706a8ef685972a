"""Bring labels from a file to the frames they name."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evaluate.color.label_files import FileLabel, LabelFile, read_labels
from evaluate.importing_pictures import scene_name
from schemas.catalog import Catalog
from schemas.color_store import (
    FRAME,
    SCENE,
    ColorFrame,
    ColorLabel,
    list_color_frames,
    list_picture_sources,
    put_color_labels,
)

#: Rows without a picture that the report names.
_NAMED: Final = 5


class PictureNames:
    """The frames of a catalog by what others may call them.

    A picture answers to the path within the folder it was imported from, to the end of that path,
    and to its scene's name; a frame of ours to its path in the workspace.
    """

    def __init__(self, frames: Iterable[ColorFrame], sources: Iterable[str]) -> None:
        self._by_path: dict[str, list[ColorFrame]] = defaultdict(list)
        self._by_scene: dict[str, list[ColorFrame]] = defaultdict(list)
        pictures = {}
        for frame in frames:
            if frame.kind == "picture":
                pictures[frame.scene] = frame
                for at in (m.end() for m in re.finditer("-", frame.scene)):
                    self._by_scene[frame.scene[at:]].append(frame)
            else:
                self._by_path[frame.path].append(frame)
        for source in sources:
            folder, _, inside = source.partition("/")
            known = pictures.get(scene_name(folder, inside))
            if known is not None:
                parts = source.split("/")
                for start in range(len(parts)):
                    self._by_path["/".join(parts[start:])].append(known)

    def find(self, label: FileLabel, *, unique: bool) -> list[ColorFrame]:
        """Frames that a row may mean: one if all is well.

        Parameters
        ----------
        unique : bool
            No other row of its file has the same image name. Where several classes share image
            names (CIFAR-B), a name alone says nothing.
        """
        full = self._by_path.get(label.name) or self._by_scene.get(_scene_key(label.name))
        if full:
            return full
        bare = self._by_path.get(label.image) or self._by_scene.get(_scene_key(label.image)) or []
        wanted = label.picture_class.casefold()
        same_class = [frame for frame in bare if frame.category.casefold() == wanted]
        return same_class or (bare if unique else [])


@dataclass(frozen=True)
class ImportedLabels:
    """What an import of labels did.

    Attributes
    ----------
    matched : int
        Rows that became a label.
    missing, ambiguous : tuple of str
        Names of rows without a picture, or with several.
    """

    file: LabelFile
    name: str
    matched: int
    missing: tuple[str, ...]
    ambiguous: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """As `snaprig color label --import FILE --json` prints it."""
        return {
            "file": self.name,
            "rows": len(self.file.labels),
            **self.file.counts(),
            "labels": self.matched,
            "without_picture": _some(self.missing),
            "several_pictures": _some(self.ambiguous),
            "rejected": [
                {"reason": reason, "rows": rows, "examples": self.file.rejected[reason]}
                for reason, rows in self.file.rejected_rows.items()
            ],
        }


def import_labels(catalog: Catalog, path: Path) -> ImportedLabels:
    """Store the labels of a file; repeated, they replace those of the same file name.

    A label of a picture is of its scene; a label of a frame of a sweep is of that frame.

    Raises
    ------
    EvaluateError
        If the file is no table of labels.
    """
    file = read_labels(path)
    names = PictureNames(list_color_frames(catalog), list_picture_sources(catalog))
    images = Counter(label.image for label in file.labels)
    new: dict[tuple[int, str], ColorLabel] = {}
    missing: list[str] = []
    ambiguous: list[str] = []
    for label in file.labels:
        found = names.find(label, unique=images[label.image] == 1)
        if len(found) == 1:
            scope = SCENE if found[0].kind == "picture" else FRAME
            new[found[0].frame_id, scope] = ColorLabel(
                found[0].frame_id,
                scope,
                "imported",
                str(label.foreground or ""),
                str(label.background or ""),
                path.name,
            )
        else:
            (ambiguous if found else missing).append(label.name)
    put_color_labels(catalog, new.values())
    return ImportedLabels(file, path.name, len(new), tuple(missing), tuple(ambiguous))


def _scene_key(name: str) -> str:
    """The part of a picture's scene name that tells its file name."""
    return scene_name("", name).partition("-")[2]


def _some(names: tuple[str, ...]) -> dict[str, Any]:
    return {"rows": len(names), "examples": list(names[:_NAMED])}
