"""Words for zero-shot classification, read from `zero_shot.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from evaluate.errors import EvaluateError

#: The templates with which zero-shot results are published.
DEFAULT = "openai"


@cache
def _words() -> dict[str, Any]:
    path = Path(__file__).parents[1] / "zero_shot.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def imagenet_names() -> tuple[str, ...]:
    """CLIP's name of each ImageNet class; position is the class index."""
    return tuple(_words()["imagenet_names"])


def templates(chosen: object = None) -> tuple[str, ...]:
    """Prompt templates by name, or a row's own list; `{}` stands for the class.

    Raises
    ------
    EvaluateError
        For an unknown name, or a template without `{}`.
    """
    known = _words()["templates"]
    if chosen is None:
        chosen = DEFAULT
    if isinstance(chosen, str):
        if chosen not in known:
            raise EvaluateError(f"no prompt templates {chosen!r}; known: {', '.join(known)}")
        return tuple(known[chosen])
    if not isinstance(chosen, Sequence) or not all("{}" in str(one) for one in chosen):
        raise EvaluateError("`templates` is a name, or a list of texts with {} for the class")
    return tuple(str(one) for one in chosen)


def words_of(name: str) -> str:
    """A category as a prompt says it: `water_bottle` is a water bottle."""
    return name.replace("_", " ").strip()
