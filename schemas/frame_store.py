"""Frames in the catalog: one row a shot, never overwritten once it ended for good."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sqlalchemy import Row, Select, delete, func, select, update
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.exc import IntegrityError

from schemas.capture_store import id_of, where_names
from schemas.catalog import Catalog, CatalogError
from schemas.exposure import Exposure
from schemas.records import Clipping, ExifSettings, Frame, FrameKind, Light, Outcome, utc_now
from schemas.tables import frames, histograms, lightings, observers, responses, scenes, stimuli

#: Outcomes that end a shot for good; a failed or skipped one may be shot again.
FINAL = (Outcome.ACCEPTED, Outcome.REJECTED_BLACK, Outcome.REJECTED_WHITE)


def add_frame(catalog: Catalog, frame: Frame) -> int:
    """Store what a shot became, and return the row's id.

    A failed or skipped row of the same shot is replaced. Raises CatalogError if the shot
    ended for good already: a frame is never overwritten.

    Answers of models to an earlier picture of this shot (one whose file was damaged) are removed
    with it, to be asked for again. People cannot be asked again: theirs stay, and say by
    `frame_sha256` which picture they saw.
    """
    with catalog.write() as connection:
        key = {
            "scene_id": id_of(connection, scenes, frame.scene),
            "lighting_id": id_of(connection, lightings, frame.lighting),
            "kind": frame.kind,
            "setting": frame.setting,
        }
        values = {**key, **_frame_values(frame)}
        statement = upsert(frames).values(**values)
        row = connection.execute(
            statement.on_conflict_do_update(
                index_elements=list(key),
                set_={name: value for name, value in values.items() if name not in key},
                where=frames.c.outcome.not_in(FINAL),
            ).returning(frames.c.id)
        ).first()
        if row is None:
            raise CatalogError(
                f"{frame.scene}, {frame.lighting}, {frame.setting}: this shot has its frame already"
            )
        if frame.outcome in FINAL:
            connection.execute(delete(responses).where(responses.c.id.in_(_stale(row.id, frame))))
        if frame.histogram is None:
            connection.execute(delete(histograms).where(histograms.c.frame_id == row.id))
        else:
            luma = upsert(histograms).values(frame_id=row.id, luma=frame.histogram)
            connection.execute(
                luma.on_conflict_do_update(
                    index_elements=["frame_id"], set_={"luma": frame.histogram}
                )
            )
        return int(row.id)


def _stale(frame_id: int, frame: Frame) -> Select[Any]:
    """Answers of models to another picture of this frame."""
    return (
        select(responses.c.id)
        .join(stimuli, responses.c.stimulus_id == stimuli.c.id)
        .join(observers, responses.c.observer_id == observers.c.id)
        .where(
            stimuli.c.frame_id == frame_id,
            observers.c.kind == "model",
            responses.c.frame_sha256 != frame.sha256,
        )
    )


def withdraw_frame(catalog: Catalog, frame_id: int, reason: str) -> None:
    """Let a row that says `rejected_black` say `failed`: its picture is not believed any more.

    What was measured stays until the shot is taken again. Such a row has no file.
    """
    with catalog.write() as connection:
        connection.execute(
            update(frames)
            .where(frames.c.id == frame_id, frames.c.outcome == Outcome.REJECTED_BLACK)
            .values(outcome=Outcome.FAILED, reason=reason)
        )


def remove_frame(catalog: Catalog, frame_id: int) -> None:
    """Remove a frame's row, so that it can be taken again.

    Raises CatalogError if somebody was asked about it: answers never lose their frame.
    """
    with catalog.write() as connection:
        try:
            connection.execute(delete(histograms).where(histograms.c.frame_id == frame_id))
            connection.execute(delete(frames).where(frames.c.id == frame_id))
        except IntegrityError as error:
            raise CatalogError(
                "this frame belongs to questions or answers already: it cannot be replaced"
            ) from error


def mean_frame_bytes(catalog: Catalog) -> float | None:
    """Mean size of a stored frame in bytes; None where there is none."""
    query = select(func.avg(frames.c.size_bytes)).where(frames.c.path != "")
    with catalog.read() as connection:
        mean = connection.execute(query).scalar()
    return None if mean is None else float(mean)


def list_frames(
    catalog: Catalog,
    *,
    scene: str | None = None,
    lighting: str | None = None,
    kind: FrameKind | None = "manual",
    outcome: Outcome | None = None,
) -> Iterator[Frame]:
    """Frames in the order they were stored, without their histograms; streamed."""
    query = (
        select(frames, scenes.c.name.label("scene"), lightings.c.name.label("lighting"))
        .join(scenes, frames.c.scene_id == scenes.c.id)
        .join(lightings, frames.c.lighting_id == lightings.c.id)
        .order_by(frames.c.id)
    )
    query = where_names(query, scene, lighting)
    if kind is not None:
        query = query.where(frames.c.kind == kind)
    if outcome is not None:
        query = query.where(frames.c.outcome == outcome)
    with catalog.read() as connection:
        for row in connection.execute(query).yield_per(1000):
            yield frame_of(row)


def count_outcomes(catalog: Catalog) -> list[tuple[str, Exposure, Outcome, int]]:
    """(lighting, triplet, outcome, scenes) over all manual frames."""
    triplet = (frames.c.shutter_s, frames.c.iso, frames.c.f_number)
    query = (
        select(lightings.c.name, *triplet, frames.c.outcome, func.count())
        .select_from(frames)
        .join(lightings, frames.c.lighting_id == lightings.c.id)
        .where(frames.c.kind == "manual")
        .group_by(lightings.c.name, *triplet, frames.c.outcome)
    )
    with catalog.read() as connection:
        return [
            (lighting, Exposure(shutter_s, iso, f_number), Outcome(outcome), number)
            for lighting, shutter_s, iso, f_number, outcome, number in connection.execute(query)
        ]


def load_histogram(catalog: Catalog, frame_id: int) -> bytes | None:
    """The 256 little-endian uint32 luma counts of a frame, or None."""
    query = select(histograms.c.luma).where(histograms.c.frame_id == frame_id)
    with catalog.read() as connection:
        row = connection.execute(query).first()
        return None if row is None else bytes(row.luma)


def load_attempts(catalog: Catalog, scene: str, lighting: str) -> dict[str, tuple[Outcome, int]]:
    """Outcome and attempts of every shot of a sweep so far, by setting."""
    query = (
        select(frames.c.setting, frames.c.outcome, frames.c.attempt)
        .join(scenes, frames.c.scene_id == scenes.c.id)
        .join(lightings, frames.c.lighting_id == lightings.c.id)
        .where(frames.c.kind == "manual")
    )
    with catalog.read() as connection:
        rows = connection.execute(where_names(query, scene, lighting))
        return {setting: (Outcome(outcome), attempt) for setting, outcome, attempt in rows}


#: Columns that carry the Frame field of the same name as it is.
_PLAIN = (
    "run_id outcome reason attempt ev ev_index ev_offset black_fraction white_fraction mean_luma "
    "path size_bytes width_px height_px camera_sha256 sha256 commanded_at captured_at camera_time"
).split()


def _frame_values(frame: Frame) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(frame, name) for name in _PLAIN}
    values["stored_at"] = frame.stored_at or utc_now()
    for name in ("shutter_s", "iso", "f_number"):
        values[name] = getattr(frame.requested, name, None)
        values[f"exif_{name}"] = getattr(frame.exif, name, None)
    for channel in ("red", "green", "blue"):
        clipping = getattr(frame, channel)
        values[f"{channel}_low"] = getattr(clipping, "low", None)
        values[f"{channel}_high"] = getattr(clipping, "high", None)
    values |= {
        "lux": frame.light.lux,
        "lux_min": frame.light.lux_min,
        "lux_max": frame.light.lux_max,
        "light_readings": frame.light.readings,
    }
    return values


def frame_of(row: Row[Any]) -> Frame:
    """The frame of a row that has the names of its scene and lighting beside it."""
    plain: dict[str, Any] = {name: getattr(row, name) for name in _PLAIN}
    plain["outcome"] = Outcome(row.outcome)
    commanded = row.kind in ("manual", "reference")
    number = int(row.setting.removeprefix("ref-")) if row.kind == "reference" else None
    seen = row.camera_sha256 != "" or row.exif_iso is not None  # imported ones may lack the file
    frame = Frame(
        scene=row.scene,
        lighting=row.lighting,
        kind=row.kind,
        requested=Exposure(row.shutter_s, row.iso, row.f_number) if commanded else None,
        number=number,
        exif=ExifSettings(row.exif_shutter_s, row.exif_iso, row.exif_f_number) if seen else None,
        light=Light(row.lux, row.lux_min, row.lux_max, row.light_readings),
        stored_at=row.stored_at,
        id=row.id,
        **plain,
    )
    if row.red_low is None:
        return frame
    return replace(
        frame,
        red=Clipping(row.red_low, row.red_high),
        green=Clipping(row.green_low, row.green_high),
        blue=Clipping(row.blue_low, row.blue_high),
    )
