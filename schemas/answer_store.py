"""Stimuli, observers, responses and verdicts in the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import JSON, Row, delete, insert, literal, select
from sqlalchemy.dialects.sqlite import insert as upsert

from schemas.catalog import Catalog, CatalogError
from schemas.records import Observer, Outcome, Response, Stimulus, Verdict, utc_now
from schemas.tables import frames, observers, responses, stimuli, verdicts

#: The view that shows a frame as it is.
ORIGINAL = "original"

CLASSIFICATION = "classification"


@dataclass(frozen=True)
class PendingStimulus:
    """A stimulus that an observer has not answered yet, with the file to be seen.

    `path` is relative to the workspace; `sha256` is of the stored file.
    """

    stimulus_id: int
    frame_id: int
    view: str
    task: str
    options: tuple[str, ...]
    path: str
    sha256: str


def ensure_stimuli(catalog: Catalog, task: str, view: str = ORIGINAL) -> int:
    """Give every accepted manual frame its stimulus for a task without options.

    Idempotent; returns how many were added.
    """
    accepted = select(frames.c.id, *_constants(view, task)).where(
        frames.c.kind == "manual", frames.c.outcome == Outcome.ACCEPTED
    )
    statement = (
        upsert(stimuli)
        .from_select(["frame_id", "view", "task", "options"], accepted)
        .on_conflict_do_nothing()
    )
    with catalog.write() as connection:
        return int(connection.execute(statement).rowcount)


def add_stimuli(catalog: Catalog, new: Iterable[Stimulus]) -> None:
    """Store stimuli; those whose key exists keep their stored options."""
    rows = [
        {"frame_id": s.frame_id, "view": s.view, "task": s.task, "options": list(s.options)}
        for s in new
    ]
    if rows:
        with catalog.write() as connection:
            connection.execute(upsert(stimuli).on_conflict_do_nothing(), rows)


def put_observer(catalog: Catalog, observer: Observer) -> int:
    """Id of an observer, added if new.

    Raises CatalogError if the name stands for another spec: other weights are another
    observer, their answers must not mix.
    """
    with catalog.write() as connection:
        row = connection.execute(select(observers).where(observers.c.name == observer.name)).first()
        if row is None:
            values = {"name": observer.name, "kind": observer.kind, "spec": observer.spec}
            result = connection.execute(insert(observers).values(created_at=utc_now(), **values))
            return int(result.inserted_primary_key[0])  # type: ignore[index]  # one row, one key
        if (row.kind, row.spec) != (observer.kind, observer.spec):
            raise CatalogError(
                f"observer {observer.name} is in the catalog with another specification "
                f"({row.kind}, {row.spec}); give this one another name"
            )
        return int(row.id)


def list_observers(catalog: Catalog) -> list[Observer]:
    """All observers in the order they came."""
    with catalog.read() as connection:
        rows = connection.execute(select(observers).order_by(observers.c.id))
        return [Observer(row.name, row.kind, row.spec, row.id) for row in rows]


def pending_stimuli(
    catalog: Catalog, observer_id: int, task: str, view: str = ORIGINAL
) -> list[PendingStimulus]:
    """Stimuli x observer - responses, in stimulus order."""
    answered = select(responses.c.stimulus_id).where(responses.c.observer_id == observer_id)
    query = (
        select(stimuli, frames.c.path, frames.c.sha256)
        .join(frames)
        .where(stimuli.c.task == task, stimuli.c.view == view, stimuli.c.id.not_in(answered))
        .order_by(stimuli.c.id)
    )
    with catalog.read() as connection:
        return [
            PendingStimulus(
                row.id, row.frame_id, row.view, row.task, tuple(row.options), row.path, row.sha256
            )
            for row in connection.execute(query)
        ]


def add_responses(catalog: Catalog, new: Iterable[Response]) -> None:
    """Store responses in one transaction. An observer answers a stimulus once only."""
    rows = [
        {
            "stimulus_id": r.stimulus_id,
            "observer_id": r.observer_id,
            "text": r.text,
            "payload": r.payload,
            "error": r.error,
            "latency_s": r.latency_s,
            "timing": r.timing,
            "frame_sha256": r.frame_sha256,
            "answered_at": r.answered_at or utc_now(),
        }
        for r in new
    ]
    if rows:
        with catalog.write() as connection:
            connection.execute(insert(responses), rows)


def list_responses(
    catalog: Catalog, observer_id: int, task: str | None = None
) -> Iterator[Response]:
    """Responses of an observer in stimulus order, streamed."""
    query = select(responses).where(responses.c.observer_id == observer_id)
    if task is not None:
        query = query.join(stimuli).where(stimuli.c.task == task)
    with catalog.read() as connection:
        rows = connection.execute(query.order_by(responses.c.stimulus_id)).yield_per(1000)
        for row in rows:
            yield _response(row)


def delete_failed_responses(catalog: Catalog, observer_id: int) -> int:
    """Forget an observer's recorded failures so that they are asked again; how many."""
    statement = delete(responses).where(
        responses.c.observer_id == observer_id, responses.c.error != ""
    )
    with catalog.write() as connection:
        return int(connection.execute(statement).rowcount)


def put_verdicts(catalog: Catalog, new: Iterable[Verdict]) -> None:
    """Store verdicts, replacing those of the same response and protocol."""
    rows = [
        {
            "response_id": v.response_id,
            "protocol": v.protocol,
            "parsed": v.parsed,
            "soft": v.soft,
            "hard": v.hard,
            "error_kind": v.error_kind,
        }
        for v in new
    ]
    if rows:
        statement = upsert(verdicts)
        replaced = {
            name: statement.excluded[name] for name in ("parsed", "soft", "hard", "error_kind")
        }
        with catalog.write() as connection:
            connection.execute(
                statement.on_conflict_do_update(
                    index_elements=["response_id", "protocol"], set_=replaced
                ),
                rows,
            )


def _constants(view: str, task: str) -> list[Any]:
    return [literal(view), literal(task), literal([], JSON)]


def _response(row: Row[Any]) -> Response:
    return Response(
        stimulus_id=row.stimulus_id,
        observer_id=row.observer_id,
        text=row.text,
        payload=row.payload,
        error=row.error,
        latency_s=row.latency_s,
        timing=row.timing,
        frame_sha256=row.frame_sha256,
        answered_at=row.answered_at,
        id=row.id,
    )
