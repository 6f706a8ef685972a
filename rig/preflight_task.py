"""Checks of the body against what is to be shot: settings, lens, battery, shutter, clock. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from rig.config import CameraConfig, PreflightConfig
from rig.preflight import CameraSeen, Finding, Status, Task, judged, ok
from rig.protocols import OfferedSettings
from schemas.exposure import Exposure, spell_f_number, spell_shutter

#: The words and numbers that libgphoto2 has for a Canon's battery.
_BATTERY = {"low": 0.0, "unknown value": None}
_HALF_HOUR_S = 1800.0


def check_task(
    seen: CameraSeen, task: Task, camera: CameraConfig, limits: PreflightConfig
) -> Iterator[Finding]:
    """What the plan asks of this body, with this lens, tonight."""
    yield _plan(seen, task)
    yield _lens(seen, camera)
    yield _battery(seen, task, camera, limits)
    yield _shutter(seen, task, limits)
    yield _shots_left(seen, task, camera)
    yield _clock(seen, limits)
    yield judged(
        "buffer",
        seen.leftovers == 0,
        "empty" if seen.leftovers == 0 else f"{seen.leftovers} leftover picture(s), discarded",
        "empty",
        "nothing to do now; if it happens again, another program shoots with this camera",
        Status.WARN,
    )


def not_offered(exposures: Iterable[Exposure], offered: OfferedSettings) -> list[str]:
    """The settings that the body lacks, each once, in words."""
    missing: dict[str, None] = {}
    for exposure in exposures:
        try:
            spell_shutter(exposure.shutter_s, offered.shutter or ("bulb",))
        except ValueError:
            missing[f"{spell_shutter(exposure.shutter_s)} s"] = None
        if str(exposure.iso) not in offered.iso:
            missing[f"ISO {exposure.iso}"] = None
        try:
            spelled = spell_f_number(exposure.f_number, offered.f_number)
        except ValueError:
            spelled = ""
        if spelled not in offered.f_number:
            missing[f"f/{exposure.f_number:g}"] = None
    return list(missing)


def _plan(seen: CameraSeen, task: Task) -> Finding:
    shots = f"all settings of {len(task.exposures)} shots"
    if not (seen.offered.shutter and seen.offered.f_number):
        action = "turn the mode dial to M: in this mode the body chooses"
        return Finding("plan", Status.WARN, "cannot be told", shots, action)
    missing = not_offered(task.exposures, seen.offered)
    if not missing:
        return ok("plan", "offered", shots)
    listed = ", ".join(missing[:6]) + (", …" if len(missing) > 6 else "")
    return Finding(
        "plan",
        Status.FAIL,
        f"not offered: {listed}",
        shots,
        "check dial, lens and zoom, or take them out of the plan (`snaprig capture plan --help`)",
    )


def _lens(seen: CameraSeen, camera: CameraConfig) -> Finding:
    name = seen.info.lens or seen.settings.get("lensname", "")
    if not name:
        return Finding("lens", Status.FAIL, "none", "a lens", "seat the lens until it clicks")
    if camera.lens and camera.lens not in name:
        action = "mount it, or change lens under [camera] in rig.toml"
        return Finding("lens", Status.FAIL, name, camera.lens, action)
    zoom = re.search(r"(\d+)(?:-(\d+))? ?mm", name)
    wanted = camera.lens or f"one that reaches {camera.focal_length_mm:g} mm"
    shortest, longest = (float(zoom[1]), float(zoom[2] or zoom[1])) if zoom else (0.0, float("inf"))
    return judged(
        "lens",
        shortest <= camera.focal_length_mm <= longest,
        name,
        wanted,
        "mount another lens, or change focal_length_mm under [camera] in rig.toml",
    )


def check_focal_length(
    seen: CameraSeen, camera: CameraConfig, measured_mm: float | None, measured_at: datetime | None
) -> Finding:
    """Where the zoom stands: a body tells it in its pictures only, a prime lens by its name."""
    wanted = f"{camera.focal_length_mm:g} mm"
    prime = re.search(r"(?<![-\d])(\d+) ?mm", seen.info.lens)
    if prime and not re.search(r"\d+-\d+ ?mm", seen.info.lens):
        measured_mm, how = float(prime[1]), "by its name"
    elif measured_mm is None or measured_at is None:
        return Finding(
            "focal_length",
            Status.WARN,
            "not told before a picture",
            wanted,
            "run `snaprig capture preflight` without --no-burst, or look at the zoom ring",
        )
    else:
        how = f"Exif of {measured_at:%Y-%m-%d %H:%M} UTC"
    return judged(
        "focal_length",
        abs(measured_mm - camera.focal_length_mm) <= 0.5,
        f"{measured_mm:g} mm ({how})",
        wanted,
        "turn the zoom ring, tape it, and run the preflight again",
    )


def _battery(
    seen: CameraSeen, task: Task, camera: CameraConfig, limits: PreflightConfig
) -> Finding:
    text = seen.settings.get("batterylevel", "")
    hours = f"{len(task.exposures)} shots, {task.duration_s / 3600:.1f} h"
    if camera.mains:
        return ok("battery", f"mains (declared), body says {text or 'nothing'}", hours)
    action = "plug the mains adapter in and set mains = true under [camera], or charge it"
    level = _level(text)
    if level is None:
        return Finding("battery", Status.WARN, text or "unknown", hours, action)
    if level == 0:
        return Finding("battery", Status.FAIL, text, hours, action)
    return judged(
        "battery",
        level * limits.battery_shots >= len(task.exposures),
        f"{text}, good for {level * limits.battery_shots:.0f} shots",
        hours,
        action,
        Status.WARN,
    )


def _level(text: str) -> float | None:
    if text.lower() in _BATTERY:
        return _BATTERY[text.lower()]
    number = re.fullmatch(r"(\d+) ?%?", text)
    return int(number[1]) / 100 if number else None


def _shutter(seen: CameraSeen, task: Task, limits: PreflightConfig) -> Finding:
    text = seen.settings.get("shuttercounter", "")
    wanted = f"below {limits.shutter_life}"
    if not text.isdigit() or int(text) == 0:
        return Finding(
            "shutter",
            Status.WARN,
            "the body does not tell its count",
            wanted,
            "keep count yourself: the catalog knows the exposures of each run",
        )
    after = int(text) + len(task.exposures)
    return judged(
        "shutter",
        after < limits.shutter_life,
        f"{text} so far, {after} after this plan",
        wanted,
        "have a spare body at hand; the life trusted is [preflight] shutter_life in rig.toml",
        Status.WARN,
    )


def _shots_left(seen: CameraSeen, task: Task, camera: CameraConfig) -> Finding:
    text = seen.settings.get("availableshots", "")
    if not text.isdigit():
        action = "put a card in if pictures do not arrive"
        return Finding("shots_left", Status.WARN, text or "not told", "1 or more", action)
    left = int(text)
    on_card = camera.target == "Memory card"
    if left == 0 and on_card:
        action = "empty or unlock the card"
        return Finding("shots_left", Status.FAIL, "0", "1 or more", action)
    if left == 0:
        # A body counts what its card holds: 0 without one, although none is written to.
        found = "0 on a card; pictures go to the computer's memory"
        action = "nothing to do; put an empty card in if pictures do not arrive"
        return Finding("shots_left", Status.WARN, found, "no card is needed", action)
    # Each picture is deleted as soon as it is fetched: few are enough, unless deleting fails.
    scarce = on_card and left < min(len(task.exposures), 20)
    return judged(
        "shots_left", not scarce, text, "20 or more", "empty the card", otherwise=Status.WARN
    )


def _clock(seen: CameraSeen, limits: PreflightConfig) -> Finding:
    wanted = f"within {limits.clock_s:g} s of the host's"
    action = "set the camera's date and time (rows carry the host's time, too)"
    text = seen.settings.get("datetimeutc") or seen.settings.get("datetime", "")
    if not text.lstrip("-").isdigit() or int(text) == 0:
        return Finding("clock", Status.WARN, "not told", wanted, action)
    off_s = int(text) - seen.read_at.timestamp()
    found = f"{datetime.fromtimestamp(int(text), UTC):%Y-%m-%d %H:%M:%S} UTC"
    halves = round(off_s / _HALF_HOUR_S)
    if abs(off_s) > limits.clock_s:
        found += f", off by {timedelta(seconds=round(abs(off_s)))}"
        if halves and abs(off_s - halves * _HALF_HOUR_S) <= limits.clock_s and abs(halves) <= 28:
            action = "set the camera's time zone or daylight saving time"
    return judged("clock", abs(off_s) <= limits.clock_s, found, wanted, action, Status.WARN)
