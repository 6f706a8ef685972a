"""What models are asked: the stimuli of a catalog, made where they can be made without a choice."""

from __future__ import annotations

from collections.abc import Iterable

from evaluate.questions import make_questions
from evaluate.release.rules import CLASSES
from schemas.answer_store import CHOICE, CLASSIFICATION, DETECTION, ORIGINAL, ensure_stimuli
from schemas.ask_store import ensure_choices, shown_categories
from schemas.catalog import Catalog
from schemas.question_store import list_question_frames, stored_options
from schemas.questions import TASKS as QUESTIONS

#: Of the order of options, where a run makes the questions; `snaprig questions make` takes others.
SEED = 1


#: Tasks that are asked of frames under another view. Questions are as people got them.
VIEWED = (CLASSIFICATION, DETECTION, CHOICE)


def ensure_asked(catalog: Catalog, tasks: Iterable[str], view: str = ORIGINAL) -> list[str]:
    """See that the stimuli of these tasks are in the catalog; what a person should know of it.

    Questions are made here only if there are none: more frames get theirs with the seed that the
    others have, which only the lab knows.
    """
    wanted, told = set(tasks), []
    for task in (CLASSIFICATION, DETECTION):
        if task in wanted:
            ensure_stimuli(catalog, task, view)
    if CHOICE in wanted:
        ensure_choices(catalog, choice_options(catalog), view)
    if view == ORIGINAL and wanted & set(QUESTIONS):
        there = stored_options(catalog, QUESTIONS[0])
        if not there:
            made = make_questions(catalog, SEED)
            if made.added[QUESTIONS[0]]:
                told.append(f"questions made for {made.frames} frames with --seed {SEED}")
        else:
            without = sum(frame.id not in there for frame in list_question_frames(catalog))
            if without:
                told.append(
                    f"{without} accepted frames have no questions yet: "
                    "`snaprig questions make --seed SEED` with the seed of the others"
                )
    return told


def choice_options(catalog: Catalog) -> tuple[str, ...]:
    """Categories of a zero-shot choice: SNAP's ten if all scenes are of these, else the scenes'."""
    found = shown_categories(catalog)
    return tuple(sorted(CLASSES)) if set(found) <= CLASSES.keys() else tuple(found)
