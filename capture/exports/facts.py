"""What an export holds, counted row by row on its way out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from schemas.capture_store import list_runs
from schemas.catalog import Catalog
from schemas.export_store import ExportRow
from schemas.import_store import list_instances
from schemas.records import Instance


@dataclass(frozen=True)
class About:
    """What the lab says of its dataset; `license` is a placeholder until it does.

    Attributes
    ----------
    license : str
        SPDX identifier, e.g. CC-BY-4.0; empty: to be filled in.
    """

    name: str
    license: str = ""
    creator: str = ""
    url: str = ""
    version: str = "1.0.0"


@dataclass
class Facts:
    """Numbers of an export, for its datasheet and report.

    Attributes
    ----------
    sweeps : dict
        (scene, lighting) to whether any frame of it comes from virtual devices.
    left_out : Counter
        Accepted frames that could not be exported, by reason.
    notes : list of str
        What a user of the dataset should know.
    """

    about: About
    instances: dict[str, list[Instance]]
    devices: dict[int, dict[str, Any]]
    frames: int = 0
    simulated: int = 0
    size_bytes: int = 0
    scenes: dict[str, tuple[str, int]] = field(default_factory=dict)
    lightings: dict[str, tuple[float, int]] = field(default_factory=dict)
    by_scene: Counter[str] = field(default_factory=Counter)
    by_lighting: Counter[str] = field(default_factory=Counter)
    by_offset: Counter[int] = field(default_factory=Counter)
    shutters_s: set[float] = field(default_factory=set)
    isos: set[int] = field(default_factory=set)
    f_numbers: set[float] = field(default_factory=set)
    runs: set[int] = field(default_factory=set)
    sweeps: dict[tuple[str, str], bool] = field(default_factory=dict)
    first: datetime | None = None
    last: datetime | None = None
    left_out: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, catalog: Catalog, about: About) -> Facts:
        """Nothing counted yet."""
        devices = {run.id: {**run.devices, "versions": run.versions} for run in list_runs(catalog)}
        return cls(about, list_instances(catalog), devices)

    def add(self, row: ExportRow) -> None:
        """Count a frame that goes out."""
        self.frames += 1
        self.simulated += row.simulated
        self.size_bytes += row.size_bytes
        self.scenes[row.scene] = (row.category, row.objects)
        self.lightings[row.lighting] = (row.nominal_lux, row.ev_reference)
        self.by_scene[row.scene] += 1
        self.by_lighting[row.lighting] += 1
        self.by_offset[row.ev_offset] += 1
        self.runs.add(row.run_id)
        sweep = (row.scene, row.lighting)
        self.sweeps[sweep] = self.sweeps.get(sweep, False) or row.simulated
        if row.kind == "manual":
            self.shutters_s.add(row.shutter_s)
            self.isos.add(row.iso)
            self.f_numbers.add(row.f_number)
        if row.captured_at is not None:
            self.first = min(self.first or row.captured_at, row.captured_at)
            self.last = max(self.last or row.captured_at, row.captured_at)

    @property
    def categories(self) -> Counter[str]:
        """Frames by category."""
        found: Counter[str] = Counter()
        for scene, number in self.by_scene.items():
            found[self.scenes[scene][0]] += number
        return found

    @property
    def annotated(self) -> list[str]:
        """Scenes whose objects are marked."""
        return [scene for scene in self.scenes if self.instances.get(scene)]

    def described_devices(self, part: str) -> list[str]:
        """Cameras or meters that took the frames: model, firmware and lens, no serial number."""
        found = {
            ", ".join(str(said[name]) for name in ("model", "lens", "firmware") if said.get(name))
            for run in self.runs
            if (said := self.devices.get(run, {}).get(part))
        }
        return sorted(found)

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists and numbers."""
        return {
            "frames": self.frames,
            "scenes": len(self.scenes),
            "scenes_annotated": len(self.annotated),
            "lightings": dict(self.by_lighting),
            "categories": dict(self.categories),
            "simulated_frames": self.simulated,
            "left_out": dict(self.left_out),
            "notes": self.notes,
        }
