"""What a person ruled about an answer, and how it wins over the parser. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from evaluate.question_judges import BOTH, COUNT_LENGTH, FACTUAL, FAITHFULNESS, NO_ANSWER
from schemas.verdict_store import VerdictRow

Ruling = Literal["right", "wrong", "no-answer"]

RULINGS: tuple[Ruling, ...] = ("right", "wrong", "no-answer")


def overrule(task: str, parser: VerdictRow, ruling: Mapping[str, Any]) -> VerdictRow:
    """The parser's verdict as a person corrected it; who and when stand in `parsed`.

    The ruling says whether the answer names the truth. Whether it is as short and as plain as
    was asked is not a matter of reading: a right answer that the parser found unfaithful stays
    so, right but not faithful.
    """
    parsed = json.loads(parser.parsed)
    unfaithful = parser.error_kind in (FAITHFULNESS, BOTH) or (
        task in ("q2", "q4") and (parsed.get("length") or 0) > COUNT_LENGTH
    )
    text = json.dumps({**parsed, "ruling": dict(ruling)})
    match ruling["ruling"]:
        case "right":
            kind = FAITHFULNESS if unfaithful else ""
            return VerdictRow(parser.response_id, text, True, not unfaithful, kind)
        case "wrong":
            kind = BOTH if unfaithful else FACTUAL
            return VerdictRow(parser.response_id, text, False, False, kind)
        case "no-answer":
            return VerdictRow(parser.response_id, text, None, None, NO_ANSWER)
    raise ValueError(f"{ruling['ruling']!r} is no ruling; there are {', '.join(RULINGS)}")
