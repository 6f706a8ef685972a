"""The real screen: PsychoPy's window with its pyglet keyboard and mouse. Only here are they known.

Both load when a screen is opened. What PsychoPy offers for text boxes, keys, mouse and gamma is
passed by on purpose: its boxes take the keys of the trial before, its polled mouse misses short
clicks and keeps held ones, and its frame rate looks healthy where flips do not wait at all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from PIL import Image

from experiment import clock
from experiment.drawing import Drawing
from experiment.errors import ExperimentError
from experiment.inputs import Click, Input, Key, KeyPress, Motion, Moved, Typed
from experiment.views import Blank, Fixation, Mask, OptionsView, Picture, View

#: Flips before the refresh is measured, and flips that measure it.
WARM_UP, PROBE = 20, 120

#: The last part of a wait spins: the system's sleep is late by up to so much.
SPIN_S = 0.0003

GRAY = (0.0,) * 3


@dataclass(frozen=True)
class ScreenFacts:
    """What the window system says of the screen.

    Attributes
    ----------
    window_px, frame_buffer_px, screen_px : tuple of int
        They differ where something scales.
    session_type : str
        Of the desktop: ``x11``, ``wayland``, or empty where there is none.
    compositor : bool or None
        Whether one draws in between; None where the system cannot say.
    gamma : dict
        What was asked for, whether it was set, and the ramp's digest where it can be read.
    high_priority : bool
        Whether the system gave this process precedence.
    """

    window_px: tuple[int, int]
    frame_buffer_px: tuple[int, int]
    screen_px: tuple[int, int]
    screens: int
    session_type: str
    compositor: bool | None
    renderer: str
    gamma: dict[str, Any]
    high_priority: bool
    versions: dict[str, str] = field(default_factory=dict)


class PsychoPyScreen:
    """A full-screen window on one screen. Close it, or use it as a context manager.

    Parameters
    ----------
    shown_px : tuple of int
        Size of pictures and masks.
    gamma : float or None
        To be set for the session; None leaves the screen as the lab calibrated it.
    photodiode : bool
        A white square in the lower left corner while the picture is visible.

    Raises
    ------
    ExperimentError
        If PsychoPy is not installed, or no window can be opened.
    """

    def __init__(
        self,
        shown_px: tuple[int, int],
        screen: int = 0,
        font: str = "DejaVu Sans",
        gamma: float | None = None,
        photodiode: bool = False,
    ) -> None:
        try:
            from psychopy import core, logging, visual
        except ImportError as error:
            raise ExperimentError(
                f"human trials need PsychoPy ({error}): pip install 'snaprig[experiment]'"
            ) from error
        except Exception as error:
            raise ExperimentError(_no_display(error)) from error
        logging.console.setLevel(logging.ERROR)
        try:
            self._window = visual.Window(
                fullscr=True, screen=screen, units="pix", color=GRAY, allowGUI=False,
                checkTiming=False, waitBlanking=True, winType="pyglet", autoLog=False,
            )  # fmt: skip
        except Exception as error:
            raise ExperimentError(_no_display(error)) from error
        self._to_ours_s: float = clock.now_s() - logging.defaultClock.getTime()
        self._gamma = self._set_gamma(gamma)
        self._rushed = bool(core.rush(True))
        self._queue: list[Input] = []
        self._alerts: list[str] = []
        self._pressed_s = 0.0
        self._server_ms: int | None = None
        self._released: tuple[int, int | None] = (0, None)
        self._pointer: bool | None = None
        self._listen()
        self._drawing = Drawing(self._window, visual, shown_px, font, photodiode)
        self._window.winHandle.activate()

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height."""
        return _pair(self._window.size)

    def now_s(self) -> float:
        """Seconds of the session's clock."""
        return clock.now_s()

    def load(self, picture: Image.Image, mask: Image.Image | None, question: View) -> None:
        """Decode, upload and lay out everything a trial draws; nothing of it becomes visible."""
        self._drawing.load(picture, mask)
        for view in (Picture(), Mask(), question, Fixation()):
            self._drawing.draw(view)
            self._window.clearBuffer()
        self._finish()

    def draw(self, view: View) -> None:
        """Prepare what the next flip shows. The pointer is there with options only."""
        pointer = isinstance(view, OptionsView)
        if pointer is not self._pointer:
            self._window.mouseVisible = self._pointer = pointer
        self._drawing.draw(view)

    def flip(self) -> float:
        """Show it; returns when the flip was done, which is when it became visible."""
        flipped_s = float(self._window.flip())
        return flipped_s + self._to_ours_s

    def wait_until(self, when_s: float) -> None:
        """Have the drawing done, then stamp inputs until that time."""
        self._finish()
        while True:
            self._window.winHandle.dispatch_events()
            left_s = when_s - clock.now_s()
            if left_s <= 0:
                return
            if left_s > SPIN_S:
                time.sleep(min(0.001, left_s - SPIN_S))

    def inputs(self) -> list[Input]:
        """What was done since the last call, in order."""
        self._window.winHandle.dispatch_events()
        done, self._queue = self._queue, []
        return done

    def alerts(self) -> list[str]:
        """What else happened to the window since the last call."""
        said, self._alerts = self._alerts, []
        return said

    def probe(self) -> list[float]:
        """Times of flips of the empty screen, after some that settle it."""
        for _ in range(WARM_UP):
            self.draw(Blank())
            self.flip()
        flips_s = []
        for _ in range(PROBE):
            self.draw(Blank())
            flips_s.append(self.flip())
        return flips_s

    def facts(self) -> ScreenFacts:
        """What the window system says."""
        import psychopy
        import pyglet
        from pyglet.gl import gl_info

        handle = self._window.winHandle
        wayland = bool(os.environ.get("WAYLAND_DISPLAY"))
        session = os.environ.get("XDG_SESSION_TYPE", "").lower()
        return ScreenFacts(
            self.size_px,
            _pair(handle.get_framebuffer_size()),
            _pair((handle.screen.width, handle.screen.height)),
            len(handle.display.get_screens()),
            "wayland" if wayland else ("" if session == "tty" else session),
            _composited(handle),
            f"{gl_info.get_vendor()}, {gl_info.get_renderer()}, OpenGL {gl_info.get_version()}",
            self._gamma,
            self._rushed,
            {"psychopy": psychopy.__version__, "pyglet": pyglet.version},
        )

    def picture_of_screen(self) -> Image.Image:
        """What was drawn and not flipped yet, for tests and documents."""
        return self._window.getMovieFrame(buffer="back").copy()  # type: ignore[no-any-return]

    def close(self) -> None:
        """Restore the gamma that was found, and close the window."""
        from psychopy import core

        core.rush(False)
        self._window.close()

    def __enter__(self) -> PsychoPyScreen:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _stamp_by_server(self) -> None:
        """Note the X server's time of each key event, which pyglet drops; let dead keys compose.

        Keys arrive at a window that pyglet lays over its own, where no input method listens.
        """
        handle = self._window.winHandle
        for handlers in (
            getattr(handle, "_event_handlers", {}),
            getattr(handle, "_view_event_handlers", {}),
        ):
            for kind in (2, 3):  # KeyPress and KeyRelease of the X protocol
                if kind in handlers:
                    handlers[kind] = self._noting(handlers[kind])

    def _noting(self, handler: Callable[[Any], None]) -> Callable[[Any], None]:
        def noted(event: Any) -> None:  # noqa: ANN401 - pyglet has no types
            self._server_ms = int(event.xkey.time)
            event.xkey.window = self._window.winHandle._window  # noqa: SLF001 - the other window
            handler(event)

        return noted

    def _finish(self) -> None:
        from pyglet import gl

        gl.glFinish()

    def _set_gamma(self, gamma: float | None) -> dict[str, Any]:
        # Virtual screens and some drivers have none; PsychoPy raises OSError whatever its policy.
        state: dict[str, Any] = {"wanted": gamma, "applied": False}
        try:
            if gamma is not None:
                self._window.gamma = gamma
                state["applied"] = True
            ramp = self._window.backend.getGammaRamp()
            state["ramp_at_middle"] = [
                round(float(channel[len(channel) // 2]), 5) for channel in ramp
            ]
        except Exception as error:  # the driver's own errors are of no common class
            state["problem"] = f"{type(error).__name__}: {error}"
        return state

    def _listen(self) -> None:
        """Own handlers, stamped as they are called; PsychoPy's are not reached."""
        from pyglet.window import key

        keys = {
            key.SPACE: Key.SPACE, key.RETURN: Key.ENTER, key.NUM_ENTER: Key.ENTER,
            key.ESCAPE: Key.ESCAPE,
        }  # fmt: skip
        motions = {
            key.MOTION_BACKSPACE: Motion.BACKSPACE, key.MOTION_DELETE: Motion.DELETE,
            key.MOTION_LEFT: Motion.LEFT, key.MOTION_RIGHT: Motion.RIGHT,
            key.MOTION_BEGINNING_OF_LINE: Motion.HOME, key.MOTION_END_OF_LINE: Motion.END,
        }  # fmt: skip
        width_px, height_px = self.size_px

        def on_key_release(symbol: int, _modifiers: int) -> bool:
            self._released = (symbol, self._server_ms)
            return True

        def on_key_press(symbol: int, _modifiers: int) -> bool:
            # a key that is held comes as released and pressed again within one millisecond
            if self._server_ms is not None and self._released == (symbol, self._server_ms):
                return True
            self._pressed_s = clock.now_s()
            if symbol in keys:
                self._queue.append(KeyPress(self._pressed_s, keys[symbol]))
            return True  # pyglet's own Esc would close the window

        def on_text(text: str) -> bool:
            if text not in "\r\n":
                self._queue.append(Typed(clock.now_s(), text, self._pressed_s))
            return True

        def on_text_motion(motion: int) -> bool:
            if motion in motions:
                self._queue.append(Moved(clock.now_s(), motions[motion], self._pressed_s))
            return True

        def on_mouse_press(x: int, y: int, button: int, _modifiers: int) -> bool:
            if button == 1:
                self._queue.append(Click(clock.now_s(), x - width_px / 2, y - height_px / 2))
            return True

        def on_deactivate() -> bool:
            self._alerts.append("another window took the keyboard")
            return True

        def on_close() -> bool:
            self._alerts.append("the window was asked to close")
            return True

        self._stamp_by_server()
        self._window.winHandle.push_handlers(
            on_key_press=on_key_press, on_key_release=on_key_release, on_text=on_text,
            on_text_motion=on_text_motion, on_mouse_press=on_mouse_press,
            on_deactivate=on_deactivate, on_close=on_close,
        )  # fmt: skip


def _pair(size: Any) -> tuple[int, int]:  # noqa: ANN401 - an array or a tuple
    return int(size[0]), int(size[1])


def _composited(handle: Any) -> bool | None:  # noqa: ANN401 - pyglet has no types
    try:
        from pyglet.libs.x11 import xlib
    except ImportError:
        return None
    display = handle.display._display  # noqa: SLF001 - pyglet offers no other way
    name = f"_NET_WM_CM_S{handle.display.x_screen}".encode()
    return bool(xlib.XGetSelectionOwner(display, xlib.XInternAtom(display, name, 0)))


def _no_display(error: Exception) -> str:
    return (
        f"no window can be opened ({type(error).__name__}: {str(error).strip() or 'no display'}): "
        "run this on the lab's own screen, or under `xvfb-run -a` for a robot"
    )
