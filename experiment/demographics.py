"""Age and sex of participants: optional, in a file of their own, apart from every answer."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from experiment.errors import ExperimentError
from schemas.workspace import Workspace, safe_name, write_atomically

#: A summary of fewer people would tell of single ones.
FEWEST = 5


@dataclass(frozen=True)
class Person:
    """What a participant chose to say. None and empty: nothing said."""

    age_years: int | None = None
    sex: str = ""


def write_person(workspace: Workspace, participant: str, person: Person) -> None:
    """Keep what a participant said, in ``sessions/PARTICIPANT/person.json``."""
    path = workspace.sessions / safe_name(participant) / "person.json"
    write_atomically(path, json.dumps(asdict(person)).encode())


def read_person(workspace: Workspace, participant: str) -> Person:
    """What a participant said; an empty record for nothing."""
    path = workspace.sessions / safe_name(participant) / "person.json"
    if not path.exists():
        return Person()
    try:
        return Person(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ExperimentError(f"{path} is no record of age and sex: {error}") from error


def summarize(people: list[Person]) -> dict[str, Any]:
    """Age and sex over all who said something; empty for fewer than five people."""
    ages = [one.age_years for one in people if one.age_years is not None]
    sexes = Counter(one.sex or "not said" for one in people)
    if len(people) < FEWEST:
        return {}
    found: dict[str, Any] = {"people": len(people), "sex": dict(sorted(sexes.items()))}
    if len(ages) >= FEWEST:
        found["age_years"] = {
            "n": len(ages),
            "mean": round(statistics.fmean(ages), 1),
            "sd": round(statistics.stdev(ages), 1),
            "min": min(ages),
            "max": max(ages),
        }
    return found
