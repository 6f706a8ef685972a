"""The preflight of one workspace: devices, host and answers, judged together."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rig.checklist import ROOM, Answer, Answers, Question, check_answer
from rig.config import RigConfig
from rig.errors import Abort, AskOperator, RigError
from rig.preflight import (
    Burst,
    CameraSeen,
    Finding,
    Place,
    Status,
    Task,
    failures,
    judged,
    worst_first,
)
from rig.preflight_camera import check_settings, open_questions, uses_gray_card
from rig.preflight_light import check_burst, check_meter, check_no_burst
from rig.preflight_place import check_disk
from rig.preflight_read import Sleep, look_at_camera, look_at_meter, take_burst
from rig.preflight_task import check_focal_length, check_task
from rig.protocols import Camera, CameraInfo, LightMeter, MeterInfo
from schemas.catalog import Catalog
from schemas.frame_store import mean_frame_bytes
from schemas.workspace import Workspace

#: Says whether a statement is true; None where nobody answers, or the second one says to stop.
Ask = Callable[[Question, Callable[[], bool]], bool | None]

_FULL_METER_S = 5.0
_QUICK_METER_S = 0.5


@dataclass(frozen=True)
class Manner:
    """How thoroughly to look, and who answers.

    Attributes
    ----------
    checklist_done : bool
        Take every question for answered with yes.
    burst : bool
        Shoot a few pictures to see flicker and focal length.
    meter_s : float
        How long to watch the meter.
    ask : callable or None
        Asks a person.
    ask_again : bool
        Also what has been answered already.
    stopped : callable
        Whether to leave off asking.
    sleep : callable
    """

    checklist_done: bool = False
    burst: bool = False
    meter_s: float = _QUICK_METER_S
    ask: Ask | None = None
    ask_again: bool = False
    stopped: Callable[[], bool] = lambda: False
    sleep: Sleep = field(default=time.sleep)

    @classmethod
    def full(cls, **options: Any) -> Manner:  # noqa: ANN401 - this class's own
        """Of `capture preflight`: 5 s of the meter."""
        return cls(meter_s=_FULL_METER_S, **options)


def answers_path(workspace: Workspace) -> Path:
    """Where a workspace keeps answers and bursts."""
    return workspace.root / "preflight.json"


class Preflight:
    """One preflight: call `camera`, `meter` and `host` for what there is, then read `findings`.

    Whatever was answered or measured is kept in the workspace by `close`.
    """

    def __init__(
        self, workspace: Workspace, catalog: Catalog, config: RigConfig, task: Task, manner: Manner
    ) -> None:
        self._workspace, self._catalog = workspace, catalog
        self._config, self._task, self._manner = config, task, manner
        self._answers = Answers.load(answers_path(workspace))
        self._findings: list[Finding] = []
        self._changed = False

    @property
    def findings(self) -> list[Finding]:
        """Worst first."""
        return worst_first(self._findings)

    def add(self, finding: Finding) -> None:
        """One more, found elsewhere."""
        self._findings.append(finding)

    def close(self) -> None:
        """Keep what was answered and measured."""
        if self._changed:
            self._answers.save(answers_path(self._workspace))

    def host(self) -> None:
        """Room for the frames."""
        mean = mean_frame_bytes(self._catalog)
        place = Place(
            free_bytes=shutil.disk_usage(self._workspace.root).free,
            frame_bytes=self._config.preflight.frame_mb * 1e6 if mean is None else mean,
            measured=mean is not None,
        )
        self.add(check_disk(place, len(self._task.exposures)))

    def camera(self, camera: Camera, info: CameraInfo) -> None:
        """The open body: settings, plan, burst, and what only a person can see."""
        try:
            seen = look_at_camera(camera, info)
        except RigError as error:
            self.add(unreachable("camera", error))
            return
        name = f"{info.model} at {info.port}"
        self.add(Finding("camera", Status.OK, name, "one that answers"))
        settings = list(check_settings(seen, self._config.camera))
        self._findings += settings
        self._findings += check_task(seen, self._task, self._config.camera, self._config.preflight)
        self._findings += self._gray_card(seen)
        manual = not any(f.check == "mode_dial" for f in failures(settings))
        self._flicker(camera, seen, manual=manual)
        self._questions(seen)

    def meter(self, meter: LightMeter, info: MeterInfo) -> None:
        """The open meter, and the light it sees."""
        seen = look_at_meter(meter, info, self._manner.meter_s, self._manner.sleep)
        self._findings += check_meter(seen, self._task.lighting, self._config.preflight)

    # ---- flicker and focal length: a burst, or what the last one told

    def _flicker(self, camera: Camera, seen: CameraSeen, *, manual: bool) -> None:
        lighting = self._task.lighting
        name = lighting.name if lighting else ""
        now = datetime.now(UTC)
        if lighting is not None and self._manner.burst and manual:
            try:
                burst = take_burst(camera, seen, lighting.ev_reference)
            except (RigError, ValueError) as error:
                self.add(
                    Finding(
                        "flicker",
                        Status.FAIL,
                        f"no picture: {error}",
                        "a burst of pictures",
                        getattr(error, "action", "") or "look at the camera's screen",
                    )
                )
            else:
                finding = check_burst(burst, self._config.preflight)
                self.add(finding)
                self._remember(seen, name, burst, finding)
        else:
            self.add(check_no_burst(self._answers.burst(seen.info.serial, name), now))
        last = self._answers.burst(seen.info.serial, name)
        same_lens = last is not None and last["lens"] == seen.info.lens
        self.add(
            check_focal_length(
                seen,
                self._config.camera,
                last["focal_length_mm"] if last and same_lens else None,
                datetime.fromisoformat(last["at"]) if last and same_lens else None,
            )
        )

    def _remember(self, seen: CameraSeen, lighting: str, burst: Burst, finding: Finding) -> None:
        record = {
            **finding.to_json(),
            "at": burst.at.isoformat(timespec="seconds"),
            "focal_length_mm": burst.focal_length_mm,
            "spread": round(burst.spread, 4),
            "banding": round(burst.banding, 4),
            "lens": seen.info.lens,
        }
        self._answers = self._answers.with_burst(seen.info.serial, lighting, record)
        self._changed = True

    # ---- what a person answers

    def _gray_card(self, seen: CameraSeen) -> Iterator[Finding]:
        if not uses_gray_card(seen):
            return
        lighting = self._task.lighting.name if self._task.lighting else ""
        answer = self._answers.find("white_balance", seen.info.serial, lighting)
        yield judged(
            "gray_card",
            answer is not None,
            f"on {answer.at:%Y-%m-%d %H:%M} UTC" if answer else "not recorded",
            f"the custom white balance made under {lighting or 'a lighting'}",
            f"snaprig capture white-balance --lighting {lighting or 'NAME'}",
            Status.WARN,
        )

    def _questions(self, seen: CameraSeen) -> None:
        serial = seen.info.serial
        for question in (*open_questions(seen), *ROOM):
            now = datetime.now(UTC)
            answer = self._answers.standing(question, serial, now)
            answered = (
                answer is not None and answer.yes
            )  # after a "no" somebody may have seen to it
            if self._manner.ask is not None and (not answered or self._manner.ask_again):
                yes = self._manner.ask(question, self._manner.stopped)
                if yes is not None:
                    answer = Answer(question.check, serial, yes, now)
                    self._answers = self._answers.with_answer(answer)
                    self._changed = True
            self.add(check_answer(question, answer, claimed=self._manner.checklist_done))


def unreachable(device: str, error: RigError) -> Finding:
    """The finding of a device that cannot be had."""
    return Finding(device, Status.FAIL, str(error), "one that answers", error.action)


def refuse(findings: list[Finding]) -> None:
    """Raise for the failures among them, if there are any.

    Raises
    ------
    Abort
        Where only another plan helps.
    AskOperator
        Where somebody has to do something.
    """
    failed = failures(findings)
    if not failed:
        return
    kind = Abort if all(finding.check == "plan" for finding in failed) else AskOperator
    what = "; ".join(map(str, failed))
    todo = "; ".join(dict.fromkeys(finding.action for finding in failed if finding.action))
    raise kind(f"the preflight failed: {what}", f"{todo} (or --force, which is recorded)")


def record(findings: list[Finding], *, forced: bool) -> list[tuple[str, str]]:
    """Events (kind, detail) for a run's record: the whole result, and whether it was overruled."""
    events = [("preflight", json.dumps([finding.to_json() for finding in findings]))]
    if forced and (failed := failures(findings)):
        events.append(("preflight_forced", "; ".join(map(str, failed))))
    return events
