"""A trial: frame counts, order, and what counts as an answer, on a clock that tests hold."""

from itertools import pairwise

import pytest
from PIL import Image

from experiment.dialogs import STOP
from experiment.inputs import Motion
from experiment.timing import Mode, Schedule, Verdict
from experiment.trial import ARROWS, AnswerKind, Question, TrialRun, TrialState
from experiment.views import Fixation, Mask, OptionsView, Picture, TextView
from tests.experiment.scripted_screen import ScriptedScreen, diligent

S = TrialState
PICTURE = Image.new("RGB", (960, 640))
TEXT = Question("What is it?", AnswerKind.TEXT)
CHOICE = Question("What is it?", AnswerKind.OPTIONS, ("cup", "bottle", "other"))
REACTION = Question("", AnswerKind.KEYS, ("penguin", "leopard", "container ship"), 2.5)


def run(question, on_view=None, hz=60.0, mode=Mode.FRAMES, screen=None):
    screen = screen or ScriptedScreen(hz, on_view or diligent())
    screen.on_view = on_view or screen.on_view
    told = []
    outcome = TrialRun(screen, Schedule(mode, hz), question, PICTURE, PICTURE, told.append).run()
    return outcome, screen, told


@pytest.mark.parametrize(("hz", "frames"), [(60, 12), (75, 15), (120, 24), (144, 29)])
def test_image_and_mask_last_whole_refreshes(hz, frames):
    outcome, screen, _ = run(TEXT, hz=hz)
    (fix, _, fix_n), (image, _, image_n), (mask, _, mask_n) = screen.runs()[:3]
    assert (fix, image, mask) == (Fixation(), Picture(), Mask())
    assert (fix_n, image_n, mask_n) == (hz, frames, frames)
    assert outcome.evidence.image_s == pytest.approx(frames / hz)
    assert outcome.evidence.mask_s == pytest.approx(frames / hz)
    assert outcome.evidence.verdict is Verdict.PROVEN
    assert outcome.evidence.dropped == 0


def test_onsets_are_times_of_flips():
    outcome, screen, _ = run(TEXT)
    onsets = {type(view): at_s for view, at_s, _ in reversed(screen.runs())}
    assert outcome.fixation_onset_s == onsets[Fixation]
    assert outcome.image_onset_s == onsets[Picture]
    assert outcome.mask_onset_s == onsets[Mask]
    assert outcome.prompt_onset_s == next(t for t, v in screen.shown if isinstance(v, TextView))


def test_text_is_submitted_by_enter_and_left_by_space():
    outcome, _, told = run(TEXT, diligent("water bottle"))
    assert outcome.answer == "water bottle"
    assert outcome.latency_s == pytest.approx(0.8)
    assert outcome.first_latency_s == pytest.approx(0.5)
    assert outcome.path == (S.FIXATION, S.IMAGE, S.MASK, S.QUESTION, S.ANSWERED, S.DONE)
    assert [view.caret for view in told] == [0, None]


def test_enter_on_a_blank_text_submits_nothing():
    def react(screen, view, at_s):
        if isinstance(view, TextView) and view.text == "" and view.caret is not None:
            screen.key(at_s + 0.1, "enter")
            screen.type(at_s + 0.2, " ")
            screen.key(at_s + 0.3, "enter")
            screen.type(at_s + 0.4, "a")
            screen.key(at_s + 0.5, "enter")
        elif isinstance(view, TextView) and view.caret is None:
            screen.key(at_s + 0.1, "space")

    outcome, _, _ = run(TEXT, react)
    assert outcome.answer == " a"  # raw: nobody but the scoring strips it


def test_backspace_edits():
    def react(screen, view, at_s):
        if isinstance(view, TextView) and view.text == "":
            screen.type(at_s + 0.1, "cat")
            screen.move(at_s + 0.2, Motion.BACKSPACE)
            screen.type(at_s + 0.3, "p")
            screen.key(at_s + 0.4, "enter")
        elif isinstance(view, TextView) and view.caret is None:
            screen.key(at_s + 0.1, "space")

    assert run(TEXT, react)[0].answer == "cap"


def test_an_option_by_click_can_be_changed_by_key_until_space():
    def react(screen, view, at_s):
        if isinstance(view, OptionsView) and view.chosen is None:
            screen.click(at_s + 0.4, view.boxes[0].x_px, view.boxes[0].y_px)
            screen.type(at_s + 0.9, "2")
            screen.key(at_s + 1.2, "space")

    outcome, screen, _ = run(CHOICE, react)
    assert outcome.answer == "bottle"
    assert (outcome.first_latency_s, outcome.latency_s) == pytest.approx((0.4, 0.9))
    assert [v.chosen for v, _, _ in screen.runs()[3:]] == [None, "cup", "bottle"]


def test_space_before_a_choice_and_clicks_beside_do_nothing():
    def react(screen, view, at_s):
        if isinstance(view, OptionsView) and view.chosen is None:
            screen.key(at_s + 0.1, "space")
            screen.click(at_s + 0.2, 700, 500)
            screen.type(at_s + 0.3, "3")
            screen.key(at_s + 0.5, "space")

    assert run(CHOICE, react)[0].answer == "other"


def test_keys_and_clicks_during_the_sequence_are_recorded_and_ignored():
    def react(screen, view, at_s):
        match view:
            case Fixation():
                screen.type(at_s + 0.5, "x")
            case Mask():
                screen.type(at_s + 0.1, "zz")
                screen.click(at_s + 0.15, 0, 60)
        diligent()(screen, view, at_s)

    outcome, _, _ = run(TEXT, react)
    assert outcome.answer == "cup"
    assert [what for what, _ in outcome.early] == ["text x", "text zz", "click 0,60"]
    assert [after for _, after in outcome.early] == pytest.approx([0.5, 1.3, 1.35])


def test_a_click_held_from_the_trial_before_chooses_nothing():
    """Its press came before the question; a held button makes no new press."""
    screen = ScriptedScreen()
    box_x = -300  # where the first option will be

    def react(_, view, at_s):
        if isinstance(view, Mask):
            screen.click(at_s + 0.19, box_x, 60)  # goes down at the end of the mask and stays
        if isinstance(view, OptionsView) and view.chosen is None:
            screen.type(at_s + 1.0, "2")
            screen.key(at_s + 1.5, "space")

    outcome, _, _ = run(CHOICE, react, screen=screen)
    assert outcome.answer == "bottle"
    assert outcome.early_count == 1


def test_a_key_held_since_the_mask_types_nothing_however_often_it_repeats():
    def react(screen, view, at_s):
        if isinstance(view, Mask):
            for repeat in range(40):
                screen.type(at_s + 0.1 + repeat * 0.03, "z", pressed_s=at_s + 0.1)
        if isinstance(view, TextView) and view.caret is not None and not view.text:
            screen.type(at_s + 2, "cup")
            screen.key(at_s + 2.2, "enter")
        elif isinstance(view, TextView):
            screen.key(at_s + 0.1, "space")

    outcome, _, _ = run(TEXT, react)
    assert outcome.answer == "cup"
    assert outcome.early_count == 40
    assert len(outcome.early) == 20


def test_what_was_pressed_between_trials_is_of_no_trial():
    screen = ScriptedScreen(on_view=diligent())
    screen.type(50.0, "old")
    outcome, _, _ = run(TEXT, screen=screen)
    assert (outcome.answer, outcome.early_count) == ("cup", 0)


@pytest.mark.parametrize("where", ["image", "mask"])
def test_a_dropped_refresh_fails_the_trial(where):
    screen = ScriptedScreen(on_view=diligent())
    screen.drop_at = {65 if where == "image" else 77}
    outcome, _, _ = run(TEXT, screen=screen)
    assert outcome.evidence.dropped == 1
    assert outcome.evidence.verdict is Verdict.FAILED
    long = outcome.evidence.image_s if where == "image" else outcome.evidence.mask_s
    assert long == pytest.approx(13 / 60)


def test_a_refresh_dropped_during_fixation_harms_nothing():
    screen = ScriptedScreen(on_view=diligent())
    screen.drop_at = {30}
    assert run(TEXT, screen=screen)[0].evidence.verdict is Verdict.PROVEN


def test_by_the_clock_durations_are_kept_and_nothing_is_proven():
    outcome, screen, _ = run(TEXT, hz=1000, mode=Mode.CLOCK)
    assert outcome.evidence.verdict is Verdict.UNPROVEN
    assert outcome.evidence.image_s == pytest.approx(0.2, abs=0.002)
    assert outcome.image_onset_s - outcome.fixation_onset_s == pytest.approx(1.0, abs=0.002)
    assert [n for _, _, n in screen.runs()[:3]] == [1, 1, 1]


def escape_once(then, question=TextView):
    asked = []

    def react(screen, view, at_s):
        if isinstance(view, question) and not asked:
            asked.append(view)
            screen.key(at_s + 0.3, "escape")
        elif isinstance(view, OptionsView) and STOP in [box.label for box in view.boxes]:
            then(screen, view, at_s)
        else:
            diligent()(screen, view, at_s)

    return react


def test_escape_asks_and_a_no_goes_on_with_the_question():
    def go_on(screen, view, at_s):
        screen.type(at_s + 0.5, "1")

    outcome, _, _ = run(TEXT, escape_once(go_on))
    assert outcome.answer == "cup"
    assert not outcome.left
    assert outcome.interrupted_s == pytest.approx(0.5, abs=0.05)
    assert outcome.path[3:6] == (S.QUESTION, S.LEAVING, S.QUESTION)


def test_escape_twice_goes_on():
    outcome, _, _ = run(TEXT, escape_once(lambda s, v, t: s.key(t + 0.2, "escape")))
    assert outcome.answer == "cup"


def test_escape_and_yes_leaves_without_an_answer():
    outcome, _, _ = run(TEXT, escape_once(lambda s, v, t: s.type(t + 0.2, "2")))
    assert outcome.left
    assert outcome.answer is None
    assert outcome.path[-2:] == (S.LEAVING, S.LEFT)


def leaving_late():
    asked = []

    def react(screen, view, at_s):
        if isinstance(view, TextView) and view.caret is None and not asked:
            asked.append(view)
            screen.key(at_s + 0.1, "escape")
        elif isinstance(view, OptionsView):
            screen.type(at_s + 0.1, "1")
        else:
            diligent()(screen, view, at_s)

    return run(TEXT, react)


def test_escape_after_the_answer_asks_too():
    outcome, _, _ = leaving_late()
    assert outcome.path[4:] == (S.ANSWERED, S.LEAVING, S.ANSWERED, S.DONE)
    assert outcome.answer == "cup"


def test_escape_during_the_image_lets_the_sequence_end_and_then_asks():
    def react(screen, view, at_s):
        if isinstance(view, Picture):
            screen.key(at_s + 0.1, "escape")
        elif isinstance(view, OptionsView):
            screen.type(at_s + 0.1, "2")

    outcome, screen, _ = run(TEXT, react)
    assert outcome.left
    assert outcome.evidence.image_s == pytest.approx(0.2)
    assert [n for _, _, n in screen.runs()[1:3]] == [12, 12]


def test_reaction_time_by_key():
    outcome, screen, _ = run(REACTION)
    assert outcome.answer == "penguin"
    assert outcome.latency_s == pytest.approx(0.6)
    assert outcome.path == (S.FIXATION, S.QUESTION, S.DONE)
    assert outcome.image_onset_s == outcome.prompt_onset_s
    assert screen.runs()[1][0].legend == "1 penguin   2 leopard   3 container ship"


@pytest.mark.parametrize(("after_s", "answer"), [(2.49, "leopard"), (2.51, None)])
def test_reaction_time_has_a_deadline(after_s, answer):
    def react(screen, view, at_s):
        if isinstance(view, Picture):
            screen.type(at_s + after_s, "2")

    outcome, _, _ = run(REACTION, react)
    assert outcome.answer == answer
    assert outcome.path[-1] is S.DONE


def test_an_arrow_that_is_not_in_the_diagram_is_a_defect():
    trial = TrialRun(ScriptedScreen(), Schedule(Mode.FRAMES, 60), TEXT, PICTURE, PICTURE)
    with pytest.raises(RuntimeError, match="cannot go from"):
        trial._to(TrialState.DONE)


def test_participants_walk_every_arrow_and_no_other():
    def leave(key):
        return escape_once(lambda screen, view, at_s: screen.type(at_s + 0.2, key))

    outcomes = [
        run(TEXT), run(REACTION), run(TEXT, leave("1")), run(TEXT, leave("2")), leaving_late(),
    ]  # fmt: skip
    walked = {pair for outcome, *_ in outcomes for pair in pairwise(outcome.path)}
    assert walked == ARROWS
