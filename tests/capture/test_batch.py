"""Batches: the itinerary, the terminal and the command."""

import json
import os

import pytest
from click.testing import CliRunner

from capture.batch import instruction, itinerary, read_batch, require_consistent
from capture.batch_run import LeftError, Terminal
from capture.cli import capture
from capture.stopping import StopRequest
from rig.errors import Abort
from schemas.capture_store import add_scene, list_runs
from schemas.plan import SweepPlan
from schemas.records import Scene
from tests.capture.batching import (
    LIGHTINGS,
    PLAN,
    SCENES,
    Operator,
    batch_run,
    make_batch,
)

# ---- the itinerary


@pytest.mark.parametrize(
    ("order", "pairs"),
    [
        ("scene", "cups/bright cups/dim mug/bright mug/dim"),
        ("lighting", "cups/bright mug/bright cups/dim mug/dim"),
    ],
)
def test_the_order_is_by_scene_or_by_lighting(order, pairs):
    legs = itinerary(make_batch(order=order), LIGHTINGS)
    assert [f"{leg.scene.name}/{leg.lighting.name}" for leg in legs] == pairs.split()
    assert [leg.number for leg in legs] == [1, 2, 3, 4]


def test_lightings_come_as_listed():
    legs = itinerary(make_batch(lightings=["dim", "bright"]), LIGHTINGS)
    assert [leg.lighting.name for leg in legs[:2]] == ["dim", "bright"]
    assert len(itinerary(make_batch(lightings=["dim"]), LIGHTINGS)) == 2


def test_the_operator_is_told_only_what_changes():
    first, second, third, _ = itinerary(make_batch(), LIGHTINGS)
    assert instruction(first, None) == (
        "place scene cups (cup, 3 objects), set the panels to 1000 lux"
    )
    assert instruction(second, first) == "leave scene cups as it is, set the panels to 10 lux"
    assert instruction(third, second) == (
        "place scene mug (coffee mug, 1 object), set the panels to 1000 lux"
    )
    _, other, *_ = itinerary(make_batch(order="lighting"), LIGHTINGS)
    assert instruction(other, first).endswith("leave the panels at 1000 lux")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"lightings": ["bright", "dusk"]}, "no lighting dusk .known: bright, dim"),
        ({"lightings": ["dim", "dim"]}, "lighting dim comes more than once"),
        ({"scene": [SCENES[0], SCENES[0]]}, "scene cups comes more than once"),
    ],
)
def test_mistakes_are_named_before_the_first_instruction(changes, complaint):
    with pytest.raises(Abort, match=complaint):
        itinerary(make_batch(**changes), LIGHTINGS)
    with pytest.raises(Abort, match="no lighting at all"):
        itinerary(make_batch(), {})


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "scene: Field required"),
        ("scene = []", "scene: "),
        ('[[scene]]\nname = "../x"\ncategory = "c"\ncount = 1', "scene.0.name"),
        ('[[scene]]\nname = "x"\ncategory = " "\ncount = 0', "scene.0.category.*scene.0.count"),
        ('oder = "scene"\n[[scene]]\nname="x"\ncategory="c"\ncount=1', "oder: unknown key"),
        ("plan = 'no.toml'\n[[scene]]\nname='x'\ncategory='c'\ncount=1", "no.toml cannot be read"),
        ("plan = 'bad.toml'\n[[scene]]\nname='x'\ncategory='c'\ncount=1", "bad.toml: iso is empty"),
        ("plan = [", "batch.toml: "),
        ("plan = '\xff'", "batch.toml: "),
    ],
)
def test_a_bad_file_is_refused_with_every_mistake(tmp_path, text, complaint):
    (tmp_path / "bad.toml").write_text("iso = []")
    path = tmp_path / "batch.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(Abort, match=complaint):
        read_batch(path)


def test_a_batch_file_finds_its_plan_beside_it(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN.to_toml())
    path = tmp_path / "batch.toml"
    path.write_text('plan = "plan.toml"\n[[scene]]\nname = "x"\ncategory = " c "\ncount = 1\n')
    batch, plan = read_batch(path)
    assert plan == PLAN
    assert (batch.order, batch.auto_frame, batch.guidance) == ("scene", False, None)
    assert batch.scene[0].category == "c"
    assert make_batch(sweep="guided", audit=0.05).guidance.audit == 0.05


def test_a_scene_that_is_another_one_here_is_refused(lab):
    legs = itinerary(make_batch(), LIGHTINGS)
    require_consistent(lab.catalog, legs, PLAN)
    add_scene(lab.catalog, Scene("mug", "mug", 2))
    with pytest.raises(Abort, match="scene mug is 2 x mug in this workspace"):
        require_consistent(lab.catalog, legs, PLAN)


def test_another_rule_of_acceptance_is_refused(lab):
    lab.sweep(PLAN, limit=1)
    legs = itinerary(make_batch(), LIGHTINGS)
    with pytest.raises(Abort, match="one sweep has one rule"):
        require_consistent(lab.catalog, legs, SweepPlan(acceptance="mean"))


# ---- the terminal


class Pipe:
    """A file of lines, one of them readable at a time."""

    def __init__(self, *lines):
        self._read, write = os.pipe()
        with os.fdopen(write, "w") as file:
            file.writelines(lines)
        self.file = os.fdopen(self._read)


@pytest.mark.parametrize(
    ("typed", "reason"),
    [(("q\n",), "left at a prompt"), ((), "nobody is at the terminal"), ((" Q \n",), "left")],
)
def test_leaving_at_a_prompt(typed, reason):
    lines = []
    with Pipe(*typed).file as source, pytest.raises(LeftError, match=reason):
        Terminal(StopRequest(), source, lines.append).confirm("place scene 12")
    assert lines == ["place scene 12, press Enter (q leaves)"]


def test_enter_goes_on_and_no_wait_does_not_wait():
    lines = []
    with Pipe("\n").file as source:
        Terminal(StopRequest(), source, lines.append).confirm("place scene 12")
        Terminal(StopRequest(), source, lines.append, waits=False).confirm("place scene 13")
    assert lines[1] == "place scene 13"


def test_ctrl_c_at_a_prompt_leaves():
    stop = StopRequest()
    stop.ask("Ctrl-C")
    with Pipe().file as source, pytest.raises(LeftError, match="Ctrl-C"):
        Terminal(stop, source, lambda _line: None).confirm("place scene 12")


def test_the_light_is_said_now_and_then():
    now, lines = [0.0], []
    with Pipe().file as source:
        terminal = Terminal(StopRequest(), source, lines.append, clock=lambda: now[0])
        for now[0] in range(25):
            terminal.light(f"{now[0]}")
    assert lines == ["0", "10", "20"]


def test_on_a_terminal_the_light_is_drawn_in_one_line():
    drawn, lines = [], []
    with Pipe().file as source:
        terminal = Terminal(StopRequest(), source, lines.append, draw=drawn.append)
        terminal.say("set the panels")
        for lux in ("400 lux", "700 lux"):
            terminal.light(lux)
        terminal.say("the light is right")
    assert drawn == ["400 lux", "700 lux", ""]
    assert lines == ["set the panels", "the light is right"]


# ---- the command


def invoke(lab, *arguments):
    result = CliRunner().invoke(capture, ["batch", *map(str, arguments)], obj=lab.workspace.root)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def batch_file(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN.to_toml())
    path = tmp_path / "batch.toml"
    scenes = "".join(
        f"[[scene]]\nname = {s['name']!r}\ncategory = {s['category']!r}\ncount = {s['count']}\n"
        for s in SCENES
    )
    path.write_text(f'plan = "plan.toml"\nlightings = ["bright", "dim"]\n{scenes}')
    return path


def test_a_dry_run_prints_the_whole_itinerary_and_touches_nothing(lab, batch_file):
    lab.sweep(PLAN)
    text = invoke(lab, batch_file, "--dry-run").stdout
    assert [line.split()[0] for line in text.splitlines()[1:5]] == ["1", "2", "3", "4"]
    assert "complete" in text.splitlines()[1]
    assert "12 exposures" in text
    assert "of the 100000 trusted" in text
    document = json.loads(invoke(lab, batch_file, "--dry-run", "--json").stdout)
    assert [leg["remaining"] for leg in document["itinerary"]] == [0, 4, 4, 4]
    assert document["itinerary"][3] | {"seconds": 0} == {
        "number": 4,
        "scene": "mug",
        "category": "coffee mug",
        "count": 1,
        "lighting": "dim",
        "lux": 10.0,
        "planned": 4,
        "remaining": 4,
        "auto_frame": False,
        "seconds": 0,
    }
    assert document["exposures"] == 12
    assert len(list_runs(lab.catalog)) == 1


def test_a_batch_that_is_complete_says_so(lab, batch_file):
    list(batch_run(lab, Operator(lab)).walk())
    result = invoke(lab, batch_file, "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert (document["status"], document["complete"], document["remaining"]) == ("done", 4, 0)
    assert document["next"] == ""


def test_mistakes_end_the_command_before_any_device(lab, batch_file):
    batch_file.write_text(batch_file.read_text().replace('"dim"', '"dusk"'))
    with pytest.raises(Abort, match="no lighting dusk"):
        invoke(lab, batch_file)
