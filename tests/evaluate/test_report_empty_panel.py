"""A panel of the paper's figures for which nobody has a value."""

from matplotlib.figure import Figure

from evaluate.report.paper.lines import paint_lines


def test_a_panel_without_any_value_says_that_it_is_undefined():
    """How well hits are placed, of detectors that hit nothing."""
    axes = Figure().subplots()
    paint_lines(axes, [], "oLRP Loc", percent=False, top=0.5)
    assert [text.get_text() for text in axes.texts] == ["undefined"]
    assert axes.get_ylabel() == "oLRP Loc"
    assert list(axes.get_xticks()) == []
