"""The questions that people and models are asked: their wording, and what is true of a frame."""

from __future__ import annotations

from collections.abc import Sequence

#: The paper's questions: class and count open-ended, class and count by multiple choice.
TASKS = ("q1", "q2", "q3", "q4")

_CLASS = "Objects of what class are in the image?"
_COUNT = "How many objects are in the image?"
_SELECT = "Select one of the following options:"

_PROMPTS = {
    "q1": f"{_CLASS} Answer with the name of the class.",
    "q2": f"{_COUNT} Answer with one number.",
    "q3": f"{_CLASS} {_SELECT}",
    "q4": f"{_COUNT} {_SELECT}",
    "choice": _CLASS,
}

_SEPARATORS = {"q3": ", ", "q4": "    "}


def prompt_text(task: str) -> str:
    """A question in the paper's words without its options, as a block of trials opens.

    Raises
    ------
    ValueError
        For a task that asks nothing in words.
    """
    try:
        return _PROMPTS[task]
    except KeyError:
        raise ValueError(f"{task!r} is no question; there are {', '.join(_PROMPTS)}") from None


def question_text(task: str, options: Sequence[str] = ()) -> str:
    """A question as a model is asked it: one text, the options of Q3 and Q4 within it.

    Raises
    ------
    ValueError
        For a task that is none of Q1 to Q4.
    """
    if task not in TASKS:
        raise ValueError(f"{task!r} is no question; there are {', '.join(TASKS)}")
    shown = _SEPARATORS[task].join(options) if task in _SEPARATORS else ""
    return f"{prompt_text(task)} {shown}" if task in _SEPARATORS else prompt_text(task)


def true_answer(task: str, category: str, count: int, options: Sequence[str] = ()) -> str:
    """The answer that is right, as the question wants it; empty where no option is.

    Raises ValueError for a task that is none of Q1 to Q4.
    """
    named = category.replace("_", " ")
    match task:
        case "q1":
            return named
        case "q2":
            return str(count)
        case "q3":
            return named if named in options else ""
        case "q4":
            return next((one for one in options if one.partition(") ")[2] == str(count)), "")
    raise ValueError(f"{task!r} is no question; there are {', '.join(TASKS)}")
