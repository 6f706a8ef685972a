"""Checks of the light: meter, noise, band, flicker. Pure functions of readings and pictures."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from rig.config import PreflightConfig
from rig.errors import Retry
from rig.preflight import Burst, Finding, MeterSeen, Status, judged, ok
from rig.protocols import OfferedSettings
from schemas.exposure import (
    Exposure,
    parse_f_number,
    parse_shutter_s,
    stops_between,
)
from schemas.jpeg import read_focal_length_mm
from schemas.plan import Lighting

_BANDS = 32
#: A burst this many stops under the reference is not clipped anywhere that matters.
_UNDER_STOPS = 2
_BURST_EV_ISO = 6400
_A_DAY_S = 86400.0
#: Light below this share of full scale tells nothing of its own variation.
_TOO_DARK = 0.002


def check_meter(
    seen: MeterSeen, lighting: Lighting | None, limits: PreflightConfig
) -> Iterator[Finding]:
    """Whether the meter lives and what it says of the light."""
    info, readings = seen.info, seen.readings
    yield ok("meter", f"{info.model} {info.serial}", "a light meter")
    cable = "unplug the meter and plug it in again; restart the hub"
    if seen.fault:
        yield Finding("meter_alive", Status.FAIL, seen.fault, "readings", cable)
    elif len(readings) < 2 or readings[-1].uptime_ms <= readings[0].uptime_ms:
        stuck = f"its clock stands at {readings[-1].uptime_ms} ms" if readings else "no reading"
        yield Finding("meter_alive", Status.FAIL, stuck, "a clock that advances", cable)
    else:
        gone_ms = readings[-1].uptime_ms - readings[0].uptime_ms
        yield ok("meter_alive", f"its clock advanced by {gone_ms} ms", "a clock that advances")
    yield judged(
        "calibration",
        bool(info.calibration),
        _calibration(info.calibration),
        "recorded with the run",
        "the meter does not tell its calibration: note it yourself",
        Status.WARN,
    )
    if not readings:
        return
    lux = np.array([reading.lux for reading in readings])
    mean = float(lux.mean())
    yield _noise(lux, mean, lighting, limits)
    # The latest reading: somebody may have turned the panels a moment ago.
    yield _band(readings[-1].lux, lighting)


def _calibration(text: str) -> str:
    return "factory" if text in ("0,", "0") else text or "not told"


def _noise(
    lux: npt.NDArray[np.float64],
    mean: float,
    lighting: Lighting | None,
    limits: PreflightConfig,
) -> Finding:
    share = float(lux.std()) / mean if mean > 0 else 0.0
    tolerance = lighting.tolerance if lighting else 1.0
    found = f"{share:.2%} of {mean:.4g} lux over {len(lux)} readings"
    return judged(
        "meter_noise",
        share <= limits.meter_noise,
        found,
        f"at most {limits.meter_noise:.2%}",
        "let the lamps warm up; keep moving things and reflections away from the meter",
        Status.FAIL if share > tolerance / 2 else Status.WARN,
    )


def _band(lux: float, lighting: Lighting | None) -> Finding:
    if lighting is None:
        action = "name one with --lighting to have its band checked"
        return Finding("light", Status.WARN, f"{lux:.4g} lux", "a lighting", action)
    low, high = lighting.band_lux
    return judged(
        "light",
        low <= lux <= high,
        f"{lux:.4g} lux",
        f"{lighting.name}: {low:.4g} to {high:.4g} lux",
        "turn the panels up" if lux < low else "turn the panels down",
    )


# ---- flicker


def burst_exposure(offered: OfferedSettings, ev_reference: int) -> Exposure:
    """Settings of the burst: the fastest shutter that still sees 2 stops under the reference.

    A fast one, since the light of dimmed LEDs pulses at 100 Hz to some kHz: a slow shutter
    averages over the pulses, a fast one catches some and not others.

    Raises
    ------
    ValueError
        If the body offers no setting of one kind.
    """
    f_number = min(parse_f_number(name) for name in offered.f_number)
    iso = max(int(name) for name in offered.iso if name.isdigit() and int(name) <= _BURST_EV_ISO)
    ev = ev_reference + _UNDER_STOPS + math.log2(iso / 100)
    wanted_s = f_number**2 / 2.0**ev
    shutters = [parse_shutter_s(name) for name in offered.shutter]
    return Exposure(min(shutters, key=lambda s: abs(stops_between(s, wanted_s))), iso, f_number)


def measure_burst(pictures: Sequence[bytes], exposure: Exposure, at: datetime) -> Burst:
    """Spread of means and row banding of a burst, in linear light (gamma 2.2).

    Raises Retry if a picture cannot be decoded.
    """
    rows = np.stack([_row_means(data) for data in pictures])
    means = rows.mean(axis=1)
    mean = float(means.mean())
    spread = float(np.ptp(means) / mean) if mean > 0 else 0.0
    bands = np.stack([part.mean(axis=1) for part in np.array_split(rows, _BANDS, axis=1)], axis=1)
    lit = bands.mean(axis=0) > _TOO_DARK
    banding = 0.0
    if lit.any():
        relative = bands[:, lit] / bands[:, lit].mean(axis=0)  # the scene cancels
        relative /= relative.mean(axis=1, keepdims=True)  # so does what the whole frame did
        banding = float(np.ptp(relative, axis=1).max())
    return Burst(
        exposure=exposure,
        pictures=len(pictures),
        mean=mean,
        spread=spread,
        banding=banding,
        focal_length_mm=read_focal_length_mm(pictures[-1]),
        at=at,
    )


def _row_means(data: bytes) -> npt.NDArray[np.float64]:
    try:
        with Image.open(io.BytesIO(data)) as image:
            luma = np.asarray(image.convert("L"), dtype=np.float64)
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise Retry(f"A picture of the burst cannot be decoded: {error}") from error
    return np.asarray(((luma / 255) ** 2.2).mean(axis=1))


def check_burst(burst: Burst, limits: PreflightConfig) -> Finding:
    """The light's variation between and within pictures at a fast shutter."""
    worst = max(burst.spread, burst.banding)
    found = (
        f"{burst.spread:.1%} between and {burst.banding:.1%} within {burst.pictures} pictures "
        f"at {burst.exposure}"
    )
    wanted = f"at most {limits.flicker:.0%}"
    if burst.mean < _TOO_DARK:
        action = "check lens cap, lamps and [lighting] ev_reference: the burst came out black"
        return Finding("flicker", Status.WARN, "too dark to tell", wanted, action)
    return judged(
        "flicker",
        worst <= limits.flicker,
        found,
        wanted,
        "the lamps pulse: do not dim them by their own dimmer, use flicker-free drivers",
        Status.FAIL if worst > 3 * limits.flicker else Status.WARN,
    )


def check_no_burst(last: Mapping[str, Any] | None, now: datetime) -> Finding:
    """What is known of flicker without a burst: the last one of this body and lighting."""
    action = "run `snaprig capture preflight` for this lighting: it takes a burst"
    if last is None:
        return Finding("flicker", Status.WARN, "never looked at", "a burst of today", action)
    at = datetime.fromisoformat(last["at"])
    found = f"{last['found']} ({at:%Y-%m-%d %H:%M} UTC)"
    if (now - at).total_seconds() > _A_DAY_S:
        return Finding("flicker", Status.WARN, f"a day ago: {found}", "a burst of today", action)
    status = Status(last["status"])
    return Finding("flicker", status, found, last["wanted"], last["action"])
