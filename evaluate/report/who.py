"""Observers as figures and tables name them."""

from __future__ import annotations

from dataclasses import dataclass

from evaluate.errors import EvaluateError
from evaluate.paper_models import PaperModel, find_paper_model


@dataclass(frozen=True)
class Who:
    """An observer, or the people of a data set.

    Attributes
    ----------
    name : str
        In the catalog, and in `evaluate score --json`.
    kind : {"person", "model"}
    label : str
        The paper's name where the paper has the model, else `name`.
    """

    name: str
    kind: str
    label: str

    @property
    def is_people(self) -> bool:
        """Whether persons answered."""
        return self.kind == "person"

    @property
    def published(self) -> PaperModel | None:
        """What is published about the model; None for all but the paper's."""
        return None if self.is_people else paper_row(self.name)


def who_is(name: str, kind: str) -> Who:
    """An observer by its name in the catalog."""
    row = paper_row(name) if kind == "model" else None
    return Who(name, kind, name if row is None else row.paper_name)


def paper_row(name: str) -> PaperModel | None:
    """What is published about a model of the paper; None for any other."""
    try:
        return find_paper_model(name)
    except EvaluateError:
        return None
