"""Against the published values: what the SNAP paper states, what comes out here, and why.

Every row of `published.toml` is computed anew from the verdicts on the release's own answers,
under both protocols. Where the catalog cannot give a value its row says what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from evaluate.report.curves import Curve
from evaluate.report.detectors import OLRP_FN, detector_curves
from evaluate.report.effects import describe_effect
from evaluate.report.evidence import Evidence, MissingError
from evaluate.report.measures import measure
from evaluate.report.observed import Conditions, Observed, load_conditions, load_observed
from evaluate.report.published_rows import PublishedValue, PublishedValues, load_published
from evaluate.scoring import PAPER, RELEASE
from schemas.answer_store import list_observers
from schemas.catalog import Catalog
from schemas.said_store import load_settings

AGREES, DIFFERS, MISSING = "agrees", "differs", "not in the catalog"

#: Columns of the table, in order.
COLUMNS = (
    "id", "what", "published", "recomputed", "difference", "under_paper", "result", "reason",
    "effect", "source",
)  # fmt: skip


@dataclass(frozen=True)
class Reasoned:
    """A reason for a difference, and what it was measured to do (empty where it was not)."""

    text: str
    effect: str


@dataclass(frozen=True)
class Compared:
    """A published value beside what comes out here.

    Attributes
    ----------
    recomputed, under_paper : float or None
        Under the protocols `release` and `paper`; None where the catalog cannot tell.
    missing : str
        What the catalog lacks.
    """

    value: PublishedValue
    recomputed: float | None
    under_paper: float | None
    missing: str
    reasons: tuple[Reasoned, ...]

    @property
    def difference(self) -> float | None:
        """Recomputed less published."""
        return None if self.recomputed is None else self.recomputed - self.value.published

    @property
    def result(self) -> str:
        """Whether the recomputed value is the published one, to the digits printed."""
        if self.recomputed is None:
            return MISSING
        return AGREES if self.value.agrees(self.recomputed) else DIFFERS

    def _lacks(self) -> list[str]:
        return [f"{self.missing[0].upper()}{self.missing[1:]}."] if self.missing else []

    def row(self) -> dict[str, Any]:
        """As a row of a table: `COLUMNS`, numbers as they are, None where there is none."""
        relation = "" if self.value.relation == "=" else self.value.relation
        return {
            "id": self.value.id,
            "what": self.value.what,
            "observer": self.value.observer,
            "unit": self.value.unit,
            "relation": relation,
            "published": self.value.published,
            "recomputed": self.recomputed,
            "difference": self.difference,
            "under_paper": self.under_paper,
            "result": self.result,
            "reason": " ".join([*self._lacks(), *(one.text for one in self.reasons)]),
            "effect": " ".join(one.effect for one in self.reasons if one.effect),
            "missing": self.missing,
            "source": self.value.source,
        }


def holds_release(observers: Iterable[Observed]) -> bool:
    """Whether there is anything to compare: answers that come from the release."""
    return any(one.released for one in observers)


def compare_with_published(
    catalog: Catalog,
    conditions: Conditions | None = None,
    detectors: Iterable[list[Curve]] | None = None,
) -> list[Compared]:
    """Compare everything published with what the catalog gives; responses must be scored.

    Both protocols are needed: an empty one gives rows without a recomputed value.

    Parameters
    ----------
    conditions : Conditions or None
        As loaded already.
    detectors : iterable of list of Curve
        As `detector_curves` gave them already.
    """
    conditions = conditions or load_conditions(catalog)
    curves = detector_curves(catalog, conditions) if detectors is None else detectors
    found = _detectors(catalog, curves)
    published = load_published()
    release, paper = (
        _evidence(catalog, protocol, conditions, found) for protocol in (RELEASE, PAPER)
    )
    return [_compare(value, published, release, paper) for value in published.value]


def spell(value: PublishedValue, number: float | None, *, signed: bool = False) -> str:
    """A number in the unit of a row and one digit more than printed; a dash for none."""
    if number is None:
        return "\N{EN DASH}"
    sign = "+" if signed else ""
    match value.unit:
        case "share":
            digits = max(value.decimals - 2, 0) + 1
            return f"{100 * number:{sign}.{digits}f} %"
        case "count":
            return f"{number:{sign}.0f}"
        case "millions":
            return f"{number:{sign}.0f} M"
        case "seconds":
            return f"{number:{sign}.1f} s"
        case "stops":
            return f"{number:{sign}.2f}".removesuffix(".00")


def _evidence(
    catalog: Catalog,
    protocol: str,
    conditions: Conditions,
    detectors: dict[str, dict[str, float]],
) -> Evidence:
    observers = tuple(one for one in load_observed(catalog, protocol, conditions) if one.released)
    frames = tuple(
        one for one in load_settings(catalog) if one.imported and one.kind in ("manual", "auto")
    )
    return Evidence(catalog, protocol, conditions, observers, frames, detectors)


def _detectors(catalog: Catalog, curves: Iterable[list[Curve]]) -> dict[str, dict[str, float]]:
    """Metrics of the release's detectors, and parameter sensitivity of their false negatives."""
    released = {
        one.name for one in list_observers(catalog) if one.spec.get("source") == "SNAP release"
    }
    found: dict[str, dict[str, float]] = {}
    for measures in curves:
        for curve in measures:
            if curve.who.name in released:
                metrics = found.setdefault(curve.who.name, {})
                metrics[curve.measure] = curve.overall.value
                if curve.measure == OLRP_FN and curve.sensitivity is not None:
                    metrics["fn_ps"] = curve.sensitivity.parameter_sensitivity
    return found


def _compare(
    value: PublishedValue, values: PublishedValues, release: Evidence, paper: Evidence
) -> Compared:
    found: list[float | None] = []
    missing = ""
    for evidence in (release, paper):
        try:
            found.append(measure(evidence, value))
        except MissingError as error:
            found.append(None)
            missing = missing or str(error)
    reasons = tuple(
        Reasoned(
            values.reason[key].text,
            describe_effect(name, release, paper, value)
            if (name := values.reason[key].effect) is not None
            else "",
        )
        for key in value.reasons
    )
    return Compared(value, found[0], found[1], missing, reasons)
