"""Exif against request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.verification import mismatches, snap
from rig.protocols import OfferedSettings
from schemas.exposure import (
    F_NUMBERS,
    ISO_SPEEDS,
    SHUTTER_SPEEDS,
    Exposure,
    parse_shutter_s,
    true_f_number,
    true_shutter_s,
)
from schemas.jpeg import Exif

OFFERED = OfferedSettings(
    shutter=("bulb", *SHUTTER_SPEEDS["1/3"]),
    iso=("Auto", *map(str, ISO_SPEEDS)),
    f_number=("3.5", "4", "4.5", "5", *(f"{n:g}" for n in F_NUMBERS["1/3"])),
)
SPEEDS = [parse_shutter_s(name) for name in SHUTTER_SPEEDS["1/3"]]
settings = st.builds(
    Exposure,
    st.sampled_from(SPEEDS),
    st.sampled_from(ISO_SPEEDS),
    st.sampled_from(F_NUMBERS["1/3"]),
)


def exif(shutter_s, iso, f_number):
    return Exif(shutter_s=shutter_s, iso=iso, f_number=f_number)


@given(settings)
def test_every_offered_setting_agrees_with_itself(asked):
    assert not mismatches(asked, exif(asked.shutter_s, asked.iso, asked.f_number), OFFERED)


@given(settings, settings)
def test_no_other_offered_setting_agrees(asked, seen):
    differing = sum(a != b for a, b in zip(vars(asked).values(), vars(seen).values(), strict=True))
    found = mismatches(asked, exif(seen.shutter_s, seen.iso, seen.f_number), OFFERED)
    assert len(found) == differing


@pytest.mark.parametrize(
    ("asked_s", "written_s"),
    [(10.3, 10.0), (0.3, 1 / 3), (1 / 60, 0.0167), (1.3, 13 / 10), (1 / 1.3, 0.8), (6.3, 6.0)],
)
def test_canon_writes_some_speeds_differently(asked_s, written_s):
    assert not mismatches(Exposure(asked_s, 100, 8.0), exif(written_s, 100, 8.0), OFFERED)


def test_true_stops_of_the_full_grid_snap_to_the_marked_ones():
    for name in SHUTTER_SPEEDS["1"]:
        seconds = parse_shutter_s(name)
        assert snap(true_shutter_s(seconds), OFFERED.shutter, parse_shutter_s) == name
    for number in F_NUMBERS["1"]:
        assert snap(true_f_number(number), OFFERED.f_number, float, 2.0) == f"{number:g}"


@pytest.mark.parametrize(
    ("seen", "phrase"),
    [
        (exif(1 / 125, 100, 8.0), "shutter speed 0.008 instead of"),
        (exif(60.0, 100, 8.0), "shutter speed 60"),  # beyond the list: snaps to nothing
        (exif(1 / 60, 200, 8.0), "ISO 200 instead of 100"),
        (exif(1 / 60, 100, 5.6), "F-number 5.6 instead of 8"),
        (exif(None, 100, 8.0), "does not say its shutter speed"),
        (exif(1 / 60, None, 8.0), "does not say its ISO"),
        (exif(1 / 60, 100, None), "does not say its F-number"),
    ],
)
def test_a_difference_is_named(seen, phrase):
    (found,) = mismatches(Exposure(1 / 60, 100, 8.0), seen, OFFERED)
    assert phrase in found


def test_a_request_that_the_body_does_not_offer_never_agrees():
    assert mismatches(Exposure(1 / 60, 100, 64.0), exif(1 / 60, 100, 64.0), OFFERED)
