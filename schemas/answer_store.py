"""Stimuli, observers, responses and verdicts in the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import JSON, Row, and_, delete, func, insert, literal, or_, select
from sqlalchemy.dialects.sqlite import insert as upsert

from schemas.catalog import Catalog, CatalogError
from schemas.records import Observer, Outcome, Response, Stimulus, utc_now
from schemas.tables import frames, lightings, observers, responses, scenes, stimuli, verdicts

#: The view that shows a frame as it is.
ORIGINAL = "original"

#: Tasks that mean nothing without the options in their order.
_NEED_OPTIONS = ("q3", "q4")

CLASSIFICATION = "classification"

#: Kinds of frames that observers are asked about: not the rig's own auto and reference frames.
_SHOWN = ("manual", "picture")
DETECTION = "detection"

#: One of the options is named (trials in the model-vs-human format).
CHOICE = "choice"


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


@dataclass(frozen=True)
class Answer:
    """A scored response with the conditions its frame was taken under.

    `soft` and `hard` are None where there is no answer, or no truth to compare it with;
    `error_kind` says which.
    """

    frame_id: int
    scene: str
    category: str
    lighting: str
    ev_offset: int
    shutter_s: float
    iso: int
    f_number: float
    parsed: dict[str, Any]
    soft: bool | None
    hard: bool | None
    error_kind: str


def view_of_origin(view: str, origin: str) -> str:
    """The same view, as another data set asked about it: with options of its own, or unknown ones.

    A stimulus is one frame, one view, one task, with one order of options. Where the same was asked
    elsewhere in another order, or in an order that nobody knows, that is another stimulus.
    """
    return f"{view}@{origin}"


def shows_original(view: str) -> bool:
    """Whether a view is the frame as it is, whoever asked about it."""
    return view == ORIGINAL or view.startswith(f"{ORIGINAL}@")


def ensure_stimuli(catalog: Catalog, task: str, view: str = ORIGINAL) -> int:
    """Give every accepted manual frame and imported picture its stimulus for a task.

    For tasks without options. Idempotent; returns how many were added.
    """
    # in the order of the frames: else SQLite takes that of an index, and runs differ
    accepted = (
        select(frames.c.id, *_constants(view, task))
        .where(frames.c.kind.in_(_SHOWN), frames.c.outcome == Outcome.ACCEPTED)
        .order_by(frames.c.id)
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
    """Stimuli x observer - responses, in stimulus order, of frames whose file is here.

    The stimuli of a frame that waits to be shot again wait with it. Imported questions whose
    options are not known are for nobody to answer (see `set_aside_unknown`).
    """
    answered = select(responses.c.stimulus_id).where(responses.c.observer_id == observer_id)
    query = (
        select(stimuli, frames.c.path, frames.c.sha256)
        .join(frames)
        .where(
            stimuli.c.task == task,
            stimuli.c.view == view,
            stimuli.c.id.not_in(answered),
            # imported without their options: nobody can be asked that again
            or_(
                stimuli.c.task.not_in(_NEED_OPTIONS),
                func.json_array_length(stimuli.c.options) > 0,
            ),
            frames.c.outcome == Outcome.ACCEPTED,
            frames.c.path != "",
        )
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
    """Responses of an observer in stimulus order, streamed.

    With a task, those to frames as they are, not as another view shows them.
    """
    query = select(responses).where(responses.c.observer_id == observer_id)
    if task is not None:
        original = or_(stimuli.c.view == ORIGINAL, stimuli.c.view.like(f"{ORIGINAL}@%"))
        query = query.join(stimuli).where(stimuli.c.task == task, original)
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


def list_answers(
    catalog: Catalog, observer_id: int, protocol: str, task: str, view: str = ORIGINAL
) -> Iterator[Answer]:
    """Scored responses of an observer to manual frames, in stimulus order, streamed."""
    query = (
        select(
            frames.c.id,
            scenes.c.name,
            scenes.c.category,
            lightings.c.name,
            frames.c.ev_offset,
            frames.c.shutter_s,
            frames.c.iso,
            frames.c.f_number,
            verdicts.c.parsed,
            verdicts.c.soft,
            verdicts.c.hard,
            verdicts.c.error_kind,
        )
        .select_from(responses)
        .join(
            verdicts,
            and_(verdicts.c.response_id == responses.c.id, verdicts.c.protocol == protocol),
        )
        .join(stimuli, responses.c.stimulus_id == stimuli.c.id)
        .join(frames, stimuli.c.frame_id == frames.c.id)
        .join(scenes, frames.c.scene_id == scenes.c.id)
        .join(lightings, frames.c.lighting_id == lightings.c.id)
        .where(
            responses.c.observer_id == observer_id,
            stimuli.c.task == task,
            stimuli.c.view == view,
            frames.c.kind == "manual",
        )
        .order_by(responses.c.stimulus_id)
    )
    with catalog.read() as connection:
        for row in connection.execute(query).yield_per(1000):
            *conditions, soft, hard, error_kind = row
            yield Answer(*conditions, _truth(soft), _truth(hard), error_kind)  # type: ignore[call-arg]  # row of 12


def _truth(stored: int | None) -> bool | None:
    return None if stored is None else bool(stored)


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
