"""Shares of the work that go to another process, and what to do when one dies over its share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from evaluate.engine.work import Done, Report, Settings
from evaluate.engine.worker import Worker
from evaluate.errors import EvaluateError
from evaluate.zoo import ModelRow
from schemas.ask_store import FrameAsks

#: Frames of one share: its answers are committed together.
CHUNK_FRAMES = 32

#: A share that killed this many workers is given up.
ATTEMPTS = 4

Chunk = list[FrameAsks]


def chunks(frames: Iterable[FrameAsks]) -> Iterator[Chunk]:
    """Frames in shares, in order."""
    rest = iter(frames)
    while share := list(islice(rest, CHUNK_FRAMES)):
        yield share


def answer_chunk(worker: Worker, share: Chunk) -> Done:
    """All answers to a share."""
    whole = Done([])
    for done in worker.work(share):
        whole = replace(done, rows=whole.rows + done.rows)
    return whole


def same_reports(rows: Sequence[ModelRow], found: Sequence[list[Report]]) -> list[Report]:
    """The reports of workers that loaded the same models: one for all.

    Raises
    ------
    EvaluateError
        If two workers loaded different models under one name, or one could and another not.
    """
    for row, reports in zip(rows, zip(*found, strict=True), strict=True):
        different = {_comparable(report) for report in reports}
        if len(different) > 1:
            raise EvaluateError(
                f"{row.name} is not the same on all workers: {' / '.join(sorted(different))}; "
                "install the same versions and weights everywhere"
            )
    return list(found[0])


def settings_on(settings: Settings, device: str) -> Settings:
    """The same settings on another device."""
    return replace(settings, options=replace(settings.options, device=device))


def _comparable(report: Report) -> str:
    # the device may differ from worker to worker
    return repr(report[:1])
