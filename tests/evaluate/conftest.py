"""A small workspace with frames made by these tests."""

import hashlib
import io
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from schemas.capture_store import add_scene, put_lighting, start_run
from schemas.catalog import Catalog
from schemas.exposure import Exposure
from schemas.frame_store import add_frame
from schemas.plan import Lighting, SweepPlan
from schemas.records import Frame, Outcome, Scene
from schemas.workspace import Workspace

BRIGHT = Lighting(name="bright", lux=1000, ev_reference=11)
DIM = Lighting(name="dim", lux=10, ev_reference=5)
PLAN = SweepPlan(shutter=("1/60", "1/250", "1"), iso=(100, 400), f_number=(5.6, 8.0))


def jpeg(seed: int, size: tuple[int, int] = (96, 64)) -> bytes:
    """A picture of its own for each seed."""
    pixels = np.random.default_rng(seed).integers(0, 255, (size[1], size[0], 3), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=80)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Tiny networks are slower in several threads, and tests run beside each other."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Lab:
    """A workspace and short ways to fill it."""

    def __init__(self, root: Path) -> None:
        self.workspace = Workspace.create(root, "")
        self.catalog = Catalog.open(self.workspace.catalog_path)
        self.lightings = {light.name: light for light in (BRIGHT, DIM)}
        self.runs: dict[tuple[str, str], int] = {}
        for light in self.lightings.values():
            put_lighting(self.catalog, light)

    def run(
        self, scene: str, lighting: str, category: str = "cup", *, simulated: bool = True
    ) -> int:
        """The run of a scene under a lighting, made when first asked for."""
        if (scene, lighting) not in self.runs:
            add_scene(self.catalog, Scene(scene, category, 1))
            self.runs[scene, lighting] = start_run(
                self.catalog,
                scene=scene,
                lighting=lighting,
                plan=PLAN,
                simulated=simulated,
                devices={"camera": {"model": "Canon EOS 2000D", "serial": "S-1"}},
                versions={"snaprig": "0"},
            )
        return self.runs[scene, lighting]

    def frame(
        self,
        scene: str,
        lighting: str,
        exposure: Exposure,
        data: bytes | None,
        *,
        category: str = "cup",
        outcome: Outcome = Outcome.ACCEPTED,
        simulated: bool = True,
    ) -> int:
        """Store a frame, with its file where there are bytes."""
        run_id = self.run(scene, lighting, category, simulated=simulated)
        reference = self.lightings[lighting].ev_reference
        path = self.workspace.frame_path(scene, lighting, exposure, reference)
        if data is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        digest = "" if data is None else hashlib.sha256(data).hexdigest()
        return add_frame(
            self.catalog,
            Frame(
                scene=scene,
                lighting=lighting,
                run_id=run_id,
                kind="manual",
                requested=exposure,
                outcome=outcome,
                attempt=1,
                reason="" if outcome is Outcome.ACCEPTED else "made so",
                ev=exposure.ev,
                ev_index=exposure.ev_index,
                ev_offset=exposure.ev_offset(reference),
                path="" if data is None else self.workspace.relative(path),
                camera_sha256=digest,
                sha256=digest,
            ),
        )

    def fill(self, scene: str, lighting: str, *, category: str = "cup") -> None:
        """All frames of PLAN: the longest rejected as white, the rest accepted."""
        for shot in PLAN:
            exposure = shot.exposure
            white = exposure.shutter_s == 1
            seed = abs(hash((exposure.shutter_s, exposure.iso, exposure.f_number))) % 1000
            self.frame(
                scene,
                lighting,
                exposure,
                None if white else jpeg(seed),
                category=category,
                outcome=Outcome.REJECTED_WHITE if white else Outcome.ACCEPTED,
            )

    def path_of(self, relative: str) -> Path:
        """The file behind a stored path."""
        return self.workspace.resolve(relative)


@pytest.fixture
def make_lab(tmp_path: Path) -> Iterator[Callable[[str], Lab]]:
    """Make empty labs below the test's folder."""
    made: list[Lab] = []

    def make(name: str = "lab") -> Lab:
        made.append(Lab(tmp_path / name))
        return made[-1]

    yield make
    for lab in made:
        lab.catalog.close()


@pytest.fixture
def lab(make_lab: Callable[[str], Lab]) -> Lab:
    """One empty lab."""
    return make_lab("lab")
