"""The light meter driver: the only module that imports yoctopuce.

The library is one global state per process, its calls may block for half a minute (a hub that
accepts a connection and never answers), and only one thread may safely be inside it. So one
daemon thread makes all calls, for every meter of this process. A caller posts a request and
waits until its own deadline; after that it gets `Reconnect`. A call that hangs is not
interrupted (nothing in the library can be) and its thread is not replaced (two threads would be
inside): it comes back when the library gives up, after about 5 to 10 s with the network
timeout set here, and serves the next request as if nothing had happened. Until then every call
ends in `Reconnect` at its deadline.

Cached values are worthless here: the cache expires by the local wall clock, which may step.
"""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from rig.errors import Abort, AskOperator, Reconnect, Retry, RigError
from rig.owning_thread import OwningThread
from rig.protocols import LightReading, MeterInfo

_T = TypeVar("_T")

_HELD_BY_ANOTHER = -11
_NETWORK_TIMEOUT_MS = 2000
_VALID_MS = 1000  # for as long as it takes to pick three values out of what was loaded
_ALIVE = "Check that the hub program runs, its address in rig.toml, and the meter's cable."

_THREAD = OwningThread("yoctopuce")


class YoctoMeter:
    """`rig.protocols.LightMeter` over a Yocto-Light and the yoctopuce library.

    Parameters
    ----------
    hub : str
        ``usb``, or the ``ADDRESS:PORT`` of a VirtualHub or YoctoHub.
    serial : str
        The meter's serial number; empty takes the first light sensor.
    read_deadline_s, open_deadline_s : float
        How long `read` and `open` may block.
    """

    def __init__(
        self,
        hub: str = "usb",
        *,
        serial: str = "",
        read_deadline_s: float = 2.0,
        open_deadline_s: float = 30.0,
    ) -> None:
        # A bare address makes the library try websockets when a hub has no /info.json: 21 s.
        self._url = hub if hub == "usb" or "://" in hub else f"http://{hub}"
        self._hub = hub
        self._serial = serial
        self._read_deadline_s = read_deadline_s
        self._open_deadline_s = open_deadline_s
        self._device: _Device | None = None

    def open(self) -> MeterInfo:
        """Find the sensor. Afterwards `read` gives its values.

        Raises Reconnect when the hub or the sensor is not there, AskOperator when another
        program holds the USB meters, Abort when the library cannot be loaded.
        """
        self.close()
        self._device, info = self._ask(self._register, self._open_deadline_s, undo=self._release)
        return info

    def read(self) -> LightReading:
        """A fresh sample, never a cached one; blocks for `read_deadline_s` at most.

        Raises Retry for a passing fault (unreadable answer, sensor not ready, impossible
        value), Reconnect when hub or sensor are gone or silent.
        """
        device = self._device
        if device is None:
            raise Reconnect("The light meter is not open.", "Open the meter first.")
        return self._ask(device.read, self._read_deadline_s)

    def close(self) -> None:
        """Release the hub. Never raises RigError; a hub that hangs is released when it can be."""
        device, self._device = self._device, None
        if device is not None:
            _THREAD.post(self._release)

    def _ask(
        self,
        request: Callable[[], _T],
        deadline_s: float,
        undo: Callable[[], object] | None = None,
    ) -> _T:
        try:
            return _THREAD.call(request, deadline_s, undo)
        except TimeoutError as error:
            raise Reconnect(
                f"The meter's hub {self._hub} gave no answer within {deadline_s:g} s.", _ALIVE
            ) from error

    def _register(self) -> tuple[_Device, MeterInfo]:
        library = _Library.loaded()
        library.register(self._url)
        try:
            device = library.find(self._serial, self._hub)
            return device, device.info(self._hub)
        except BaseException:
            library.unregister(self._url)
            raise

    def _release(self) -> None:
        _Library.loaded().unregister(self._url)


@dataclass(frozen=True)
class _Device:
    """A light sensor and its module, used by the owning thread only."""

    sensor: Any
    module: Any

    def info(self, hub: str) -> MeterInfo:
        with _Translated():
            model = str(self.module.get_productName())
            serial = str(self.module.get_serialNumber())
            firmware = str(self.module.get_firmwareRelease())
            calibration = str(self.sensor.get_calibrationParam())
        return MeterInfo(
            model=model,
            serial=serial,
            firmware=firmware,
            hub=hub,
            calibration=calibration,
            simulated=any("virtual" in text.lower() for text in (model, serial, firmware)),
        )

    def read(self) -> LightReading:
        with _Translated():
            # A load always asks the device, once its answer is not cached; a getter alone gives the
            # old value when the device has just gone (clearCache then does nothing, silently).
            self.module.clearCache()
            self.sensor.load(_VALID_MS)
            self.module.load(_VALID_MS)  # from the same answer: no second request
            lux = float(self.sensor.get_currentValue())
            state = int(self.sensor.get_sensorState())
            uptime_ms = int(self.module.get_upTime())
        monotonic_s, at = time.monotonic(), datetime.now(UTC)
        if state > 0:  # an old firmware knows no state, which reads as a large negative number
            raise Retry(f"The light sensor is not ready (state {state}).")
        if not math.isfinite(lux) or lux < 0:
            raise Retry(f"The light meter gave an impossible value ({lux:g} lx).")
        if uptime_ms < 0:
            raise Retry("The light meter did not say for how long it has been running.")
        return LightReading(lux=lux, at=at, monotonic_s=monotonic_s, uptime_ms=uptime_ms)


class _Library:
    """yoctopuce and the hubs it knows in this process; used by the owning thread only."""

    _only: _Library | None = None

    def __init__(self) -> None:
        _provide_libusb()
        try:
            from yoctopuce.yocto_api import YAPI, YRefParam  # loads a C library
            from yoctopuce.yocto_lightsensor import YLightSensor

            YAPI.SetNetworkTimeout(_NETWORK_TIMEOUT_MS)  # has no effect once a hub is known
        except ImportError as error:
            raise Abort(
                f"The light meter's library cannot be loaded: {error}",
                "Install what it needs: apt install libusb-1.0-0, or pip install libusb-package.",
            ) from error
        self._yapi, self._text, self._sensors = YAPI, YRefParam, YLightSensor
        self._hubs: list[str] = []

    @classmethod
    def loaded(cls) -> _Library:
        if cls._only is None:
            cls._only = cls()
        return cls._only

    def register(self, url: str) -> None:
        text = self._text()
        try:
            code = int(self._yapi.RegisterHub(url, text))
        except Exception as error:  # an answer that breaks off surfaces as IndexError and the like
            raise Reconnect(
                f"The meter's hub {url} gave no usable answer: {error}", _ALIVE
            ) from error
        if code == 0:
            self._hubs.append(url)
            return
        if code == _HELD_BY_ANOTHER:
            raise AskOperator(
                f"Another program holds the USB light meter: {text.value} [{code}].",
                'Stop it, or run a VirtualHub and set hub = "127.0.0.1:4444" in rig.toml.',
            )
        if url not in self._hubs:
            self._yapi.UnregisterHub(url)
        raise Reconnect(f"No answer from the meter's hub {url}: {text.value} [{code}].", _ALIVE)

    def find(self, serial: str, hub: str) -> _Device:
        with _Translated():
            self._yapi.UpdateDeviceList(self._text())
            if serial:
                sensor = self._sensors.FindLightSensor(f"{serial}.lightSensor")
            else:
                sensor = self._sensors.FirstLightSensor()
            if sensor is not None and sensor.isOnline():
                return _Device(sensor, sensor.get_module())
        raise Reconnect(
            f"The hub {hub} answers, but it has no light sensor {serial}".rstrip() + ".",
            "Plug the Yocto-Light in; on Linux a udev rule must let this user open it.",
        )

    def unregister(self, url: str) -> None:
        if url in self._hubs:
            self._hubs.remove(url)
        if url not in self._hubs:
            self._yapi.UnregisterHub(url)
        if not self._hubs:
            self._yapi.FreeAPI()  # lets another program have the USB meters
            self._yapi.SetNetworkTimeout(_NETWORK_TIMEOUT_MS)


class _Translated:
    """Turns whatever the library raises into ours.

    Its error types are no guide: 0, "success", stands for a missing device, a failing hub and
    broken JSON alike, and broken answers also surface as AttributeError and the like. A hub that
    answered, though badly, may do better the next time (Retry); all else is Reconnect.
    """

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, RigError) or not isinstance(error, Exception):
            return
        text = str(error)
        unreadable = isinstance(error, AttributeError | TypeError | ValueError | LookupError)
        if unreadable or "JSON" in text or "HTTP return code:5" in text:
            raise Retry(f"The light meter's answer was no reading: {text}") from error
        raise Reconnect(f"The light meter is gone: {text}", _ALIVE) from error


def _provide_libusb() -> None:
    """Have libusb-1.0 loaded before yoctopuce: it wants it even for a hub on the network."""
    try:
        ctypes.CDLL("libusb-1.0.so.0", mode=ctypes.RTLD_GLOBAL)
    except OSError:
        import libusb_package  # only where the system has none

        path = libusb_package.get_library_path()
        if path is not None:
            ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
