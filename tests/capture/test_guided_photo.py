"""The guided against the exhaustive sweep on a real photograph, in a small picture.

All photographs at full size are in `benchmarks/guided_sweep.py`; its result is in
`docs/guided-sweep.md`.
"""

from functools import partial

import pytest

from benchmarks.guided_sweep import Camera, compare, exhaustive, guided
from capture.guided import Guide
from hardware_mocks.scene import load_scene
from schemas.plan import SweepPlan

#: A third of the marked stops each way, over the whole range: 144 triplets.
COARSE = SweepPlan(
    shutter=(
        "30",
        "15",
        "4",
        "1",
        "0.5",
        "1/8",
        "1/15",
        "1/60",
        "1/250",
        "1/500",
        "1/2000",
        "1/4000",
    ),
    iso=(100, 400, 1600, 6400),
    f_number=(5.6, 11, 22),
)


@pytest.mark.parametrize(("lux", "ev_reference"), [(1000, 11), (10, 5)])
def test_no_accepted_triplet_is_skipped(snaprig_data, lux, ev_reference):
    photo = snaprig_data / "snap" / "annotations" / "images_SNAP" / "1_cup_10_auto.jpg"
    camera = Camera(load_scene(photo, size=(240, 160)), lux)
    every = exhaustive(camera, COARSE, None)
    frames, skips = guided(
        Guide(COARSE, ev_reference), partial(camera.judge, rule=COARSE.acceptance, nth=1)
    )
    result = compare(photo.stem, lux, every, frames, skips)
    assert result.wrong == []
    assert result.shot + result.skipped == len(COARSE)
    assert result.skipped > 30
    if lux == 1000:  # this scene has no frame between rule and witness
        assert result.unprovable_s == 0
        assert result.guided_s <= result.limit_s < result.all_s / 10
