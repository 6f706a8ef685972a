"""The text that a participant types."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiment.answer_editor import MAX_CHARACTERS, AnswerEditor
from experiment.inputs import Motion


def typed(*parts):
    editor = AnswerEditor()
    for part in parts:
        editor = editor.moved(part) if isinstance(part, Motion) else editor.typed(part)
    return editor


@pytest.mark.parametrize(
    "text",
    [
        "cup",
        "water bottle",
        "pâté ñandú ßü",
        "שלום",
        "سلام",
        "苹果",
        "Ελλάδα",
        'don\'t; "say", x',
        "🍎",
    ],
)
def test_any_script_is_kept_as_it_is_typed(text):
    assert typed(*text).text == text


def test_a_dead_key_that_arrives_as_a_mark_is_composed():
    assert typed("e", "\u0301").text == "é"


def test_a_composed_text_may_arrive_at_once():
    assert typed("pâté").text == "pâté"


def test_persian_joiners_stay_and_control_characters_do_not():
    assert typed("بی\u200cتو").text == "بی\u200cتو"
    assert typed("a\tb\r\n\x08\x1bc").text == "abc"


def test_backspace_takes_a_letter_with_its_marks():
    assert typed("ab", Motion.BACKSPACE).text == "a"
    assert typed("x", "q\u0323\u0307", Motion.BACKSPACE).text == "x"
    assert typed(Motion.BACKSPACE).text == ""


def test_the_cursor_moves_and_letters_go_in_there():
    assert typed("bttle", Motion.HOME, Motion.RIGHT, "o").text == "bottle"
    assert typed("cupp", Motion.LEFT, Motion.DELETE).text == "cup"
    assert typed("up", Motion.HOME, "c", Motion.END, "s").text == "cups"
    assert typed("ab", Motion.HOME, Motion.LEFT, Motion.BACKSPACE).text == "ab"
    assert typed("ab", Motion.RIGHT, Motion.DELETE).text == "ab"


def test_right_to_left_text_is_edited_in_the_order_of_typing():
    assert typed(*"שלום", Motion.BACKSPACE).text == "שלו"


def test_a_long_answer_is_kept_up_to_the_limit():
    long = "bottle " * 60
    assert typed(long).text == long
    assert typed("a" * MAX_CHARACTERS, "b").text == "a" * MAX_CHARACTERS


@pytest.mark.parametrize(("text", "blank"), [("", True), ("  ", True), (" a", False)])
def test_what_is_blank(text, blank):
    assert typed(text).blank is blank


MOVES = st.one_of(st.text(max_size=8), st.sampled_from(list(Motion)))


@given(st.lists(MOVES, max_size=30))
def test_the_cursor_never_leaves_the_text(parts):
    editor = typed(*parts)
    assert 0 <= editor.cursor <= len(editor.text) <= MAX_CHARACTERS


@given(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), max_size=40))
def test_deleting_everything_leaves_nothing(text):
    editor = AnswerEditor().typed(text)
    for _ in range(len(text) + 1):
        editor = editor.moved(Motion.BACKSPACE)
    assert (editor.text, editor.cursor) == ("", 0)
