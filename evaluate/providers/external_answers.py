"""An external program's answer as the catalog keeps it, or why it is none."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from evaluate.errors import EvaluateError
from evaluate.imagenet import class_name
from evaluate.model import Asked, Given, Label, top5_payload
from schemas.answer_store import CHOICE, CLASSIFICATION, DETECTION
from schemas.questions import TASKS

_Answer = Mapping[str, Any]


def read_answer(asked: Asked, answer: _Answer) -> Given:
    """Check an answer against what was asked.

    Raises
    ------
    EvaluateError
        If the program reports an error, or its answer has another form than the task.
    """
    if answer.get("error"):
        raise EvaluateError(str(answer["error"])[:500])
    try:
        return _READERS[asked.task](asked, answer)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        keys = ", ".join(sorted(set(answer) - {"id"})) or "nothing"
        raise EvaluateError(
            f"no answer to {asked.task}: {error!r} in an answer with {keys}"
        ) from error


def _question(_: Asked, answer: _Answer) -> Given:
    text = answer["text"]
    if not isinstance(text, str):
        raise TypeError(f"text is {type(text).__name__}, not a string")
    finish = answer.get("finish", "stop")
    if finish not in ("stop", "length"):
        raise ValueError(f"finish is {finish!r}, neither stop nor length")
    return Given(text, {"finish": finish})


def _choice(asked: Asked, answer: _Answer) -> Given:
    if answer["text"] not in asked.options:
        raise ValueError(f"{answer['text']!r} is none of the options")
    scores = {str(name): _finite(p) for name, p in answer.get("scores", {}).items()}
    return Given(answer["text"], {"scores": scores})


def _classification(_: Asked, answer: _Answer) -> Given:
    rows = answer["top5"]
    if not rows:
        raise ValueError("top5 is empty")
    # names are ours: a program that numbers the classes otherwise shows itself in them
    labels = [
        Label(index, class_name(_class(index)), _finite(p))
        for index, p in (row[:2] for row in rows)
    ]
    return Given(None, top5_payload(sorted(labels, key=lambda label: -label.probability)[:5]))


def _detection(asked: Asked, answer: _Answer) -> Given:
    labels, scores, boxes = answer["labels"], answer["scores"], answer["boxes_xywh_px"]
    if not len(labels) == len(scores) == len(boxes):
        raise ValueError("labels, scores and boxes differ in number")
    if not all(isinstance(label, str) for label in labels):
        raise TypeError("labels are names, such as 'cell phone'")
    sides = [[_finite(side) for side in box] for box in boxes]
    if any(len(box) != 4 or min(box[2:]) < 0 for box in sides):
        raise ValueError("a box is left, top, width, height")
    return Given(
        None,
        {
            "labels": list(labels),
            "scores": [_finite(score) for score in scores],
            "boxes_xywh_px": sides,
            "size_px": list(asked.size_px),
        },
    )


def _finite(value: Any) -> float:  # noqa: ANN401 - whatever the program sent
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no finite number")
    return float(value)


def _class(index: Any) -> int:  # noqa: ANN401 - whatever the program sent
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < 1000:
        raise ValueError(f"{index!r} is no class of ImageNet (0 to 999)")
    return index


_READERS: dict[str, Callable[[Asked, _Answer], Given]] = {
    CLASSIFICATION: _classification,
    DETECTION: _detection,
    CHOICE: _choice,
    **dict.fromkeys(TASKS, _question),
}
