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
    focal_mm: int = 35
    flash_fired: bool = False


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
        # The sensor makes its noise field with the first frame: now, before anybody waits.
        self.prepare(Exposure(1 / 60, 100, 8.0), 1000.0)

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

    def next(self, exposure: Exposure) -> int:
        """How often these settings were exposed before in this session; counts this one.

        Called when the release is pressed: an exposure that a vanished client started is then
        not counted in the session that follows.
        """
        with self._lock:
            self._exposed[exposure] += 1
            return self._exposed[exposure] - 1

    def prepare(self, exposure: Exposure, lux: float, nth: int | None = None) -> None:
        """Start rendering in the background; `nth` None: the exposure that comes next."""
        with self._lock:
            count = self._exposed[exposure] if nth is None else nth
            inputs = _Inputs(self._scene, self._scene.digest, exposure, lux, count)
            if self._ahead is None or self._ahead[0] != inputs:
                self._ahead = (inputs, self._pool.submit(self._develop, inputs))

    def expose(self, exposure: Exposure, lux: float, nth: int) -> Developed:
        """Render one exposure of marked settings under a mean illuminance."""
        with self._lock:
            inputs = _Inputs(self._scene, self._scene.digest, exposure, lux, nth)
            ahead, self._ahead = self._ahead, None
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
            flash_fired=inscription.flash_fired,
            focal_mm=inscription.focal_mm,
            size=inscription.size_px,
        )

    def close(self) -> None:
        """Stop the renderer."""
        self._pool.shutdown(cancel_futures=True)

    def _develop(self, inputs: _Inputs) -> Developed:
        return self._sensor.develop(
            inputs.scene,
            lux=inputs.lux,
            shutter_s=inputs.exposure.shutter_s,
            f_number=inputs.exposure.f_number,
            iso=inputs.exposure.iso,
            nth=inputs.nth,
        )
