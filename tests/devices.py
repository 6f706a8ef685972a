"""A camera and a light meter in memory: the protocols of `rig.protocols` with a clock of their own.

For tests of code that uses devices. What they promise is checked beside the real drivers in
`tests/conformance`.
"""

from __future__ import annotations

import io
import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import numpy as np
import piexif
from PIL import Image

from rig.errors import AskOperator, Reconnect, RigError
from rig.protocols import CameraInfo, LightReading, MeterInfo, OfferedSettings, Picture
from schemas.exposure import (
    F_NUMBERS,
    ISO_SPEEDS,
    SHUTTER_SPEEDS,
    Exposure,
    spell_f_number,
    spell_shutter,
    true_f_number,
    true_shutter_s,
)

#: Side lengths of a picture in pixels: small, since tests take hundreds.
WIDTH_PX, HEIGHT_PX = 96, 64

#: Luminance steps of the imagined scene, relative to a white sheet.
_SCENE = np.repeat(np.linspace(0.02, 0.95, 16), WIDTH_PX // 16)


#: What a body says that a technician has made ready.
READY_BODY = {
    "focusmode": "Manual",
    "drivemode": "Single",
    "imageformat": "S2",
    "imageformatsd": "S2",
    "capturetarget": "Internal RAM",
    "whitebalance": "Daylight",
    "picturestyle": "Standard",
    "autopoweroff": "0",
    "batterylevel": "100%",
    "shuttercounter": "23229",
    "availableshots": "8277",
    # C.Fn: no long-exposure noise reduction, high-ISO one disabled, no highlight tone priority.
    "customfuncex": "38,1,2,2c,3,201,1,0,202,1,3,203,1,0,",
}


@dataclass
class FakeClock:
    """Time that passes only when somebody sleeps.

    Attributes
    ----------
    beat : callable or None
        Called again and again while time passes, whoever sleeps; returns the seconds until the
        next call. What it sleeps itself is a delay within the beat.
    """

    elapsed_s: float = 0.0
    started_at: datetime = datetime(2026, 3, 1, 20, 0, tzinfo=UTC)
    beat: Callable[[], float] | None = None
    _due_s: float = 0.0
    _beating: bool = False

    def now_s(self) -> float:
        """The monotonic clock, in seconds."""
        return self.elapsed_s

    def now(self) -> datetime:
        """The wall clock, UTC."""
        return self.started_at + timedelta(seconds=self.elapsed_s)

    def sleep(self, duration_s: float) -> None:
        """Let `duration_s` pass."""
        end_s = self.elapsed_s + duration_s
        while self.beat is not None and not self._beating and self._due_s <= end_s:
            self.elapsed_s = max(self.elapsed_s, self._due_s)
            self._beating = True
            try:
                self._due_s = self.elapsed_s + self.beat()
            finally:
                self._beating = False
        self.elapsed_s = max(self.elapsed_s, end_s)


class HastyClock(FakeClock):
    """The host's clocks, but sleep is short: for code whose threads wait for real."""

    def now_s(self) -> float:
        return time.monotonic()

    def now(self) -> datetime:
        return datetime.now(UTC)

    def sleep(self, duration_s: float) -> None:
        time.sleep(min(duration_s, 0.002))  # the meter's clock counts milliseconds


@dataclass
class Faults:
    """Errors to raise, by verb: each queued one is raised once, in order."""

    queued: dict[str, deque[RigError]] = field(default_factory=lambda: defaultdict(deque))

    def add(self, verb: str, *errors: RigError) -> None:
        """Have the next calls of `verb` (``shoot``, ``read``...) raise `errors`."""
        self.queued[verb].extend(errors)

    def meet(self, verb: str) -> None:
        """Raise the next queued error of `verb`, if there is one."""
        if self.queued[verb]:
            raise self.queued[verb].popleft()


class InMemoryCamera:
    """A body on M whose pictures depend on exposure and `lux`: a number, or a function of time.

    Attributes
    ----------
    faults : Faults
        Errors of the verbs.
    spoilers : deque of callable
        The next picture goes through the next of these (truncate it, garble it).
    settings : dict
        What the body holds, as it would show it.
    dial : str
        What `mode` says; off ``Manual`` the body offers no shutter speeds.
    ignored_sets : int
        So many of the next sets are accepted and not obeyed.
    taken, taken_at : list of Exposure, list of float
        What really was exposed, and when it was commanded.
    buffer : list of bytes
        Pictures waiting in the body: `open` and `shoot` discard them.
    body : dict
        What else the body says of itself, named and spelled as libgphoto2 does.
    f_numbers : tuple of str
        What the lens offers at this zoom.
    lens : str
        Its name.
    """

    def __init__(
        self,
        clock: FakeClock | None = None,
        *,
        lux: float | Callable[[float], float] = 1000.0,
        size_px: tuple[int, int] = (WIDTH_PX, HEIGHT_PX),
    ) -> None:
        self.clock = clock or FakeClock()
        self.lux = lux
        self.size_px = size_px
        self.faults = Faults()
        self.spoilers: deque[Callable[[bytes], bytes]] = deque()
        self.dial = "Manual"
        self.settings = {"shutter": "1/125", "iso": "100", "f_number": "8", "review": "2 seconds"}
        self.ignored_sets = 0
        self.taken: list[Exposure] = []
        self.taken_at: list[float] = []
        self.buffer: list[bytes] = []
        self.body = dict(READY_BODY)
        self.f_numbers = tuple(f"{number:g}" for number in F_NUMBERS["1/3"])
        self.lens = "EF-S18-55mm f/3.5-5.6 IS II"
        self.leftovers = 0
        self.is_open = False
        self.sets: list[tuple[str, str]] = []
        self._found: dict[str, str] = {}
        self._told: dict[str, str] = {}

    def open(self) -> CameraInfo:
        self.close()
        self.faults.meet("open")
        self.is_open = True
        self._found = dict(self.settings)
        self.settings["review"] = "None"
        self.leftovers = len(self.buffer)
        self.buffer.clear()
        return CameraInfo(
            model="Canon EOS 2000D in memory",
            serial="VIRTUAL-MEMORY",
            firmware="virtual",
            lens=self.lens,
            port="memory:",
            simulated=True,
        )

    def mode(self) -> str:
        self._need("mode")
        return self.dial

    def read_settings(self) -> dict[str, str]:
        self._need("read_settings")
        own = {
            "autoexposuremode": self.dial,
            "shutterspeed": self.settings["shutter"],
            "iso": self.settings["iso"],
            "aperture": self.settings["f_number"],
            "reviewtime": self.settings["review"],
            "datetimeutc": str(int(self.clock.now().timestamp())),
            "lensname": self.lens,
        }
        return {**own, **self.body}

    def offered(self) -> OfferedSettings:
        self._need("offered")
        manual = self.dial == "Manual"
        return OfferedSettings(
            shutter=SHUTTER_SPEEDS["1/3"] if manual else (),
            iso=tuple(str(iso) for iso in ISO_SPEEDS),
            f_number=self.f_numbers if manual else (),
        )

    def apply(self, exposure: Exposure) -> None:
        self._need("apply")
        offered = self.offered()
        if self.dial != "Manual":
            self.forget()
            raise AskOperator("The mode dial is not on M.", "Turn the mode dial to M.")
        try:
            wanted = {
                "shutter": spell_shutter(exposure.shutter_s, offered.shutter),
                "iso": str(exposure.iso),
                "f_number": spell_f_number(exposure.f_number, offered.f_number),
            }
            if wanted["iso"] not in offered.iso:
                raise ValueError(wanted["iso"])
        except ValueError as error:
            self.forget()
            raise AskOperator(f"The body offers nothing for {exposure}.", "Change it.") from error
        for name, value in wanted.items():
            if self._told.get(name) == value:
                continue
            self.sets.append((name, value))
            self._told[name] = value
            if self.ignored_sets:
                self.ignored_sets -= 1
            else:
                self.settings[name] = value

    def forget(self) -> None:
        self._told.clear()

    def shoot(self, timeout_s: float) -> Picture:
        self._need("shoot")
        self.buffer.clear()
        exposure = Exposure(
            shutter_s=float(Fraction(self.settings["shutter"])),
            iso=int(self.settings["iso"]),
            f_number=float(self.settings["f_number"]),
        )
        commanded_at, commanded_s = self.clock.now(), self.clock.now_s()
        self.clock.sleep(true_shutter_s(exposure.shutter_s))
        self.taken.append(exposure)
        self.taken_at.append(commanded_s)
        lux = self._mean_lux(commanded_s, self.clock.now_s())
        data = render(exposure, lux, commanded_at, self.size_px)
        if self.spoilers:
            data = self.spoilers.popleft()(data)
        return Picture(
            data=data,
            name=f"capt{len(self.taken) - 1:04d}.jpg",
            commanded_at=commanded_at,
            commanded_monotonic_s=commanded_s,
            ended_monotonic_s=self.clock.now_s(),
        )

    def _mean_lux(self, start_s: float, end_s: float) -> float:
        if not callable(self.lux):
            return self.lux
        moments_s = np.linspace(start_s, end_s, 32).tolist()
        return sum(map(self.lux, moments_s)) / len(moments_s)

    def close(self) -> None:
        if self.is_open:
            self.settings.update(self._found)
        self.is_open = False
        self.forget()

    def _need(self, verb: str) -> None:
        if not self.is_open:
            raise Reconnect("The camera's session is over.", "Open the camera again.")
        try:
            self.faults.meet(verb)
        except RigError as error:
            self.forget()
            if isinstance(error, Reconnect):
                self.is_open = False
            raise


class InMemoryMeter:
    """A meter that reads `lux` (a number, or a function of the seconds since it was plugged in).

    Attributes
    ----------
    faults : Faults
        Errors of ``open`` and ``read``.
    frozen : bool
        The meter's own clock stands still.
    """

    def __init__(
        self, clock: FakeClock | None = None, lux: float | Callable[[float], float] = 1000.0
    ) -> None:
        self.clock = clock or FakeClock()
        self.lux = lux
        self.faults = Faults()
        self.frozen = False
        self.is_open = False
        self._uptime_ms = 1000

    def open(self) -> MeterInfo:
        self.close()
        self.faults.meet("open")
        self.is_open = True
        return MeterInfo(
            model="Yocto-Light in memory",
            serial="VIRTUAL-MEMORY",
            firmware="virtual",
            hub="memory",
            calibration="0,",
            simulated=True,
        )

    def read(self) -> LightReading:
        if not self.is_open:
            raise Reconnect("The light meter is not open.", "Open the meter first.")
        self.faults.meet("read")
        if not self.frozen:
            self.clock.sleep(0.001)
            self._uptime_ms = 1000 + round(self.clock.now_s() * 1000)
        lux = self.lux(self.clock.now_s()) if callable(self.lux) else self.lux
        return LightReading(
            lux=lux,
            at=self.clock.now(),
            monotonic_s=self.clock.now_s(),
            uptime_ms=self._uptime_ms,
        )

    def close(self) -> None:
        self.is_open = False


def render(
    exposure: Exposure,
    lux: float,
    taken_at: datetime,
    size_px: tuple[int, int] = (WIDTH_PX, HEIGHT_PX),
) -> bytes:
    """A JPEG of 16 gray stripes exposed by the true settings, with Canon Exif (marked values).

    Middle gray comes out at middle gray where lux * t * ISO / N^2 = 250, the constant of
    incident light meters (ISO 2720).
    """
    time_s, number = true_shutter_s(exposure.shutter_s), true_f_number(exposure.f_number)
    gain = lux * time_s * exposure.iso / number**2 / 250
    level = np.clip(_SCENE * gain, 0, 1) ** (1 / 2.2) * 255
    row = np.rint(np.where(level < 3, 0, level)).astype(np.uint8)
    image = Image.fromarray(np.tile(row, (HEIGHT_PX, 1)))
    if image.size != size_px:
        image = image.resize(size_px)
    marked = Fraction(exposure.shutter_s).limit_denominator(8000)
    stamp = taken_at.strftime("%Y:%m:%d %H:%M:%S")
    exif = piexif.dump(
        {
            "0th": {
                piexif.ImageIFD.Make: b"Canon",
                piexif.ImageIFD.Model: b"Canon EOS 2000D in memory",
                piexif.ImageIFD.DateTime: stamp.encode(),
            },
            "Exif": {
                piexif.ExifIFD.ExposureTime: (marked.numerator, marked.denominator),
                piexif.ExifIFD.FNumber: (round(exposure.f_number * 10), 10),
                piexif.ExifIFD.ISOSpeedRatings: exposure.iso,
                piexif.ExifIFD.DateTimeOriginal: stamp.encode(),
                piexif.ExifIFD.SubSecTimeOriginal: f"{taken_at.microsecond // 10000:02d}".encode(),
                piexif.ExifIFD.ExposureMode: 1,
                piexif.ExifIFD.FocalLength: (35, 1),
                piexif.ExifIFD.Flash: 16,
            },
        }
    )
    file = io.BytesIO()
    image.convert("RGB").save(file, "JPEG", quality=95, subsampling=0, exif=exif)
    return file.getvalue()
