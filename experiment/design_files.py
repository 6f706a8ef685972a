"""Designs in the workspace, and which participant has which place in them.

``sessions/design.json`` (``design-rt3.json``) is the design in use. A participant takes its next
free place with the first session and keeps it: ``sessions/participants.jsonl`` has a line for
each. A design whose places are taken is never written over: it is set aside under its digest.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from experiment.errors import ExperimentError
from experiment.records import Block, Design, ParticipantPlan, PlannedTrial, Slot, Study, Trial
from schemas.catalog import Catalog
from schemas.design_store import ShownFrame, stimuli_by_key
from schemas.questions import prompt_text
from schemas.workspace import Workspace, safe_name, write_atomically

#: Fields that a trial has from the design.
_SHARED = tuple(one.name for one in fields(PlannedTrial))

_NAMES: dict[Study, str] = {"questions": "design", "rt3": "design-rt3"}


@dataclass(frozen=True)
class Place:
    """A participant's place in a design, from 0."""

    participant: str
    study: Study
    slot: int
    digest: str


def design_path(workspace: Workspace, study: Study = "questions") -> Path:
    """Where the design in use lies."""
    return workspace.sessions / f"{_NAMES[study]}.json"


def write_design(workspace: Workspace, design: Design, *, replace: bool = False) -> Path:
    """Put a design to use; its path.

    Parameters
    ----------
    replace : bool
        Set a design aside whose places are taken: its participants keep them.

    Raises
    ------
    ExperimentError
        If participants have places in another design, and `replace` was not asked for.
    """
    path = design_path(workspace, design.study)
    with _locked(workspace):
        before = _read(path) if path.exists() else None
        if before is not None and before.digest == design.digest:
            return path
        if before is not None and _places(workspace, design.study, before.digest):
            taken = len(_places(workspace, design.study, before.digest))
            if not replace:
                raise ExperimentError(
                    f"{taken} participants have their places in the design at {path}, which "
                    "differs from this one; `--replace` puts this one to use for new participants "
                    "(the others keep theirs)"
                )
            _write(_aside(workspace, before.study, before.digest), before)
        _write(path, design)
    return path


def read_design(workspace: Workspace, study: Study = "questions", digest: str = "") -> Design:
    """The design in use, or the one of a digest.

    Raises
    ------
    ExperimentError
        If there is none, or its file was changed by hand.
    """
    current = design_path(workspace, study)
    if not current.exists():
        task = " --task rt3" if study == "rt3" else ""
        raise ExperimentError(
            f"no design in {current}: make one with "
            f"`snaprig experiment design{task} --participants N --seed 1`"
        )
    design = _read(current)
    if digest in ("", design.digest):
        return design
    aside = _aside(workspace, study, digest)
    if not aside.exists():
        raise ExperimentError(f"the design {digest[:12]} is not in {workspace.sessions} any more")
    return _read(aside)


def list_places(workspace: Workspace, study: Study = "questions") -> list[Place]:
    """Participants in the order they came."""
    return [place for place in _all_places(workspace) if place.study == study]


def place_of(workspace: Workspace, participant: str, study: Study, *, assign: bool = True) -> Place:
    """A participant's place, the next free one of the design in use for a new participant.

    Raises
    ------
    ExperimentError
        If all places are taken; or for a new participant, where `assign` is false.
    WorkspaceError
        If the pseudonym cannot be a folder name.
    """
    safe_name(participant)
    with _locked(workspace):
        for place in list_places(workspace, study):
            if place.participant == participant:
                return place
        if not assign:
            raise ExperimentError(f"{participant} has no place in the design yet")
        design = read_design(workspace, study)
        taken = {place.slot for place in _places(workspace, study, design.digest)}
        free = [slot for slot in range(len(design.slots)) if slot not in taken]
        if not free:
            raise ExperimentError(
                f"all {len(design.slots)} places of the design are taken: make one for more "
                "participants with `snaprig experiment design --participants N --seed S --replace`"
            )
        place = Place(participant, study, free[0], design.digest)
        _append(_places_path(workspace), place)
    return place


def load_participant(
    workspace: Workspace,
    catalog: Catalog,
    participant: str,
    study: Study = "questions",
    *,
    assign: bool = True,
) -> ParticipantPlan:
    """Everything a participant is shown, with stimuli and files as the catalog has them now.

    Raises
    ------
    ExperimentError
        If there is no design or no place in it, or the catalog cannot show it any more: a frame
        is gone or has no file, or a question has other options.
    """
    place = place_of(workspace, participant, study, assign=assign)
    design = read_design(workspace, study, place.digest)
    slot = design.slots[place.slot]
    return ParticipantPlan(
        participant=participant,
        study=study,
        group=slot.group,
        slot=place.slot,
        design_digest=place.digest,
        blocks=_resolve(catalog, slot),
    )


def _resolve(catalog: Catalog, slot: Slot) -> tuple[Block, ...]:
    stimuli = stimuli_by_key(catalog, sorted({block.task for block in slot.blocks}))
    blocks = []
    index = 0
    for number, block in enumerate(slot.blocks):
        trials = []
        for planned in block.trials:
            found = stimuli.get((planned.key, planned.task))
            name = "/".join(planned.key)
            if found is None:
                raise ExperimentError(
                    f"{name} is no accepted frame with the question {planned.task} any more; "
                    "`snaprig experiment design --check` says what else is missing"
                )
            stimulus_id, frame, options = found
            if options != planned.options:
                raise ExperimentError(f"the options of {planned.task} for {name} have changed")
            if not frame.path:
                raise ExperimentError(
                    f"the picture of {name} is not here: import the release's pictures, or make a "
                    "design of frames that have their files"
                )
            trials.append(_trial(planned, index, number, stimulus_id, frame))
            index += 1
        blocks.append(Block(number, block.task, prompt_text(block.task), tuple(trials)))
    return tuple(blocks)


def _trial(
    planned: PlannedTrial, index: int, block: int, stimulus_id: int, frame: ShownFrame
) -> Trial:
    return Trial(
        index=index,
        block=block,
        stimulus_id=stimulus_id,
        frame_id=frame.id,
        path=frame.path,
        sha256=frame.sha256,
        **{name: getattr(planned, name) for name in _SHARED},
    )


def _places_path(workspace: Workspace) -> Path:
    return workspace.sessions / "participants.jsonl"


def _aside(workspace: Workspace, study: Study, digest: str) -> Path:
    return workspace.sessions / f"{_NAMES[study]}-{digest[:16]}.json"


def _all_places(workspace: Workspace) -> Iterator[Place]:
    path = _places_path(workspace)
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        try:
            document = json.loads(line)
        except ValueError:  # empty, or torn by a power cut: that session had not begun
            continue
        try:
            yield Place(**document)
        except TypeError as error:
            raise ExperimentError(f"{path} has a line that is no place: {error}") from error


def _places(workspace: Workspace, study: Study, digest: str) -> list[Place]:
    return [place for place in list_places(workspace, study) if place.digest == digest]


def _append(path: Path, place: Place) -> None:
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(file).st_size
        torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
        os.write(file, b"\n" * torn + json.dumps(asdict(place)).encode() + b"\n")
        os.fsync(file)
    finally:
        os.close(file)


def _read(path: Path) -> Design:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        design = Design.from_json(document["design"])
        digest = document["digest"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ExperimentError(f"{path} is no design: {error!r}") from error
    if design.digest != digest:
        raise ExperimentError(
            f"{path} is not as it was written (digest {digest[:12]}): restore it from a backup"
        )
    return design


def _write(path: Path, design: Design) -> None:
    document = {"digest": design.digest, "design": design.as_json()}
    write_atomically(path, json.dumps(document, ensure_ascii=False).encode())


@contextmanager
def _locked(workspace: Workspace) -> Iterator[None]:
    """One process at a time gives places away."""
    workspace.sessions.mkdir(exist_ok=True)
    file = os.open(workspace.sessions / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)
