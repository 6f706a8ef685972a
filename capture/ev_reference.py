"""The EV reference of a lighting from its auto frames: one value per lighting and data set."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

from capture.provenance import load_stamper
from rig.errors import Abort
from schemas.capture_store import list_lightings, list_runs, move_ev_reference
from schemas.catalog import Catalog
from schemas.exposure import ev_index
from schemas.frame_store import add_frame, list_frames, load_histogram, remove_frame
from schemas.records import Frame, Outcome
from schemas.stamp import unstamp
from schemas.workspace import Workspace, write_atomically


def derive_ev_reference(catalog: Catalog, lighting: str) -> tuple[int, list[float]]:
    """The median EV of a lighting's auto frames, rounded half up, and their EVs.

    Never per scene: the scenes of a data set share one reference, else their EV offsets could
    not be compared.

    Raises
    ------
    Abort
        If there is no auto frame with an EV, or a sweep was shot under another reference.
    """
    frames = list_frames(catalog, lighting=lighting, kind="auto", outcome=Outcome.ACCEPTED)
    evs = sorted(frame.ev for frame in frames if frame.ev is not None)
    if not evs:
        raise Abort(
            f"there is no auto frame under {lighting} to derive an EV reference from",
            f"take some: snaprig capture auto-frame --scene NAME --lighting {lighting}",
        )
    value = ev_index(median(evs))
    known = next((light for light in list_lightings(catalog) if light.name == lighting), None)
    swept = any(run.kind == "sweep" for run in list_runs(catalog, lighting=lighting))
    if known is not None and swept and known.ev_reference != value:
        raise Abort(
            f"{lighting} has sweeps under EV reference {known.ev_reference}; its {len(evs)} auto "
            f"frames give {value}",
            f"keep {known.ev_reference}, or start a lighting of another name",
        )
    return value, evs


def adopt_ev_reference(workspace: Workspace, catalog: Catalog, lighting: str, value: int) -> None:
    """Make `value` the reference of a lighting that has auto frames only, and re-file those.

    Their EV offset changes with it, in row and file. The caller owns the workspace. After a crash
    in between, call it again.

    Raises
    ------
    CatalogError
        If sweeps were shot under another reference; nothing is changed then.
    """
    move_ev_reference(catalog, lighting, value)
    frames = list_frames(catalog, lighting=lighting, kind="auto", outcome=Outcome.ACCEPTED)
    for frame in list(frames):
        if frame.ev_index is not None and frame.ev_offset != value - frame.ev_index:
            _refile(workspace, catalog, replace(frame, ev_offset=value - frame.ev_index))


def _refile(workspace: Workspace, catalog: Catalog, frame: Frame) -> None:
    path = workspace.resolve(frame.path)
    data = unstamp(path.read_bytes())
    stamped, file = load_stamper(catalog, frame.run_id)(frame, data)
    histogram = None if frame.id is None else load_histogram(catalog, frame.id)
    if frame.id is not None:
        remove_frame(catalog, frame.id)
    write_atomically(path, file)
    add_frame(catalog, replace(stamped, id=None, histogram=histogram))
