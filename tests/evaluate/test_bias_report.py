"""Bias reports: the paper's shares, scores with known values, figures that carry their numbers."""

import csv
import json
import math

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from evaluate.bias.compare import compare, comparison_figure
from evaluate.bias.distribution import (
    EV_RANGE,
    Distribution,
    ScanFileError,
    bias_interval,
    bias_score,
    of_settings,
    read_distribution,
)
from evaluate.bias.engines import run_serial
from evaluate.bias.report import availability_table, write_report
from evaluate.bias.report_cli import report as report_command
from evaluate.bias.scan import Collection, scan
from evaluate.bias.sources import find_units
from schemas.answer_store import Answer
from tests.evaluate import picture_headers as made


def settings_of(shutter, f_number, iso):
    return (
        (made.EXPOSURE_TIME, made.RATIONAL, shutter),
        (made.F_NUMBER, made.RATIONAL, f_number),
        (made.ISO, made.SHORT, iso),
        (made.EXPOSURE_MODE, made.SHORT, 0),
        (made.DATE, made.ASCII, b"2011:05:06 07:08:09\0"),
    )


@pytest.fixture
def scanned(tmp_path):
    """A scan of five pictures: three at EV 14, one at EV 5, one without Exif."""
    folder = tmp_path / "photos"
    folder.mkdir()
    sunny = made.jpeg(made.tiff(settings_of((1, 250), (8, 1), 100)))
    for number in range(3):
        (folder / f"sunny{number}.jpg").write_bytes(sunny)
    (folder / "room.jpg").write_bytes(made.jpeg(made.tiff(settings_of((1, 30), (2, 1), 400))))
    (folder / "none.jpg").write_bytes(made.jpeg())
    out = tmp_path / "s.parquet"
    scan(find_units([folder]), out, Collection("<b>Photos</b>", 2011, 10), run_serial)
    return out


def test_pictures_are_counted_by_exposure_and_settings(scanned):
    found = read_distribution(scanned)
    ev = {index + EV_RANGE[0]: n for index, n in enumerate(found.ev.tolist()) if n}
    assert ev == {14: 3, 5: 1}  # log2(64 * 250) = 13.97; log2(4 * 30) - 2 = 4.91
    assert (found.images, found.readable, found.with_all_three, found.nominal) == (5, 5, 4, 10)
    assert found.modes == {"auto": 4}
    assert found.years == {2011: 4}
    assert found.reasons == {"no_exif": 1}
    assert found.fine["iso"] == {0: 3, 6: 1}


def test_shares_are_of_the_nominal_size_and_of_what_was_read():
    # Table 1 of the paper: SBU, 1.0M images, 749.3K downloaded, 492.3K with Exif (49.2 %)
    sbu = Distribution(Collection("SBU", 2011, 1_000_000))
    sbu.images, sbu.readable, sbu.with_all_three = 749_300, 749_300, 492_300
    voc = Distribution(Collection("VOC2007", 2007, 10_000))
    voc.images, voc.readable, voc.with_all_three = 10_000, 10_000, 2_970
    first, second, total = availability_table([voc, sbu]).rows
    assert first["share_of_images"] == pytest.approx(0.297)
    assert second["share_of_images"] == pytest.approx(0.4923)
    assert second["share_of_readable"] == pytest.approx(492_300 / 749_300)
    assert total["images"] == 1_010_000
    assert total["share_of_images"] == pytest.approx(495_270 / 1_010_000)


@pytest.mark.parametrize(
    ("counts", "score"),
    [([5, 5, 5, 5], 0.0), ([9, 0, 0, 0], 1.0), ([3, 3, 0, 0], 0.5), ([0, 0], math.nan)],
)
def test_bias_scores_with_known_values(counts, score):
    assert bias_score(np.array(counts)) == pytest.approx(score, abs=1e-12, nan_ok=True)


@given(st.lists(st.integers(0, 10_000), min_size=2, max_size=30).filter(any))
def test_a_bias_score_is_a_share_and_knows_no_order(counts):
    score = bias_score(np.array(counts))
    assert -1e-12 <= score <= 1 + 1e-12
    assert bias_score(np.array(counts[::-1])) == pytest.approx(score)
    assert bias_score(np.array(counts) * 7) == pytest.approx(score)


def test_the_interval_is_seeded_and_shrinks_with_pictures():
    counts = np.array([60, 30, 9, 1])
    low, high = bias_interval(counts)
    assert (low, high) == bias_interval(counts)
    assert low < bias_score(counts) < high
    narrow = bias_interval(counts * 100)
    assert narrow[1] - narrow[0] < (high - low) / 5


def test_a_full_grid_is_uniform_over_its_stops():
    grid = np.array(
        [(2.0**-t, 2 ** (n / 2), 100 * 2**i) for t in range(4) for n in range(3) for i in range(2)]
    )
    found = of_settings("grid", grid)
    assert set(found.stops["exposure_time_s"].tolist()) == {0, 6}
    assert set(found.stops["f_number"].tolist()) == {0, 8}
    assert set(found.stops["iso"].tolist()) == {0, 12}
    assert found.ev.sum() == 24


def test_the_report_writes_figures_with_their_numbers(scanned, tmp_path):
    page = tmp_path / "out" / "index.html"
    done = write_report([read_distribution(scanned)], None, page)
    assert [f.name for f in done.figures] == [
        "figure-1-exposure",
        "figure-a1-mode",
        "figure-a2-years",
        "figure-a4-settings-1",
        "cameras-1",
    ]
    with done.figures[0].csv.open() as file:
        shares = {row["ev"]: float(row["share"]) for row in csv.DictReader(file)}
    assert (shares["14"], shares["5"]) == (0.75, 0.25)
    assert sum(shares.values()) == pytest.approx(1)
    for figure in done.figures:
        assert figure.svg.read_text().startswith("<?xml")
        assert figure.png.read_bytes()[:4] == b"\x89PNG"
    html = page.read_text()
    assert "<b>Photos</b>" not in html
    assert "&lt;b&gt;Photos&lt;/b&gt;" in html
    assert r"\toprule" in (page.parent / "tables" / "availability.tex").read_text()


def test_collections_come_in_chronological_order_with_the_reference_last(scanned, tmp_path):
    old, new = read_distribution(scanned), read_distribution(scanned)
    old.collection, new.collection = Collection("old", 2007), Collection("new", 2021)
    grid = of_settings("this catalog", np.array([(0.01, 8.0, 100.0)]))
    done = write_report([new, old], grid, tmp_path / "index.html")
    with done.figures[0].csv.open() as file:
        names = list(dict.fromkeys(row["collection"] for row in csv.DictReader(file)))
    assert names == ["old", "new", "this catalog"]
    assert [row["collection"] for row in done.tables[0].rows] == ["old", "new", "Total"]


def test_nothing_to_draw_is_said(tmp_path):
    done = write_report([Distribution(Collection("empty"))], None, tmp_path / "index.html")
    assert done.figures == ()
    assert "nothing to draw" in done.page.read_text()


def test_the_report_command(scanned, tmp_path):
    result = CliRunner().invoke(
        report_command,
        [str(scanned), "--out", str(tmp_path / "out"), "--json"],
        obj=tmp_path / "no-workspace",
    )
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["availability"][0]["with_all_three"] == 4
    assert 0 < document["bias"][0]["ev"] < 1


def test_another_file_is_no_scan(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(ScanFileError, match="cannot be read"):
        read_distribution(tmp_path / "a.parquet")


def answers_with(share_right):
    """100 answers a stop at 1 s, f/1 and ISO 100 to 1/64 s, of ten scenes."""
    return [
        Answer(
            frame_id=0,
            scene=f"scene{number % 10}",
            category="cup",
            lighting="bright",
            ev_offset=-stop,
            shutter_s=2.0**-stop,
            iso=100,
            f_number=1.0,
            parsed={},
            soft=number // 10 < 10 * share_right[stop],
            hard=None,
            error_kind="",
        )
        for stop in range(len(share_right))
        for number in range(100)
    ]


def test_accuracy_that_follows_the_training_set_correlates_with_it():
    share = [0.1, 0.3, 0.5, 0.9, 0.7, 0.2]
    training = Distribution(Collection("train"))
    for ev, part in enumerate(share):
        training.ev[ev - EV_RANGE[0]] = round(1000 * part)
    training.with_all_three = int(training.ev.sum())
    found = compare("model", answers_with(share), training)
    assert {p.ev: round(p.accuracy, 9) for p in found.points} == dict(enumerate(share))
    assert sum(p.density for p in found.points) == pytest.approx(1)
    assert found.correlation == pytest.approx(1)
    assert found.low > 0.9
    assert comparison_figure(found).rows[0][0] == "bright"
    against = compare("model", answers_with(share[::-1]), training)
    assert against.correlation < 0.5


def test_a_constant_observer_has_no_correlation():
    training = Distribution(Collection("train"))
    training.ev += 1
    training.with_all_three = 27
    found = compare("model", answers_with([0.5] * 5), training)
    assert math.isnan(found.correlation)
    assert found.as_json()["spearman"] is None
