"""A model outside snaprig, in fifty lines of the standard library: docs/external-models.md.

It guesses the answers to Q1 to Q4, always the same for the same picture and question; put your
model into `load` and `answer`. Nothing of snaprig is imported: copy it to where your model is.
"""

import json
import os
import random
import sys
from typing import Any

MODEL = "guesser"


def load() -> dict[str, Any]:
    """Load the weights here, once. What returns is told to snaprig and kept with every answer."""
    return {"name": MODEL, "version": 1, "weights_sha256": None}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """One answer: `path` is a PNG, `question` what to ask, `options` what to choose from."""
    seed = f"{request['question']} {os.path.getsize(request['path'])}"
    guess = random.Random(seed)  # noqa: S311 - no secret
    match request["task"]:
        case "q1":
            return {"text": guess.choice(["cup", "laptop", "a phone, I think"])}
        case "q2":
            return {"text": str(guess.randint(1, 5))}
        case _:
            return {"text": guess.choice(request["options"])}


def main() -> None:
    """Say hello, then answer line by line until the input ends."""
    # what libraries print must not get between the answers
    answers, sys.stdout = sys.stdout, sys.stderr

    def say(line: dict[str, Any]) -> None:
        print(json.dumps(line), file=answers, flush=True)

    say({"snaprig": 1, "spec": load(), "tasks": ["q1", "q2", "q3", "q4"], "frames": "path"})
    for line in sys.stdin:
        request = json.loads(line)
        try:
            say({"id": request["id"], **answer(request)})
        except Exception as error:  # this frame failed, the next may not
            say({"id": request["id"], "error": repr(error)})


if __name__ == "__main__":
    main()
