"""Pictures of a participant's screens, drawn by PsychoPy as in a session.

Run on a screen of 1680 x 1050 px, e.g. a virtual one:

    xvfb-run -a -s '-screen 0 1680x1050x24' .venv/bin/python -m docs.make_screens [FOLDER]

Without a folder, those that the documents show go to docs/images; with one, all go there.
"""

from __future__ import annotations

import sys
from pathlib import Path

from PIL import Image

from experiment import texts
from experiment.dialogs import GO_ON, NEXT_HINT, STOP, paginate
from experiment.image_preparation import make_mask
from experiment.options_view import lay_out
from experiment.practice import load_pictures
from experiment.screen import PsychoPyScreen
from experiment.trial import OPTIONS_HINT, TEXT_HINT
from experiment.views import Fixation, Mask, OptionsView, Page, Picture, TextView, View
from schemas.questions import prompt_text

SHOWN_PX = (960, 640)
SMALL_PX = (840, 525)
IN_DOCUMENTS = ("text-question", "options", "count")

CATEGORIES = ("phone", "tie", "cup", "mouse", "laptop", "remote", "backpack", "keyboard",
              "comic book", "water bottle", "other")  # fmt: skip
CONSENT = (
    "This is where the text of your ethics board stands.\n\n" + "You may stop at any time. " * 9
)


def screens() -> dict[str, View]:
    """What is drawn, by name."""
    instructions = paginate(texts.INSTRUCTIONS["questions"])[0]
    breaking = texts.BREAK_BODY.format(done=1, all=4)
    count = lay_out(("A) 4", "B) 2", "C) 5", "D) 3"))
    return {
        "consent": Page(texts.CONSENT_TITLE, "\n".join(paginate(CONSENT)), NEXT_HINT),
        "agree": OptionsView(texts.CONSENT_QUESTION, lay_out((texts.AGREE, texts.DECLINE))),
        "instructions": Page("Instructions", instructions, NEXT_HINT),
        "fixation": Fixation(),
        "picture": Picture(),
        "mask": Mask(),
        "text-question": TextView(prompt_text("q1"), "water bottle", 12, TEXT_HINT),
        "right-to-left": TextView(prompt_text("q1"), "בקבוק מים", 9, TEXT_HINT),
        "options": OptionsView(prompt_text("q3"), lay_out(CATEGORIES), "cup", NEXT_HINT),
        "count": OptionsView(prompt_text("q4"), count, None, OPTIONS_HINT),
        "reaction": Picture("1 king penguin   2 snow leopard   3 container ship"),
        "break": Page(texts.BREAK_TITLE, breaking, NEXT_HINT),
        "leave": OptionsView(
            "Stop the session? Your answers so far are kept.", lay_out((GO_ON, STOP))
        ),
        "end": Page(texts.END_TITLE, texts.END_BODY, NEXT_HINT),
    }


def main() -> None:
    """Draw and save them."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    target = folder or Path(__file__).parent / "images"
    target.mkdir(parents=True, exist_ok=True)
    picture = load_pictures(None, SHOWN_PX, 2)[1].image
    with PsychoPyScreen(SHOWN_PX) as screen:
        screen.load(picture, make_mask("noise", SHOWN_PX, 0), Fixation())
        for name, view in screens().items():
            if folder is None and name not in IN_DOCUMENTS:
                continue
            screen.draw(view)
            whole = screen.picture_of_screen().convert("RGB")
            screen.flip()
            small = whole.resize(SMALL_PX, Image.Resampling.LANCZOS).quantize(64)
            small.save(target / f"screen-{name}.png", optimize=True)


if __name__ == "__main__":
    main()
