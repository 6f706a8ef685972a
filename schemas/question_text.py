"""The paper's questions Q1 to Q4 in words, and what is true of a frame."""

from __future__ import annotations

from collections.abc import Sequence

TASKS = ("q1", "q2", "q3", "q4")

_CLASS = "Objects of what class are in the image?"
_COUNT = "How many objects are in the image?"
_SELECT = "Select one of the following options:"


def question_text(task: str, options: Sequence[str] = ()) -> str:
    """A question as it is asked, in the paper's words.

    Raises
    ------
    ValueError
        For a task that is none of Q1 to Q4.
    """
    match task:
        case "q1":
            return f"{_CLASS} Answer with the name of the class."
        case "q2":
            return f"{_COUNT} Answer with one number."
        case "q3":
            return f"{_CLASS} {_SELECT} {', '.join(options)}"
        case "q4":
            return f"{_COUNT} {_SELECT} {'    '.join(options)}"
    raise ValueError(f"{task!r} is no question; there are {', '.join(TASKS)}")


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
