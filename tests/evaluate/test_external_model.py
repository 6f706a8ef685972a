"""Models outside: a program that answers in JSON lines, and each way in which it can fail."""

import base64
import io
import json
import logging
import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from evaluate.errors import EvaluateError
from evaluate.providers import LoadOptions, load_model
from evaluate.providers.external import ProgramBrokenError
from evaluate.zoo import ModelRow
from schemas.questions import TASKS, question_text
from tests.evaluate import tiny_checkpoints as tiny

EXAMPLE = Path(__file__).parents[2] / "docs/examples/external_model.py"

#: What every program of these tests begins with.
_HEAD = """
import base64, json, os, sys, time
HELLO = {"snaprig": 1, "spec": {"name": "made"}, "tasks": %s, "frames": "%s"}
def say(**line): print(json.dumps(line), flush=True)
def asked():
    for line in sys.stdin:
        yield json.loads(line)
"""


@pytest.fixture
def make(tmp_path):
    """Start a program made of a body; all end with the test."""
    started = []

    def start(body, task="vqa", *, tasks=TASKS, frames="path", timeout_s=20.0, hello=True):
        script = tmp_path / f"program{len(started)}.py"
        say = "say(**HELLO)\n" if hello else ""
        script.write_text(_HEAD % (json.dumps(list(tasks)), frames) + say + body)
        row = ModelRow(
            name="outside",
            task=task,
            provider="external",
            id="outside",
            command=(sys.executable, "-S", str(script), str(tmp_path)),
            timeout_s=timeout_s,
        )
        started.append(load_model(row, LoadOptions()))
        return started[-1]

    yield start
    for model in started:
        model.program.close(patient=False)


def ask_all(model, count=4, task="q1"):
    return [tiny.ask(model, tiny.pixels(seed), task) for seed in range(count)]


def texts(answers):
    return [given.text for given in answers]


ECHO = """
for one in asked():
    say(id=one["id"], text=f'{one["task"]} {one["question"]}')
"""


def test_a_program_answers_the_questions_that_people_get(make):
    model = make(ECHO)
    options = {"q3": ("cup", "other"), "q4": ("A) 4", "B) 2")}
    asked = [tiny.ask(model, tiny.pixels(), task, options.get(task, ())) for task in TASKS]
    expected = [f"{task} {question_text(task, options.get(task, ()))}" for task in TASKS]
    assert texts(model.answer(asked)) == expected
    assert model.tasks == TASKS
    assert model.device == "external"
    assert model.spec["program"] == {"name": "made"}
    assert json.loads(json.dumps(model.spec)) == model.spec


@pytest.mark.parametrize("frames", ["path", "base64"])
def test_it_sees_the_very_pixels_that_other_models_see(make, frames, tmp_path):
    model = make(
        """
for one in asked():
    data = open(one["path"], "rb").read() if "path" in one else base64.b64decode(one["png_base64"])
    say(id=one["id"], text=base64.b64encode(data).decode())
""",
        frames=frames,
    )
    picture = tiny.pixels(3, (33, 21))
    (given,) = model.answer([tiny.ask(model, picture, "q1")])
    seen = np.asarray(Image.open(io.BytesIO(base64.b64decode(given.text))))
    np.testing.assert_array_equal(seen, picture)


def test_files_of_frames_are_gone_once_answered(make):
    model = make('for one in asked(): say(id=one["id"], text=one["path"])')
    paths = texts(model.answer(ask_all(model)))
    assert len(set(paths)) == 4
    assert not any(Path(path).exists() or Path(path).parent.exists() for path in paths)


def test_answers_out_of_order_are_matched_by_id(make):
    model = make(
        """
held = []
for one in asked():
    held.append(one)
    if len(held) == 4:
        for one in reversed(held): say(id=one["id"], text=str(os.path.getsize(one["path"])))
        held = []
"""
    )
    asked = [tiny.ask(model, tiny.pixels(0, (20, 20 + seed)), "q1") for seed in range(4)]
    expected = [str(len(one.prepared)) for one in asked]
    assert len(set(expected)) == 4
    assert texts(model.answer(asked)) == expected
    assert texts(model.answer(asked[::-1])) == expected[::-1]


def test_an_error_of_one_frame_fails_that_frame_and_no_other_is_asked_again(make, tmp_path):
    model = make(
        """
for one in asked():
    open(sys.argv[1] + "/log", "a").write(one["id"] + " ")
    if one["id"] == "2": say(id="2", error="out of credit")
    else: say(id=one["id"], text="cup")
"""
    )
    asked = ask_all(model)
    with pytest.raises(EvaluateError, match="out of credit"):
        model.answer(asked)
    outcomes = []
    for one in asked:
        try:
            outcomes += texts(model.answer([one]))
        except EvaluateError as error:
            outcomes.append(str(error))
    assert outcomes == ["cup", "cup", "out of credit", "cup"]
    assert (tmp_path / "log").read_text().split() == ["0", "1", "2", "3"]


def test_a_crash_costs_one_start_and_no_answer(make, caplog):
    model = make(
        """
first = not os.path.exists(sys.argv[1] + "/crashed")
for n, one in enumerate(asked()):
    if first and n == 2:
        open(sys.argv[1] + "/crashed", "w")
        print("no memory left", file=sys.stderr)
        sys.exit(3)
    say(id=one["id"], text="cup")
"""
    )
    assert texts(model.answer(ask_all(model))) == ["cup"] * 4
    (warning,) = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert "exit status 3" in warning
    assert "no memory left" in warning


def test_a_frame_that_ends_the_program_twice_fails_alone(make):
    model = make(
        """
for one in asked():
    if os.path.getsize(one["path"]) < 200: os._exit(1)
    say(id=one["id"], text="cup")
"""
    )
    asked = ask_all(model, 2)
    asked.append(tiny.ask(model, np.zeros((4, 4, 3), np.uint8), "q1"))
    with pytest.raises(EvaluateError, match=r"asked twice: .* exit status 1"):
        model.answer(asked)
    assert texts(model.answer(asked[:1])) == ["cup"]
    assert texts(model.answer(asked[1:2])) == ["cup"]
    with pytest.raises(EvaluateError, match="asked twice"):
        model.answer(asked[2:])


def test_a_program_that_always_fails_is_broken_not_its_frames(make):
    model = make('next(asked()); sys.exit("no GPU")')
    asked = ask_all(model, 3)
    for one in asked[:2]:
        with pytest.raises(EvaluateError, match="asked twice"):
            model.answer([one])
    with pytest.raises(ProgramBrokenError, match=r"no answer in between.*no GPU"):
        model.answer(asked[2:])


def test_a_program_that_hangs_is_ended_with_its_children(make, tmp_path):
    model = make(
        """
import subprocess
for one in asked():
    child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    open(sys.argv[1] + "/child", "w").write(str(child.pid))
    time.sleep(600)
""",
        timeout_s=1.0,
    )
    with pytest.raises(EvaluateError, match=r"no answer within 1 s"):
        model.answer(ask_all(model, 1))
    child = Path("/proc", (tmp_path / "child").read_text(), "stat")
    deadline = time.monotonic() + 30
    while child.exists() and child.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline, "a child of the program that hung is still there"
        time.sleep(0.01)


def test_a_program_that_never_reads_does_not_block(make):
    model = make("time.sleep(600)", frames="base64", timeout_s=1.0)
    asked = [tiny.ask(model, tiny.pixels(0, (500, 400)), "q1")]
    assert len(asked[0].prepared) > 2**18
    with pytest.raises(EvaluateError, match="no answer within"):
        model.answer(asked)


def test_lines_that_are_no_answers_are_logged_and_passed_over(make, caplog):
    model = make(
        """
print("Loading checkpoint shards: 100%")
print('[1, 2]')
for one in asked():
    print('{"id": ' + "broken")
    say(id="777", text="to nobody")
    say(id=one["id"], text="cup")
    say(id=one["id"], text="twice")
"""
    )
    assert texts(model.answer(ask_all(model, 3))) == ["cup"] * 3
    logged = " ".join(record.getMessage() for record in caplog.records)
    for passed_over in ("Loading checkpoint", "[1, 2]", "broken", "777"):
        assert passed_over in logged


def test_its_standard_error_goes_to_the_log(make, caplog):
    caplog.set_level(logging.INFO)
    model = make('print("loaded in 3 s", file=sys.stderr)\n' + ECHO)
    model.answer(ask_all(model, 1))
    model.program.close()
    assert any("loaded in 3 s" in record.getMessage() for record in caplog.records)


def test_a_program_ends_when_its_input_closes(make, tmp_path):
    model = make(ECHO + 'open(sys.argv[1] + "/ended", "w")')
    model.answer(ask_all(model, 1))
    pid = model.program._process.pid
    model.program.close()
    assert (tmp_path / "ended").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(
    ("hello", "said"),
    [
        ('say(snaprig=2, spec={}, tasks=["q1"])', "speaks protocol 2"),
        ("say(snaprig=1, spec={}, tasks=[])", "no hello: tasks"),
        ('say(snaprig=1, tasks=["q1"])', "no hello: spec"),
        ('say(snaprig=1, spec={}, tasks=["detection"])', "answers detection; its row says vqa"),
        ('sys.exit("no module named torch")', "said no hello: .*no module named torch"),
    ],
)
def test_a_program_that_does_not_say_what_it_is_is_refused(make, hello, said):
    with pytest.raises(EvaluateError, match=said):
        make(hello, hello=False)


def test_a_program_that_is_not_there_is_named(tmp_path):
    row = ModelRow(
        name="x", task="vqa", provider="external", id="x", command=(str(tmp_path / "no"),)
    )
    with pytest.raises(EvaluateError, match="x: cannot start"):
        load_model(row, LoadOptions())


def test_after_a_restart_it_must_be_the_same_model(make):
    model = make(
        """
again = os.path.exists(sys.argv[1] + "/once")
open(sys.argv[1] + "/once", "w")
say(snaprig=1, spec={"weights": "b" if again else "a"}, tasks=["q1"])
next(asked())
""",
        hello=False,
    )
    with pytest.raises(ProgramBrokenError, match="another model than before"):
        model.answer(ask_all(model, 1))


FOUND = """
for one in asked():
    say(id=one["id"], labels=["cup", "cell phone"], scores=[0.9, 0.01],
        boxes_xywh_px=[[1, 2, 3, 4], [0, 0, 10.5, 20]])
"""


def test_a_detector_outside_gives_what_one_inside_gives(make):
    model = make(FOUND, "detection", tasks=["detection"])
    (given,) = model.answer([tiny.ask(model, tiny.pixels())])
    assert given.payload == {
        "labels": ["cup", "cell phone"],
        "scores": [0.9, 0.01],
        "boxes_xywh_px": [[1, 2, 3, 4], [0, 0, 10.5, 20]],
        "size_px": [96, 64],
    }


def test_a_classifier_outside_numbers_imagenet_as_we_do(make):
    model = make(
        'for one in asked(): say(id=one["id"], top5=[[1, 0.1], [504, 0.7], [968, 0.2]])',
        "classification",
        tasks=["classification"],
    )
    (given,) = model.answer([tiny.ask(model, tiny.pixels(), "classification")])
    assert [(index, p) for index, _, p in given.payload["top5"]] == [
        (504, 0.7),
        (968, 0.2),
        (1, 0.1),
    ]
    assert given.payload["top5"][1][1] == "cup"


def test_a_choice_is_one_of_the_options(make):
    model = make(
        'for one in asked(): say(id=one["id"], text=one["options"][0], scores={"cup": 0.8})',
        "classification",
        tasks=["choice"],
    )
    (given,) = model.answer([tiny.ask(model, tiny.pixels(), "choice", ("cup", "laptop"))])
    assert given == ("cup", {"scores": {"cup": 0.8}})


@pytest.mark.parametrize(
    ("task", "kind", "answer"),
    [
        ("q1", "vqa", "text=3"),
        ("q1", "vqa", "texts='cup'"),
        ("q1", "vqa", "text='cup', finish='maybe'"),
        ("choice", "classification", "text='mug'"),
        ("classification", "classification", "top5=[]"),
        ("classification", "classification", "top5=[[1000, 0.5]]"),
        ("classification", "classification", "top5=[[1, float('nan')]]"),
        ("detection", "detection", "labels=['cup'], scores=[], boxes_xywh_px=[]"),
        ("detection", "detection", "labels=[47], scores=[1], boxes_xywh_px=[[1, 2, 3, 4]]"),
        ("detection", "detection", "labels=['a'], scores=[1], boxes_xywh_px=[[1, 2, -3, 4]]"),
        ("detection", "detection", "labels=['a'], scores=[1], boxes_xywh_px=[[1, 2, 3]]"),
        ("detection", "detection", "labels=['a'], scores=[float('inf')], boxes_xywh_px=[[1]*4]"),
    ],
)
def test_an_answer_of_another_form_fails_the_frame(make, task, kind, answer):
    model = make(f'for one in asked(): say(id=one["id"], {answer})', kind, tasks=[task])
    with pytest.raises(EvaluateError, match=f"no answer to {task}"):
        model.answer([tiny.ask(model, tiny.pixels(), task, ("cup", "laptop"))])


def test_the_example_of_the_documentation_takes_part():
    row = ModelRow(
        name="guesser",
        task="vqa",
        provider="external",
        id="guesser",
        command=(sys.executable, str(EXAMPLE)),
        timeout_s=20,
    )
    model = load_model(row, LoadOptions())
    try:
        options = {"q3": ("cup", "other"), "q4": ("A) 4", "B) 2")}
        asked = [tiny.ask(model, tiny.pixels(), task, options.get(task, ())) for task in TASKS]
        answers = texts(model.answer(asked))
        assert answers[2] in options["q3"]
        assert answers[3] in options["q4"]
        assert texts(model.answer(asked)) == answers
        assert model.spec["program"]["name"] == "guesser"
    finally:
        model.program.close()
