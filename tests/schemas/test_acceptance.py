"""Acceptance rules on histograms of known pictures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

from schemas.acceptance import RULES, extremes, mean, pixels95


def histogram(black=0, gray=0, white=0, gray_level=128):
    counts = np.zeros(256, np.uint32)
    counts[0], counts[gray_level], counts[255] = black, gray, white
    return counts


@pytest.mark.parametrize(
    ("counts", "outcome"),
    [
        (histogram(black=95, gray=5), "accepted"),  # more than 95 %, not 95 % itself
        (histogram(black=96, gray=4), "rejected_black"),
        (histogram(white=95, gray=5), "accepted"),
        (histogram(white=96, gray=4), "rejected_white"),
        (histogram(black=50, white=50), "accepted"),  # each end is tested alone
        (histogram(gray=100, gray_level=1), "accepted"),  # 1 is not black
        (histogram(gray=100, gray_level=254), "accepted"),
    ],
)
def test_pixels95(counts, outcome):
    assert pixels95(counts) == outcome


@pytest.mark.parametrize(
    ("level", "outcome"),
    [(2, "rejected_black"), (3, "accepted"), (253, "accepted"), (254, "rejected_white")],
)
def test_mean_rule_of_the_released_scripts(level, outcome):
    assert mean(histogram(gray=7, gray_level=level)) == outcome


def test_mean_rule_takes_the_integer_part():
    assert mean(histogram(black=1, gray=999, gray_level=3)) == "rejected_black"  # 2.997 is 2


@given(hnp.arrays(np.uint32, 256, elements=st.integers(0, 1000)))
def test_every_picture_gets_one_outcome_and_mirrors(counts):
    if counts.sum() == 0:
        with pytest.raises(ValueError, match="empty"):
            extremes(counts)
        return
    mirrored = {"rejected_black": "rejected_white", "rejected_white": "rejected_black"}
    outcome = pixels95(counts)
    assert outcome in {"accepted", "rejected_black", "rejected_white"}
    assert pixels95(counts[::-1].copy()) == mirrored.get(outcome, outcome)


@given(hnp.arrays(np.uint8, (12, 9), elements=st.integers(0, 255)))
def test_extremes_agree_with_numpy(pixels):
    counts = np.array(Image.fromarray(pixels).histogram(), np.uint32)
    ends = extremes(counts)
    assert ends.black_fraction == pytest.approx((pixels == 0).mean())
    assert ends.white_fraction == pytest.approx((pixels == 255).mean())
    assert ends.mean == pytest.approx(pixels.mean())


def test_a_histogram_of_another_shape_is_refused():
    with pytest.raises(ValueError, match="256 bins"):
        extremes(np.zeros(255, np.uint32))


def test_rules_are_known_by_name():
    assert set(RULES) == {"pixels95", "mean"}
