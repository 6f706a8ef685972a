"""A Yocto-Light-V3 in the dark room: samples the one light at 4 Hz."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hardware_mocks.journal import Journal
from hardware_mocks.light import Light

#: "4 Hz refresh" (Yoctopuce, "Everything you wanted to know on Yoctopuce sensors").
REFRESH_S = 0.25
#: Relative standard deviation of one sample. Not a published figure: small enough to sit well
#: inside any lighting tolerance, large enough that no two samples are the same number.
_NOISE = 0.0005
_RESOLUTION_LUX = 0.01


@dataclass(frozen=True)
class MeterState:
    """What the meter has to say at one moment."""

    plugged: bool
    lux: float
    lowest_lux: float
    highest_lux: float
    uptime_ms: int


class VirtualLightMeter:
    """Illuminance with the meter's refresh and noise. Thread-safe.

    A sample is a function of its number and the seed: reading often changes nothing.
    """

    def __init__(
        self,
        light: Light,
        *,
        seed: int,
        journal: Journal,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._light, self._seed, self._journal, self._clock = light, seed, journal, clock
        self._lock = threading.Lock()
        self._plugged = True
        self._frozen: MeterState | None = None
        self._powered_s = clock()
        self._lowest = self._highest = light.lux
        self._timers: list[threading.Timer] = []
        self.on_plug: Callable[[bool], None] = lambda _plugged: None

    def state(self) -> MeterState:
        """Plug state, latest sample, extremes since power-up, and the meter's own clock."""
        with self._lock:
            return self._frozen or self._state()

    def _state(self) -> MeterState:
        age_s = self._clock() - self._powered_s
        lux = self._sample(int(age_s / REFRESH_S))
        self._lowest, self._highest = min(self._lowest, lux), max(self._highest, lux)
        return MeterState(
            self._plugged, lux, self._lowest, self._highest, int(age_s * 1000) & 0x7FFFFFFF
        )

    def freeze(self, thaw_after_s: float | None = None) -> None:
        """Value and clock stand still, for a while or until the cable is pulled."""
        self._freeze(True)
        if thaw_after_s is not None:
            self._later(thaw_after_s, self.thaw)

    def thaw(self) -> None:
        """Measure again."""
        self._freeze(False)

    def _freeze(self, frozen: bool) -> None:
        with self._lock:
            if frozen == (self._frozen is not None):
                return
            self._frozen = self._state() if frozen else None
            self._journal.add("meter", plugged=self._plugged, frozen=frozen)

    def unplug(self, replug_after_s: float | None = None) -> None:
        """Pull the cable; put it back after a while unless None."""
        self._set_plugged(False)
        if replug_after_s is not None:
            self._later(replug_after_s, self.plug)

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        timer = threading.Timer(seconds, act)
        timer.daemon = True
        self._timers = [*filter(threading.Timer.is_alive, self._timers), timer]
        timer.start()

    def plug(self) -> None:
        """Put the cable back: the meter starts anew."""
        self._set_plugged(True)

    def close(self) -> None:
        """Forget a replug or a thaw still to come."""
        for timer in self._timers:
            timer.cancel()

    def _set_plugged(self, plugged: bool) -> None:
        with self._lock:
            if plugged == self._plugged:
                return
            self._plugged, self._frozen = plugged, None
            self._powered_s = self._clock()
            self._lowest = self._highest = self._light.lux
            self._journal.add("meter", plugged=plugged)
        self.on_plug(plugged)

    def _sample(self, number: int) -> float:
        lux = self._light.at(self._powered_s + number * REFRESH_S)
        noise = np.random.default_rng((self._seed, number)).normal(0.0, _NOISE)
        return float(round(lux * (1 + noise) / _RESOLUTION_LUX) * _RESOLUTION_LUX)
