"""One trial: what is shown when, and which keys and clicks count as its answer.

    FIXATION ──> IMAGE ──> MASK ──> QUESTION <──> ANSWERED ──> DONE
        │                             │   │  ^       │ ^
        │   (reaction time: the       │   │  │       │ │
        └──  picture stays with  ─────┘   v  │       v │
             the question)             ┌─────┴─────────┴┐
                                       │    LEAVING     │──> LEFT
                                       └────────────────┘

A text goes from QUESTION to ANSWERED by Enter, an option by a click or its key, and stays
changeable until space. The reaction-time task goes from QUESTION straight to DONE, by a key or
by its deadline. Esc asks before it leaves; pressed before the question, it asks with it.

What begins before the question is visible is recorded and ignored: keys during the mask, and a
key or button that is still held from before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from PIL import Image

from experiment.answer_editor import AnswerEditor
from experiment.clock import undisturbed
from experiment.dialogs import ask_to_leave
from experiment.inputs import Input, Key, KeyPress, Moved, Typed, began_s, describe
from experiment.options_view import lay_out, option_at, option_for_key
from experiment.rt3 import spoken
from experiment.timing import Evidence, Mode, Schedule, judge_trial
from experiment.views import Blank, Fixation, Mask, OptionsView, Picture, Screen, TextView, View

#: Between looks at keyboard and mouse while the screen stands still.
POLL_S = 0.001

#: The screen is drawn anew this often even if nothing changed: another window may have been there.
REDRAW_S = 0.5

#: Of the reaction-time task, from the picture's onset.
DEADLINE_S = 2.5

#: Of a key that is held through a whole trial, so many repetitions are recorded.
MAX_EARLY = 20

TEXT_HINT = "Type your answer, then press Enter"
OPTIONS_HINT = "Click an option, or press its key"
NEXT_HINT = "Press the space bar to go on"


class TrialState(StrEnum):
    """Where a trial stands."""

    FIXATION = "fixation"
    IMAGE = "image"
    MASK = "mask"
    QUESTION = "question"
    ANSWERED = "answered"
    LEAVING = "leaving"
    DONE = "done"
    LEFT = "left"


class AnswerKind(StrEnum):
    """How a question is answered."""

    TEXT = "text"
    OPTIONS = "options"
    KEYS = "keys"


ARROWS = frozenset(
    {
        (TrialState.FIXATION, TrialState.IMAGE),
        (TrialState.FIXATION, TrialState.QUESTION),
        (TrialState.IMAGE, TrialState.MASK),
        (TrialState.MASK, TrialState.QUESTION),
        (TrialState.QUESTION, TrialState.ANSWERED),
        (TrialState.QUESTION, TrialState.LEAVING),
        (TrialState.QUESTION, TrialState.DONE),
        (TrialState.ANSWERED, TrialState.DONE),
        (TrialState.ANSWERED, TrialState.LEAVING),
        (TrialState.LEAVING, TrialState.QUESTION),
        (TrialState.LEAVING, TrialState.ANSWERED),
        (TrialState.LEAVING, TrialState.LEFT),
    }
)


@dataclass(frozen=True)
class Question:
    """What is asked.

    Attributes
    ----------
    options : tuple of str
        As stored in the stimulus; empty for a text.
    deadline_s : float or None
        From the onset; only the reaction-time task has one.
    """

    prompt: str
    kind: AnswerKind
    options: tuple[str, ...] = ()
    deadline_s: float | None = None


@dataclass(frozen=True)
class TrialOutcome:
    """What one trial gave. Times are of the session's clock unless they are latencies.

    Attributes
    ----------
    answer : str or None
        Raw; None where none came in time, or the participant left.
    latency_s, first_latency_s : float or None
        From the question's onset to the answer, and to the first key or click of it.
    interrupted_s : float
        Spent in the dialog that Esc opens; contained in the latencies.
    early : tuple of (str, float)
        What was pressed before the question, with seconds from fixation onset.
    early_count : int
        All of these; `early` holds the first.
    path : tuple of TrialState
        The states it went through.
    """

    answer: str | None
    latency_s: float | None
    first_latency_s: float | None
    fixation_onset_s: float
    image_onset_s: float
    mask_onset_s: float | None
    prompt_onset_s: float
    evidence: Evidence
    interrupted_s: float = 0.0
    early: tuple[tuple[str, float], ...] = ()
    early_count: int = 0
    left: bool = False
    path: tuple[TrialState, ...] = ()


def legend(options: tuple[str, ...]) -> str:
    """The line that says which key stands for what: ``1 penguin   2 leopard``."""
    return "   ".join(f"{box.key} {spoken(box.label)}" for box in lay_out(options))


@dataclass
class TrialRun:
    """One trial on a screen.

    Attributes
    ----------
    picture, mask : Image
        As shown, pixel by pixel; no mask in the reaction-time task.
    told : callable
        Is called with a question's view once it is visible (a robot watches).
    """

    screen: Screen
    schedule: Schedule
    question: Question
    picture: Image.Image
    mask: Image.Image | None
    told: Callable[[View], None] = lambda _view: None
    path: list[TrialState] = field(default_factory=lambda: [TrialState.FIXATION])
    _onsets: dict[TrialState, float] = field(default_factory=dict)
    _flips_s: list[float] = field(default_factory=list)
    _early: list[Input] = field(default_factory=list)
    _answer: str | None = None
    _answered_s: float | None = None
    _first_s: float | None = None
    _interrupted_s: float = 0.0
    _esc_early: bool = False
    _editor: AnswerEditor = field(default_factory=AnswerEditor)
    _queue: list[Input] = field(default_factory=list)
    _drawn: View = field(default_factory=Blank)
    _drawn_s: float = 0.0

    def run(self) -> TrialOutcome:
        """Show it and wait for the answer."""
        self.present()
        self.told(self._view())
        if self._esc_early:
            self._to(TrialState.LEAVING)
        steps = {
            TrialState.QUESTION: self._question,
            TrialState.ANSWERED: self._answered,
            TrialState.LEAVING: self._leaving,
        }
        while (step := steps.get(self._state)) is not None:
            step()
        return self._outcome()

    def present(self) -> Evidence:
        """Show fixation, image and mask, and leave the question visible."""
        self._boxes = lay_out(self.question.options)
        self.screen.load(self.picture, self.mask, self._view())
        with undisturbed():
            self._present()
        return self._evidence()

    @property
    def _state(self) -> TrialState:
        return self.path[-1]

    def _to(self, state: TrialState) -> None:
        if (self._state, state) not in ARROWS:
            raise RuntimeError(f"a trial cannot go from {self._state} to {state}")
        self.path.append(state)

    # --- fixation, image, mask -----------------------------------------------------------------

    def _present(self) -> None:
        self.screen.inputs()  # what was pressed between the trials belongs to none
        plan = self.schedule
        stages: list[tuple[TrialState, View, float]] = [
            (TrialState.FIXATION, Fixation(), plan.fixation_s)
        ]
        if self.question.kind is not AnswerKind.KEYS:
            stages.append((TrialState.IMAGE, Picture(), plan.image_s))
            stages.append((TrialState.MASK, Mask(), plan.mask_s))
        due_s: float | None = None
        for state, view, duration_s in stages:
            onset_s = self._begin(state, view, due_s)
            if plan.mode is Mode.FRAMES:
                for _ in range(plan.frames(duration_s) - 1):
                    self.screen.draw(view)
                    self._flips_s.append(self.screen.flip())
            else:
                due_s = onset_s + duration_s
        self._begin(TrialState.QUESTION, self._view(), due_s)
        # what is in the queue as the question appears was pressed before anyone could see it
        self._early += self.screen.inputs()
        self._esc_early = any(
            isinstance(event, KeyPress) and event.key is Key.ESCAPE for event in self._early
        )

    def _begin(self, state: TrialState, view: View, due_s: float | None) -> float:
        self.screen.draw(view)
        if due_s is not None:
            self.screen.wait_until(due_s)
        if state is not TrialState.FIXATION:
            self._to(state)
        onset_s = self._onsets[state] = self._drawn_s = self.screen.flip()
        self._drawn = view
        self._flips_s.append(onset_s)
        return onset_s

    # --- question, answer ----------------------------------------------------------------------

    def _view(self) -> View:
        question = self.question
        done = self._state is TrialState.ANSWERED
        match question.kind:
            case AnswerKind.TEXT:
                caret = None if done else self._editor.cursor
                hint = NEXT_HINT if done else TEXT_HINT
                return TextView(question.prompt, self._editor.text, caret, hint)
            case AnswerKind.OPTIONS:
                hint = NEXT_HINT if done else OPTIONS_HINT
                return OptionsView(question.prompt, self._boxes, self._answer, hint)
            case AnswerKind.KEYS:
                return Picture(legend(question.options))

    def _question(self) -> None:
        """QUESTION: until an answer, the deadline or Esc."""
        deadline_s = self.question.deadline_s
        end_s = None if deadline_s is None else self._onsets[TrialState.QUESTION] + deadline_s
        while self._state is TrialState.QUESTION:
            event = self._next(end_s)
            if event is None or (end_s is not None and event.at_s > end_s):
                self._to(TrialState.DONE)
            elif isinstance(event, KeyPress) and event.key is Key.ESCAPE:
                self._to(TrialState.LEAVING)
            elif self.question.kind is AnswerKind.TEXT:
                self._edit(event)
            else:
                self._choose(event)

    def _edit(self, event: Input) -> None:
        if isinstance(event, Typed):
            edited = self._editor.typed(event.text)
            if edited != self._editor and self._first_s is None:
                self._first_s = event.at_s
            self._editor = edited
        elif isinstance(event, Moved):
            self._editor = self._editor.moved(event.motion)
        elif isinstance(event, KeyPress) and event.key is Key.ENTER and not self._editor.blank:
            self._answer, self._answered_s = self._editor.text, event.at_s
            self._to(TrialState.ANSWERED)

    def _choose(self, event: Input) -> None:
        chosen = self._chosen(event)
        if chosen is None:
            return
        self._answer, self._answered_s = chosen, event.at_s
        self._first_s = event.at_s if self._first_s is None else self._first_s
        if self.question.kind is AnswerKind.KEYS:
            self._to(TrialState.DONE)
        elif self._state is TrialState.QUESTION:
            self._to(TrialState.ANSWERED)

    def _chosen(self, event: Input) -> str | None:
        if isinstance(event, Typed):
            return option_for_key(self._boxes, event.text)
        if isinstance(event, KeyPress | Moved) or self.question.kind is AnswerKind.KEYS:
            return None
        return option_at(self._boxes, event.x_px, event.y_px)

    def _answered(self) -> None:
        """ANSWERED: until space, another choice or Esc."""
        self._show()
        self.told(self._view())
        while self._state is TrialState.ANSWERED:
            event = self._next(None)
            if isinstance(event, KeyPress) and event.key is Key.SPACE:
                self._to(TrialState.DONE)
            elif isinstance(event, KeyPress) and event.key is Key.ESCAPE:
                self._to(TrialState.LEAVING)
            elif event is not None and self.question.kind is AnswerKind.OPTIONS:
                self._choose(event)

    def _leaving(self) -> None:
        """LEAVING: until the participant says whether to stop."""
        asked_s = self.screen.now_s()
        before = TrialState.QUESTION if self._answer is None else TrialState.ANSWERED
        leave = ask_to_leave(self.screen, self.told)
        self._to(TrialState.LEFT if leave else before)
        self._interrupted_s += self.screen.now_s() - asked_s
        self._queue.clear()
        if before is TrialState.QUESTION and not leave:
            self._show()
            self.told(self._view())

    def _next(self, end_s: float | None) -> Input | None:
        """The next input that counts; None at `end_s`. Draws what it changes."""
        while True:
            self._queue += self.screen.inputs()
            while self._queue:
                event = self._queue.pop(0)
                if began_s(event) >= self._onsets[TrialState.QUESTION]:
                    return event
                self._early.append(event)
            now_s = self.screen.now_s()
            if end_s is not None and now_s > end_s:
                return None
            if self._view() != self._drawn or now_s - self._drawn_s >= REDRAW_S:
                self._show()
            self.screen.wait_until(now_s + POLL_S)

    def _show(self) -> None:
        self._drawn = self._view()
        self.screen.draw(self._drawn)
        self._drawn_s = self.screen.flip()

    def _evidence(self) -> Evidence:
        reaction = self.question.kind is AnswerKind.KEYS
        prompt_s = self._onsets[TrialState.QUESTION]
        image_s = prompt_s if reaction else self._onsets[TrialState.IMAGE]
        return judge_trial(
            self.schedule,
            [flip for flip in self._flips_s if flip >= image_s],
            image_s,
            self._onsets.get(TrialState.MASK),
            None if reaction else prompt_s,
        )

    def _outcome(self) -> TrialOutcome:
        onsets, reaction = self._onsets, self.question.kind is AnswerKind.KEYS
        prompt_s = onsets[TrialState.QUESTION]
        image_s = prompt_s if reaction else onsets[TrialState.IMAGE]
        fixation_s = onsets[TrialState.FIXATION]
        outcome = TrialOutcome(
            self._answer,
            None if self._answered_s is None else self._answered_s - prompt_s,
            None if self._first_s is None else self._first_s - prompt_s,
            fixation_s,
            image_s,
            onsets.get(TrialState.MASK),
            prompt_s,
            self._evidence(),
            self._interrupted_s,
            tuple((describe(e), e.at_s - fixation_s) for e in self._early[:MAX_EARLY]),
            len(self._early),
            path=tuple(self.path),
        )
        if self._state is TrialState.LEFT:
            return replace(outcome, answer=None, latency_s=None, left=True)
        return outcome
