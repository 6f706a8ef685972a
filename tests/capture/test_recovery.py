"""The ladders, arrow by arrow."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.recovery import (
    CAMERA_LADDER,
    COUNTED,
    PICTURE_LADDER,
    Climb,
    Rung,
    deadline_s,
)
from rig.errors import Reconnect, Retry

LADDERS = [CAMERA_LADDER, PICTURE_LADDER]
BUSY, DEAD = Retry("busy"), Reconnect("pulled")


def climbed(ladder, errors, *, power=False):
    """The rungs that a sequence of failures leads to."""
    climb, rungs = Climb(ladder), []
    for error in errors:
        climb = climb.next(error, can_power_cycle=power)
        rungs.append(climb.step.rung)
    return rungs


def in_order(rungs):
    return [rung for rung, _ in itertools.groupby(rungs)]


def test_a_busy_camera_climbs_every_rung_in_the_order_of_their_force():
    rungs = climbed(CAMERA_LADDER, [BUSY] * len(CAMERA_LADDER), power=True)
    assert in_order(rungs) == [
        Rung.RETRY,
        Rung.REBUILD,
        Rung.RECONNECT,
        Rung.POWER_CYCLE,
        Rung.RECONNECT,
        Rung.ASK,
    ]


def test_without_a_command_the_operator_stands_where_the_power_cycle_would():
    rungs = climbed(CAMERA_LADDER, [BUSY] * len(CAMERA_LADDER))
    assert in_order(rungs) == [Rung.RETRY, Rung.REBUILD, Rung.RECONNECT, Rung.ASK]


@pytest.mark.parametrize("power", [True, False])
def test_a_dead_session_starts_at_reconnecting(power):
    rungs = climbed(CAMERA_LADDER, [DEAD] * 4, power=power)
    assert rungs == [Rung.RECONNECT] * 3 + [Rung.POWER_CYCLE if power else Rung.ASK]


def test_a_session_that_dies_halfway_up_goes_on_from_there():
    assert climbed(CAMERA_LADDER, [BUSY, BUSY, DEAD, BUSY, DEAD]) == [
        Rung.RETRY,
        Rung.RETRY,
        Rung.RECONNECT,
        Rung.RECONNECT,
        Rung.RECONNECT,
    ]


def test_refused_pictures_climb_to_a_new_session_and_beyond():
    rungs = climbed(PICTURE_LADDER, [None] * len(PICTURE_LADDER), power=True)
    assert [rung for rung in rungs if rung is not Rung.RETRY] == [
        Rung.REBUILD,
        Rung.RECONNECT,
        Rung.POWER_CYCLE,
        Rung.ASK,
    ]


@pytest.mark.parametrize("ladder", LADDERS)
def test_success_leads_back_to_the_ground_from_every_rung(ladder):
    for at in range(len(ladder) + 1):
        climb = Climb(ladder, at, failures=at).success()
        assert (climb.at, climb.failures, climb.step) == (0, 0, None)


@pytest.mark.parametrize("ladder", LADDERS)
def test_the_last_rung_is_the_operator_and_no_other(ladder):
    assert [step.rung is Rung.ASK for step in ladder] == [False] * (len(ladder) - 1) + [True]


@given(
    st.sampled_from(LADDERS),
    st.lists(st.sampled_from([BUSY, DEAD]), min_size=1, max_size=30),
    st.booleans(),
)
def test_every_failure_climbs_and_the_climb_ends(ladder, errors, power):
    climb, places = Climb(ladder), []
    for number, error in enumerate(errors, 1):
        climb = climb.next(error, can_power_cycle=power)
        assert climb.failures == number
        assert power or climb.step.rung is not Rung.POWER_CYCLE
        if isinstance(error, Reconnect):
            assert climb.step.rung not in (Rung.RETRY, Rung.REBUILD)
        places.append(climb.at)
    top = len(ladder)
    assert all(a < b or a == b == top for a, b in itertools.pairwise(places))
    assert len(errors) < top or places[-1] == top


@pytest.mark.parametrize("ladder", LADDERS)
def test_all_waits_of_a_climb_are_bounded(ladder):
    assert sum(step.wait_s for step in ladder) < 60


@pytest.mark.parametrize(("shutter_s", "wanted_s"), [(1 / 4000, 15.0005), (30.0, 75.0)])
def test_deadlines_come_from_the_exposure(shutter_s, wanted_s):
    assert deadline_s(shutter_s, 15.0) == wanted_s


def test_every_rung_is_counted():
    assert set(Rung) <= COUNTED
