"""A participant's session: what comes after what, and what is on the disk before it goes on.

Each trial is appended to the log and synced before the next fixation. What is still to be shown
is a subtraction, plan less log: a session that was killed anywhere goes on where its log ends,
and loses the trial on the screen at most. A trial whose proven timing failed is kept, flagged,
and shown once more at the end of its block.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from PIL import Image

from experiment import texts
from experiment.clock import settled
from experiment.dialogs import LeftError, ask_text, choose, read_pages
from experiment.records import Block, ParticipantPlan, Trial
from experiment.timing import Mode, Schedule
from experiment.trial import DEADLINE_S, AnswerKind, Question, TrialOutcome, TrialRun
from experiment.trial_log import (
    MISSED,
    End,
    Event,
    LogWriter,
    Record,
    TrialRecord,
    finished_trials,
)
from experiment.views import Screen, View

#: A trial whose timing failed is shown so often at most.
MAX_SHOWINGS = 2


class DeclinedError(Exception):
    """The participant did not consent."""


@dataclass(frozen=True)
class Opening:
    """What a session shows before its first trial.

    Attributes
    ----------
    consent : str
        The lab's text; empty: no page.
    ask_person : bool
        Ask for age and sex, unless that was done.
    practice : tuple
        Questions with their pictures; not recorded.
    """

    instructions: str
    consent: str = ""
    ask_person: bool = False
    practice: tuple[tuple[Question, Image.Image], ...] = ()


@dataclass
class Session:
    """One start of a session, on a screen and a log that are open.

    Attributes
    ----------
    earlier : list of Record
        What the log holds from earlier starts.
    picture_of : callable
        A trial's picture as it is to be shown.
    mask_of : callable
        The mask of a trial's number.
    told : callable
        Is called with the trial (None outside of one) and what is visible: a robot watches.
    person : callable
        Takes what the participant says about age and sex; it is stored apart from the answers.
    progressed : callable
        Is called after each trial with the number done.
    """

    screen: Screen
    plan: ParticipantPlan
    schedule: Schedule
    log: LogWriter
    earlier: list[Record]
    opening: Opening
    picture_of: Callable[[Trial], Image.Image]
    mask_of: Callable[[int], Image.Image]
    told: Callable[[Trial | None, View], None] = lambda _trial, _view: None
    person: Callable[[dict[str, str]], None] = lambda _said: None
    progressed: Callable[[int], None] = lambda _done: None
    _shown: dict[int, list[TrialRecord]] = field(default_factory=dict)
    _maybe_seen: bool = False

    def run(self) -> End:
        """From wherever the log stands to the end; the log's last record.

        Raises
        ------
        DeclinedError
            If the participant did not consent.
        ExperimentError
            If the log belongs to another participant or design.
        """
        self._shown = finished_trials(self.plan, self.earlier)
        self._maybe_seen = bool(self.earlier)
        try:
            with settled():
                self._open()
                for block in self.plan.blocks:
                    self._block(block)
            self._say(texts.END_TITLE, texts.END_BODY)
        except LeftError:
            return self._end(End("left", len(self._shown)))
        return self._end(End("done", len(self._shown)))

    def _end(self, end: End) -> End:
        self.log.append(end)
        return end

    # --- before the trials ---------------------------------------------------------------------

    def _open(self) -> None:
        done = {record.name for record in self.earlier if isinstance(record, Event)}
        agreed = self._consented(texts.AGREE)
        if self.opening.consent and not any(_same(record, agreed) for record in self.earlier):
            self._consent()
        if self.opening.ask_person and "person" not in done:
            age = ask_text(self.screen, texts.AGE_QUESTION, texts.PERSON_HINT, self._tell)
            sex = ask_text(self.screen, texts.SEX_QUESTION, texts.PERSON_HINT, self._tell)
            self.person({"age": age, "sex": sex})
            self.log.append(Event("person"))
        self._say("Instructions", self.opening.instructions)
        if self.opening.practice and "practice" not in done:
            self._say("Practice", "First some photographs for practice; they do not count.")
            for number, (question, picture) in enumerate(self.opening.practice):
                self._run(question, picture, number, None)
            self.log.append(Event("practice", {"trials": len(self.opening.practice)}))
            self._say("Practice", "The practice is over. Now it counts.")

    def _consent(self) -> None:
        self._say(texts.CONSENT_TITLE, self.opening.consent)
        options = (texts.AGREE, texts.DECLINE)
        said = choose(self.screen, texts.CONSENT_QUESTION, options, self._tell)
        self.log.append(self._consented(said))
        if said == texts.DECLINE:
            raise DeclinedError

    def _consented(self, said: str) -> Event:
        """With the digest of the text: another text is asked about anew."""
        digest = hashlib.sha256(self.opening.consent.encode()).hexdigest()
        return Event("consent", {"answer": said, "text_sha256": digest})

    # --- blocks --------------------------------------------------------------------------------

    def _block(self, block: Block) -> None:
        if not (todo := list(self._missing(block))) and not list(self._failed(block)):
            return
        self._say(f"Block {block.index + 1} of {len(self.plan.blocks)}", block.prompt)
        for trial in todo:
            self._trial(trial, block)
        if failed := list(self._failed(block)):
            self._say("Once more", texts.REPEAT_BODY)
            for trial in failed:
                self._trial(trial, block)
        self.log.append(Event("block", {"block": block.index}))
        if block.index + 1 < len(self.plan.blocks):
            done = {"done": block.index + 1, "all": len(self.plan.blocks)}
            self._say(texts.BREAK_TITLE, texts.BREAK_BODY.format(**done))

    def _missing(self, block: Block) -> Iterator[Trial]:
        return (trial for trial in block.trials if trial.index not in self._shown)

    def _failed(self, block: Block) -> Iterator[Trial]:
        for trial in block.trials:
            showings = self._shown.get(trial.index, [])
            if 0 < len(showings) < MAX_SHOWINGS and showings[-1].status == "failed":
                yield trial

    def _trial(self, trial: Trial, block: Block) -> None:
        outcome = self._run(
            question_of(trial, block.prompt), self.picture_of(trial), trial.index, trial
        )
        for said in self.screen.alerts():
            self.log.append(Event("screen", {"said": said, "trial": trial.index}))
        if outcome.left:
            self.log.append(Event("left", {"trial": trial.index}))
            raise LeftError
        showings = self._shown.setdefault(trial.index, [])
        record = record_of(trial, outcome, self.schedule, len(showings) + 1)
        if self._maybe_seen:  # an earlier start may have been killed with its picture visible
            record.extra["maybe_seen_before"] = True
            self._maybe_seen = False
        self.log.append(record)
        showings.append(record)
        self.progressed(len(self._shown))

    def _run(
        self, question: Question, picture: Image.Image, number: int, trial: Trial | None
    ) -> TrialOutcome:
        mask = None if question.kind is AnswerKind.KEYS else self.mask_of(number)
        run = TrialRun(
            self.screen, self.schedule, question, picture, mask, lambda view: self.told(trial, view)
        )
        outcome = run.run()
        if outcome.left and trial is None:
            raise LeftError
        return outcome

    def _say(self, title: str, body: str) -> None:
        read_pages(self.screen, title, body, self._tell)

    def _tell(self, view: View) -> None:
        self.told(None, view)


def question_of(trial: Trial, prompt: str) -> Question:
    """How a trial's question is asked: by its options, by keys, or as a text."""
    if trial.task == "choice":
        return Question(prompt, AnswerKind.KEYS, trial.options, DEADLINE_S)
    kind = AnswerKind.OPTIONS if trial.options else AnswerKind.TEXT
    return Question(prompt, kind, trial.options)


def record_of(trial: Trial, outcome: TrialOutcome, schedule: Schedule, showing: int) -> TrialRecord:
    """A trial's line in the log."""
    evidence = outcome.evidence
    counted = schedule.mode is Mode.FRAMES
    masked = outcome.mask_onset_s is not None
    extra: dict[str, Any] = {"early_count": outcome.early_count}
    if outcome.first_latency_s is not None:
        extra["first_input_s"] = _rounded(outcome.first_latency_s)
    if outcome.interrupted_s:
        extra["interrupted_s"] = _rounded(outcome.interrupted_s)
    return TrialRecord.of(
        trial,
        showing=showing,
        frame_sha256=trial.sha256,
        answer=outcome.answer or "",
        error=MISSED if outcome.answer is None else "",
        latency_s=None if outcome.latency_s is None else _rounded(outcome.latency_s),
        fixation_onset_s=_rounded(outcome.fixation_onset_s),
        image_onset_s=_rounded(outcome.image_onset_s),
        mask_onset_s=_rounded(outcome.mask_onset_s or outcome.prompt_onset_s),
        prompt_onset_s=_rounded(outcome.prompt_onset_s),
        image_s=_rounded(evidence.image_s or 0.0),
        mask_s=_rounded(evidence.mask_s or 0.0),
        status=evidence.verdict.value,
        image_frames=schedule.frames(schedule.image_s) if counted and masked else 0,
        mask_frames=schedule.frames(schedule.mask_s) if counted and masked else 0,
        dropped_frames=evidence.dropped,
        early_keys=tuple(f"{what} at {at_s:.3f} s" for what, at_s in outcome.early),
        extra=extra,
    )


def _same(record: Record, event: Event) -> bool:
    return isinstance(record, Event) and (record.name, record.detail) == (event.name, event.detail)


def _rounded(seconds: float) -> float:
    return round(seconds, 6)
