"""Turns light into a file: the sensor behind the shutter, with a head start on the next frame.

A frame takes some 50 ms to render. Its inputs are known when the release button is half pressed,
so rendering starts then, and is thrown away if settings, scene or light changed in between.
"""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime

from hardware_mocks.canon_jpeg import encode_jpeg
from hardware_mocks.scene import Scene
from hardware_mocks.sensor import Developed, Sensor
from schemas.exposure import Exposure


@dataclass(frozen=True)
class Inscription:
    """What the body writes into the file beside the settings."""

    taken_at: datetime
    image_number: int
    serial: str
    lens: str
    manual: bool
    size_px: tuple[int, int]


@dataclass(frozen=True)
class _Inputs:
    scene: Scene = field(compare=False)  # an array: compared by its digest
    digest: str
    exposure: Exposure
    lux: float
    nth: int


class Film:
    """Scene and sensor. Thread-safe.

    Repeated exposures with the same settings differ by the sensor's noise; `new_session` starts
    the count again, so that a sweep in a new session repeats the pixels of an earlier one.
    """

    def __init__(self, scene: Scene, seed: int) -> None:
        self._sensor = Sensor(seed)
        self._scene = scene
        self._lock = threading.Lock()
        self._exposed: Counter[Exposure] = Counter()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="render")
        self._ahead: tuple[_Inputs, Future[Developed]] | None = None

    @property
    def scene(self) -> Scene:
        """What stands before the lens."""
        with self._lock:
            return self._scene

    @scene.setter
    def scene(self, scene: Scene) -> None:
        with self._lock:
            self._scene = scene

    def new_session(self) -> None:
        """Count repeated settings from zero again."""
        with self._lock:
            self._exposed.clear()

    def prepare(self, exposure: Exposure, lux: float) -> None:
        """Start rendering in the background what an exposure now would give."""
        with self._lock:
            inputs = self._inputs(exposure, lux)
            if self._ahead is None or self._ahead[0] != inputs:
                self._ahead = (inputs, self._pool.submit(self._develop, inputs))

    def expose(self, exposure: Exposure, lux: float) -> Developed:
        """Render one exposure of marked settings under a mean illuminance, and count it."""
        with self._lock:
            inputs = self._inputs(exposure, lux)
            ahead = self._ahead
            self._ahead = None
            self._exposed[exposure] += 1
        if ahead is not None and ahead[0] == inputs:
            return ahead[1].result()
        return self._develop(inputs)

    def write(self, developed: Developed, exposure: Exposure, inscription: Inscription) -> bytes:
        """The JPEG file of a rendered exposure, as the body writes it."""
        return encode_jpeg(
            developed.pixels,
            shutter_s=exposure.shutter_s,
            f_number=exposure.f_number,
            iso=exposure.iso,
            taken_at=inscription.taken_at,
            image_number=inscription.image_number,
            serial=inscription.serial,
            lens=inscription.lens,
            manual=inscription.manual,
            size=inscription.size_px,
        )

    def close(self) -> None:
        """Stop the renderer."""
        self._pool.shutdown(cancel_futures=True)

    def _inputs(self, exposure: Exposure, lux: float) -> _Inputs:
        return _Inputs(self._scene, self._scene.digest, exposure, lux, self._exposed[exposure])

    def _develop(self, inputs: _Inputs) -> Developed:
        return self._sensor.develop(
            inputs.scene,
            lux=inputs.lux,
            shutter_s=inputs.exposure.shutter_s,
            f_number=inputs.exposure.f_number,
            iso=inputs.exposure.iso,
            nth=inputs.nth,
        )
