"""Each rule for what a picture says of itself, against the pictures before it."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capture.truth import Claim, History, claim, exif_time, judge, name_number
from schemas.jpeg import Exif

NOON = datetime(2026, 3, 1, 12, 0)  # noqa: DTZ001 - a camera knows no zone


def shot(nth, *, at_s=None, **changes):
    """The claim of the `nth` picture of a body that shoots once a second."""
    at_s = float(nth) if at_s is None else at_s
    usual = Claim(
        digest=f"digest {nth}",
        taken_at=NOON + timedelta(seconds=at_s),
        number=1_000_000 + nth,
        flash_fired=False,
        size_px=(1920, 1280),
        commanded_s=500.0 + at_s,
        shutter_s=0.1,
    )
    return replace(usual, **changes)


def after(*claims):
    """History and faults of a sequence of pictures."""
    history, faults = History(), []
    for one in claims:
        history, fault = judge(history, one)
        faults.append(fault.kind if fault else "")
    return history, faults


def kinds(*claims):
    return after(*claims)[1]


# ---- a zoom that was turned


def test_a_turned_zoom_is_told_until_it_is_turned_back():
    first, turned, back = (shot(n, focal_length_mm=mm) for n, mm in enumerate((35.0, 55.0, 35.0)))
    assert kinds(first, turned, back) == ["", "zoomed", ""]


def test_the_zoom_of_an_earlier_run_counts():
    _, fault = judge(History(focal_length_mm=35.0), shot(1, focal_length_mm=55.0))
    assert fault.kind == "zoomed"
    assert "55 mm, and not at 35 mm" in fault.detail


def test_a_ring_between_two_millimeters_and_a_silent_lens_are_no_zoom():
    ring = [shot(n, focal_length_mm=mm) for n, mm in enumerate((35.0, 36.0, 34.0, None, 35.0))]
    assert not any(kinds(*ring))


# ---- a camera that tells the truth


@given(
    st.lists(st.floats(0.0, 40.0), min_size=1, max_size=30),
    st.floats(-1e7, 1e7),
    st.sampled_from([1, 10, 1000]),
)
def test_no_picture_of_an_honest_camera_is_refused(pauses_s, clock_off_s, steps_per_s):
    """Whatever the pauses, the error of its clock, and the fineness of its stamps."""
    now_s, claims = 100.0, []
    for number, pause_s in enumerate(pauses_s, 1):
        now_s += pause_s + 0.05
        wall_s = int((now_s + clock_off_s) * steps_per_s) / steps_per_s
        taken_at = NOON + timedelta(seconds=wall_s)
        claims.append(shot(number, taken_at=taken_at, commanded_s=now_s))
    assert not any(kinds(*claims))


@given(st.lists(st.sampled_from([0.00025, 0.5, 4.0, 30.0]), min_size=1, max_size=30))
def test_a_clock_that_stamps_the_end_of_an_exposure_is_believed(shutters_s):
    now_s, claims = 0.0, []
    for number, shutter_s in enumerate(shutters_s, 1):
        end = NOON + timedelta(seconds=now_s + shutter_s)
        claims.append(shot(number, taken_at=end, commanded_s=now_s, shutter_s=shutter_s))
        now_s += shutter_s + 0.5
    assert not any(kinds(*claims))


def test_a_camera_that_says_neither_time_nor_number_is_believed():
    claims = [shot(n, taken_at=None, number=None) for n in range(1, 6)]
    assert not any(kinds(*claims))


def test_pictures_within_one_second_of_a_coarse_clock_are_believed():
    assert not any(kinds(*(shot(n, taken_at=NOON, commanded_s=n / 10) for n in range(1, 9))))


# ---- pictures that are not what was asked for


def test_the_bytes_of_the_picture_before_are_refused():
    assert kinds(shot(1), shot(2, digest="digest 1")) == ["", "stale_picture"]


def test_the_bytes_of_any_earlier_picture_are_refused_those_of_refused_ones_too():
    flashed = shot(2, flash_fired=True)
    again = shot(4, digest=flashed.digest)
    assert kinds(shot(1), flashed, shot(3), again, shot(5, digest="digest 1")) == [
        "",
        "flash_fired",
        "",
        "stale_picture",
        "stale_picture",
    ]


def test_a_flash_is_refused():
    assert kinds(shot(1, flash_fired=True)) == ["flash_fired"]


def test_another_size_is_refused():
    _, fault = judge(judge(History(), shot(1))[0], shot(2, size_px=(6000, 4000)))
    assert fault.kind == "wrong_size"
    assert "6000 x 4000 pixels instead of 1920 x 1280" in fault.detail


def test_an_older_picture_is_refused_by_its_time():
    assert kinds(shot(5), shot(6, taken_at=NOON)) == ["", "stale_time"]


def test_an_older_picture_is_refused_by_its_count():
    assert kinds(shot(5), shot(6, number=1_000_005), shot(7)) == ["", "stale_count", ""]


def test_a_picture_that_comes_late_is_told_from_its_successor():
    """Shot 6 gave none in time; it arrives as the answer to the next attempt, 30 s later."""
    late = shot(6, commanded_s=536.0)
    assert kinds(*(shot(n) for n in range(1, 6)), late, shot(37)) == [""] * 5 + ["stale_time", ""]


def test_a_clock_that_does_not_keep_pace_is_no_witness_of_lateness():
    slow = [shot(n, taken_at=NOON + timedelta(seconds=n / 3)) for n in range(1, 30, 4)]
    assert not any(kinds(*slow))


# ---- bad witnesses


@pytest.mark.parametrize("jump_s", [-3600.0, -86400.0 * 365])
def test_a_clock_that_was_set_back_costs_two_attempts(jump_s):
    back = [shot(n, taken_at=NOON + timedelta(seconds=n + jump_s)) for n in range(10, 20)]
    history, faults = after(shot(8), shot(9), *back)
    assert faults == ["", "", "stale_time", "stale_time"] + [""] * 8
    assert history.doubted == {"stale_time"}


def test_a_count_that_starts_anew_costs_two_attempts():
    anew = [shot(n, number=n) for n in range(1, 9)]
    history, faults = after(shot(0), *anew)
    assert faults == ["", "stale_count", "stale_count"] + [""] * 6
    assert history.doubted == {"stale_count"}


def test_two_leftovers_do_not_make_a_witness_doubtful():
    old = [shot(n, digest=f"old {n}") for n in (2, 3)]
    history, faults = after(shot(8), *old, shot(9))
    assert faults == ["", "stale_time", "stale_time", ""]
    assert not history.doubted


def test_a_doubted_clock_does_not_excuse_old_bytes():
    back = [shot(n, taken_at=NOON - timedelta(days=1)) for n in (9, 10, 11)]
    assert kinds(shot(8), *back, shot(12, digest="digest 8"))[-1] == "stale_picture"


# ---- reading the claim


def test_the_number_is_that_of_the_makers_note_else_of_the_name():
    assert claim("d", Exif(file_number=7), "IMG_0042.JPG", (1, 1), 0.0, 1.0).number == 7
    assert claim("d", Exif(), "IMG_0042.JPG", (1, 1), 0.0, 1.0).number == 42
    assert claim("d", Exif(), "capt0042.jpg", (1, 1), 0.0, 1.0).number is None


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026:03:01 12:00:00", NOON),
        ("2026:03:01 12:00:00.42", NOON.replace(microsecond=420_000)),
        ("2026:03:01 12:00:00.x", NOON),
        ("0000:00:00 00:00:00", None),
        ("", None),
    ],
)
def test_exif_times(text, moment):
    assert exif_time(text) == moment


@pytest.mark.parametrize(
    ("name", "number"),
    [("IMG_0042.JPG", 42), ("_MG_9999.jpeg", 9999), ("capt0000.jpg", None), ("x.jpg", None)],
)
def test_names(name, number):
    assert name_number(name) == number
