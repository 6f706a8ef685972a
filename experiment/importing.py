"""Sessions into the catalog: a log may land at any time and as often as one likes.

What counts as the answer to a trial that was shown again, because a refresh was missed: the
showing with the best evidence of its timing, the first of equals. The others stay in the log,
and are named in the answer's timing evidence.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from experiment.errors import ExperimentError
from experiment.records import Study
from experiment.trial_log import MISSED, End, Header, Record, TrialRecord, read_log
from schemas.answer_store import put_observer
from schemas.catalog import Catalog
from schemas.design_store import stimuli_by_key
from schemas.import_store import known_imports
from schemas.records import Observer, Response
from schemas.session_store import put_session
from schemas.workspace import Workspace

KIND = "session"

_EVIDENCE = {"failed": 0, "unproven": 1, "proven": 2}

#: Fields of a record that become the response's timing evidence.
_TIMING = (
    "block",
    "showing",
    "status",
    "fixation_onset_s",
    "image_onset_s",
    "mask_onset_s",
    "prompt_onset_s",
    "image_s",
    "mask_s",
    "image_frames",
    "mask_frames",
    "dropped_frames",
)


@dataclass(frozen=True)
class ImportedSession:
    """What became of one log.

    Attributes
    ----------
    trials : int
        Of the plan, that have an answer here.
    shown_again : int
        Showings beyond the first of a trial.
    timing : dict
        Answers that count, by status of their timing.
    added, corrected : int
        Answers that are new in the catalog; that took the place of others.
    unchanged : bool
        The whole log was in the catalog already.
    ended : bool
        Whether the session says that it is done.
    """

    path: str
    participant: str
    study: Study
    robot: bool
    trials: int
    shown_again: int
    timing: dict[str, int]
    added: int
    corrected: int
    unchanged: bool
    ended: bool

    def as_json(self) -> dict[str, Any]:
        """As a JSON document."""
        return asdict(self)


@dataclass(frozen=True)
class Session:
    """A log as it is read."""

    path: Path
    sha256: str
    headers: tuple[Header, ...]
    showings: dict[int, list[TrialRecord]]
    ended: bool

    @property
    def header(self) -> Header:
        """Of the first start."""
        return self.headers[0]

    @property
    def robot(self) -> bool:
        """Whether any part of it was answered by a robot."""
        return any(header.robot for header in self.headers)


def session_logs(workspace: Workspace) -> list[Path]:
    """All logs of a workspace in order."""
    return sorted(workspace.sessions.glob("*/*.jsonl"))


def read_session(path: Path) -> Session:
    """Read a log.

    Raises
    ------
    ExperimentError
        If it is not there, or not the log of one participant under one design.
    """
    if not path.exists():
        raise ExperimentError(f"{path} is not there; sessions lie in sessions/PARTICIPANT")
    # the digest first: what is appended meanwhile is imported next time
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    records = read_log(path)
    headers = tuple(one for one in records if isinstance(one, Header))
    if not headers:
        raise ExperimentError(f"{path} holds no session: it has no header")
    if len({(one.participant, one.study, one.design_digest) for one in headers}) > 1:
        raise ExperimentError(f"{path} mixes sessions of several participants or designs")
    return Session(path, sha256, headers, _showings(records), _ended(records))


def counted(showings: Sequence[TrialRecord]) -> TrialRecord:
    """The showing of a trial whose answer counts."""
    return max(showings, key=lambda one: (_EVIDENCE[one.status], -one.showing))


def import_sessions(
    catalog: Catalog, workspace: Workspace, paths: Iterable[Path] = ()
) -> list[ImportedSession]:
    """Bring logs into the catalog: those named, or all of the workspace.

    Raises
    ------
    ExperimentError
        If a log is none, or was made with frames or questions that are not in this catalog;
        the logs before it are imported.
    """
    return [_import(catalog, read_session(path)) for path in list(paths) or session_logs(workspace)]


def _import(catalog: Catalog, session: Session) -> ImportedSession:
    header = session.header
    source = f"{header.participant}/{header.study}"
    known = known_imports(catalog, KIND).get(source)
    best = [counted(showings) for _, showings in sorted(session.showings.items())]
    landed = None
    if known is None or known.sha256 != session.sha256:
        landed = put_session(
            catalog,
            _responses(catalog, session, best),
            kind=KIND,
            source=source,
            sha256=session.sha256,
            report={"starts": [asdict(one) for one in session.headers], "ended": session.ended},
        )
    timing: dict[str, int] = defaultdict(int)
    for one in best:
        timing[one.status] += 1
    return ImportedSession(
        path=str(session.path),
        participant=header.participant,
        study=header.study,
        robot=session.robot,
        trials=len(best),
        shown_again=sum(len(showings) - 1 for showings in session.showings.values()),
        timing=dict(timing),
        added=landed.added if landed else 0,
        corrected=landed.corrected if landed else 0,
        unchanged=landed is None,
        ended=session.ended,
    )


def _responses(catalog: Catalog, session: Session, best: list[TrialRecord]) -> list[Response]:
    header = session.header
    stimuli = stimuli_by_key(catalog, sorted({one.task for one in best}))
    # the data set keeps them apart from imported people, and robots apart from both
    spec: dict[str, Any] = {"source": "snaprig experiment", "dataset": "sessions"}
    if session.robot:
        spec |= {"dataset": "robots", "robot": True}
    observer_id = put_observer(catalog, Observer(header.participant, "person", spec))
    found = []
    for one in best:
        name = f"{one.scene}/{one.lighting}/{one.setting}"
        stimulus = stimuli.get(((one.scene, one.lighting, one.setting), one.task))
        if stimulus is None:
            raise ExperimentError(
                f"{session.path}: {name} with the question {one.task} is not in this catalog; "
                "import the session into the workspace that it was made in"
            )
        stimulus_id, _, options = stimulus
        if options != one.options:
            raise ExperimentError(
                f"{session.path}: {one.task} of {name} was shown with other options than the "
                "catalog has: these answers cannot be scored here"
            )
        found.append(_response(stimulus_id, observer_id, header, one, session.showings[one.index]))
    return found


def _response(
    stimulus_id: int,
    observer_id: int,
    header: Header,
    one: TrialRecord,
    showings: list[TrialRecord],
) -> Response:
    timing: dict[str, Any] = {
        "study": header.study,
        "group": header.group,
        "design_digest": header.design_digest,
        "trial": one.index,
        **{name: getattr(one, name) for name in _TIMING},
        **one.extra,
    }
    if one.error == MISSED:
        timing["missed"] = True
    if others := [other for other in showings if other is not one]:
        names = ("showing", "status", "answer", "latency_s", "image_s", "mask_s", "dropped_frames")
        timing["other_showings"] = [{name: getattr(o, name) for name in names} for o in others]
    return Response(
        stimulus_id=stimulus_id,
        observer_id=observer_id,
        # half a surrogate pair, as a broken input method may send it, fits into no database
        text=one.answer.encode("utf-8", "replace").decode(),
        # a miss is an answer too late, and wrong; anything else that went wrong is no answer
        error="" if one.error == MISSED else one.error,
        latency_s=one.latency_s,
        timing=timing,
        frame_sha256=one.frame_sha256,
        answered_at=datetime.fromisoformat(one.at),
    )


def _showings(records: Iterable[Record]) -> dict[int, list[TrialRecord]]:
    found: dict[int, list[TrialRecord]] = {}
    for record in records:
        if isinstance(record, TrialRecord):
            found.setdefault(record.index, []).append(record)
    return found


def _ended(records: Sequence[Record]) -> bool:
    ends = [one for one in records if isinstance(one, End)]
    return bool(ends) and ends[-1].status == "done"
