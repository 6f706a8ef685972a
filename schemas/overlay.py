"""Objects drawn on a picture, for a person to check: masks tinted, boxes outlined, numbered."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from schemas.masks import decode_rle, fit
from schemas.records import Instance

#: Told apart on dark and bright pictures, and by people who see no red or no green
#: (Okabe and Ito, "Color Universal Design", 2008).
COLORS = (
    (230, 159, 0),
    (86, 180, 233),
    (0, 158, 115),
    (240, 228, 66),
    (204, 121, 167),
    (213, 94, 0),
    (0, 114, 178),
)

#: Share of a mask's color over the picture: the object stays visible.
_TINT = 0.45


def draw_instances(picture: Image.Image, instances: Sequence[Instance]) -> Image.Image:
    """The picture with its objects on it, upright and in RGB.

    Raises
    ------
    MaskError
        If the objects were marked on a picture of other proportions.
    """
    drawn = np.array(picture.convert("RGB"))
    fitted = [fit(one, picture.size) for one in instances]
    for color, one in zip(_colors(len(fitted)), fitted, strict=True):
        if one.rle is not None:
            mask = decode_rle(one.rle)
            drawn[mask] = (drawn[mask] * (1 - _TINT) + np.array(color) * _TINT).astype(np.uint8)
    canvas = Image.fromarray(drawn)
    draw = ImageDraw.Draw(canvas)
    line_px = max(2, picture.width // 480)
    font = ImageFont.load_default(size=max(12, picture.width // 60))
    for number, (color, one) in enumerate(zip(_colors(len(fitted)), fitted, strict=True), start=1):
        left, top, width, height = one.box_xywh_px
        draw.rectangle((left, top, left + width, top + height), outline=color, width=line_px)
        text = f"{number} {one.category}"
        place = draw.textbbox((left + line_px, top + line_px), text, font=font)
        draw.rectangle(place, fill=(0, 0, 0))
        draw.text((left + line_px, top + line_px), text, fill=color, font=font)
    return canvas


def _colors(number: int) -> list[tuple[int, int, int]]:
    return [COLORS[place % len(COLORS)] for place in range(number)]
