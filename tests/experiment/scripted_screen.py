"""A screen, a keyboard and a clock that tests hold in their hands."""

import math
from collections.abc import Callable

from experiment.inputs import Click, Input, Key, KeyPress, Moved, Typed
from experiment.views import Blank, OptionsView, Page, Picture, TextView, View


class ScriptedScreen:
    """Flips at exact refreshes; drops those it is told to; inputs come at their times.

    `shown` lists (time, view) of every flip. `on_view(screen, view, at_s)` is called when a view
    that differs from the one before becomes visible: a participant reacts there.
    """

    def __init__(self, hz=60.0, on_view=None, size_px=(1680, 1050)):
        self.hz, self.size_px = hz, size_px
        self.on_view: Callable | None = on_view
        self.time_s = 100.0
        self.shown: list[tuple[float, View]] = []
        self.loaded = []
        self.drop_at: set[int] = set()  # numbers of flips that come one refresh late
        self.pending: list[Input] = []
        self._drawn: View = Blank()

    def now_s(self):
        return self.time_s

    def load(self, picture, mask, question):
        self.loaded.append((picture, mask, question))

    def alerts(self):
        return []

    def draw(self, view):
        self._drawn = view

    def flip(self):
        late = 1 if len(self.shown) in self.drop_at else 0
        tick = math.floor(self.time_s * self.hz + 1e-6) + 1 + late
        self.time_s = tick / self.hz
        before = self.shown[-1][1] if self.shown else None
        self.shown.append((self.time_s, self._drawn))
        if self.on_view is not None and self._drawn != before:
            self.on_view(self, self._drawn, self.time_s)
        return self.time_s

    def wait_until(self, when_s):
        self.time_s = max(self.time_s, when_s)

    def inputs(self):
        due = [event for event in self.pending if event.at_s <= self.time_s]
        self.pending = [event for event in self.pending if event.at_s > self.time_s]
        return sorted(due, key=lambda event: event.at_s)

    # what a participant does

    def key(self, at_s, key):
        self.pending.append(KeyPress(at_s, Key(key)))

    def type(self, at_s, text, pressed_s=None):
        self.pending.append(Typed(at_s, text, at_s if pressed_s is None else pressed_s))

    def move(self, at_s, motion):
        self.pending.append(Moved(at_s, motion, at_s))

    def click(self, at_s, x_px, y_px):
        self.pending.append(Click(at_s, x_px, y_px))

    def runs(self):
        """[view, onset, flips] of each stretch of flips with one view."""
        found = []
        for at_s, view in self.shown:
            if found and found[-1][0] == view:
                found[-1][2] += 1
            else:
                found.append([view, at_s, 1])
        return found


def diligent(text="cup", wrong=None):
    """A participant who answers everything: text, option or key, and goes on."""

    def react(screen, view, at_s):
        match view:
            case TextView(caret=None) | Page():
                screen.key(at_s + 0.2, "space")
            case TextView(text=""):
                screen.type(at_s + 0.5, text)
                screen.key(at_s + 0.8, "enter")
            case OptionsView(chosen=None, boxes=boxes):
                screen.click(at_s + 0.5, boxes[0].x_px, boxes[0].y_px)
            case OptionsView():
                screen.key(at_s + 0.2, "space")
            case Picture(legend=legend) if legend:
                screen.type(at_s + 0.6, "1")

    return react
