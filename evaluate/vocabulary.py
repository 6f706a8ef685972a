"""Which answers name a scene's category: data in `vocabulary.toml`, extended by a workspace."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from evaluate.errors import EvaluateError
from evaluate.imagenet import class_name, find_classes
from schemas.plan import FrozenModel, describe_errors

FILE_NAME = "vocabulary.toml"

ClassIndex = Annotated[int, Field(ge=0, le=999)]


class Entry(FrozenModel):
    """What counts as naming a category."""

    imagenet: tuple[ClassIndex, ...] = ()
    synonyms: tuple[str, ...] = ()


class _Document(FrozenModel):
    category: dict[str, Entry] = Field(default_factory=dict)


@dataclass(frozen=True)
class Vocabulary:
    """Categories and what names them.

    `digest` identifies its content: a verdict tells with it under which vocabulary it was
    reached.
    """

    entries: dict[str, Entry]

    @property
    def digest(self) -> str:
        """16 hex digits over all entries."""
        content = {name: entry.model_dump() for name, entry in self.entries.items()}
        canonical = json.dumps(content, sort_keys=True)
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    def name_of(self, category: str) -> str | None:
        """The entry that a category goes by: its own, else one that differs in case alone."""
        if category in self.entries:
            return category
        folded = category.casefold()
        return next((name for name in self.entries if name.casefold() == folded), None)

    def accepted_classes(self, category: str) -> frozenset[int]:
        """ImageNet classes that are right for a category.

        The vocabulary decides; a category that it lacks may be the exact name of one class.

        Raises
        ------
        EvaluateError
            If neither helps; the message says what to add, and where.
        """
        name = self.name_of(category)
        entry = None if name is None else self.entries[name]
        if entry is not None and entry.imagenet:
            return frozenset(entry.imagenet)
        named = find_classes(category)
        if len(named) == 1:
            return frozenset(named)
        why = "is neither in the vocabulary nor the name of an ImageNet class"
        if named:
            several = ", ".join(f"{index} ({class_name(index)})" for index in named)
            why = f"is the name of several ImageNet classes: {several}"
        raise EvaluateError(
            f"category {category!r} {why}; add to {FILE_NAME} in the workspace: "
            f"[category.{json.dumps(category)}] imagenet = [INDEX, …]"
        )


def load_vocabulary(workspace: Path | None = None) -> Vocabulary:
    """The vocabulary that comes with snaprig, extended by a workspace's own file if any.

    Raises
    ------
    EvaluateError
        For a file that cannot be read as a vocabulary, with one line per mistake.
    """
    entries = _read(Path(__file__).with_name(FILE_NAME))
    own = None if workspace is None else workspace / FILE_NAME
    if own is not None and own.is_file():
        entries = {**entries, **_read(own)}
    return Vocabulary(entries)


def _read(path: Path) -> dict[str, Entry]:
    try:
        return _Document.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).category
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise EvaluateError(f"{path} is not valid TOML: {error}") from error
    except ValidationError as error:
        raise EvaluateError(f"{path}: {describe_errors(error)}") from error
