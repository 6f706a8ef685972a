"""A session's log: one JSON document a line, appended and fsynced, never rewritten.

It lies in ``sessions/PARTICIPANT/STUDY.jsonl`` and is the truth; the catalog is filled from it.
Every line has ``type``, and ``at``, the UTC moment it was written. A resumed session goes on in
the same file with a header of its own. A line that a power cut tore is passed over: nothing
after it can be lost, because a writer ends it before it goes on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from experiment.errors import ExperimentError
from experiment.records import ParticipantPlan, Study, Trial
from schemas.workspace import Workspace, safe_name

FORMAT = 1

TimingMode = Literal["frames", "clock"]

#: Of one presentation: each wanted refresh came; one was missed; nobody can tell.
TimingStatus = Literal["proven", "failed", "unproven"]

#: In `TrialRecord.error`: no answer in time (counts as wrong), or no answer for another reason.
MISSED = "missed"


@dataclass(frozen=True)
class Header:
    """How a start of the session was set up; the first line of each.

    Attributes
    ----------
    start : int
        1 for the first, 2 for the first resumption, …
    versions : dict
        Of snaprig, Python, PsychoPy, … by name.
    display : dict
        Size in px and cm, distance_cm, declared and measured Hz, degrees, gamma state, …
    timing_mode : {"frames", "clock"}
        ``clock`` where the refresh could not be proven: every trial is then ``unproven``.
    settings : dict
        Mask, durations_s, photodiode, … as set.
    robot : bool
        No person: synthetic keys and clicks.
    """

    participant: str
    study: Study
    group: int
    design_digest: str
    start: int
    versions: dict[str, str]
    display: dict[str, Any]
    timing_mode: TimingMode
    settings: dict[str, Any] = field(default_factory=dict)
    robot: bool = False
    format: int = FORMAT
    at: str = ""


@dataclass(frozen=True)
class TrialRecord:
    """One showing of a trial, with its answer. Moments are seconds of one monotonic clock.

    Attributes
    ----------
    index : int
        Of the trial in the participant's plan.
    showing : int
        1, or 2 and more where it was shown again at the end of its block.
    answer : str
        Raw, whole: the text typed, or the option chosen word for word. Empty: no answer.
    error : str
        ``missed`` where the time ran out; empty otherwise.
    latency_s : float or None
        From the onset of the prompt to the answer.
    fixation_onset_s, image_onset_s, mask_onset_s, prompt_onset_s : float
        Times of flips.
    image_s, mask_s : float
        Measured durations.
    image_frames, mask_frames : int
        Refreshes counted; 0 in clock mode.
    dropped_frames : int
        During image and mask.
    status : {"proven", "failed", "unproven"}
    early_keys : tuple
        Keys and clicks before the prompt, which were ignored.
    extra : dict
        ``first_input_s``: from the onset of the prompt to the first key or click of the answer;
        ``interrupted_s``: spent in the dialog that Esc opens, contained in the latency.
    """

    index: int
    block: int
    showing: int
    scene: str
    lighting: str
    setting: str
    task: str
    options: tuple[str, ...]
    frame_sha256: str
    answer: str
    latency_s: float | None
    fixation_onset_s: float
    image_onset_s: float
    mask_onset_s: float
    prompt_onset_s: float
    image_s: float
    mask_s: float
    status: TimingStatus
    image_frames: int = 0
    mask_frames: int = 0
    dropped_frames: int = 0
    early_keys: tuple[str, ...] = ()
    error: str = ""
    extra: dict[str, Any] = field(default_factory=dict)
    at: str = ""

    @classmethod
    def of(cls, trial: Trial, **measured: Any) -> TrialRecord:  # noqa: ANN401 - fields of this class
        """A record of a trial of a plan; `measured` are the fields that the plan cannot know."""
        return cls(
            index=trial.index,
            block=trial.block,
            scene=trial.scene,
            lighting=trial.lighting,
            setting=trial.setting,
            task=trial.task,
            options=trial.options,
            **measured,
        )


@dataclass(frozen=True)
class Event:
    """Something else worth keeping: a break, Esc, a self-test, a warning."""

    name: str
    detail: dict[str, Any] = field(default_factory=dict)
    at: str = ""


@dataclass(frozen=True)
class End:
    """How a start of the session ended; none: it was killed."""

    status: Literal["done", "left"]
    trials: int
    at: str = ""


Record = Header | TrialRecord | Event | End

_TYPES: dict[str, type[Record]] = {
    "header": Header,
    "trial": TrialRecord,
    "event": Event,
    "end": End,
}
_NAMES = {kind: name for name, kind in _TYPES.items()}


def log_path(workspace: Workspace, participant: str, study: Study = "questions") -> Path:
    """Where a participant's log of a study lies; WorkspaceError for an unsafe pseudonym."""
    return workspace.sessions / safe_name(participant) / f"{study}.jsonl"


class LogWriter:
    """Appends records; each is on the disk when `append` returns. Use as a context manager.

    A torn last line of an earlier start is closed off first, so that it stays one bad line.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = not path.exists()
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":
            os.write(self._file, b"\n")
        if new:
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def append(self, record: Record) -> None:
        """Write one record, stamped with the time, and sync it to the disk."""
        os.write(self._file, encode(record))
        os.fsync(self._file)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def encode(record: Record) -> bytes:
    """A record as its line, with the time now if it has none."""
    values = asdict(record)
    values["at"] = record.at or datetime.now(UTC).isoformat(timespec="milliseconds")
    document = {"type": _NAMES[type(record)], **values}
    try:
        return json.dumps(document, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair: escaped it can be kept as it came
        return json.dumps(document).encode() + b"\n"


def read_log(path: Path) -> list[Record]:
    """All whole records of a log in their order.

    Raises
    ------
    ExperimentError
        If a line is neither whole nor torn: no session wrote it.
    """
    return list(_records(path, path.read_bytes())) if path.exists() else []


def finished_trials(plan: ParticipantPlan, records: list[Record]) -> dict[int, list[TrialRecord]]:
    """Showings by trial index, checked against the plan: what a resumed session need not show.

    Raises
    ------
    ExperimentError
        If the log belongs to another participant or design.
    """
    shown: dict[int, list[TrialRecord]] = {}
    for record in records:
        if isinstance(record, Header):
            found = (record.participant, record.design_digest)
            if found != (plan.participant, plan.design_digest):
                raise ExperimentError(
                    f"the log is of participant {found[0]} under design {found[1][:12]}, the plan "
                    f"of {plan.participant} under {plan.design_digest[:12]}: nothing was added"
                )
        elif isinstance(record, TrialRecord):
            shown.setdefault(record.index, []).append(record)
    return shown


def _records(path: Path, data: bytes) -> Iterator[Record]:
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip(b"\0 \r"):  # a power cut can leave a block of zeros
            continue
        try:
            document = json.loads(line)
        except ValueError:  # torn, of JSON or of UTF-8
            continue
        yield _decode(document, f"{path}, line {number}")


def _decode(document: Any, where: str) -> Record:  # noqa: ANN401 - any JSON
    kind = _TYPES.get(str(document.get("type"))) if isinstance(document, Mapping) else None
    if kind is None:
        raise ExperimentError(f"{where} is no record of a session: {str(document)[:80]}")
    known = {one.name for one in fields(kind)}
    values = {key: value for key, value in document.items() if key in known}
    for key in ("options", "early_keys"):
        if key in values:
            values[key] = tuple(values[key])
    try:
        return kind(**values)
    except TypeError as error:
        raise ExperimentError(f"{where} lacks part of its record: {error}") from error
