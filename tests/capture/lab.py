"""One workspace and devices in memory, for tests of the capture engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from capture.light_log import INTERVAL_S, LightLog
from capture.states import Snapshot
from capture.stopping import StopRequest
from capture.sweep import Summary, run_sweep
from rig.bench import Bench
from rig.light_guard import Band, LightGuard
from rig.protocols import LightMeter, Picture
from schemas.capture_store import list_events
from schemas.catalog import Catalog
from schemas.frame_store import list_frames
from schemas.plan import Lighting, SweepPlan
from schemas.records import Frame
from schemas.workspace import Workspace
from tests.devices import FakeClock, InMemoryCamera, InMemoryMeter

BRIGHT = Lighting(name="bright", lux=1000, ev_reference=11)
#: Eight shots; at 200 lux both rejections occur.
SMALL = SweepPlan(shutter=("1/4000", "1/60", "0.5", "30"), iso=(100,), f_number=(5.6, 22))


class SteppedLightLog(LightLog):
    """Polls with the clock of the devices; who waits for the light has time pass."""

    def __init__(self, meter: LightMeter, band: Band, clock: FakeClock) -> None:
        super().__init__(meter, band, clock=clock.now_s)
        self._fake = clock

    def start(self) -> None:
        self._guard = LightGuard(self._band, self._fake.now_s())
        self._fake.beat = self.poll

    def stop(self, timeout_s: float = 0.0) -> None:
        self._over.set()
        self._fake.beat = None

    def wait(self, seconds: float) -> None:
        self._fake.sleep(INTERVAL_S)


class NoWait(StopRequest):
    """Back-offs take no time."""

    def wait(self, seconds: float) -> bool:
        return self.asked


@dataclass
class Lab:
    """One workspace with one scene, and devices in memory."""

    workspace: Workspace
    catalog: Catalog
    clock: FakeClock = field(default_factory=FakeClock)
    snapshots: list[Snapshot] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.camera = InMemoryCamera(self.clock)
        self.meter = InMemoryMeter(self.clock)

    def bench(self) -> Bench:
        return Bench(self.camera, self.camera.open(), self.meter, self.meter.open())

    def sweep(self, plan: SweepPlan = SMALL, **options: Any) -> Summary:
        bench = self.bench()
        try:
            return run_sweep(
                self.workspace,
                self.catalog,
                bench,
                scene="cups",
                lighting=options.pop("lighting", BRIGHT),
                plan=plan,
                stop=options.pop("stop", NoWait()),
                watch=options.pop("watch", self.snapshots.append),
                # Most tests count exposures; reference frames have tests of their own.
                references=options.pop("references", False),
                make_light=lambda meter, band: SteppedLightLog(meter, band, self.clock),
                **options,
            )
        finally:
            bench.camera.close()
            bench.meter.close()

    def spoil(self, shot: int, times: int, how: Callable[[bytes], bytes]) -> None:
        """Let `how` have the first pictures of one shot of the plan `SMALL`."""
        target, left = list(SMALL)[shot].exposure, [times]
        shoot = self.camera.shoot

        def spoiled(timeout_s: float) -> Picture:
            picture = shoot(timeout_s)
            if self.camera.taken[-1] == target and left[0]:
                left[0] -= 1
                return replace(picture, data=how(picture.data))
            return picture

        self.camera.shoot = spoiled  # type: ignore[method-assign]

    def frames(self) -> list[Frame]:
        return list(list_frames(self.catalog, scene="cups"))

    def events(self) -> list[tuple[str, str]]:
        return [(event.kind, event.setting) for event in list_events(self.catalog)]
