"""Meaning and unit of every column of an export."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Column:
    """A column of the table, as the dictionary describes it."""

    name: str
    description: str
    unit: str = ""
    levels: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """A schema.org PropertyValue."""
        found: dict[str, Any] = {
            "@type": "PropertyValue",
            "name": self.name,
            "description": self.description,
        }
        if self.unit:
            found["unitText"] = self.unit
        if self.levels:
            found["levels"] = list(self.levels)
        return found


_YES_NO = ("true", "false")

COLUMNS = (
    Column("row_id", "Unique within the dataset: participant, study, trial and showing."),
    Column("participant", "Pseudonym."),
    Column("robot", "Answered by a program, for tests of the equipment.", levels=_YES_NO),
    Column("study", "The experiment.", levels=("questions", "rt3")),
    Column(
        "group",
        "1: counts by multiple choice, class in own words; 2: the other way round; 0: neither.",
    ),
    Column("block", "From 0 in the session; a block has one question."),
    Column("trial", "From 0 in the session, in the order planned."),
    Column("showing", "1, or more where the trial was shown again at the end of its block."),
    Column("counts", "Whether this showing's answer is the one that is scored.", levels=_YES_NO),
    Column(
        "task",
        "q1: class, q2: count, in own words; q3: class, q4: count, by multiple choice; "
        "choice: class by key, against the clock.",
        levels=("q1", "q2", "q3", "q4", "choice"),
    ),
    Column("options", "Options in the order shown, as a JSON list; empty for open questions."),
    Column("scene", "Name of the arrangement of objects."),
    Column("lighting", "Name of the light it was taken under."),
    Column("setting", "Shutter speed, ISO and F-number of the frame, as its file is named."),
    Column(
        "ev_offset",
        "Exposure relative to the lighting's reference; positive: over-exposed.",
        "stops",
    ),
    Column("category", "True class of the objects."),
    Column("objects", "True number of objects; 0 where nobody counted."),
    Column("answer", "Whole and raw, as typed or chosen."),
    Column("missed", "Whether the time ran out.", levels=_YES_NO),
    Column("latency", "From the onset of the question to the answer.", "s"),
    Column(
        "first_input", "From the onset of the question to the answer's first key or click.", "s"
    ),
    Column("interrupted", "Spent in the dialog that Esc opens; contained in the latencies.", "s"),
    Column("soft", "1: the answer names the truth, 0: it does not; empty: no answer, not scored."),
    Column("hard", "1: it names the truth and nothing else, as was asked; 0, empty: as above."),
    Column("error_kind", "Kind of error; empty for right answers and unscored ones."),
    Column(
        "timing_status",
        "Evidence of the presentation times: every refresh came; one was "
        "missed; the screen gives no proof.",
        levels=("proven", "failed", "unproven"),
    ),
    Column("fixation_onset", "On the session's monotonic clock.", "s"),
    Column("image_onset", "On the session's monotonic clock.", "s"),
    Column("mask_onset", "On the session's monotonic clock.", "s"),
    Column("prompt_onset", "On the session's monotonic clock.", "s"),
    Column("image_duration", "Measured; empty where it stays until the answer.", "s"),
    Column("mask_duration", "Measured; empty where there is none.", "s"),
    Column("image_frames", "Refreshes of the screen; 0 where they cannot be counted."),
    Column("mask_frames", "Refreshes of the screen; 0 where they cannot be counted."),
    Column("dropped_frames", "Refreshes missed while image and mask were shown."),
    Column("early_keys", "Keys and clicks before the question, as a JSON list; ignored."),
    Column("frame_sha256", "Of the file that was shown."),
    Column("design_sha256", "Of the design that the trial belongs to."),
    Column("answered_at", "UTC."),
)

PERSON_COLUMNS = (
    Column("participant", "Pseudonym."),
    Column("age", "As stated; empty: not stated.", "years"),
    Column("sex", "As stated; empty: not stated."),
)
