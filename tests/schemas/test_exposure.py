"""Exposure arithmetic against known values and the published columns."""

import csv
import math
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.exposure import (
    F_NUMBERS,
    ISO_SPEEDS,
    SHUTTER_SPEEDS,
    Exposure,
    ev,
    ev_index,
    parse_f_number,
    parse_shutter_s,
    spell_f_number,
    spell_shutter,
    stops_between,
    true_f_number,
    true_shutter_s,
)

EVERY_SPEED = sorted({name for speeds in SHUTTER_SPEEDS.values() for name in speeds})


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1/4000", 1 / 4000),
        ("0.5", 0.5),
        ("30", 30),
        ("10.3", 10.3),
        ('0"4', 0.4),
        ('30"', 30),
        ("1/250s", 0.004),
        (" 2 s ", 2),
    ],
)
def test_shutter_spellings_are_understood(text, seconds):
    assert parse_shutter_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["bulb", "auto", "", "1/0", "-1", "0", "1/x", "inf", "nan"])
def test_what_is_no_shutter_speed_is_refused(text):
    with pytest.raises(ValueError, match="not a shutter speed"):
        parse_shutter_s(text)


@pytest.mark.parametrize("text", ["5.6", "f5.6", "f/5.6", "F5.6"])
def test_f_number_spellings_are_understood(text):
    assert parse_f_number(text) == 5.6


@pytest.mark.parametrize("text", ["auto", "", "-8", "0", "inf", "nan"])
def test_what_is_no_f_number_is_refused(text):
    with pytest.raises(ValueError, match="not an F-number"):
        parse_f_number(text)


@pytest.mark.parametrize("name", EVERY_SPEED)
def test_every_canon_speed_is_spelled_back(name):
    assert spell_shutter(parse_shutter_s(name)) == name


def test_exif_values_snap_to_the_offered_list():
    offered = ("auto", "bulb", *SHUTTER_SPEEDS["1/3"])
    assert spell_shutter(10 / 1, offered) == "10.3"  # Canon writes 10 s into Exif
    assert spell_shutter(0.0166667, offered) == "1/60"
    assert spell_f_number(5.66, ("5", "5.6", "6.3")) == "5.6"


def test_a_speed_that_is_not_offered_is_an_error():
    with pytest.raises(ValueError, match="no shutter speed near"):
        spell_shutter(0.004, ("1/60", "1/30"))


@pytest.mark.parametrize(
    ("marked", "true"),
    [("30", 32), ("15", 16), ("1", 1), ("1/15", 1 / 16), ("1/60", 1 / 64), ("1/1000", 1 / 1024)],
)
def test_full_stops_expose_powers_of_two(marked, true):
    assert true_shutter_s(parse_shutter_s(marked)) == pytest.approx(true, rel=1e-12)


@pytest.mark.parametrize(("marked", "true"), [(5.6, 2**2.5), (8, 8), (11, 2**3.5), (22, 2**4.5)])
def test_full_stop_apertures_are_powers_of_root_two(marked, true):
    assert true_f_number(marked) == pytest.approx(true, rel=1e-12)


@pytest.mark.parametrize("step", ["1", "1/2", "1/3"])
def test_marks_stay_within_a_fifth_of_a_stop_of_the_truth(step):
    for name in SHUTTER_SPEEDS[step]:
        marked = parse_shutter_s(name)
        assert abs(stops_between(marked, true_shutter_s(marked))) < 0.2
    for f_number in F_NUMBERS[step]:
        assert abs(stops_between(f_number**2, true_f_number(f_number) ** 2)) < 0.2


def test_true_third_stops_are_evenly_spaced():
    true = [true_shutter_s(parse_shutter_s(name)) for name in SHUTTER_SPEEDS["1/3"]]
    for longer, shorter in pairwise(true):
        assert stops_between(longer, shorter) == pytest.approx(1 / 3)


def test_ev_of_known_exposures():
    assert ev(1, 100, 1) == 0
    assert ev(1 / 125, 100, 16) == pytest.approx(14.97, abs=0.01)  # sunny 16
    assert ev(1, 6400, 1) == pytest.approx(-6)


@given(st.floats(-30, 30))
def test_index_is_the_nearest_integer_ties_half_up(value):
    index = ev_index(value)
    assert abs(index - value) <= 0.5
    if value - math.floor(value) == 0.5:
        assert index == math.ceil(value)


@given(
    st.sampled_from([parse_shutter_s(name) for name in SHUTTER_SPEEDS["1"]]),
    st.sampled_from(ISO_SPEEDS),
    st.sampled_from(F_NUMBERS["1"]),
)
def test_on_the_one_stop_grid_rounding_is_never_a_close_call(shutter_s, iso, f_number):
    exposure = Exposure(shutter_s, iso, f_number)
    assert abs(exposure.ev - exposure.ev_index) < 0.18


@given(st.sampled_from(EVERY_SPEED), st.sampled_from(ISO_SPEEDS), st.sampled_from(F_NUMBERS["1/3"]))
def test_stems_have_neither_dots_nor_slashes(name, iso, f_number):
    stem = Exposure(parse_shutter_s(name), iso, f_number).stem
    assert not set("./") & set(stem)


def test_stem_as_documented():
    assert Exposure(1 / 250, 400, 5.6).stem == "1-250_400_f5-6"
    assert Exposure(0.5, 100, 22).stem == "0-5_100_f22"


def test_published_columns_are_reproduced(snaprig_data: Path):
    """All 37,357 manual rows of the SNAP release: EV, EV offset, and the folder of the path."""
    reference = {"1000": 11, "10": 5}
    rows = 0
    with (snaprig_data / "snap/annotations/data.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["EV_offset"] == "auto":
                continue
            exposure = Exposure(
                parse_shutter_s(row["Shutter_speed"]),
                int(float(row["ISO"])),
                parse_f_number(row["F-Number"]),
            )
            offset = exposure.ev_offset(reference[row["Lux"]])
            assert exposure.ev_index == int(float(row["EV_idx"])), row
            assert offset == int(float(row["EV_offset"])), row
            assert row["Path"].split("/")[2] == str(offset), row
            rows += 1
    assert rows == 37_357
