"""Devices, versions and specifications as short lists of facts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from schemas.capture_store import Run


@dataclass(frozen=True)
class Setup:
    """Runs that had the same devices and software."""

    runs: tuple[int, ...]
    simulated: bool
    facts: tuple[tuple[str, str], ...]


def group_setups(runs: Sequence[Run]) -> list[Setup]:
    """One entry for each distinct set of devices and software, in order of first use."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        key = json.dumps([run.simulated, run.devices, run.versions], sort_keys=True)
        groups.setdefault(key, []).append(run)
    return [
        Setup(
            tuple(run.id for run in group),
            group[0].simulated,
            (*flatten(group[0].devices), *flatten(group[0].versions)),
        )
        for group in groups.values()
    ]


def flatten(facts: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Nested facts as lines: ``{"camera": {"serial": "7"}}`` is ``camera serial: 7``."""
    for key, value in facts.items():
        name = f"{above} {key}".strip().replace("_", " ")
        if isinstance(value, Mapping):
            yield from flatten(value, name)
        elif isinstance(value, (list, tuple)):
            yield name, ", ".join(str(item) for item in value)
        else:
            yield name, str(value)
