"""Read answers in words: what they name, and whether they answer at all. Pure.

The right behavior of each rule is that of a public report of the wrong one; the tests name them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache


class State(StrEnum):
    """Whether an answer could be read."""

    READ = "read"
    NO_ANSWER = "no_answer"  # empty, refused, or cut off before the answer
    UNSURE = "unsure"  # several answers that exclude each other: a person must rule


@dataclass(frozen=True)
class Reading:
    """What an answer names, in order, each once; `alone` if it names nothing beside."""

    named: tuple[str, ...]
    alone: bool
    state: State = State.READ


_THINKING = re.compile(r"<think>.*?</think>", re.DOTALL | re.IGNORECASE)
_TOKENS = re.compile(r"<\|[^>]*\|>|</?s>")
_WRAPPERS = re.compile(r"\\boxed|\\text|[*$`_{}\"“”]")
_MARKER = re.compile(r"\banswer\s*(?:is|:)+[ \t]*", re.IGNORECASE)
_ECHO = re.compile(
    r"(?:Objects of what class are in the image|How many objects are in the image)\?"
    r"(?:\s*Answer with the name of the class\.|\s*Answer with one number\."
    r"|\s*Select one of the following options:(?:[^\n:]*?\bother\b|(?:\s*[A-Z]\)\s*\d+){2,}))?",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\b(?:unanswerable|cannot|can't|can not|unable|don't know|do not know|unknown|unclear"
    r"|not (?:visible|possible|sure|fully visible)|too dark|no answer|n/a)\b",
    re.IGNORECASE,
)
_NOTHING = {"", "none", "nothing", "nan", "-", "?", "no", "sorry", "na"}
_SEPARATOR = re.compile(r"[,;/\n]|\band\b|\bor\b")
_WORD = re.compile(r"[a-z]+")

_NUMBER_WORDS = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen twenty".split()
    )
}
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50}
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)*|[a-z]+(?:-[a-z]+)?", re.IGNORECASE)
#: The article, or the pronoun: no votes.
_ARTICLE = re.compile(r"[AI]\s+(?!or\b|and\b)[a-z]")
_LABEL = re.compile(r"\(?\b([A-Z])\b(?![-'])\)?[).:]?\s*(?:\(?(\d+)\)?)?")


def final_text(text: str) -> str | None:
    """What an answer finally says: without thinking aloud, echo, markup; None if cut off.

    Text after the last marker (``Answer:``, ``the answer is``) counts, if there is any.
    """
    plain = _THINKING.sub(" ", unicodedata.normalize("NFKC", text))
    if "<think>" in plain.lower():
        return None
    plain = _WRAPPERS.sub("", _TOKENS.sub(" ", plain))
    plain = _ECHO.sub(" ", plain).strip()
    marked = [found.end() for found in _MARKER.finditer(plain)]
    for start in reversed(marked):
        if plain[start:].strip(" .:\n"):
            return plain[start:].strip()
    return plain


def is_refusal(plain: str) -> bool:
    """Whether a final text answers nothing."""
    bare = plain.strip().strip(".!").casefold()
    return bare in _NOTHING or _REFUSAL.search(plain) is not None


@dataclass(frozen=True)
class Phrases:
    """Names of things by their words; the longest one at a place counts."""

    by_words: Mapping[tuple[str, ...], str]
    longest: int

    @classmethod
    def of(cls, names: Mapping[str, tuple[str, ...]]) -> Phrases:
        """Thing to its names, each also in the plural."""
        by_words = {
            form: thing
            for thing, known in names.items()
            for name in known
            for form in _forms(tuple(_WORD.findall(name.casefold())))
            if form
        }
        return cls(by_words, max(map(len, by_words), default=0))

    def named(self, plain: str) -> tuple[str, ...]:
        """Things that a text names, in order, each once."""
        words = _WORD.findall(plain.casefold())
        found: dict[str, None] = {}
        at = 0
        while at < len(words):
            for length in range(min(self.longest, len(words) - at), 0, -1):
                thing = self.by_words.get(tuple(words[at : at + length]))
                if thing is not None:
                    found[thing] = None
                    at += length
                    break
            else:
                at += 1
        return tuple(found)


def read_classes(text: str, phrases: Phrases) -> Reading:
    """The classes that an answer names."""
    plain = final_text(text)
    if plain is None:
        return Reading((), alone=False, state=State.NO_ANSWER)
    named = phrases.named(plain)
    if not named and is_refusal(plain):
        return Reading((), alone=False, state=State.NO_ANSWER)
    pieces = [piece for piece in _SEPARATOR.split(plain.casefold()) if piece.strip(" .")]
    return Reading(named, alone=len(named) == 1 and len(pieces) == 1)


def read_count(text: str) -> Reading:
    """The number that an answer names, as a decimal numeral.

    Words and the digits of any script count alike. Two different numbers, ranges, decimals and
    negative numbers are unsure: no rule picks one of them.
    """
    plain = final_text(text)
    if plain is None:
        return Reading((), alone=False, state=State.NO_ANSWER)
    values: dict[str, None] = {}
    for token in _NUMBER.findall(plain):
        value = _number(token)
        if value is None:
            continue
        if value == "":
            return Reading((), alone=False, state=State.UNSURE)
        values[value] = None
    if len(values) > 1:
        return Reading(tuple(values), alone=False, state=State.UNSURE)
    if not values:
        state = State.NO_ANSWER if is_refusal(plain) else State.READ
        return Reading((), alone=False, state=state)
    return Reading(tuple(values), alone=True)


def read_option(text: str, options: Mapping[str, str]) -> Reading:
    """The option that an answer picks, by letter, by content, or by both.

    Parameters
    ----------
    options : mapping of str to str
        Letter to content, e.g. ``{"A": "2", "B": "5"}``.

    Returns
    -------
    Reading
        `named` holds the contents picked; a letter with a content that it does not have, or
        something that is not offered, is named as it stands, and not `alone`.
    """
    plain = final_text(text)
    if plain is None:
        return Reading((), alone=False, state=State.NO_ANSWER)
    bare = plain.strip(" .:()")
    if len(bare) == 1 and bare.upper() in options:  # a small letter only if it is all there is
        return Reading((options[bare.upper()],), alone=True)
    picked: dict[str, bool] = {}
    for found in _LABEL.finditer(plain):
        letter, number = found.groups()
        if letter not in options or (not number and _ARTICLE.match(plain, found.start())):
            continue
        if number and number != options[letter]:
            picked.setdefault(f"{letter}) {number}", False)
        else:
            picked.setdefault(options[letter], True)
    if not picked:
        counted = read_count(plain)
        if counted.state is not State.READ or not counted.named:
            return counted
        return Reading(counted.named, alone=counted.named[0] in options.values())
    if len(picked) > 1:
        leading = _LABEL.match(plain)
        if (
            leading is None
            or leading[1] not in options
            or _SEPARATOR.match(plain[leading.end() :].strip())
        ):
            return Reading(tuple(picked), alone=False, state=State.UNSURE)
        picked = dict(list(picked.items())[:1])  # a leading label is the answer
    (content, offered), *_ = picked.items()
    return Reading((content,), alone=offered)


@cache
def _number(token: str) -> str | None:
    """The numeral of a token; empty for one that is no count; None for a word."""
    if token[0].isdigit() or token[0] == "-":
        digits = token.replace(",", "") if re.fullmatch(r"\d{1,3}(,\d{3})+", token) else token
        return str(int(digits)) if digits.isdecimal() else ""
    tens, _, ones = token.casefold().partition("-")
    if ones:
        value = _TENS.get(tens), _NUMBER_WORDS.get(ones)
        return None if value[0] is None or value[1] is None else str(value[0] + value[1])
    found = _NUMBER_WORDS.get(tens, _TENS.get(tens))
    return None if found is None else str(found)


def _forms(words: tuple[str, ...]) -> list[tuple[str, ...]]:
    """A name in the singular and the plural."""
    if not words:
        return []
    *before, last = words
    return [words, (*before, last + "s"), (*before, last + "es")]
