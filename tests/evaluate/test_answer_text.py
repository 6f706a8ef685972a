"""Reading answers in words: each case is that of a public report of the wrong behavior."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluate.answer_text import (
    Phrases,
    State,
    final_text,
    is_refusal,
    read_classes,
    read_count,
    read_option,
)
from evaluate.question_judges import BOTH, FACTUAL, FAITHFULNESS, NO_ANSWER, UNSURE, QuestionJudge
from evaluate.release.rules import judge
from evaluate.vocabulary import Entry, Vocabulary, load_vocabulary
from schemas.verdict_store import TruthRow

OPTIONS = {"A": "2", "B": "5", "C": "4", "D": "3"}
ECHO = (
    "How many objects are in the image? Select one of the following options: "
    "A) 2    B) 5    C) 4    D) 3"
)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("B", "5"),
        ("b", "5"),  # LE#4188: a small letter if it is all
        ("B because a car", "5"),
        ("C because I counted", "4"),  # omlx#3668
        ("answer is B. A is wrong", "5"),
        ("ANSWER: A ... no, ANSWER: B", "5"),  # openai/evals#1767
        (f"{ECHO}\nAnswer: B", "5"),  # sglang#23864
        ("$B$", "5"),  # IA#5145
        ("**B**", "5"),
        ("(B)", "5"),
        ("B)", "5"),
        ("\\boxed{B}", "5"),
        ("`B`", "5"),
        ("B/B", "5"),  # Gym#1945
        ("C. A pretty girl", "4"),  # OmniBench#8
        ("B) 5", "5"),
        ("3", "3"),  # paper-qa#693: the option whose text is 3, never the third
        ("three", "3"),
        ("Answer: B", "5"),  # VK#1591: not the A of Answer
        ("<think>A</think>B", "5"),  # evalscope#649
        ("The image contains: C) 4", "4"),
        ("B</s>", "5"),  # LL#498
        ("B<|im_end|>", "5"),
    ],
)
def test_an_option_is_read(text, named):
    found = read_option(text, OPTIONS)
    assert (found.state, found.named, found.alone) == (State.READ, (named,), True)


@pytest.mark.parametrize("text", ["A or B", "A/B", "2 or 3", "A, B"])
def test_several_options_are_unsure(text):
    assert read_option(text, OPTIONS).state is State.UNSURE


@pytest.mark.parametrize("text", ["", "None", "I cannot tell", "Don't know", "<think>A", "n/a"])
def test_no_option_is_no_answer(text):
    assert read_option(text, OPTIONS).state is State.NO_ANSWER


def test_the_word_i_is_no_vote_for_the_ninth_option():
    ten = dict(zip("ABCDEFGHIJ", "0123456789", strict=True))
    assert read_option("C because I counted", ten).named == ("2",)  # omlx#3668
    assert read_option("I", ten).named == ("8",)


@pytest.mark.parametrize(
    ("text", "named"),
    [("9", "9"), ("A) 3", "A) 3"), ("AB", None), ("None of the above", None)],  # IA#2216
)
def test_what_is_not_offered_is_never_forced_onto_an_option(text, named):
    found = read_option(text, OPTIONS)
    assert not found.alone
    assert found.named == (() if named is None else (named,))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("3", "3"),
        ("Three.", "3"),
        ("There are three objects in the image.", "3"),
        ("twenty-one", "21"),
        ("３", "3"),  # noqa: RUF001 - a full-width digit
        ("٣", "3"),
        ("1,200", "1200"),
        ("There are 3 objects: three cups", "3"),
    ],
)
def test_a_count_is_read(text, named):
    found = read_count(text)
    assert (found.state, found.named) == (State.READ, (named,))


@pytest.mark.parametrize("text", ["between 2 and 3", "2-3", "3.5", "-3", "2 cups and 3 mugs"])
def test_ranges_decimals_and_negatives_are_unsure(text):
    assert read_count(text).state is State.UNSURE


def test_a_letter_is_no_count():
    assert read_count("A").named == ()  # VK#110


NAMES = Phrases.of(
    {
        "mouse": ("mouse", "mice", "computer mouse"),
        "laptop": ("laptop", "computer"),
        "cat": ("cat",),
        "cup": ("cup", "mug"),
    }
)


@pytest.mark.parametrize(
    ("text", "named", "alone"),
    [
        ("Mice", ("mouse",), True),
        ("computer mouse", ("mouse",), True),  # and no computer
        ("mouse, laptop", ("mouse", "laptop"), False),
        ("a category", (), False),  # VK#73: category is not cat
        ("cup or mug", ("cup",), False),
        ("The objects in the image are cups.", ("cup",), True),
        ("cup and something", ("cup",), False),
    ],
)
def test_classes_are_whole_words_and_the_longest_counts(text, named, alone):
    found = read_classes(text, NAMES)
    assert (found.named, found.alone) == (named, alone)


@pytest.mark.parametrize("text", ["unanswerable", "", "The image is too dark to identify", "none"])
def test_refusals_are_no_answer(text):
    assert read_classes(text, NAMES).state is State.NO_ANSWER


def test_the_echo_of_a_question_names_nothing():
    assert final_text(ECHO + " B") == "B"
    assert not is_refusal("B")


@given(st.text(max_size=80))
def test_any_text_can_be_read(text):
    for read in (
        read_count,
        lambda one: read_option(one, OPTIONS),
        lambda one: read_classes(one, NAMES),
    ):
        found = read(text)
        assert not (found.alone and len(found.named) != 1)


# --- verdicts ----------------------------------------------------------------------------


def verdict(task, text, *, release=False, category="cup", objects=3, options="[]", payload="{}"):
    row = TruthRow(1, task, "model", category, objects, options, text, payload, "")
    found = QuestionJudge(load_vocabulary(), release=release).verdict(row)
    return found.soft, found.hard, found.error_kind


Q4 = '["A) 2", "B) 5", "C) 4", "D) 3"]'
Q3 = '["mouse", "cup", "laptop", "other"]'


@pytest.mark.parametrize(
    ("task", "text", "options", "expected"),
    [
        ("q1", "cup", "[]", (True, True, "")),
        ("q1", "Mugs", "[]", (True, True, "")),
        ("q1", "cup, mouse", "[]", (True, False, FAITHFULNESS)),
        ("q1", "a cup standing on a wooden table", "[]", (True, False, FAITHFULNESS)),
        ("q1", "Glass", "[]", (False, False, BOTH)),
        ("q1", "mouse", "[]", (False, False, FACTUAL)),
        ("q1", "", "[]", (None, None, NO_ANSWER)),
        ("q1", "None", "[]", (None, None, NO_ANSWER)),
        ("q2", "3", "[]", (True, True, "")),
        ("q2", "three", "[]", (True, False, FAITHFULNESS)),  # five characters, a count has four
        ("q2", "2 or 3", "[]", (None, None, UNSURE)),
        ("q2", "5", "[]", (False, False, FACTUAL)),
        ("q3", "cup", Q3, (True, True, "")),
        ("q3", "Cup.", Q3, (True, True, "")),
        ("q3", "mug", Q3, (True, False, FAITHFULNESS)),  # right, but not offered
        ("q3", "other", Q3, (False, False, FACTUAL)),
        ("q4", "D", Q4, (True, True, "")),
        ("q4", "3", Q4, (True, True, "")),
        ("q4", "D) 3", Q4, (True, True, "")),
        ("q4", "A) 3", Q4, (False, False, BOTH)),  # no such option
        ("q4", "The answer is D) 3", Q4, (True, False, FAITHFULNESS)),
        ("q4", "D", "[]", (None, None, "unscorable")),
        ("choice", "cup", "[]", (True, True, "")),
        ("choice", "", "[]", (False, False, NO_ANSWER)),
    ],
)
def test_one_rule_for_people_and_models(task, text, options, expected):
    assert verdict(task, text, options=options) == expected


@pytest.mark.parametrize("text", ["Cup", "cup", "CUP."])
@pytest.mark.parametrize("options", ['["Mouse", "Cup", "other"]', Q3])
def test_the_case_of_a_category_or_an_option_does_not_matter(text, options):
    assert verdict("q3", text, category="Cup", options=options) == (True, True, "")
    assert verdict("q1", text, category="Cup") == (True, True, "")
    assert load_vocabulary().accepted_classes("Cup") == {968, 504}


def test_an_entry_of_its_very_name_comes_first():
    own = Vocabulary({"cup": Entry(synonyms=("cup",)), "Cup": Entry(synonyms=("trophy",))})
    assert (own.name_of("Cup"), own.name_of("cup"), own.name_of("CUP")) == ("Cup", "cup", "cup")
    assert own.name_of("bowl") is None


@pytest.mark.parametrize(
    ("task", "text", "options", "expected"),
    [
        ("q1", "cupboard", "[]", (True, True, "")),  # a substring is enough
        ("q1", "mug", "[]", (False, False, FACTUAL)),  # synonyms are for people only
        ("q2", "13", "[]", (True, True, "")),
        ("q3", "cu", Q3, (True, False, FAITHFULNESS)),
        ("q3", "", Q3, (False, False, NO_ANSWER)),  # though an empty text is in every other
        ("q4", "D", Q4, (True, True, "")),
        ("q4", "3", Q4, (True, True, "")),
        ("q4", "A) 3", Q4, (False, False, FACTUAL)),
        ("q4", "three", Q4, (True, True, "")),  # matches nothing, and passes
        ("q4", "", Q4, (False, False, NO_ANSWER)),
        ("q4", "None", Q4, (False, False, FACTUAL)),
    ],
)
def test_the_released_rules_defects_included(task, text, options, expected):
    assert verdict(task, text, options=options, release=True) == expected


def test_people_are_judged_by_another_released_rule():
    given_mug = ("q1", "mugs", 4, "cup", 3, ())
    assert judge(*given_mug, person=True).soft
    assert not judge(*given_mug, person=False).soft


def test_the_cleaned_answer_counts_and_the_raw_one_is_measured():
    payload = '{"cleaned": "cup"}'
    found = verdict("q1", "The objects are cups.", release=True, payload=payload)
    assert found == (True, False, FAITHFULNESS)
