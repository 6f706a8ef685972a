"""Canon's custom functions as libgphoto2 spells them. Pure.

``customfuncex`` is a block of 32-bit numbers in hexadecimal, comma separated::

    size in bytes, number of groups,
    per group:     group id, size in bytes of what follows and of itself, number of functions,
    per function:  id, number of values, values

The ids and the meaning of their values are those that ExifTool gives (CanonCustom, Functions2);
Canon documents neither. libgphoto2 2.5.34 refuses the block of every body ("bad length": it asks
for 4 bytes more than the block has), older and newer versions give it.
"""

from __future__ import annotations

from collections.abc import Mapping

LONG_EXPOSURE_NR = 0x201
HIGH_ISO_NR = 0x202
HIGHLIGHT_TONE = 0x203


def parse_custom_functions(text: str) -> Mapping[int, int]:
    """First value of each function by id; empty where the block cannot be read.

    Never raises: what does not add up gives no function at all rather than a wrong one.
    """
    try:
        words = [int(word, 16) for word in text.strip().strip(",").split(",")]
    except ValueError:
        return {}
    if len(words) < 2 or words[0] != 4 * len(words):
        return {}
    found: dict[int, int] = {}
    at = 2
    for _ in range(words[1]):
        group = words[at : at + 3]
        if len(group) < 3:
            return {}
        end = at + 1 + group[1] // 4
        at += 3
        for _ in range(group[2]):
            if at + 3 > min(end, len(words)) or words[at + 1] < 1:
                return {}
            found[words[at]] = words[at + 2]
            at += 2 + words[at + 1]
        if at != end:
            return {}
    return found if at == len(words) else {}
