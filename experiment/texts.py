"""What participants read, where the lab has no text of its own."""

from __future__ import annotations

from experiment.records import Study

INSTRUCTIONS: dict[Study, str] = {
    "questions": """\
You will see photographs, each for a very short time.

Look at the cross in the middle of the screen. A photograph appears in its place, then a pattern \
that covers it, then a question. The question stays the same for a whole block.

Answer as well as you can; if you are not sure, guess. There is no time limit, and you will not \
be told whether you were right.

Where you have a text box, type your answer and press Enter. Where you have options, click one \
with the mouse or press the key that is shown with it. Then press the space bar for the next \
photograph.

There are breaks between the blocks. If you have to stop, press Esc: you will be asked whether \
you mean it, and your answers so far are kept.""",
    "rt3": """\
You will see photographs of three kinds of things. Decide as fast as you can which kind it is, \
and press its key: the keys are shown below the photograph.

Look at the cross in the middle of the screen; the photograph appears in its place. You have 2.5 \
seconds. What is not answered by then counts as wrong.

There are breaks between the blocks. If you have to stop, press Esc: you will be asked whether \
you mean it, and your answers so far are kept.""",
}

CONSENT_TITLE = "Consent"
CONSENT_QUESTION = "Do you agree to take part?"
AGREE, DECLINE = "I agree", "I do not agree"

AGE_QUESTION = "How old are you? (you need not say)"
SEX_QUESTION = "What is your sex? (you need not say)"
PERSON_HINT = "Type it and press Enter; press Enter alone to say nothing"

BREAK_TITLE = "Break"
BREAK_BODY = "Block {done} of {all} is done. Rest your eyes as long as you like."

REPEAT_BODY = "A few photographs are shown again, because the screen was not exact."

END_TITLE = "Thank you!"
END_BODY = "That was all. Your answers are stored. Please tell the experimenter."

KEYBOARD_TITLE = "Keyboard"
KEYBOARD_BODY = "Press the space bar."
MOUSE_QUESTION = "Click the box with the left mouse button."
MOUSE_LABEL = "Click here"
