"""How each view looks: stimuli of the screen's toolkit, made once and drawn when wanted.

New stimuli for each trial would leak memory and drop refreshes.
"""

# ruff: noqa: ANN401 - the toolkit has no types

from __future__ import annotations

import unicodedata
from typing import Any

from PIL import Image

from experiment.options_view import HEIGHT_PX, WIDTH_PX
from experiment.views import Fixation, Mask, OptionsView, Page, Picture, TextView, View

#: Of a very long answer, the characters shown around the cursor.
SHOWN_CHARACTERS = 340

#: A page with no more text than this is centered.
LINE_CHARACTERS = 78

WHITE, BLACK, YELLOW = (1.0,) * 3, (-1.0,) * 3, (1.0, 1.0, -1.0)
BOX_FILL, CHOSEN_FILL = (-0.5,) * 3, (-0.25,) * 3


class Drawing:
    """Draws views into the back buffer of a window.

    Parameters
    ----------
    window, visual
        PsychoPy's window, and its module of stimuli.
    shown_px : tuple of int
        Size of pictures and masks, which are drawn pixel for pixel.
    photodiode : bool
        A square in the lower left corner: white with the picture, else black.
    """

    def __init__(
        self, window: Any, visual: Any, shown_px: tuple[int, int], font: str, photodiode: bool
    ) -> None:
        self._window, self._visual, self._font = window, visual, font
        width_px, height_px = (int(side) for side in window.size)
        # an odd margin would put every pixel between two of the screen's
        center = [
            (side % 2 - shown % 2) / 2 for side, shown in zip(window.size, shown_px, strict=True)
        ]
        still = {"size": shown_px, "pos": center, "interpolate": False, "autoLog": False}
        self._picture = visual.ImageStim(window, image=Image.new("RGB", shown_px), **still)
        self._mask = visual.ImageStim(window, image=Image.new("RGB", shown_px), **still)
        self._mask_loaded: Image.Image | None = None
        self._cross = visual.ShapeStim(
            window, vertices="cross", size=36, fillColor=WHITE, lineColor=None, autoLog=False
        )
        block = {"alignText": "left", "anchorHoriz": "left", "anchorVert": "top"}
        self._title = self._text((0, 330), 36, bold=True)
        self._body = self._text((-560, 270), 25, wrapWidth=1300, **block)
        self._line = self._text((0, 240), 28)
        self._prompt = self._text((0, 210), 34)
        self._hint = self._text((0, -height_px / 2 + 50), 24, color=(0.6,) * 3)
        self._legend = self._text((0, -shown_px[1] / 2 - 45), 28)
        self._field = self._box((940, 260), WHITE)
        self._answer = self._text((-450, 110), 30, wrapWidth=900, **block)
        self._option = self._box((WIDTH_PX, HEIGHT_PX), WHITE)
        self._chosen = self._box((WIDTH_PX, HEIGHT_PX), YELLOW, fillColor=CHOSEN_FILL, lineWidth=6)
        self._labels: dict[tuple[float, float], tuple[_Text, _Text]] = {}
        corner = {"pos": (-width_px / 2 + 40, -height_px / 2 + 40)}
        self._diode_on = self._box((80, 80), None, fillColor=WHITE, **corner)
        self._diode_off = self._box((80, 80), None, fillColor=BLACK, **corner)
        self._photodiode = photodiode

    def load(self, picture: Image.Image, mask: Image.Image | None) -> None:
        """Put pixels into the textures; a mask that is there already stays."""
        self._picture.setImage(picture)
        if mask is not None and mask is not self._mask_loaded:
            self._mask.setImage(mask)
            self._mask_loaded = mask

    def draw(self, view: View) -> None:
        """Draw a view; the buffer is taken to be empty."""
        match view:
            case Fixation():
                self._cross.draw()
            case Picture(legend=legend):
                self._picture.draw()
                self._legend(legend)
            case Mask():
                self._mask.draw()
            case Page(title=title, body=body, hint=hint):
                self._title(title)
                one_line = "\n" not in body and len(body) <= LINE_CHARACTERS
                (self._line if one_line else self._body)(body)
                self._hint(hint)
            case TextView():
                self._prompt(view.prompt)
                self._field.draw()
                self._answer(_with_caret(view.text, view.caret))
                self._hint(view.hint)
            case OptionsView():
                self._options(view)
        if self._photodiode:
            (self._diode_on if isinstance(view, Picture) else self._diode_off).draw()

    def _options(self, view: OptionsView) -> None:
        self._prompt(view.prompt)
        for box in view.boxes:
            at = (box.x_px, box.y_px)
            if at not in self._labels:
                corner = (at[0] - box.width_px / 2 + 16, at[1] + box.height_px / 2 - 16)
                label = self._text(at, 26, wrapWidth=box.width_px - 40)
                self._labels[at] = (label, self._text(corner, 20, color=(0.7,) * 3))
            frame = self._chosen if box.label == view.chosen else self._option
            frame.pos = at
            frame.draw()
            for text, shown in zip(self._labels[at], (box.label, box.hint), strict=True):
                text(shown)
        self._hint(view.hint)

    def _text(self, at_px: tuple[float, float], height_px: float, **more: Any) -> _Text:
        more = {"wrapWidth": self._window.size[0] - 80, "color": WHITE, **more}
        return _Text(
            self._visual.TextStim(
                self._window,
                "",
                font=self._font,
                pos=at_px,
                height=height_px,
                autoLog=False,
                **more,
            )
        )

    def _box(self, size_px: tuple[float, float], line: Any, **more: Any) -> Any:
        more = {"fillColor": BOX_FILL, "lineColor": line, "lineWidth": 2, **more}
        return self._visual.Rect(
            self._window, width=size_px[0], height=size_px[1], autoLog=False, **more
        )


class _Text:
    """A text that is laid out only when it changes."""

    def __init__(self, stim: Any) -> None:
        self._stim, self._shown = stim, ""

    def __call__(self, text: str) -> None:
        if text != self._shown:
            self._stim.text = _as_seen(text)
            self._shown = text
        if text:
            self._stim.draw()


def _as_seen(text: str) -> str:
    """Letters in the order and the forms they are seen in: pyglet only writes left to right."""
    if not any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in text):
        return text
    import arabic_reshaper  # type: ignore[import-untyped]
    from bidi.algorithm import get_display  # type: ignore[import-untyped]

    return str(get_display(arabic_reshaper.reshape(text)))


def _with_caret(text: str, caret: int | None) -> str:
    if caret is None:
        caret, mark = len(text), ""
    else:
        mark = "|"
    if len(text) <= SHOWN_CHARACTERS:
        return text[:caret] + mark + text[caret:]
    start = max(0, caret - SHOWN_CHARACTERS + 20)
    return "…" + text[start:caret] + mark + text[caret : start + SHOWN_CHARACTERS]
