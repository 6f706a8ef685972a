"""Property codes, value tables and defaults of a Canon EOS Rebel T7 (1500D / 2000D).

Facts from public configuration dumps of this body; 1/3-stop list in shutter and aperture.
Exposure values are Canon's 1/8-stop codes: a whole stop is 8, a third is 3 or 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from hardware_mocks.ptp import fixed_ascii, u32
from schemas.exposure import ISO_SPEEDS, SHUTTER_SPEEDS, parse_shutter_s


class Prop(IntEnum):
    """Canon EOS device properties that this body has."""

    APERTURE = 0xD101
    SHUTTER = 0xD102
    ISO = 0xD103
    EXPOSURE_COMPENSATION = 0xD104
    MODE = 0xD105
    DRIVE = 0xD106
    METERING = 0xD107
    FOCUS = 0xD108
    WHITE_BALANCE = 0xD109
    WB_ADJUST_A = 0xD10B
    WB_ADJUST_B = 0xD10C
    WB_X_A = 0xD10D
    WB_X_B = 0xD10E
    COLOR_SPACE = 0xD10F
    PICTURE_STYLE = 0xD110
    BATTERY = 0xD111
    CAMERA_TIME = 0xD113
    AUTO_POWER_OFF = 0xD114
    OWNER = 0xD115
    MODEL_ID = 0xD116
    PTP_VERSION = 0xD119
    AVAILABLE_SHOTS = 0xD11B
    DESTINATION = 0xD11C
    BRACKET = 0xD11D
    CURRENT_STORAGE = 0xD11E
    CURRENT_FOLDER = 0xD11F
    FORMAT = 0xD120
    FORMAT_SD = 0xD122
    MODE_DIAL = 0xD138
    UTC_TIME = 0xD17C
    OLC_VERSION = 0xD199
    CUSTOM_FUNCTIONS = 0xD1A0
    REVIEW = 0xD1A9
    SHUTTER_COUNTER = 0xD1AC
    SERIAL = 0xD1AF
    OUTPUT = 0xD1B0
    EVF_MODE = 0xD1B1
    DEPTH_OF_FIELD = 0xD1B2
    ARTIST = 0xD1D0
    COPYRIGHT = 0xD1D1
    LENS_NAME = 0xD1D8
    AEB = 0xD1D9


class Mode(IntEnum):
    """The mode dial, as the body reports it in property d105."""

    P = 0
    TV = 1
    AV = 2
    M = 3
    AUTO = 9  # "Green" in libgphoto2

    @classmethod
    def parse(cls, text: str) -> Mode:
        """A mode from ``M``, ``Manual``, ``P``, ``AV``, ``TV``, ``Auto``; ValueError otherwise."""
        names = {mode.name: mode for mode in cls} | {"MANUAL": cls.M, "GREEN": cls.AUTO}
        try:
            return names[text.strip().upper()]
        except KeyError as error:
            raise ValueError(f"no mode {text!r}: one of M, P, AV, TV, Auto") from error


class Destination(IntEnum):
    """Where a picture goes (property d11c)."""

    CARD = 2
    HOST = 4


class Focus(IntEnum):
    """Focus mode; MANUAL is the switch on the lens and cannot be set."""

    ONE_SHOT = 0
    AI_SERVO = 1
    AI_FOCUS = 2
    MANUAL = 3


#: Shown where the body chooses by itself: "auto" (shutter), "implicit auto" (aperture).
CHOSEN_BY_BODY = 0
ISO_AUTO = 0
BULB = 0x0C


def _thirds(first: int, last: int) -> tuple[int, ...]:
    """Codes of a 1/3-stop scale: 8k, 8k+3, 8k+5."""
    return tuple(code for code in range(first, last + 1) if code % 8 in (0, 3, 5))


#: Canon's code of each marked shutter speed in seconds, longest first.
SHUTTER_CODES: dict[int, float] = dict(
    zip(_thirds(0x10, 0x98), map(parse_shutter_s, SHUTTER_SPEEDS["1/3"]), strict=True)
)
ISO_CODES: dict[int, int] = {0x48 + 8 * stop: iso for stop, iso in enumerate(ISO_SPEEDS)}
# fmt: off
_MARKED_F = (
    3.2, 3.5, 4.0, 4.5, 5.0, 5.6, 6.3, 7.1, 8.0, 9.0, 10.0, 11.0, 13.0, 14.0, 16.0, 18.0, 20.0,
    22.0, 25.0, 29.0, 32.0, 36.0,
)
# fmt: on
APERTURE_CODES: dict[int, float] = dict(zip(_thirds(0x23, 0x5B), _MARKED_F, strict=True))


@dataclass(frozen=True)
class ImageFormat:
    """One entry of the quality menu: (type, size code, compression) of each file it makes."""

    files: tuple[tuple[int, int, int], ...]

    def encode(self) -> bytes:
        """The value of property d120."""
        entries = b"".join(u32(16) + u32(t) + u32(s) + u32(c) for t, s, c in self.files)
        return u32(len(self.files)) + entries

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height of the JPEG; of the full frame for RAW alone."""
        jpeg = [size for kind, size, _ in self.files if kind == 1]
        return PICTURE_SIZES_PX[jpeg[0] if jpeg else 0]


#: Width and height by Canon's size code.
PICTURE_SIZES_PX = {
    0x00: (6000, 4000),
    0x01: (3984, 2656),
    0x0E: (2976, 1984),
    0x0F: (1920, 1280),
    0x10: (720, 480),
}
#: L, L normal, M, M normal, S1, S1 normal, S2, S3, RAW + L, RAW: the order of the menu.
FORMATS: tuple[ImageFormat, ...] = (
    ImageFormat(((1, 0x00, 3),)),
    ImageFormat(((1, 0x00, 2),)),
    ImageFormat(((1, 0x01, 3),)),
    ImageFormat(((1, 0x01, 2),)),
    ImageFormat(((1, 0x0E, 3),)),
    ImageFormat(((1, 0x0E, 2),)),
    ImageFormat(((1, 0x0F, 3),)),
    ImageFormat(((1, 0x10, 3),)),
    ImageFormat(((6, 0x00, 4), (1, 0x00, 3))),
    ImageFormat(((6, 0x00, 4),)),
)
S2 = FORMATS[6]


@dataclass(frozen=True)
class Lens:
    """A zoom whose F-number range depends on the focal length.

    Attributes
    ----------
    name : str
        As the body reports it.
    ranges : dict
        Focal length in mm -> codes of the widest and narrowest aperture.
    """

    name: str
    ranges: dict[int, tuple[int, int]]

    def apertures(self, focal_mm: int) -> tuple[int, ...]:
        """Aperture codes offered at this focal length; ValueError where the zoom has no such."""
        if focal_mm not in self.ranges:
            known = ", ".join(map(str, self.ranges))
            raise ValueError(f"{self.name} is known at {known} mm, not at {focal_mm} mm")
        return _thirds(*self.ranges[focal_mm])


KIT_LENS = Lens(
    "EF-S18-55mm f/3.5-5.6 III",
    {18: (0x25, 0x50), 24: (0x28, 0x53), 35: (0x2B, 0x55), 55: (0x30, 0x5B)},
)

_PLUS_MINUS_9 = tuple(range(-9, 10))
#: Choices of the properties whose list does not depend on mode dial or lens.
CHOICES: dict[Prop, tuple[int, ...]] = {
    Prop.EXPOSURE_COMPENSATION: tuple(c for c in range(-40, 41) if c % 8 in (0, 3, 5)),
    Prop.DRIVE: (0x00, 0x01, 0x10, 0x11, 0x07),
    Prop.METERING: (3, 4, 5),
    Prop.FOCUS: (Focus.ONE_SHOT, Focus.AI_FOCUS, Focus.AI_SERVO),
    Prop.WHITE_BALANCE: (0, 0x17, 1, 8, 2, 3, 4, 5, 6),
    Prop.WB_ADJUST_A: _PLUS_MINUS_9,
    Prop.WB_ADJUST_B: _PLUS_MINUS_9,
    Prop.COLOR_SPACE: (1, 2),
    Prop.PICTURE_STYLE: (0x87, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x21, 0x22, 0x23),
    Prop.DESTINATION: (Destination.CARD, Destination.HOST),
    Prop.REVIEW: (0, 2, 4, 8, 0xFF),
    Prop.OUTPUT: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0),
    Prop.EVF_MODE: (1, 0),
    Prop.AEB: (0x00, 0x03, 0x05, 0x08, 0x0B, 0x0D, 0x10),
}

#: Reports the host cannot change.
READ_ONLY = frozenset(
    {
        Prop.MODE,
        Prop.MODE_DIAL,
        Prop.BATTERY,
        Prop.MODEL_ID,
        Prop.PTP_VERSION,
        Prop.AVAILABLE_SHOTS,
        Prop.CURRENT_STORAGE,
        Prop.CURRENT_FOLDER,
        Prop.OLC_VERSION,
        Prop.SHUTTER_COUNTER,
        Prop.SERIAL,
        Prop.LENS_NAME,
    }
)
#: Values of any length.
TEXTS = frozenset(
    {Prop.OWNER, Prop.ARTIST, Prop.COPYRIGHT, Prop.FORMAT, Prop.FORMAT_SD, Prop.CUSTOM_FUNCTIONS}
)
#: Announced only when the host asks with RequestDevicePropValue.
ON_REQUEST = frozenset({Prop.OWNER, Prop.ARTIST, Prop.COPYRIGHT, Prop.SERIAL})

#: C.Fn as a T7 gave them: size in bytes, groups; per group id, size, functions; per function id,
#: number of values, values. 1/3-stop steps, no long-exposure noise reduction, no highlight tone
#: priority. libgphoto2 2.5.34 reads "bad length" here, as it does with every real body.
# fmt: off
_CUSTOM_FUNCTIONS = (
    0xBC, 4,
    1, 0x2C, 3, 0x101, 1, 0, 0x103, 1, 0, 0x10F, 1, 0,
    2, 0x2C, 3, 0x201, 1, 0, 0x202, 1, 0, 0x203, 1, 0,
    3, 0x14, 1, 0x50E, 1, 0,
    4, 0x38, 4, 0x701, 1, 0, 0x704, 1, 0, 0x70E, 1, 0, 0x811, 1, 0,
)
# fmt: on

#: Code of the T7 family in property d116 (libgphoto2 shows it as 2147484722).
MODEL_ID = 0x80000432


def defaults(storage: int, folder: int, serial: str, shutter_count: int) -> dict[Prop, bytes]:
    """Values of a body set up for the rig: M, manual focus, S2 JPEG, review off, fixed style."""
    numbers: dict[Prop, int] = {
        Prop.APERTURE: 0x38,
        Prop.SHUTTER: 0x70,
        Prop.ISO: 0x48,
        Prop.EXPOSURE_COMPENSATION: 0,
        Prop.MODE: Mode.M,
        Prop.MODE_DIAL: Mode.M,
        Prop.DRIVE: 0,
        Prop.METERING: 3,
        Prop.FOCUS: Focus.MANUAL,
        Prop.WHITE_BALANCE: 1,
        Prop.WB_ADJUST_A: 0,
        Prop.WB_ADJUST_B: 0,
        Prop.WB_X_A: 0,
        Prop.WB_X_B: 0,
        Prop.COLOR_SPACE: 1,
        Prop.PICTURE_STYLE: 0x81,
        Prop.BATTERY: 2,  # 100 %
        Prop.CAMERA_TIME: 0,
        Prop.AUTO_POWER_OFF: 0,
        Prop.MODEL_ID: MODEL_ID,
        Prop.PTP_VERSION: 0x100,
        Prop.AVAILABLE_SHOTS: 0,
        Prop.DESTINATION: Destination.CARD,
        Prop.BRACKET: 0,
        Prop.CURRENT_STORAGE: storage,
        Prop.CURRENT_FOLDER: folder,
        Prop.UTC_TIME: 0,
        Prop.OLC_VERSION: 7,
        Prop.REVIEW: 0,
        Prop.SHUTTER_COUNTER: shutter_count,
        Prop.OUTPUT: 0,
        Prop.EVF_MODE: 1,
        Prop.DEPTH_OF_FIELD: 0,
        Prop.AEB: 0,
    }
    texts = {
        Prop.OWNER: fixed_ascii("", 32),
        Prop.ARTIST: fixed_ascii("", 64),
        Prop.COPYRIGHT: fixed_ascii("", 64),
        Prop.SERIAL: serial.encode("ascii") + b"\0",
        Prop.LENS_NAME: fixed_ascii(KIT_LENS.name, 64),
        Prop.FORMAT: S2.encode(),
        Prop.FORMAT_SD: S2.encode(),
        Prop.CUSTOM_FUNCTIONS: b"".join(map(u32, _CUSTOM_FUNCTIONS)),
    }
    return {prop: u32(value) for prop, value in numbers.items()} | texts


#: Counted or told by the body itself, or mechanical: clearing the settings leaves them.
_KEPT = frozenset(READ_ONLY | ON_REQUEST | {Prop.CAMERA_TIME, Prop.UTC_TIME})


def rig_settings() -> dict[Prop, bytes]:
    """Menu and shooting settings of a body set up for the rig, the lens switch included."""
    return {p: raw for p, raw in defaults(0, 0, "", 0).items() if p not in _KEPT}


def factory_settings() -> dict[Prop, bytes]:
    """The same after "Clear all camera settings": everything automatic, large JPEGs, card."""
    numbers = {
        Prop.APERTURE: 0x30,  # f/5.6
        Prop.SHUTTER: 0x70,  # 1/125 s
        Prop.ISO: ISO_AUTO,
        Prop.WHITE_BALANCE: 0,
        Prop.PICTURE_STYLE: 0x87,
        Prop.DESTINATION: Destination.CARD,
        Prop.REVIEW: 2,
        Prop.AUTO_POWER_OFF: 30,
    }
    changed = {prop: u32(value) for prop, value in numbers.items()}
    changed |= {Prop.FORMAT: FORMATS[0].encode(), Prop.FORMAT_SD: FORMATS[0].encode()}
    cleared = rig_settings() | changed
    del cleared[Prop.FOCUS]  # a switch on the lens
    return cleared


def with_custom_functions(block: bytes, functions: dict[int, int]) -> bytes:
    """A block of custom functions with other values; ValueError for a function it has not."""
    words = [int.from_bytes(block[i : i + 4], "little") for i in range(0, len(block), 4)]
    for function, value in functions.items():
        at = next(
            (i for i, w in enumerate(words[:-2]) if w == function and words[i + 1] == 1), None
        )
        if at is None or function < 0x100:
            raise ValueError(f"this body has no custom function {function:#x}")
        words[at + 2] = value
    return b"".join(map(u32, words))


def shutter_choices(mode: Mode) -> tuple[int, ...]:
    """Shutter codes offered in a mode: a list where the photographer chooses, else "auto"."""
    if mode == Mode.M:
        return (BULB, *SHUTTER_CODES)
    return tuple(SHUTTER_CODES) if mode == Mode.TV else (CHOSEN_BY_BODY,)


def aperture_choices(mode: Mode, lens: Lens, focal_mm: int) -> tuple[int, ...]:
    """Aperture codes offered in a mode with this lens and zoom."""
    return lens.apertures(focal_mm) if mode in (Mode.M, Mode.AV) else (CHOSEN_BY_BODY,)


def iso_choices(mode: Mode) -> tuple[int, ...]:
    """ISO codes offered in a mode."""
    return (ISO_AUTO,) if mode == Mode.AUTO else (ISO_AUTO, *ISO_CODES)
