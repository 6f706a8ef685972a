"""PsychoPy's screen as a process of its own: one JSON command a line, one JSON answer a line."""

import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from experiment.image_preparation import make_mask, open_picture
from experiment.inputs import Click, KeyPress, Moved, Typed
from experiment.options_view import lay_out
from experiment.screen import PsychoPyScreen
from experiment.views import Blank, Fixation, Mask, OptionsView, Page, Picture, TextView

SHOWN = (960, 640)


def view_of(name, arguments):
    match name:
        case "options":
            boxes = lay_out(tuple(arguments["options"]))
            return OptionsView(arguments["prompt"], boxes, arguments.get("chosen"), "hint")
        case "text":
            return TextView(arguments["prompt"], arguments["text"], len(arguments["text"]), "hint")
        case "page":
            return Page(arguments["title"], arguments["body"], "hint")
    return {"blank": Blank, "fixation": Fixation, "picture": Picture, "mask": Mask}[name]()


def describe(event):
    match event:
        case KeyPress(at_s=at_s, key=key):
            return {"kind": "key", "key": key.value, "at_s": at_s}
        case Typed(at_s=at_s, text=text, pressed_s=pressed_s):
            return {"kind": "text", "text": text, "at_s": at_s, "pressed_s": pressed_s}
        case Moved(at_s=at_s, motion=motion):
            return {"kind": "motion", "motion": motion.value, "at_s": at_s}
        case Click(at_s=at_s, x_px=x_px, y_px=y_px):
            return {"kind": "click", "x_px": x_px, "y_px": y_px, "at_s": at_s}


def answer(screen, command):
    match command:
        case {"do": "load", "path": path, "mask": mask}:
            prepared = open_picture(Path(path), SHOWN)
            screen.load(prepared.image, make_mask(mask, SHOWN, 1), TextView("?"))
            return {}
        case {"do": "show", "view": name, **arguments}:
            screen.draw(view_of(name, arguments))
            return {"flip_s": screen.flip()}
        case {"do": "inputs", "for_s": for_s}:
            until, found = time.perf_counter() + for_s, []
            while time.perf_counter() < until:
                found += screen.inputs()
                screen.wait_until(time.perf_counter() + 0.001)
            return {"inputs": [describe(event) for event in found]}
        case {"do": "facts"}:
            facts = screen.facts()
            return {"window_px": facts.window_px, "renderer": facts.renderer, "gamma": facts.gamma}


def say(document):
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


with PsychoPyScreen(SHOWN, photodiode="photodiode" in sys.argv) as opened:
    say({"size_px": opened.size_px})
    for line in sys.stdin:
        say(answer(opened, json.loads(line)))
