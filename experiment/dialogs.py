"""Pages, choices and short texts around the trials. What is still held from before never counts."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from experiment.answer_editor import AnswerEditor
from experiment.inputs import Click, Input, Key, KeyPress, Moved, Typed, began_s
from experiment.options_view import lay_out, option_at, option_for_key
from experiment.views import OptionsView, Page, Screen, TextView, View

#: Between looks at keyboard and mouse.
POLL_S = 0.002

#: Drawn anew this often: another window may have been there.
REDRAW_S = 0.5

#: Of a page to read.
LINE_CHARACTERS, PAGE_LINES = 78, 22

NEXT_HINT = "Press the space bar to go on"
GO_ON, STOP = "Go on", "Stop the session"

Told = Callable[[View], None]


class LeftError(Exception):
    """The participant stopped the session, and confirmed it."""


def ask_to_leave(screen: Screen, told: Told) -> bool:
    """Whether the participant, who pressed Esc, really wants to stop. Esc again goes on."""
    prompt = "Stop the session? Your answers so far are kept."
    return choose(screen, prompt, (GO_ON, STOP), told, escape=GO_ON) == STOP


def read_pages(screen: Screen, title: str, body: str, told: Told, hint: str = NEXT_HINT) -> None:
    """Show a text, in as many pages as it takes; space goes on. Raises LeftError."""
    pages = paginate(body)
    for number, text in enumerate(pages, start=1):
        heading = f"{title} ({number} of {len(pages)})" if len(pages) > 1 else title
        dialog = _Dialog(screen, Page(heading, text, hint), told)
        while not _is(dialog.next(), Key.SPACE):
            pass


def wait_for_click(screen: Screen, prompt: str, label: str, told: Told) -> None:
    """Wait until the one option shown is clicked with the mouse. Raises LeftError."""
    boxes = lay_out((label,), keys=False)
    dialog = _Dialog(screen, OptionsView(prompt, boxes), told)
    while True:
        event = dialog.next()
        if isinstance(event, Click) and option_at(boxes, event.x_px, event.y_px):
            return


def choose(
    screen: Screen,
    prompt: str,
    options: tuple[str, ...],
    told: Told,
    escape: str | None = None,
) -> str:
    """The option that is clicked, or chosen by its key; `escape` is what Esc stands for.

    Raises LeftError where Esc stands for nothing and the participant confirms to stop.
    """
    boxes = lay_out(options)
    view = OptionsView(prompt, boxes, hint="Click one, or press its key")
    dialog = _Dialog(screen, view, told, asks_on_escape=escape is None)
    chosen: str | None = None
    while chosen is None:
        event = dialog.next()
        if isinstance(event, Click):
            chosen = option_at(boxes, event.x_px, event.y_px)
        elif isinstance(event, Typed):
            chosen = option_for_key(boxes, event.text)
        elif _is(event, Key.ESCAPE):
            chosen = escape
    return chosen


def ask_text(screen: Screen, prompt: str, hint: str, told: Told) -> str:
    """A short text, submitted by Enter; empty where the participant rather says nothing."""
    editor = AnswerEditor()
    dialog = _Dialog(screen, TextView(prompt, "", 0, hint), told)
    while not _is(event := dialog.next(), Key.ENTER):
        if isinstance(event, Typed):
            editor = editor.typed(event.text)
        elif isinstance(event, Moved):
            editor = editor.moved(event.motion)
        dialog.show(TextView(prompt, editor.text, editor.cursor, hint))
    return editor.text.strip()


def paginate(text: str) -> list[str]:
    """A text wrapped to lines and pages of the screen; paragraphs stay apart. One page at least."""
    lines: list[str] = []
    for paragraph in text.strip().splitlines():
        lines += textwrap.wrap(paragraph, LINE_CHARACTERS) or [""]
    starts = range(0, max(1, len(lines)), PAGE_LINES)
    return ["\n".join(lines[start : start + PAGE_LINES]).strip("\n") for start in starts]


def _is(event: Input, key: Key) -> bool:
    return isinstance(event, KeyPress) and event.key is key


class _Dialog:
    """A view that waits. Inputs count from its onset; Esc asks whether to leave."""

    def __init__(
        self, screen: Screen, view: View, told: Told, *, asks_on_escape: bool = True
    ) -> None:
        self._screen, self._view, self._told = screen, view, told
        self._asks_on_escape = asks_on_escape
        self._queue: list[Input] = []
        self._open()

    def show(self, view: View) -> None:
        """Show another state of the same dialog."""
        self._view = view
        self._screen.draw(view)
        self._drawn_s = self._screen.flip()

    def next(self) -> Input:
        """The next input; raises LeftError where Esc was pressed and meant."""
        while True:
            self._queue += self._screen.inputs()
            while self._queue:
                event = self._queue.pop(0)
                if began_s(event) < self._onset_s:
                    continue
                if not (self._asks_on_escape and _is(event, Key.ESCAPE)):
                    return event
                if ask_to_leave(self._screen, self._told):
                    raise LeftError
                self._open()
            now_s = self._screen.now_s()
            if now_s - self._drawn_s >= REDRAW_S:
                self.show(self._view)
            self._screen.wait_until(now_s + POLL_S)

    def _open(self) -> None:
        self._screen.inputs()
        self._queue.clear()
        self.show(self._view)
        self._onset_s = self._drawn_s
        self._told(self._view)
