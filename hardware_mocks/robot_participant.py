"""A participant without a person: real keys and clicks through the window system's own door.

`python -m hardware_mocks.robot_participant --accuracy 0.9` reads what has become visible, one
JSON document a line, and answers by XTEST events, which arrive as those of a keyboard and a
mouse. It logs what it did, and when, on the machine's monotonic clock.

| message | it does |
|---|---|
| ``{"view": "page"}`` | presses space |
| ``{"view": "text", "submitted": false, "right": …, "wrong": […]}`` | types, presses Enter |
| ``{"view": "text", "submitted": true}`` | presses space |
| ``{"view": "options", "options": [{label, key, x_px, y_px}], "chosen": null, …}`` | clicks one |
| ``{"view": "options", "chosen": "cup", …}`` | presses space |
| ``{"view": "keys", "keys": {label: key}, …}`` | presses a key |
| ``{"view": "stamps", "count": 100}`` | presses space so often, reports when |

Without a truth (``right``) it takes the first option.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import click

#: As long as a quick person takes, divided by some: nobody waits for a robot.
REACTION_S = (0.06, 0.14)

#: Between two keys.
TYPING_S = 0.006

#: Between two stamped keys: random, so that they fall anywhere within a refresh.
STAMP_S = (0.03, 0.06)


class Hands:
    """Keys and mouse buttons of the display that DISPLAY names."""

    def __init__(self) -> None:
        from Xlib import XK, X, display  # type: ignore[import-untyped]
        from Xlib.ext import xtest  # type: ignore[import-untyped]

        self._x, self._xk, self._xtest = X, XK, xtest
        self._display = display.Display()
        self._spare = self._find_spare()
        self._mapped: dict[int, int] = {}

    def press(self, name: str) -> float:
        """Press and release a key by its keysym's name; when it went down, in seconds."""
        return self._tap(self._xk.string_to_keysym(name))

    def type(self, text: str) -> None:
        """Type text; a letter that the layout lacks is put on a spare key first."""
        for letter in text:
            code = ord(letter)
            self._tap(code if code < 0x100 else 0x01000000 | code)
            time.sleep(TYPING_S)

    def click(self, x_px: int, y_px: int, hold_s: float = 0.02) -> None:
        """Move the pointer and press the left button."""
        self._send(self._x.MotionNotify, 0, x_px, y_px)
        self._send(self._x.ButtonPress, 1)
        time.sleep(hold_s)
        self._send(self._x.ButtonRelease, 1)

    def close(self) -> None:
        """Let go of the display."""
        self._display.close()

    def _tap(self, keysym: int) -> float:
        keycode, shifted = self._find(keysym)
        shift = self._display.keysym_to_keycode(self._xk.string_to_keysym("Shift_L"))
        if shifted:
            self._send(self._x.KeyPress, shift)
        down_s = time.perf_counter()
        self._send(self._x.KeyPress, keycode)
        self._send(self._x.KeyRelease, keycode)
        if shifted:
            self._send(self._x.KeyRelease, shift)
        return down_s

    def _find(self, keysym: int) -> tuple[int, bool]:
        for keycode, column in self._display.keysym_to_keycodes(keysym):
            if column in (0, 1):
                return keycode, column == 1
        if keysym not in self._mapped:
            # a key of its own for each letter: clients look a key up when they come to its event
            keycode = self._mapped[keysym] = self._spare.pop()
            self._display.change_keyboard_mapping(keycode, [[keysym, keysym]])
            self._display.sync()
            time.sleep(0.03)  # until the clients have taken the new mapping
        return self._mapped[keysym], False

    def _find_spare(self) -> list[int]:
        low = self._display.display.info.min_keycode
        high = self._display.display.info.max_keycode
        mapping = self._display.get_keyboard_mapping(low, high - low + 1)
        empty = [low + n for n, symbols in enumerate(mapping) if not any(symbols)]
        if not empty:
            raise click.ClickException("the keyboard's layout has no spare key to type letters on")
        return empty

    def _send(self, kind: int, detail: int, x_px: int = 0, y_px: int = 0) -> None:
        self._xtest.fake_input(self._display, kind, detail, x=x_px, y=y_px)
        self._display.sync()


class Participant:
    """Answers what it is told is visible."""

    def __init__(
        self, hands: Hands, accuracy: float, seed: int, journal: TextIO | None, out: TextIO
    ) -> None:
        self._hands, self._accuracy = hands, accuracy
        self._random = random.Random(seed)  # noqa: S311 - no secret
        self._journal, self._out = journal, out

    def react(self, seen: dict[str, Any]) -> None:
        """Do what a willing participant does about a view."""
        if seen["view"] == "stamps":
            self._stamp(seen["count"])
            return
        time.sleep(self._random.uniform(*REACTION_S))
        match seen:
            case {"view": "page"} | {"view": "text", "submitted": True}:
                self._hands.press("space")
            case {"view": "text"}:
                self._answer(seen, self._write)
            case {"view": "options", "chosen": str()}:
                self._hands.press("space")
            case {"view": "options", "options": options}:
                at = {option["label"]: option for option in options}
                self._answer(
                    {"right": options[0]["label"], **seen},
                    lambda said: self._hands.click(at[said]["x_px"], at[said]["y_px"]),
                )
            case {"view": "keys", "keys": keys}:
                self._answer(seen, lambda said: self._hands.type(keys[said]))

    def _write(self, said: str) -> None:
        self._hands.type(said)
        self._hands.press("Return")

    def _answer(self, seen: dict[str, Any], give: Callable[[str], object]) -> None:
        wrong = seen.get("wrong") or ()
        right = not wrong or self._random.random() < self._accuracy
        said = seen.get("right", "robot") if right else self._random.choice(wrong)
        give(said)
        if self._journal is not None and "trial" in seen:
            done = {"trial": seen["trial"], "said": said, "right": right, "at": time.perf_counter()}
            self._journal.write(json.dumps(done, ensure_ascii=False) + "\n")
            self._journal.flush()

    def _stamp(self, count: int) -> None:
        for _ in range(count):
            time.sleep(self._random.uniform(*STAMP_S))
            self._out.write(json.dumps({"down_s": self._hands.press("space")}) + "\n")
        self._out.write("\n")
        self._out.flush()


@click.command()
@click.option(
    "--accuracy", type=click.FloatRange(0, 1), default=1.0, help="Share of right answers."
)
@click.option("--seed", type=int, default=0, help="Of what it answers wrongly, and how.")
@click.option(
    "--journal",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File that what it did is appended to.",
)
def robot(accuracy: float, seed: int, journal: Path | None) -> None:
    """Answer what standard input says is visible, by keys and clicks; end with it."""
    hands = Hands()
    file = journal.open("a", encoding="utf-8") if journal else None
    participant = Participant(hands, accuracy, seed, file, sys.stdout)
    click.echo(json.dumps({"ready": True}))
    try:
        for line in sys.stdin:
            participant.react(json.loads(line))
    finally:
        hands.close()
        if file is not None:
            file.close()


if __name__ == "__main__":
    robot()
