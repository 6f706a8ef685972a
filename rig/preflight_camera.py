"""Checks of the body's settings. Pure functions of what was read."""

from __future__ import annotations

from collections.abc import Iterator

from rig.checklist import (
    AUTO_LIGHTING,
    FLASH,
    HIGH_ISO_NR,
    HIGHLIGHT_TONE,
    LONG_EXPOSURE_NR,
    PERIPHERAL,
    Question,
)
from rig.config import CameraConfig
from rig.custom_functions import (
    HIGH_ISO_NR as FN_HIGH_ISO,
)
from rig.custom_functions import (
    HIGHLIGHT_TONE as FN_HIGHLIGHT,
)
from rig.custom_functions import (
    LONG_EXPOSURE_NR as FN_LONG_EXPOSURE,
)
from rig.custom_functions import parse_custom_functions
from rig.gphoto_names import (
    AUTO_PICTURE_STYLE,
    AUTO_WHITE_BALANCE,
    CUSTOM_WHITE_BALANCE,
    MANUAL_FOCUS,
    same_format,
)
from rig.preflight import CameraSeen, Finding, Status, judged, ok

#: Names of the body that the rig was made for, in each part of the world (04a9:32e1).
_FAMILY = ("Rebel T7", "1500D", "2000D", "Kiss X90")
#: Other bodies whose names begin like one of the family.
_NOT_FAMILY = ("Rebel T7i",)
_PIXELS_1920 = "S2"

_LONG_EXPOSURE_VALUES = {0: "off", 1: "auto", 2: "on"}
_HIGH_ISO_VALUES = {1: "low", 2: "strong"}


def check_settings(seen: CameraSeen, config: CameraConfig) -> Iterator[Finding]:
    """Everything that the body's settings tell by themselves."""
    yield from _identity(seen)
    yield from _modes(seen)
    yield from _files(seen, config)
    yield from _rendering(seen)


def _identity(seen: CameraSeen) -> Iterator[Finding]:
    info = seen.info
    known = any(n in info.model for n in _FAMILY) and not any(n in info.model for n in _NOT_FAMILY)
    yield judged(
        "model",
        known,
        info.model or "no name",
        "Canon EOS Rebel T7, 1500D or 2000D",
        "go on if you mean to use this body: settings may have other names and other values",
        Status.WARN,
    )
    yield judged(
        "serial",
        bool(info.serial.strip("0")),
        info.serial or "none",
        "a serial number",
        "frames of two bodies without serial numbers cannot be told apart: use one",
        Status.WARN,
    )


def _modes(seen: CameraSeen) -> Iterator[Finding]:
    read = seen.settings.get
    mode = read("autoexposuremode", "")
    yield judged(
        "mode_dial", mode == "Manual", mode or "unknown", "Manual", "turn the mode dial to M"
    )
    focus = read("focusmode", "")
    yield judged(
        "autofocus",
        focus in MANUAL_FOCUS,
        focus or "unknown",
        "Manual",
        "focus once, then switch the lens to MF: autofocus hunts in the dark",
    )
    drive = read("drivemode", "")
    yield judged(
        "drive",
        drive in ("Single", ""),
        drive or "not reported",
        "Single",
        "set the drive mode to single shooting",
    )
    review = read("reviewtime", "")
    yield judged(
        "review",
        review in ("None", ""),
        review or "not reported",
        "None",
        "switch the image review off: the screen lights the room",
        Status.WARN,
    )
    iso = read("iso", "")
    numbers = any(choice.isdigit() for choice in seen.offered.iso)
    yield judged(
        "auto_iso",
        iso.isdigit(),
        iso or "unknown",
        "a number",
        "set an ISO on the body; the sweep sets its own for each shot"
        if numbers
        else "turn the mode dial to M: in this mode the body chooses the ISO alone",
        Status.WARN if numbers else Status.FAIL,
    )
    off = read("autopoweroff", "0") or "0"
    yield judged(
        "auto_power_off",
        off in ("0", "-1", "4294967295"),
        "off" if off in ("0", "-1", "4294967295") else f"{off} s",
        "off",
        "menu: Auto power off, Disable: a body that sleeps ends the night",
        Status.WARN,
    )
    yield from _flash(seen)


def _flash(seen: CameraSeen) -> Iterator[Finding]:
    """The flash, where the body tells of it in words; a T7 does not, at most by a bare number."""
    for name in ("strobofiring", "flashmode", "flash"):
        value = seen.settings.get(name)
        if value is not None and not value.isdigit():  # no library says what the number means
            closed = value.lower() in ("off", "disable", "disabled", "flash off", "none")
            yield judged("flash", closed, value, "off", "fold the flash in and switch it off")
            return


def _files(seen: CameraSeen, config: CameraConfig) -> Iterator[Finding]:
    for name in ("imageformat", "imageformatsd"):
        found = seen.settings.get(name)
        if found is None and name == "imageformatsd":
            continue
        found = found or "unknown"
        wanted = f"{config.image_format}, JPEG only"
        if "RAW" in found or not same_format(config.image_format, found):
            yield Finding(
                "image_format", Status.FAIL, found, wanted, "menu: Image quality, S2, no RAW"
            )
            break
        if not same_format(_PIXELS_1920, found):
            yield Finding(
                "image_format",
                Status.WARN,
                found,
                "S2: 1920 x 1280",
                'set image_format = "S2" under [camera] unless you mean another size',
            )
            break
    else:
        yield ok("image_format", seen.settings["imageformat"], f"{config.image_format}, JPEG only")
    target = seen.settings.get("capturetarget", "")
    yield judged(
        "capture_target",
        target == config.target,
        target or "unknown",
        config.target,
        "switch the camera off and on; if it stays, try the other target in rig.toml",
    )


def _rendering(seen: CameraSeen) -> Iterator[Finding]:
    balance = seen.settings.get("whitebalance", "")
    yield judged(
        "white_balance",
        bool(balance) and balance not in AUTO_WHITE_BALANCE,
        balance or "unknown",
        "a fixed one",
        "fix the white balance on the body, or set white_balance under [camera] in rig.toml",
    )
    style = seen.settings.get("picturestyle", "")
    yield judged(
        "picture_style",
        bool(style) and style not in AUTO_PICTURE_STYLE,
        style or "unknown",
        "a fixed one",
        "set Picture Style to Standard (or Neutral) on the body: Auto bends each frame its own way",
    )
    functions = parse_custom_functions(seen.settings.get("customfuncex", ""))
    if (value := functions.get(FN_LONG_EXPOSURE)) is not None:
        yield judged(
            LONG_EXPOSURE_NR.check,
            value == 0,
            _LONG_EXPOSURE_VALUES.get(value, str(value)),
            "off",
            LONG_EXPOSURE_NR.action + ": it doubles the time of every long exposure",
        )
    # 0 is "standard" on bodies that have four values and "off" on those that have two; which kind
    # a T7 is, no source says: it is asked.
    if value := functions.get(FN_HIGH_ISO, 0):
        yield judged(
            HIGH_ISO_NR.check,
            value == 3,
            "disabled" if value == 3 else _HIGH_ISO_VALUES.get(value, str(value)),
            "disabled",
            HIGH_ISO_NR.action,
            Status.WARN,
        )
    if (value := functions.get(FN_HIGHLIGHT)) is not None:
        yield judged(
            HIGHLIGHT_TONE.check,
            value == 0,
            "enabled" if value else "disabled",
            "disabled",
            HIGHLIGHT_TONE.action + ": it bends the curve and takes ISO 100 away",
        )


def open_questions(seen: CameraSeen) -> list[Question]:
    """What this body does not tell: to be asked."""
    told = {finding.check for finding in (*_rendering(seen), *_flash(seen))}
    asked = (FLASH, AUTO_LIGHTING, PERIPHERAL, LONG_EXPOSURE_NR, HIGH_ISO_NR, HIGHLIGHT_TONE)
    return [question for question in asked if question.check not in told]


def uses_gray_card(seen: CameraSeen) -> bool:
    """Whether the white balance is one made from a picture of a gray card."""
    return seen.settings.get("whitebalance", "") in CUSTOM_WHITE_BALANCE
