"""Practice: pictures that are no part of the experiment, and questions about them."""

import numpy as np
import pytest
from PIL import Image

from experiment.dialogs import LINE_CHARACTERS, PAGE_LINES, paginate
from experiment.errors import ExperimentError
from experiment.practice import SHAPES, load_pictures, practice_questions
from experiment.running import parse_person
from experiment.trial import AnswerKind

SHOWN = (96, 64)


def test_drawn_shapes_are_of_known_kind_and_number():
    pictures = load_pictures(None, SHOWN, 20)
    assert len(pictures) == 20
    assert {one.category for one in pictures} == set(SHAPES)
    assert {one.count for one in pictures} <= {2, 3, 4, 5}
    for one in pictures:
        assert one.image.size == SHOWN
        assert len(np.unique(np.asarray(one.image).reshape(-1, 3), axis=0)) > 1


def test_a_labs_pictures_are_named_by_file_or_folder(tmp_path):
    (tmp_path / "sports_ball").mkdir()
    Image.new("RGB", (300, 100)).save(tmp_path / "2_umbrella.jpg")
    Image.new("RGB", SHOWN).save(tmp_path / "sports_ball" / "1.png")
    found = {(one.category, one.count) for one in load_pictures(tmp_path, SHOWN, 20)}
    assert found == {("umbrella", 2), ("sports ball", 1)}


def test_an_empty_folder_is_an_error_that_names_the_setting(tmp_path):
    with pytest.raises(ExperimentError, match="practice_pictures"):
        load_pictures(tmp_path, SHOWN, 20)


@pytest.mark.parametrize("tasks", [("q4", "q1"), ("q2", "q3")])
def test_half_of_the_trials_ask_each_question(tasks):
    pictures = load_pictures(None, SHOWN, 20)
    questions = [question for question, _ in practice_questions(pictures, tasks, 20)]
    assert len(questions) == 20
    assert len({question.prompt for question in questions[:10]}) == 1
    assert questions[0].prompt != questions[10].prompt
    kinds = {question.kind for question in questions}
    assert kinds == {AnswerKind.TEXT, AnswerKind.OPTIONS}
    for question in questions:
        assert (question.kind is AnswerKind.OPTIONS) == bool(question.options)


def test_the_options_of_practice_are_its_own_categories():
    pictures = load_pictures(None, SHOWN, 20)
    for question, _ in practice_questions(pictures, ("q3",), 20):
        assert set(question.options) == {*SHAPES, "other"}
        assert question.options[-1] == "other"


def test_practice_for_the_reaction_time_task_has_three_classes_by_key():
    pictures = load_pictures(None, SHOWN, 20)
    questions = practice_questions(pictures, ("choice",), 20)
    assert len(questions) == 20
    for question, _ in questions:
        assert (question.kind, question.deadline_s) == (AnswerKind.KEYS, 2.5)
        assert question.options == ("circle", "cross", "ring")


@pytest.mark.parametrize(
    ("said", "age_years", "sex"),
    [
        ({"age": "34", "sex": "f"}, 34, "f"),
        ({"age": " 34 ", "sex": ""}, 34, ""),
        ({"age": "thirty", "sex": "x"}, None, "x"),
        ({"age": "-3", "sex": ""}, None, ""),
        ({"age": "400", "sex": ""}, None, ""),
        ({}, None, ""),
    ],
)
def test_age_and_sex_are_kept_as_far_as_they_are_said(said, age_years, sex):
    person = parse_person(said)
    assert (person.age_years, person.sex) == (age_years, sex)


def test_a_long_text_comes_in_pages_and_none_of_it_is_lost():
    text = "\n\n".join(f"Paragraph {n}. " + "word " * 60 for n in range(12))
    pages = paginate(text)
    assert len(pages) > 1
    assert " ".join(" ".join(pages).split()) == " ".join(text.split())
    for page in pages:
        lines = page.splitlines()
        assert len(lines) <= PAGE_LINES
        assert max(map(len, lines)) <= LINE_CHARACTERS


def test_an_empty_text_is_one_page():
    assert paginate("") == [""]
