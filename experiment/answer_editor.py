"""The text that a participant types: an immutable line with a cursor.

The toolkit's own text boxes take the keys of the trial before and keep the Enter that submits.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Self

from experiment.inputs import Motion

#: Longer than any answer; what is typed beyond is not taken.
MAX_CHARACTERS = 500


@dataclass(frozen=True)
class AnswerEditor:
    """Text and cursor. `cursor` counts characters before it."""

    text: str = ""
    cursor: int = 0

    @property
    def blank(self) -> bool:
        """Whether there is nothing to submit."""
        return not self.text.strip()

    def typed(self, text: str) -> Self:
        """With printable text put in at the cursor, composed (NFC) with what stands before it."""
        printable = "".join(
            c for c in text if not unicodedata.category(c).startswith("C") or c in _JOINERS
        )
        before = unicodedata.normalize("NFC", self.text[: self.cursor] + printable)
        after = self.text[self.cursor :]
        if not printable or len(before) + len(after) > MAX_CHARACTERS:
            return self
        return type(self)(before + after, len(before))

    def moved(self, motion: Motion) -> Self:
        """After an editing key. A letter goes as a whole, with all marks that combine with it."""
        match motion:
            case Motion.BACKSPACE:
                start = self._before()
                return type(self)(self.text[:start] + self.text[self.cursor :], start)
            case Motion.DELETE:
                return type(self)(
                    self.text[: self.cursor] + self.text[self._after() :], self.cursor
                )
            case Motion.LEFT:
                return type(self)(self.text, self._before())
            case Motion.RIGHT:
                return type(self)(self.text, self._after())
            case Motion.HOME:
                return type(self)(self.text, 0)
            case Motion.END:
                return type(self)(self.text, len(self.text))

    def _before(self) -> int:
        at = max(0, self.cursor - 1)
        while at > 0 and unicodedata.combining(self.text[at]):
            at -= 1
        return at

    def _after(self) -> int:
        at = min(len(self.text), self.cursor + 1)
        while at < len(self.text) and unicodedata.combining(self.text[at]):
            at += 1
        return at


#: Zero-width joiner and non-joiner: Persian and Indic spelling needs them.
_JOINERS = "\u200c\u200d"
