"""Figures from 1 to 28 models, tables in LaTeX and Markdown, means of means."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from evaluate.metrics.bootstrap import Interval, group_mean_intervals
from evaluate.metrics.groups import group_by
from evaluate.metrics.macro import macro_means
from evaluate.metrics.sensitivity import sensitivity
from evaluate.paper_models import load_paper_models
from evaluate.report.curves import Curve, Point, sensitivity_by_offset
from evaluate.report.paper.classification import classification_figures
from evaluate.report.paper.detection import detection_figures
from evaluate.report.paper.figure import LeftOut
from evaluate.report.paper.lines import MAX_BANDS
from evaluate.report.paper.pictures import picture_figures
from evaluate.report.paper.questions import question_figures
from evaluate.report.paper.scale import scale_figures
from evaluate.report.paper.sensitivity import sensitivity_figures
from evaluate.report.style import RC, series_look
from evaluate.report.tables.table import Column, Table, escape_latex
from evaluate.report.who import Who, who_is
from evaluate.scores import QUESTIONS
from schemas.report_store import PictureFrame

OFFSETS = range(-5, 9)
LONG = "a model of {} whose name somebody made far too long"


def curve(who, measure, level, *, low=0.05):
    points = tuple(
        Point(offset, 100, value, max(0.0, value - low), min(1.0, value + low))
        for offset in OFFSETS
        for value in [max(0.0, level - 0.01 * (offset - 1) ** 2)]
    )
    scores = np.tile([1.0, 0.0], 14)
    sets = sensitivity(scores, ["a"] * 28, np.repeat(list(OFFSETS), 2))
    at = sensitivity_by_offset(scores, np.array(["a"] * 28), np.repeat(list(OFFSETS), 2) * 1.0)
    whole = Interval(level, max(0, level - low), min(1.0, level + low), 1400, "cluster_bootstrap")
    return Curve(who, measure, whole, points, sets, at)


def models(number, task):
    """So many models of a task: the paper's, then others with long names."""
    known = [who_is(m.paper_id, "model") for m in load_paper_models().model if m.task == task]
    others = [Who(LONG.format(n), "model", LONG.format(n)) for n in range(number)]
    return (known + others)[:number]


def of_task(task, measures, number):
    return [
        curve(who, measure, 0.3 + 0.6 * place / number)
        for place, who in enumerate(models(number, task))
        for measure in measures
    ]


CLASSIFIERS = ("top1",)
DETECTORS = ("ap", "ap50", "olrp", "olrp_loc", "olrp_fp", "olrp_fn")
ANSWERS = ("soft", "hard", "length", *(f"{m}_{q}" for m in ("soft", "hard") for q in QUESTIONS))
CHANCE = {"q1": 0.11, "q2": 0.29, "q3": 0.09, "q4": 0.25, "all": 0.185}
PEOPLE = Who("people", "person", "people")


def every_figure(number):
    asked = [
        *of_task("vqa", ANSWERS, number),
        *(curve(PEOPLE, measure, 0.7) for measure in ANSWERS),
    ]
    curves = [
        *of_task("classification", CLASSIFIERS, number),
        *of_task("detection", DETECTORS, number),
        *asked,
    ]
    return [
        *classification_figures(curves, 0.0012),
        *detection_figures(curves, detections=True),
        *question_figures(curves, CHANCE),
        *scale_figures(curves),
        *sensitivity_figures(curves),
    ]


@pytest.mark.parametrize("number", [1, 28])
def test_legends_and_labels_stay_clear_of_each_other(number):
    # matplotlib warns where a layout does not fit, and warnings are errors here
    for one in every_figure(number):
        with rc_context(RC):
            canvas = Figure(figsize=one.size_in, layout="constrained")
            FigureCanvasAgg(canvas)
            one.paint(canvas)
            canvas.draw_without_rendering()
            page = canvas.bbox
            panels = [axes for axes in canvas.axes if axes.axison]
            for legend in canvas.legends:
                extent = legend.get_window_extent()
                assert extent.x1 <= page.x1 + 1, one.name
                assert extent.y0 >= page.y0 - 1, one.name
                assert not any(extent.overlaps(axes.bbox) for axes in panels), one.name
            for axes in panels:
                tight = axes.get_tightbbox()
                assert tight.x0 >= page.x0 - 1, one.name
                assert tight.y0 >= page.y0 - 1, one.name
            for first, second in itertools.combinations(panels, 2):
                assert not first.bbox.overlaps(second.bbox), one.name


def test_bands_are_left_to_the_table_where_they_would_cover_each_other():
    for number in (MAX_BANDS, MAX_BANDS + 1):
        (lines,) = (f for f in every_figure(number) if f.number == "9")
        canvas = Figure()
        lines.paint(canvas)
        # one band of people, and one a model while there are few
        assert len(canvas.axes[0].collections) == (1 + number if number == MAX_BANDS else 1)
        assert all(row["low"] <= row["value"] <= row["high"] for row in lines.rows)
        assert ("CSV file" in lines.caption) == (number > MAX_BANDS)


def test_people_are_black_and_chance_is_dashed():
    (lines,) = (f for f in every_figure(3) if f.number == "9")
    canvas = Figure()
    lines.paint(canvas)
    drawn = {line.get_label(): line for line in canvas.axes[0].lines}
    assert drawn["people"].get_color() == "#1b1b1f"
    assert drawn["chance"].get_linestyle() == "--"
    assert drawn["chance"].get_ydata()[0] == CHANCE["all"]


def test_lines_of_28_models_differ():
    looks = [series_look(number) for number in range(28)]
    assert len({(look["color"], str(look["linestyle"])) for look in looks}) == 28


def test_order_is_that_of_the_paper():
    figures = {f.number: f for f in every_figure(5) if f.number}
    worst_first = [row["overall"] for row in figures["3"].rows]
    assert worst_first == sorted(worst_first)
    assert [row["overall"] for row in figures["5"].rows] == worst_first[::-1]
    lines = [row["model"] for row in figures["6"].rows if row["ev_offset"] == 0]
    assert lines == [row["model"] for row in figures["5"].rows]
    first = [row["model"] for row in figures["4"].rows if row["ev_offset"] == 0]
    assert first == [row["model"] for row in figures["3"].rows][::-1]
    assert figures["F.5"].rows[-1]["model"] == "people"


@pytest.mark.parametrize(
    ("found", "numbers", "reason"),
    [
        (classification_figures([], None), {"3", "4"}, "no classifications"),
        (detection_figures([], detections=False), {"5", "6", "F.2", "F.3"}, "no detections in"),
        (detection_figures([], detections=True), {"5", "6", "F.2", "F.3"}, "with an EV offset"),
        (question_figures([], {}), {"7", "8", "9", "F.4", "F.5"}, "no answers to Q1 to Q4"),
        (scale_figures([]), {"F.1"}, "no results of models whose size"),
        (picture_figures([], lambda _f, _w: None), {"B.1", "B.2", "B.3"}, "no picture files"),
        (sensitivity_figures([]), {""}, "no sets of frames"),
    ],
)
def test_a_figure_without_data_is_left_out_with_one_line(found, numbers, reason):
    assert all(isinstance(one, LeftOut) for one in found)
    assert {one.number for one in found} == numbers
    for one in found:
        assert reason in one.reason
        assert "\n" not in one.reason


def test_answers_about_pictures_without_offsets_give_figure_7_alone():
    bare = [Curve(PEOPLE, measure, Interval(0.5, 0.4, 0.6, 9, "wilson"), ()) for measure in ANSWERS]
    found = question_figures(bare, CHANCE)
    assert [one.number for one in found if not isinstance(one, LeftOut)] == ["7"]
    assert {one.reason for one in found if isinstance(one, LeftOut)} == {
        "no answers about frames with an EV offset in the catalog"
    }


def test_pictures_are_chosen_by_exposure():
    def frame(lighting, lux, kind, offset, shutter_s):
        name = f"{lighting}-{kind}-{offset}-{shutter_s}"
        return PictureFrame(
            "1_cup", "cup", lighting, lux, kind, offset, shutter_s, 100, 8.0, name, False
        )

    frames = [
        frame("bright", 1000, "auto", 0, None),
        *(frame("bright", 1000, "manual", offset, 1 / 60) for offset in (-2, 1, 2)),
        *(frame("bright", 1000, "manual", 1, shutter) for shutter in (1 / 250, 1 / 30, 1 / 8)),
        *(frame("dim", 10, "manual", 1, shutter) for shutter in (1, 2, 4)),
    ]
    overview, equal, strip = picture_figures(frames, lambda _frame, _width: None)
    assert [row["path"] for row in overview.rows] == [f"bright-manual-1-{1 / 60}"]
    assert [(row["lighting"], row["shutter_s"]) for row in equal.rows] == [
        ("bright", 1 / 250),
        ("bright", 1 / 8),
        ("dim", 1),
        ("dim", 4),
    ]
    assert [row["ev_offset"] for row in strip.rows] == [-2, 1, 2]


# --- tables ------------------------------------------------------------------------------


def small_table(name, value=0.5):
    columns = (
        Column("model", "Model & more"),
        Column("top1", "Top-1 (%)", "percent", "low", "high"),
        Column("ev", "EV", "signed"),
    )
    row = {"model": name, "top1": value, "low": 0.412, "high": 0.6, "ev": -2}
    return Table("t_1", "s", "100 % of it", "Note_1.", columns, [row])


def test_cells_are_spelled_with_their_interval():
    assert small_table("net").cells() == [["net", "50.0 [41.2, 60.0]", "\N{MINUS SIGN}2"]]
    assert small_table("net", float("nan")).cells()[0][1] == "\N{EN DASH}"
    assert small_table("net").csv() == "model,top1,low,high,ev\nnet,0.5,0.412,0.6,-2\n"


def test_latex_of_every_special_character():
    assert escape_latex(r"50 % of A_1 & B#{x}$~^\<>|") == (
        r"50 \% of A\_1 \& B\#\{x\}\$\textasciitilde{}\textasciicircum{}\textbackslash{}"
        r"\textless{}\textgreater{}\textbar{}"
    )
    text = small_table("own_net%1 & co").latex()
    assert r"own\_net\%1 \& co & 50.0 [41.2, 60.0] & $-$2 \\" in text
    assert r"\caption{100 \% of it. Note\_1.}" in text
    assert r"\begin{tabular}{lrr}" in text


@given(st.text(st.characters(codec="ascii", exclude_categories=["Cc"])))
def test_escaped_text_has_no_bare_special_character(text):
    bare = re.sub(r"\\[&%$#_{}]|\\text[a-z]+\{\}", "", escape_latex(text))
    assert not set(bare) & set("&%$#_{}~^\\<>|")


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"])))
def test_a_name_cannot_break_a_markdown_row(name):
    row = small_table(name).markdown().split("\n")[4]
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 4


# --- numbers -----------------------------------------------------------------------------


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 1), st.sampled_from("abc"), st.sampled_from("pq"), st.integers(-1, 2)
        ),
        min_size=1,
        max_size=40,
    )
)
def test_macro_means_equal_pandas(rows):
    table = pd.DataFrame(rows, columns=["value", "cluster", "part", "condition"])
    found = macro_means(table.value, table.cluster, table.part, table.condition)
    known = table[table.condition >= 0]
    by_part = known.groupby(["condition", "part"]).value.mean()
    expected = by_part.groupby("condition").mean()
    assert found.values[expected.index] == pytest.approx(expected.to_numpy())
    assert found.n.sum() == len(known)
    assert found.overall.value == pytest.approx(table.groupby("part").value.mean().mean())
    # three clusters: no interval
    assert np.isnan(found.overall.low)


def test_macro_means_of_one_part_have_the_intervals_of_means():
    rng = np.random.default_rng(3)
    values, clusters = rng.integers(0, 2, 600), rng.integers(0, 30, 600)
    conditions = rng.integers(0, 3, 600)
    found = macro_means(values, clusters, np.zeros(600), conditions)
    groups = group_by({"condition": conditions}, ["condition"])
    means, low, high, _ = group_mean_intervals(values, clusters, groups)
    assert found.values == pytest.approx(means)
    assert found.low == pytest.approx(low)
    assert found.high == pytest.approx(high)
    assert found.overall.low < found.overall.value < found.overall.high


@given(
    st.lists(st.tuples(st.integers(0, 1), st.sampled_from("ab"), st.integers(-2, 2)), min_size=1)
)
def test_sensitivity_by_offset_adds_up_to_the_whole(rows):
    scores, scenes, offsets = (np.array(column) for column in zip(*rows, strict=True))
    whole = sensitivity(scores, scenes, offsets)
    parts = [at.found for at in sensitivity_by_offset(scores * 1.0, scenes, offsets * 1.0)]
    for name in ("sets", "single", "varying", "mixed"):
        assert sum(getattr(part, name) for part in parts) == getattr(whole, name)
