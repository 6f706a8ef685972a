"""The burn-in as numbers and as one HTML page without any other file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from experiment.burn_in import BurnIn, verdict
from experiment.preflight import Check
from experiment.results import spread
from experiment.timing import Mode

BINS = 40
WIDTH_PX, HEIGHT_PX = 620, 150

_STYLE = """
body { font: 16px/1.5 sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem;
color: #222 }
.verdict { font-size: 1.15rem; border-left: .4rem solid #555; padding: .2rem 0 .2rem 1rem }
table { border-collapse: collapse } td, th { padding: .2rem .9rem .2rem 0; text-align: left;
vertical-align: top } svg { max-width: 100%; height: auto }
.fail { color: #b00 } .note { color: #850 }
"""


def timing_document(found: BurnIn, checks: Sequence[Check]) -> dict[str, Any]:
    """As a JSON document; milliseconds."""
    schedule, refresh = found.schedule, found.refresh
    return {
        "verdict": verdict(found),
        "mode": schedule.mode.value,
        "trials": len(found.evidence),
        "refresh_hz": {
            "declared": refresh.declared_hz,
            "measured": round(refresh.measured_hz, 3),
            "sd_ms": round(refresh.sd_s * 1e3, 4),
            "fault": refresh.fault,
        },
        "wanted": {
            name: {
                "ms": wish * 1e3,
                "refreshes": round(wish * schedule.refresh_hz, 2),
                "frames": schedule.frames(wish),
                "achievable_ms": round(schedule.achievable_s(wish) * 1e3, 3),
            }
            for name, wish in (("image", schedule.image_s), ("mask", schedule.mask_s))
        },
        "image_ms": spread(_images(found)),
        "mask_ms": spread(_masks(found)),
        "flip_interval_ms": spread(_intervals(found)),
        "dropped_frames": sum(one.dropped for one in found.evidence),
        "status": {
            name: sum(one.verdict == name for one in found.evidence)
            for name in ("proven", "failed", "unproven")
        },
        "key_stamping_ms": spread([error * 1e3 for error in found.stamp_errors_s]),
        "keys_sent": found.keys_sent,
        "keys_lost": found.keys_lost,
        "checks": [{"name": c.name, "level": c.level.value, "text": c.text} for c in checks],
    }


def timing_page(found: BurnIn, checks: Sequence[Check], title: str) -> str:
    """As one HTML page."""
    document = timing_document(found, checks)
    schedule = found.schedule
    wanted = {"image": schedule.image_s * 1e3, "mask": schedule.mask_s * 1e3}
    parts = [
        f"<h1>{escape(title)}</h1><p class=verdict>{escape(document['verdict'])}</p>",
        _section("Image on screen", _images(found), "ms", wanted["image"]),
        _section("Mask on screen", _masks(found), "ms", wanted["mask"]),
    ]
    period_ms = 1e3 / schedule.refresh_hz
    parts.append(_section("Between flips", _intervals(found), "ms", period_ms))
    errors_ms = [error * 1e3 for error in found.stamp_errors_s]
    parts.append(_section("Keys: stamped after they were sent", errors_ms, "ms"))
    parts.append(_keys_note(found))
    rows = "".join(
        f"<tr class={check.level}><th>{escape(check.name)}<td>{escape(check.text)}"
        for check in checks
    )
    parts.append(f"<h2>The screen</h2><table>{rows}</table>")
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(title)}</title>"
        f"<style>{_STYLE}</style>{''.join(parts)}</html>"
    )


def _images(found: BurnIn) -> list[float]:
    return [one.image_s * 1e3 for one in found.evidence if one.image_s is not None]


def _masks(found: BurnIn) -> list[float]:
    return [one.mask_s * 1e3 for one in found.evidence if one.mask_s is not None]


def _intervals(found: BurnIn) -> list[float]:
    if found.schedule.mode is Mode.CLOCK:  # one flip a view: these are the durations again
        return []
    return [interval * 1e3 for one in found.evidence for interval in one.intervals_s]


def _keys_note(found: BurnIn) -> str:
    if not found.keys_sent:
        return "<p>Keys were not measured.</p>"
    lost = f"{found.keys_lost} of {found.keys_sent} keys were lost. " if found.keys_lost else ""
    return (
        f"<p>{lost}The keys come from another process through the window system: this is the "
        "error of the computer. A keyboard adds its own, typically 5 to 20 ms.</p>"
    )


def _section(title: str, values: list[float], unit: str, wanted: float | None = None) -> str:
    """A heading, the numbers and a histogram."""
    numbers = spread(values)
    if numbers is None:
        return ""
    text = (
        f"mean {numbers['mean']:.2f} {unit}, SD {numbers['sd']:.2f}, "
        f"{numbers['min']:.2f} to {numbers['max']:.2f}, n = {numbers['n']}"
    )
    if wanted is not None:
        text += f"; wanted {wanted:.2f} (dashed)"
    return f"<h2>{escape(title)}</h2><p>{escape(text)}</p>{histogram(values, wanted)}"


def histogram(values: Sequence[float], mark: float | None = None) -> str:
    """An SVG histogram, with a dashed line at `mark`."""
    shown = [*values, *([] if mark is None else [mark])]
    low, high = min(shown), max(shown)
    margin = max((high - low) * 0.05, 0.5)
    low, high = low - margin, high + margin
    step = (high - low) / BINS
    counts = [0] * BINS
    for value in values:
        counts[min(BINS - 1, int((value - low) / step))] += 1
    bar_px = WIDTH_PX / BINS
    bars = "".join(
        f'<rect x="{n * bar_px:.1f}" y="{HEIGHT_PX - h:.1f}" width="{bar_px - 1:.1f}" '
        f'height="{h:.1f}" fill="#47a"><title>{low + n * step:.2f} to {low + (n + 1) * step:.2f}: '
        f"{count}</title></rect>"
        for n, count in enumerate(counts)
        if (h := count / max(counts) * (HEIGHT_PX - 10))
    )
    line = ""
    if mark is not None:
        x = (mark - low) / (high - low) * WIDTH_PX
        line = (
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{HEIGHT_PX}" stroke="#b00" '
            'stroke-dasharray="5 4"/>'
        )
    ticks = "".join(
        f'<text x="{share * WIDTH_PX:.0f}" y="{HEIGHT_PX + 18}" font-size="13" '
        f'text-anchor="{anchor}">{low + share * (high - low):.2f}</text>'
        for share, anchor in ((0, "start"), (0.5, "middle"), (1, "end"))
    )
    return (
        f'<svg viewBox="0 0 {WIDTH_PX} {HEIGHT_PX + 24}" width="{WIDTH_PX}" role="img">'
        f"{bars}{line}"
        f'<line x1="0" x2="{WIDTH_PX}" y1="{HEIGHT_PX}" y2="{HEIGHT_PX}" stroke="#222"/>'
        f"{ticks}</svg>"
    )
