"""Sweep plans are values: iterable, digestible, round-tripping."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from schemas.exposure import F_NUMBERS, ISO_SPEEDS, SHUTTER_SPEEDS, parse_shutter_s
from schemas.plan import Lighting, SweepPlan

plans = st.builds(
    SweepPlan,
    shutter=st.lists(st.sampled_from(SHUTTER_SPEEDS["1/3"]), min_size=1, unique=True).map(tuple),
    iso=st.lists(st.sampled_from(ISO_SPEEDS), min_size=1, unique=True).map(tuple),
    f_number=st.lists(st.sampled_from(F_NUMBERS["1/3"]), min_size=1, unique=True).map(tuple),
    acceptance=st.sampled_from(["pixels95", "mean"]),
    order=st.sampled_from(["fewest_changes", "random"]),
    seed=st.integers(0, 99),
)


def test_the_default_plan_is_the_published_grid():
    plan = SweepPlan()
    estimate = plan.estimate(overhead_s=1)
    assert (len(plan), estimate.shots) == (630, 630)
    assert round(estimate.open_shutter_s, 2) == 2135.26
    # 40 to 60 minutes a sweep in the paper
    assert 40 < plan.estimate(overhead_s=0.43).duration_s / 60 < 60
    assert 40 < plan.estimate(overhead_s=2.3).duration_s / 60 < 60


@pytest.mark.parametrize(("step", "shots"), [("1", 630), ("1/2", 35 * 7 * 9), ("1/3", 52 * 7 * 13)])
def test_finer_steps_fill_the_grid(step, shots):
    assert len(SweepPlan(step=step)) == shots


def test_listed_settings_win_over_the_step():
    plan = SweepPlan.from_toml('step = "1/3"\niso = [100]\nf_number = [8]\n')
    assert len(plan) == 52


@given(plans)
def test_toml_round_trip_keeps_the_value_and_its_digest(plan):
    again = SweepPlan.from_toml(plan.to_toml())
    assert again == plan
    assert again.digest == plan.digest
    assert list(again) == list(plan)


@given(plans)
def test_every_triplet_once(plan):
    exposures = [shot.exposure for shot in plan]
    assert len(set(exposures)) == len(exposures) == len(plan)
    assert [shot.index for shot in plan] == list(range(len(plan)))
    assert {e.shutter_s for e in exposures} == {parse_shutter_s(name) for name in plan.shutter}


@given(plans)
def test_default_order_changes_one_setting_a_shot(plan):
    plan = plan.model_copy(update={"order": "fewest_changes"})
    for before, after in pairwise(shot.exposure for shot in plan):
        changes = [
            name
            for name in ("shutter_s", "iso", "f_number")
            if getattr(before, name) != getattr(after, name)
        ]
        assert len(changes) == 1


def test_random_order_is_a_seeded_shuffle():
    first, again, other = (SweepPlan(order="random", seed=seed) for seed in (1, 1, 2))
    assert list(first) == list(again)
    assert [s.exposure for s in first] != [s.exposure for s in other]
    assert {s.exposure for s in first} == {s.exposure for s in SweepPlan()}


def test_equal_plans_differently_spelled_have_one_digest():
    spelled = SweepPlan.from_toml('shutter = ["0.004", "0.5s"]\nf_number = ["f/5.6"]')
    assert spelled == SweepPlan(shutter=("1/250", "0.5"), f_number=(5.6,))


def test_plans_are_frozen():
    with pytest.raises(ValidationError):
        SweepPlan().iso = (100,)


def test_subset_of_the_grid():
    small = SweepPlan().subset(iso=(100,), f_number=(8,))
    assert len(small) == 18
    with pytest.raises(ValueError, match="iso 125 is not in the plan"):
        SweepPlan().subset(iso=(125,))


@pytest.mark.parametrize(
    ("toml", "complaint"),
    [
        ("shutters = []", "shutters: unknown key"),
        ("iso = []", "iso is empty"),
        ("iso = [100, 100]", "iso lists 100 more than once"),
        ('shutter = ["bulb"]', "not a shutter speed: 'bulb'"),
        ('acceptance = "pixel95"', "unknown acceptance rule 'pixel95'; known: mean, pixels95"),
        ("iso = [-1]", "iso.0"),
        ("iso = [", "not valid TOML"),
    ],
)
def test_mistakes_in_a_plan_are_named(toml, complaint):
    with pytest.raises(ValueError, match=complaint.replace("[", r"\[")):
        SweepPlan.from_toml(toml)


def test_a_plan_file_error_names_the_file(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text("x = 1")
    with pytest.raises(ValueError, match=r"plan\.toml: x: unknown key"):
        SweepPlan.from_file(path)


def test_lighting_band():
    low, high = Lighting(name="dim", lux=10, ev_reference=5).band_lux
    assert (low, high) == pytest.approx((9, 11))
    with pytest.raises(ValidationError):
        Lighting(name="../dim", lux=10, ev_reference=5)
