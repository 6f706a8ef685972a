"""Top-5 lists of the release: Python literals, read by their grammar instead of evaluated.

``[(968, 'cup', 0.73), (504, 'coffee mug', 0.10), …]`` is regular: one expression finds its
triples. Only where those do not make up the whole text is `ast.literal_eval` asked, and its
value checked.
"""

from __future__ import annotations

import ast
import json
import math
import re
from functools import cache

#: A class index, its name in either quotes without escapes, a probability.
_TRIPLE = re.compile(r"""\((\d{1,3}), ('[^'"\\]*'|"[^"\\]*"), (\d\.\d+(?:e-\d+)?)\)""")

#: ImageNet classes.
_CLASSES = 1000


def top5_json(literal: str) -> str | None:
    """The response payload ``{"top5": [[index, name, probability], …]}`` as JSON text.

    Probabilities keep their spelling. None for a text that is no such list.
    """
    found = _TRIPLE.findall(literal)
    triples = [f"[{int(index)}, {_name(name)}, {p}]" for index, name, p in found]
    # brackets, the triples, ", " between them: nothing else may be there
    length = 2 * len(found) + sum(len(index) + len(name) + len(p) + 6 for index, name, p in found)
    whole = length == len(literal) and literal.count("), (") == len(found) - 1
    if found and whole and literal[0] == "[" and literal[-1] == "]":
        return f'{{"top5": [{", ".join(triples)}]}}'
    return _evaluated(literal)


@cache
def _name(quoted: str) -> str:
    return json.dumps(quoted[1:-1])


def _evaluated(literal: str) -> str | None:
    try:
        value = ast.literal_eval(literal)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if not isinstance(value, list) or not value:
        return None
    triples = []
    for item in value:
        if not (isinstance(item, tuple) and len(item) == 3):
            return None
        index, name, probability = item
        if not (type(index) is int and 0 <= index < _CLASSES and isinstance(name, str)):
            return None
        if not isinstance(probability, int | float) or not math.isfinite(probability):
            return None
        triples.append([index, name, float(probability)])
    return json.dumps({"top5": triples})
