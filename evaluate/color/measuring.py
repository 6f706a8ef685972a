"""Measure the colors of all frames whose scenes have masks: by frame, and once a scene."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from evaluate.color.measure import Measured, measure
from evaluate.color.pixels import Mask, decode_small, fit_mask, mask_digest, object_mask
from evaluate.errors import EvaluateError
from schemas.catalog import Catalog
from schemas.color_store import (
    FRAME,
    KINDS,
    SCENE,
    ColorFrame,
    ColorLabel,
    list_color_frames,
    list_color_labels,
    put_measured,
)
from schemas.import_store import list_instances
from schemas.records import Instance
from schemas.workspace import Workspace, WorkspaceError

MEASURED: Final = KINDS[-1]

#: Changes whenever the same picture would get another label.
METHOD: Final = "cielab-1"

#: Frames of one transaction: what an interruption costs.
_BATCH: Final = 64

#: An object of fewer pixels in the small picture is measured in the whole one.
_FEW_PIXELS: Final = 200

#: Failures that a report names.
_NAMED: Final = 5

#: Decoded masks that are kept.
_KEPT: Final = 64


#: A frame, and the scopes of the labels that it is to give.
_Job = tuple[ColorFrame, list[str]]


@dataclass(frozen=True)
class Measuring:
    """What one pass did.

    Attributes
    ----------
    scenes, frames : int
        Labels that were measured now.
    known : int
        Frames that had theirs.
    without_mask : int
        Frames of scenes without a mask.
    failed : dict
        Reason → paths.
    """

    scenes: int
    frames: int
    known: int
    without_mask: int
    failed: Mapping[str, Sequence[str]]

    def as_json(self) -> dict[str, Any]:
        """As `snaprig color label --measure --json` prints it."""
        return {
            "scenes": self.scenes,
            "frames": self.frames,
            "known": self.known,
            "without_mask": self.without_mask,
            "failed": [
                {"reason": reason, "frames": len(paths), "examples": list(paths[:_NAMED])}
                for reason, paths in self.failed.items()
            ],
        }


def measure_catalog(
    catalog: Catalog, workspace: Workspace, watch: Callable[[int, int], None], threads: int = 1
) -> Measuring:
    """Measure every frame that has a mask and no label of this very method and mask.

    A frame is measured as it appears. A scene has one label more, from the frame nearest to
    EV offset 0 (the first of several), its offset taken back: the object's own color. Each batch
    is stored whole, so that an interrupted pass goes on where it stopped.

    Parameters
    ----------
    watch : callable
        Called with frames done and frames to do.

    Raises
    ------
    EvaluateError
        If no scene has a mask; it says how to make one.
    """
    frames = [frame for frame in list_color_frames(catalog) if frame.path]
    masks = _Masks(list_instances(catalog), frames)
    masked = [frame for frame in frames if frame.scene in masks.labelers]
    if not masked:
        raise EvaluateError(
            "no scene has an object mask, which measuring needs: mark the objects with `snaprig "
            "scene annotate SCENE`, or import pictures with masks (`snaprig import images FOLDER "
            "--labels LIST --boxes COCO.json`, segmentations as RLE)"
        )
    known = _known(catalog)
    without = {
        scene: candidates
        for scene, candidates in references(masked).items()
        if not any((one.frame_id, SCENE, masks.labelers[one.scene]) in known for one in candidates)
    }
    first = {candidates[0].frame_id for candidates in without.values()}
    jobs: list[_Job] = []
    for frame in masked:
        measured = (frame.frame_id, FRAME, masks.labelers[frame.scene]) in known
        scopes = ([] if measured else [FRAME]) + ([SCENE] if frame.frame_id in first else [])
        if scopes:
            jobs.append((frame, scopes))
    failed: dict[str, list[str]] = defaultdict(list)
    counts: Counter[str] = Counter()

    def try_one(job: _Job) -> tuple[list[ColorLabel], str]:
        try:
            return _labels(workspace, *job, masks), ""
        except (EvaluateError, WorkspaceError) as error:
            return [], str(error)

    def keep(batch: list[_Job], results: Iterable[tuple[list[ColorLabel], str]]) -> None:
        new = []
        for (frame, _), (labels, reason) in zip(batch, results, strict=True):
            new += labels
            if reason:
                failed[reason].append(frame.path)
            if any(label.scope == SCENE for label in labels):
                del without[frame.scene_id]
        put_measured(catalog, new)
        counts.update(label.scope for label in new)

    with ThreadPoolExecutor(threads) as pool:
        for start in range(0, len(jobs), _BATCH):
            batch = jobs[start : start + _BATCH]
            keep(batch, pool.map(try_one, batch))
            watch(start + len(batch), len(jobs))
    for candidates in list(without.values()):  # their best frame cannot be read
        for frame in candidates[1:]:
            if frame.scene_id in without:
                again: _Job = (frame, [SCENE])
                keep([again], [try_one(again)])
    return Measuring(
        counts[SCENE],
        counts[FRAME],
        len(masked) - sum(FRAME in scopes for _, scopes in jobs),
        len(frames) - len(masked),
        {reason: sorted(set(paths)) for reason, paths in failed.items()},
    )


def measure_frame(
    workspace: Workspace, frame: ColorFrame, mask: Mask, offsets: Sequence[float]
) -> list[Measured]:
    """Colors of one frame, decoded once, with each of `offsets` stops taken back.

    Raises
    ------
    EvaluateError
        If the file cannot be read, or the mask does not fit.
    """
    path = workspace.resolve(frame.path)
    pixels = decode_small(path, frame.sha256)
    fitted = fit_mask(mask, *pixels.shape[:2])
    if min(fitted.sum(), fitted.size - fitted.sum()) < _FEW_PIXELS:
        pixels = decode_small(path, frame.sha256, whole=True)
        fitted = fit_mask(mask, *pixels.shape[:2])
    try:
        return [measure(pixels, fitted, offset) for offset in offsets]
    except ValueError as error:
        raise EvaluateError(str(error)) from error


def _labels(
    workspace: Workspace, frame: ColorFrame, scopes: Sequence[str], masks: _Masks
) -> list[ColorLabel]:
    """One label for each scope; that of the scene has the EV offset taken back."""
    offsets = [(frame.ev_offset or 0) if scope == SCENE else 0 for scope in scopes]
    found = measure_frame(workspace, frame, masks.of(frame.scene), offsets)
    labeler = masks.labelers[frame.scene]
    return [
        ColorLabel(
            frame.frame_id,
            scope,
            MEASURED,
            str(one.foreground),
            str(one.background),
            labeler,
            foreground_luma=one.foreground_luma,
            background_luma=one.background_luma,
        )
        for scope, one in zip(scopes, found, strict=True)
    ]


def references(frames: Iterable[ColorFrame]) -> dict[int, list[ColorFrame]]:
    """Frames of each scene, the one that shows its own color best first, by scene id."""
    found: dict[int, list[ColorFrame]] = defaultdict(list)
    for frame in frames:
        found[frame.scene_id].append(frame)
    return {
        scene: sorted(group, key=lambda one: (abs(one.ev_offset or 0), one.frame_id))
        for scene, group in found.items()
    }


class _Masks:
    """Masks by scene, decoded when asked for: those of 50,000 pictures would fill the memory.

    Attributes
    ----------
    labelers : dict
        Scene → name of a measurement by this method with its mask, for scenes that have one.
    """

    def __init__(
        self, instances: Mapping[str, Sequence[Instance]], frames: Iterable[ColorFrame]
    ) -> None:
        self._instances = instances
        self._categories = {frame.scene: frame.category for frame in frames}
        self.labelers = {
            scene: f"{METHOD} mask {mask_digest(instances[scene])}"
            for scene in self._categories
            if any(one.rle is not None for one in instances.get(scene, ()))
        }
        self.of = lru_cache(maxsize=_KEPT)(self._decode)

    def _decode(self, scene: str) -> Mask:
        mask = object_mask(self._instances[scene], self._categories[scene])
        if mask is None:
            raise EvaluateError(f"scene {scene} has no mask")
        return mask


def _known(catalog: Catalog) -> set[tuple[int, str, str]]:
    return {
        (label.frame_id, label.scope, label.labeler)
        for label in list_color_labels(catalog)
        if label.kind == MEASURED
    }
