"""Small workspaces with real JPEG files, made without devices: for exports, merges, backups."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from click.testing import CliRunner, Result

from rig.cli import snaprig
from schemas.annotation_store import set_instances
from schemas.answer_store import add_responses, ensure_stimuli, pending_stimuli, put_observer
from schemas.capture_store import (
    StoredReading,
    add_event,
    add_readings,
    add_scene,
    end_run,
    list_runs,
    put_lighting,
    start_run,
)
from schemas.catalog import Catalog
from schemas.exposure import Exposure
from schemas.frame_store import add_frame
from schemas.jpeg import read_exif
from schemas.plan import Lighting, SweepPlan
from schemas.records import (
    ExifSettings,
    Frame,
    Instance,
    Light,
    Observer,
    Outcome,
    Response,
    RunStatus,
    Scene,
)
from schemas.stamp import stamp_frame
from schemas.workspace import Workspace, write_atomically
from tests.devices import render

BRIGHT = Lighting(name="bright", lux=1000, ev_reference=11)
DIM = Lighting(name="dim", lux=10, ev_reference=5)
ODD = Lighting(name="desk", lux=320, ev_reference=9)

PLAN = SweepPlan(shutter=("1/60", "0.5"), iso=(100, 400), f_number=(5.6, 22))
CUPS = Scene("cups-3", "cup", 3)
BOTTLES = Scene("7_water_bottle", "water_bottle", 2)
SIZE_PX = (60, 40)

#: Four objects would be wrong for CUPS: these are its three, the last without a mask.
BOXES = ((2, 3, 10, 8), (20, 5, 12, 20), (40, 10, 15, 25))


@dataclass
class Made:
    """A workspace and its open catalog."""

    root: Path
    workspace: Workspace = field(init=False)
    catalog: Catalog = field(init=False)

    def __post_init__(self) -> None:
        self.workspace = Workspace(self.root)
        for folder in ("frames", "reports", "sessions"):
            (self.root / folder).mkdir(parents=True)
        self.workspace.rig_toml.write_text("# rig\n")
        self.workspace.catalog_path.write_bytes(_empty_catalog())
        self.catalog = self.workspace.catalog()

    def sweep(
        self,
        scene: Scene = CUPS,
        light: Lighting = BRIGHT,
        plan: SweepPlan = PLAN,
        *,
        simulated: bool = False,
        auto: bool = False,
        seed: int = 0,
        outcomes: Iterable[Outcome] = (),
    ) -> list[Frame]:
        """Shoot a plan: pictures differ by scene and seed; `outcomes` of the first shots."""
        add_scene(self.catalog, scene)
        put_lighting(self.catalog, light)
        run_id = start_run(
            self.catalog,
            scene=scene.name,
            lighting=light.name,
            plan=None if auto else plan,
            simulated=simulated,
            devices={"camera": {"model": "Canon EOS 2000D", "serial": "SECRET-42"}},
            versions={"snaprig": "0.1.0"},
        )
        shots = [shot.exposure for shot in plan]
        given = list(outcomes) + [Outcome.ACCEPTED] * len(shots)
        made = [
            self._frame(run_id, scene, light, one, outcome, auto=auto, seed=seed)
            for one, outcome in zip(shots[:1] if auto else shots, given, strict=False)
        ]
        at = datetime(2026, 3, 1, 12, 0, seed, tzinfo=UTC)
        add_readings(self.catalog, run_id, [StoredReading(at, light.lux, 1000 + seed)])
        add_event(self.catalog, run_id, "retry", "1-60_100_f5-6", "made")
        end_run(self.catalog, run_id, RunStatus.DONE, "")
        return made

    def mark(self, scene: Scene = CUPS) -> None:
        """Mark the objects of a scene with rectangles, masks included."""
        found = []
        for left, top, width, height in BOXES[: scene.count]:
            counts = [left * SIZE_PX[1] + top]
            for column in range(width):
                counts += [height, SIZE_PX[1] - height]
                if column == width - 1:
                    counts[-1] = SIZE_PX[0] * SIZE_PX[1] - sum(counts[:-1])
            found.append(
                Instance(
                    scene.category,
                    (float(left), float(top), float(width), float(height)),
                    float(width * height),
                    SIZE_PX,
                    rle={"size": [SIZE_PX[1], SIZE_PX[0]], "counts": counts},
                )
            )
        set_instances(self.catalog, scene.name, found)

    def answer(self, name: str = "net", kind: str = "model", text: str = "cup") -> int:
        """Have an observer answer all it was not asked yet; how many."""
        ensure_stimuli(self.catalog, "q1")
        observer = put_observer(self.catalog, Observer(name, "model", {"weights": name}))
        if kind == "person":
            with self.catalog.write() as connection:
                connection.exec_driver_sql(
                    "UPDATE observers SET kind = 'person' WHERE id = ?", (observer,)
                )
        waiting = pending_stimuli(self.catalog, observer, "q1")
        add_responses(
            self.catalog,
            [Response(one.stimulus_id, observer, text, frame_sha256=one.sha256) for one in waiting],
        )
        return len(waiting)

    def run(self, *arguments: object) -> Result:
        """`snaprig -w` this workspace, in this process; errors of ours are in the result."""
        return CliRunner().invoke(snaprig, ["-w", str(self.root), *map(str, arguments)])

    def json(self, *arguments: object) -> dict:
        """What a command prints with --json; it must succeed."""
        result = self.run(*arguments, "--json")
        assert result.exit_code == 0, (result.output, result.exception)
        return json.loads(result.stdout)

    def rows(self, query: str) -> list[tuple]:
        """Rows of a query, for comparisons."""
        with self.catalog.read() as connection:
            return [tuple(row) for row in connection.exec_driver_sql(query)]

    def _frame(
        self,
        run_id: int,
        scene: Scene,
        light: Lighting,
        exposure: Exposure,
        outcome: Outcome,
        *,
        auto: bool,
        seed: int,
    ) -> Frame:
        kept = outcome is Outcome.ACCEPTED
        taken_at = datetime(2026, 3, 1, 12, 0, seed, len(scene.name) * 10_000, UTC)
        data = render(exposure, light.lux, taken_at, SIZE_PX)
        exif = read_exif(data)
        path = self.workspace.frame_path(scene.name, light.name, exposure, light.ev_reference)
        if auto:
            path = self.workspace.auto_frame_path(scene.name, light.name)
        frame = Frame(
            scene=scene.name,
            lighting=light.name,
            run_id=run_id,
            kind="auto" if auto else "manual",
            requested=None if auto else exposure,
            outcome=outcome,
            reason="" if kept else "made so",
            attempt=1,
            exif=ExifSettings(exif.shutter_s, exif.iso, exif.f_number),
            ev=exposure.ev,
            ev_index=exposure.ev_index,
            ev_offset=exposure.ev_offset(light.ev_reference),
            histogram=bytes(1024) if outcome is not Outcome.FAILED else None,
            light=Light(light.lux, light.lux, light.lux, 1),
            width_px=SIZE_PX[0],
            height_px=SIZE_PX[1],
            captured_at=taken_at,
            camera_sha256="" if outcome is Outcome.FAILED else hashlib.sha256(data).hexdigest(),
        )
        if kept:
            run = next(run for run in list_runs(self.catalog) if run.id == run_id)
            frame, data = stamp_frame(frame, data, scene, run)
            frame = replace(frame, path=self.workspace.relative(path))
            write_atomically(path, data)
        return replace(frame, id=add_frame(self.catalog, frame))


@cache
def _empty_catalog() -> bytes:
    """Migrations run once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "catalog.sqlite"
        Catalog.create(path).close()
        return path.read_bytes()


# ruff: noqa: S608 - the statements are of this module
def content(made: Made) -> dict[str, list[tuple]]:
    """Everything of a catalog by names, without row numbers: what a merge must keep."""
    place = "JOIN scenes s ON s.id = {0}.scene_id JOIN lightings l ON l.id = {0}.lighting_id"
    run_place = "JOIN runs r ON r.id = x.run_id " + place.format("r")
    queries = {
        "scenes": "SELECT name, category, count FROM scenes",
        "lightings": "SELECT name, lux, ev_reference FROM lightings",
        "runs": "SELECT s.name, l.name, x.kind, x.started_at, x.status, x.plan FROM runs x "
        + place.format("x"),
        "frames": "SELECT s.name, l.name, x.kind, x.setting, x.outcome, x.sha256, x.path, "
        "x.camera_sha256, x.lux, x.captured_at, h.luma, r.started_at FROM frames x "
        "LEFT JOIN histograms h ON h.frame_id = x.id JOIN runs r ON r.id = x.run_id "
        + place.format("x"),
        "readings": f"SELECT s.name, l.name, x.at, x.lux FROM light_readings x {run_place}",
        "events": f"SELECT s.name, l.name, x.at, x.kind, x.detail FROM events x {run_place}",
        "instances": "SELECT s.name, x.number, x.category, x.area_px, x.rle FROM instances x "
        "JOIN scenes s ON s.id = x.scene_id",
        "answers": "SELECT s.name, l.name, f.setting, t.task, o.name, x.text, x.answered_at "
        "FROM responses x JOIN stimuli t ON t.id = x.stimulus_id "
        "JOIN frames f ON f.id = t.frame_id JOIN observers o ON o.id = x.observer_id "
        + place.format("f"),
        "imports": "SELECT kind, source, sha256 FROM imports",
    }
    return {name: sorted(made.rows(query), key=repr) for name, query in queries.items()}
