"""How the released scripts score answers: protocol `release`, defects included.

People and models are scored by different rules in Q1, a bare letter or number passes in Q4, and
the mug is no cup for classifiers: a duplicate key of a dictionary lost it. One thing differs
from the scripts: an empty answer is never right. They read the workbooks with pandas, which
makes the empty cell and the word ``None`` the text ``nan``, and their rule for Q4 accepts an
answer that matches nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

#: ImageNet classes that the script accepts.
CLASSES = {
    "backpack": {414},
    "comic_book": {917},
    "cup": {968},
    "keyboard": {508},
    "laptop": {620, 681},
    "mouse": {673},
    "phone": {487},
    "remote": {761},
    "tie": {906},
    "water_bottle": {898},
}

#: What the script for people accepts in Q1, anywhere in the answer.
PEOPLE_SYNONYMS = {
    "backpack": ("backpack",),
    "comic_book": ("comic", "book"),
    "cup": ("cup", "mug"),
    "keyboard": ("keyboard",),
    "laptop": ("laptop", "computer", "notebook"),
    "mouse": ("mice", "mouse"),
    "phone": ("cellular", "cell", "smartphone", "phone"),
    "remote": ("remote", "controller"),
    "tie": ("tie",),
    "water_bottle": ("bottle",),
}

#: Longest answers that count as faithful, in characters.
MAX_LENGTH = {"q1": 14, "q2": 5, "q3": 14, "q4": 5}

_NUMBER_WORDS = {2: "two", 3: "three", 4: "four", 5: "five"}

_CHOICE = re.compile(r"([A-Z]?)\)?\s*([0-9]?)")


@dataclass(frozen=True)
class Ruling:
    """What a rule says of an answer: named the truth; named it wrongly; not as was asked."""

    soft: bool
    factual_error: bool
    faithfulness_error: bool

    @property
    def hard(self) -> bool:
        """Neither kind of error."""
        return not (self.factual_error or self.faithfulness_error)


def judge(
    task: str,
    answer: str,
    raw_length: int,
    category: str,
    count: int,
    options: tuple[str, ...],
    *,
    person: bool,
) -> Ruling | None:
    """Score an answer as the released scripts do.

    Parameters
    ----------
    answer : str
        What the scripts compared: the cleaned answer where there is one.
    raw_length : int
        Characters of the answer as given.

    Returns
    -------
    Ruling or None
        None for Q4 where the options, hence the right letter, are not known.
    """
    too_long = raw_length > MAX_LENGTH[task]
    pieces = [piece.strip() for piece in answer.lower().split(",")]
    blank = not answer.strip()
    if task == "q1":
        if person:
            soft = any(name in answer.lower() for name in PEOPLE_SYNONYMS[category])
        else:
            soft = any(category.split("_", maxsplit=1)[0] in piece for piece in pieces)
        return Ruling(soft, not soft, too_long or len(pieces) > 1)
    if task == "q2":
        accepted = (str(count), _NUMBER_WORDS.get(count, str(count)))
        soft = any(name in answer.lower() for name in accepted)
        return Ruling(soft, not soft, too_long)
    if task == "q3":
        truth = category.replace("_", " ")
        offered = options or (*(name.replace("_", " ") for name in CLASSES), "other")
        soft = not blank and any(piece in truth for piece in pieces)
        strange = any(piece not in offered for piece in pieces)
        return Ruling(soft, not soft or len(pieces) > 1, strange or too_long)
    truth_option = next((o for o in options if o.endswith(f") {count}")), None)
    if truth_option is None:
        return None
    matched = _CHOICE.match(answer)
    soft = not blank and matched is not None and ") ".join(matched.groups()) in truth_option
    return Ruling(soft, not soft, too_long)
