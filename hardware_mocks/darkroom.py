"""The virtual dark room: one light, one scene, a Canon body and a light meter, all on loopback."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from hardware_mocks.body_clock import BodyClock
from hardware_mocks.canon_body import MODEL, CanonBody
from hardware_mocks.canon_operations import CanonResponder
from hardware_mocks.canon_properties import Mode
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
        self.journal = Journal()
        self.light = Light(options.lux)
        self._film = Film(load_scene(options.scene, scene_lux=options.scene_lux), options.seed)
        self.meter = VirtualLightMeter(self.light, seed=options.seed, journal=self.journal)
        self.body = CanonBody(
            film=self._film,
            light=self.light,
            clock=BodyClock(options.clock),
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
        self.body.turn_dial(Mode.parse(mode))

    def set_body(self, properties: dict[str, Any]) -> None:
        """Change properties at the body by hand; ValueError for what it has not."""
        for name, value in properties.items():
            self.body.set_by_hand(name, value)

    def zoom(self, focal_mm: int) -> None:
        """Turn the zoom ring; ValueError for a focal length that the lens has not."""
        self.body.zoom(focal_mm)

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
