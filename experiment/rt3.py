"""Three classes by key, against the clock: the reaction-time task of ColorSense.

Each participant sees the same number of pictures of each class, each picture once, in blocks.
Source: Chiu et al., arXiv 2212.08650, section on human subjects.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence

from experiment.blocks import arrange
from experiment.errors import InfeasibleError
from experiment.records import Design, PlannedTrial, Slot
from schemas.answer_store import CHOICE
from schemas.design_store import ShownFrame

#: The paper's classes: ImageNet ids, and their names as a list of labels may have them.
CLASSES = {
    "n02056570": ("king penguin",),
    "n02128757": ("snow leopard", "ounce"),
    "n03095699": ("container ship", "containership", "container vessel"),
}


def find_categories(categories: Iterable[str], wanted: Sequence[str] = ()) -> tuple[str, ...]:
    """The three categories of the catalog, in the order of their keys.

    Parameters
    ----------
    wanted : sequence of str
        Categories as the catalog names them; empty takes the paper's, by id or by name.

    Raises
    ------
    InfeasibleError
        If one is not in the catalog.
    """
    known = set(categories)
    if wanted:
        if missing := set(wanted) - known:
            raise InfeasibleError(
                "classes", f"no imported picture is labelled {', '.join(sorted(missing))}"
            )
        return tuple(dict.fromkeys(wanted))
    found = []
    for key, names in CLASSES.items():
        spelled = {_plain(name): name for name in sorted(known)}
        match = next((spelled[one] for one in (key, *names) if one in spelled), None)
        if match is None:
            raise InfeasibleError(
                "classes",
                f"no imported picture is labelled {key} ({names[0]}): import some with "
                "`snaprig import images DIR --labels FILE`, or name yours with `--classes A,B,C`",
            )
        found.append(match)
    return tuple(found)


def make_rt3_design(
    pictures: Sequence[ShownFrame],
    options: Sequence[str],
    participants: int,
    seed: int,
    trials: int | None = None,
) -> Design:
    """A design with the classes in balance; pictures are shown as rarely as possible.

    Parameters
    ----------
    options : sequence of str
        The classes, in the order of their keys.
    trials : int or None
        Of a participant, a multiple of the number of classes; None shows all that balance allows.

    Raises
    ------
    InfeasibleError
        If there are too few pictures, or the classes cannot come equally often.
    """
    of_class = defaultdict(list)
    for picture in sorted(pictures, key=lambda one: one.key):
        of_class[picture.category].append(picture)
    scarcest = min(options, key=lambda name: len(of_class[name]))
    most = len(of_class[scarcest])
    each = most if trials is None else trials // len(options)
    if trials is not None and trials % len(options):
        raise InfeasibleError(
            "balance",
            f"{trials} trials cannot be the same number for each of {len(options)} classes: "
            f"`--trials {each * len(options)}` fits",
        )
    if not 1 <= each <= most:
        raise InfeasibleError(
            "pictures",
            f"{each} trials a class need as many pictures of each; there are {most} of "
            f"{scarcest}: `--trials {most * len(options)}` fits",
        )
    rng = random.Random(f"snaprig rt3 {seed}")  # noqa: S311 - no secret
    for name in options:
        rng.shuffle(of_class[name])
    slots = []
    for number in range(participants):
        shown = [
            of_class[name][(number * each + place) % len(of_class[name])]
            for name in options
            for place in range(each)
        ]
        planned = [PlannedTrial(*one[1:7], CHOICE, tuple(options)) for one in shown]
        slots.append(Slot(0, arrange(planned, (CHOICE,), False, rng)))
    parameters = {"participants": participants, "trials": each * len(options)}
    return Design("rt3", seed, {**parameters, "classes": list(options)}, tuple(slots))


def spoken(category: str) -> str:
    """A class as a participant reads it: an ImageNet id of the paper's by its name."""
    names = CLASSES.get(category)
    return names[0] if names else category.replace("_", " ")


def _plain(name: str) -> str:
    return name.casefold().replace("_", " ")
