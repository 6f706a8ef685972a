"""The virtual dark room: one light, one scene, a Canon body and a light meter, all on loopback."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from hardware_mocks.body_clock import BodyClock
from hardware_mocks.canon_body import MODEL, START_FOCAL_MM, CanonBody
from hardware_mocks.canon_operations import CanonResponder
from hardware_mocks.canon_properties import Mode, rig_settings
from hardware_mocks.control import ControlServer
from hardware_mocks.faults import FaultScript, Scripted
from hardware_mocks.film import Film
from hardware_mocks.journal import Journal
from hardware_mocks.light import Light
from hardware_mocks.light_meter import VirtualLightMeter
from hardware_mocks.named_faults import FAULTS
from hardware_mocks.ptpip import PtpIpServer
from hardware_mocks.scene import load_scene
from hardware_mocks.yocto_hub import YoctoHub


@dataclass(frozen=True)
class DarkroomOptions:
    """How to set up a dark room.

    Attributes
    ----------
    scene : Path
        Photograph of what stands before the lens.
    lux : float
        Light on it at the start.
    scene_lux : float or None
        Light under which the photograph was taken; None for what `load_scene` assumes.
    timescale : float
        Factor on exposure times: 1 is real time, 0 exposes at once.
    seed : int
        Of the sensor's and the meter's noise.
    camera_port, hub_port, control_port : int
        TCP ports on loopback; 0 for free ones.
    clock : datetime or None
        Start of a body clock that only exposures move; None for the host's.
    """

    scene: Path
    lux: float = 1000.0
    scene_lux: float | None = None
    timescale: float = 1.0
    seed: int = 0
    camera_port: int = 0
    hub_port: int = 0
    control_port: int = 0
    clock: datetime | None = None
    faults: list[Scripted] = field(default_factory=list)


class Darkroom:
    """All devices of the room, and the acts of the person in it (for the control endpoint)."""

    def __init__(self, options: DarkroomOptions) -> None:
        self._options = options
        self._timers: list[threading.Timer] = []
        self._clock = BodyClock(options.clock)
        self.journal = Journal()
        self.light = Light(options.lux)
        self._film = Film(load_scene(options.scene, scene_lux=options.scene_lux), options.seed)
        self.meter = VirtualLightMeter(self.light, seed=options.seed, journal=self.journal)
        self.body = CanonBody(
            film=self._film,
            light=self.light,
            clock=self._clock,
            journal=self.journal,
            timescale=options.timescale,
        )
        self.faults = FaultScript(self, options.faults, self._struck)
        self.body.faults = self.faults
        responder = CanonResponder(self.body, self.journal)
        self.camera = PtpIpServer(responder, MODEL, options.camera_port)
        self.hub = YoctoHub(self.meter, options.hub_port)
        self.control = ControlServer(self, options.control_port)

    def start(self) -> None:
        """Serve camera, hub and control from now on."""
        self.camera.start()
        self.hub.start()
        self.control.start()

    def close(self) -> None:
        """Close every port."""
        for timer in self._timers:
            timer.cancel()
        self.control.close()
        self.camera.close()
        self.hub.close()
        self.meter.close()
        self._film.close()

    def ready_line(self) -> dict[str, Any]:
        """What a starter of the process needs to know, JSON-ready."""
        camera, hub, control = self.camera.port, self.hub.port, self.control.port
        scene = self._film.scene
        return {
            # libgphoto2 takes command and event port; both are given since each has a default.
            "camera": f"ptpip:127.0.0.1:{camera}:{camera}",
            "hub": f"127.0.0.1:{hub}",
            "control": f"http://127.0.0.1:{control}",
            "camera_port": camera,
            "hub_port": hub,
            "control_port": control,
            "scene": scene.name,
            "assumption": scene.assumption,
            "lux": self.light.lux,
            "timescale": self._options.timescale,
            "seed": self._options.seed,
            "pid": os.getpid(),
        }

    def state(self) -> dict[str, Any]:
        """The room now, JSON-ready."""
        meter = self.meter.state()
        scene = self._film.scene
        return {
            "lux": self.light.lux,
            "scene": scene.name,
            "scene_digest": scene.digest,
            "assumption": scene.assumption,
            "timescale": self._options.timescale,
            "seed": self._options.seed,
            **self.body.report(),
            "meter": {"plugged": meter.plugged, "lux": meter.lux, "uptime_ms": meter.uptime_ms},
            "faults": [f.to_json() for f in self.faults.pending()],
        }

    def set_light(self, lux: float, over_s: float = 0.0) -> None:
        """Turn the lamps."""
        self.light.set(lux, over_s)
        self.journal.add("lux", lux=lux, over_s=over_s)

    def set_scene(self, photo: Path, scene_lux: float | None = None) -> None:
        """Put something else before the lens."""
        scene = load_scene(photo, scene_lux=scene_lux)
        self._film.scene = scene
        self.journal.add("scene", scene=scene.name, scene_digest=scene.digest)

    def turn_dial(self, mode: str) -> None:
        """Turn the mode dial; ValueError for a mode that it has not."""
        self.body.hands.turn_dial(Mode.parse(mode))

    def set_body(self, properties: dict[str, Any]) -> None:
        """Change properties at the body by hand; ValueError for what it has not."""
        for name, value in properties.items():
            self.body.hands.set(name, value)

    def switch_camera(self, *, on: bool) -> None:
        """Give the camera power, as with a charged battery, or take it.

        Without power nobody listens at its port, and what is in its memory is gone.
        """
        if on:
            self.camera.start()
        else:
            self.camera.shut()
            self.body.lose_power()
        self.journal.add("power", on=on)

    def use_card(self, free_shots: int | None) -> None:
        """Put an empty card in, or one with so much room."""
        self.body.use_card(*([] if free_shots is None else [free_shots]))

    def reset(self) -> None:
        """Everything as at the start, and no more faults; journal and counters go on."""
        self.faults.clear()
        self.switch_camera(on=False)
        self.body.focus_fails = False
        self._clock.correct()
        self.body.clear_settings(rig_settings())
        self.body.hands.turn_dial(Mode.M)
        self.body.hands.zoom(START_FOCAL_MM)
        self.use_card(None)
        self.hub.recover()
        self.meter.thaw()
        self.meter.plug()
        self.set_light(self._options.lux)
        self.switch_camera(on=True)

    def later(self, seconds: float, act: Callable[[], object]) -> None:
        """Do something after a while, unless the room is closed before."""
        timer = threading.Timer(seconds, act)
        timer.daemon = True
        self._timers = [*filter(threading.Timer.is_alive, self._timers), timer]
        timer.start()

    def zoom(self, focal_mm: int) -> None:
        """Turn the zoom ring; ValueError for a focal length that the lens has not."""
        self.body.hands.zoom(focal_mm)

    def plug_meter(self, plugged: bool) -> None:
        """Pull the meter's cable or put it back."""
        if plugged:
            self.meter.plug()
        else:
            self.meter.unplug()

    def add_faults(self, entries: list[dict[str, Any]]) -> None:
        """Script more faults; `at` counts pictures since the dark room started."""
        self.faults.add([Scripted.parse(entry, FAULTS) for entry in entries])

    def _struck(self, name: str, picture: int) -> None:
        self.journal.add("fault", name=name, picture=picture)
