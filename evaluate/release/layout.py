"""Which file of a checkout of the release is what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_PICTURES = (".jpg", ".jpeg")

#: Folders that tools make; nothing of the release lies in them.
_SKIPPED = {".git", "__pycache__", ".cache", ".huggingface"}


@dataclass
class Layout:
    """Files of a checkout by what they hold, in the order they are imported.

    Attributes
    ----------
    metadata : Path or None
        ``data.csv``, or ``SNAP.xlsx`` where that is missing: their cells are the same.
    lightings, sweeps : Path or None
        Only in a dataset that was exported in this layout: its lightings, where the release has
        its two, and which sweeps came from virtual devices.
    not_used : list of Path
        Everything else: licenses, scripts, results derived from the raw ones.
    """

    metadata: Path | None = None
    lightings: Path | None = None
    sweeps: Path | None = None
    categories: Path | None = None
    coco: Path | None = None
    vqa_json: Path | None = None
    design: Path | None = None
    practice: Path | None = None
    people: Path | None = None
    masks: list[Path] = field(default_factory=list)
    classifiers: list[Path] = field(default_factory=list)
    vlms: list[Path] = field(default_factory=list)
    detectors: list[Path] = field(default_factory=list)
    pictures: list[Path] = field(default_factory=list)
    not_used: list[Path] = field(default_factory=list)


_ONE_OF_A_KIND = {
    "annotations/coco_categories.csv": "categories",
    "annotations/lightings.csv": "lightings",
    "annotations/sweeps.csv": "sweeps",
    "annotations/SNAP_COCO.json": "coco",
    "annotations/SNAP_VQA.json": "vqa_json",
    "human_experiment/data/exp_samples.xlsx": "design",
    "human_experiment/data/practice_samples.xlsx": "practice",
    "eval_results/human/all_subjects.xlsx": "people",
}

_MANY_OF_A_KIND = (
    ("annotations/masks_SNAP/", ".png", "masks"),
    ("raw_results/image_classification/", ".xlsx", "classifiers"),
    ("raw_results/vqa/", ".xlsx", "vlms"),
    ("raw_results/object_detection/", ".json", "detectors"),
)


def find_layout(root: Path) -> Layout:
    """Sort the files of a checkout by what they hold."""
    layout = Layout()
    lists: dict[str, Path] = {}
    for path in _files(root):
        name = path.relative_to(root).as_posix()
        if name in _ONE_OF_A_KIND:
            setattr(layout, _ONE_OF_A_KIND[name], path)
        elif name in ("annotations/data.csv", "annotations/SNAP.xlsx"):
            lists[path.name] = path
        elif (kind := _kind(name)) is not None:
            getattr(layout, kind).append(path)
        else:
            layout.not_used.append(path)
    layout.metadata = lists.pop("data.csv", None) or lists.pop("SNAP.xlsx", None)
    layout.not_used += lists.values()
    return layout


def _kind(name: str) -> str | None:
    for folder, suffix, kind in _MANY_OF_A_KIND:
        if name.startswith(folder) and name.endswith(suffix):
            return kind
    return "pictures" if name.lower().endswith(_PICTURES) else None


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if path.name not in _SKIPPED:
                yield from _files(path)
        elif not path.name.startswith((".", "~$")):
            yield path
