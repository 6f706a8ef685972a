"""Batches: the itinerary, what the operator is told, and going on wherever it was left."""

import json
import os
from contextlib import contextmanager
from dataclasses import replace

import pytest
from click.testing import CliRunner

from capture.auto_frame import find_auto_frame, take_auto_frame
from capture.batch import Batch, instruction, itinerary, read_batch, require_consistent, standing
from capture.batch_run import BatchRun, LeftError, Means, Terminal
from capture.cli import capture
from capture.pace import Pace
from capture.stopping import StopRequest
from capture.sweep import run_sweep
from rig.errors import Abort, AskOperator, Reconnect
from schemas.capture_store import add_scene, list_runs
from schemas.frame_store import list_frames
from schemas.plan import Lighting, SweepPlan
from schemas.records import Scene
from tests.capture.lab import BRIGHT, NoWait, SteppedLightLog

DIM = Lighting(name="dim", lux=10, ev_reference=5)
LIGHTINGS = {"bright": BRIGHT, "dim": DIM}
PLAN = SweepPlan(shutter=("1/60", "0.5"), iso=(100,), f_number=(5.6, 22))
SCENES = [
    {"name": "cups", "category": "cup", "count": 3},
    {"name": "mug", "category": "coffee mug", "count": 1},
]


def make_batch(**changes):
    return Batch.model_validate({"scene": SCENES, **changes})


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


# ---- walking through it


class Operator:
    """Does what the prompts say, at once; leaves at the prompt numbered `leave_at`."""

    def __init__(self, lab, leave_at=None):
        self.lab = lab
        self.said = []
        self.asked = []
        self.lights = []
        self.leave_at = leave_at

    def say(self, text):
        self.said.append(text)

    def light(self, text):
        self.lights.append(text)

    def confirm(self, text):
        self.asked.append(text)
        if len(self.asked) == self.leave_at:
            raise LeftError("left at a prompt")
        self.obey(text)

    def obey(self, text):
        if "set the panels to" in text:
            self.panels(float(text.partition("panels to ")[2].split()[0]))
        if "dial to P" in text:
            self.lab.camera.dial = "P"
        if "to M" in text:
            self.lab.camera.dial = "Manual"

    def panels(self, lux):
        self.lab.meter.lux = self.lab.camera.lux = lux


def batch_run(lab, operator, batch=None, stop=None, after=None, attended=True, **changes):
    """A walk with devices in memory; `after` snapshots the stop is asked for."""
    stop = stop or NoWait()
    snapshots = []

    def make_light(meter, band):
        return SteppedLightLog(meter, band, lab.clock)

    @contextmanager
    def meter():
        lab.meter.open()
        yield lab.meter
        lab.meter.close()

    @contextmanager
    def bench():
        opened = lab.bench()
        try:
            yield opened
        finally:
            lab.camera.close()
            lab.meter.close()

    def watch(snapshot):
        snapshots.append(snapshot)
        if len(snapshots) == after:
            stop.ask("Ctrl-C")

    batch = batch or make_batch()
    means = Means(
        meter,
        bench,
        lambda opened, leg, pace, more: run_sweep(
            lab.workspace,
            lab.catalog,
            opened,
            scene=leg.scene.name,
            lighting=leg.lighting,
            plan=PLAN,
            guidance=batch.guidance,
            stop=stop,
            watch=watch,
            references=False,
            make_light=make_light,
            pace=pace,
        ),
        lambda opened, leg: take_auto_frame(
            lab.workspace,
            lab.catalog,
            opened,
            scene=leg.scene.name,
            lighting=leg.lighting,
            make_light=make_light,
        ),
        make_light,
    )
    legs = itinerary(batch, LIGHTINGS)
    for leg in legs:
        add_scene(lab.catalog, leg.scene)
    return BatchRun(
        lab.catalog,
        batch,
        PLAN,
        legs,
        operator,
        means,
        stop,
        attended=attended,
        patience_s=changes.get("patience_s"),
        shutter_life=100_000,
    )


def frames_of(lab):
    return {(f.scene, f.lighting, f.setting): f.outcome for f in list_frames(lab.catalog)}


def test_a_batch_is_walked_through_and_a_second_time_nothing_is_left(lab):
    operator = Operator(lab)
    run = batch_run(lab, operator)
    summaries = list(run.walk())
    assert [(s.scene, s.lighting, s.status) for s in summaries] == [
        ("cups", "bright", "done"),
        ("cups", "dim", "done"),
        ("mug", "bright", "done"),
        ("mug", "dim", "done"),
    ]
    assert operator.asked == [
        "place scene cups (cup, 3 objects), set the panels to 1000 lux",
        "leave scene cups as it is, set the panels to 10 lux",
        "place scene mug (coffee mug, 1 object), set the panels to 1000 lux",
        "leave scene mug as it is, set the panels to 10 lux",
    ]
    assert len(frames_of(lab)) == 4 * len(PLAN)
    assert operator.said[0].startswith("[1 of 4] cups under bright: 4 of 4 shots left, about ")
    assert "whole batch about" in operator.said[0]
    again = Operator(lab)
    assert list(batch_run(lab, again).walk()) == []
    assert again.asked == []
    assert again.said[0] == "[1 of 4] cups under bright: complete, skipped"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("84984", "84984 exposures so far, 85000 after this batch, 85% of the 100000 trusted"),
        ("", "16 exposures more, 0.0% of the 100000 trusted (the body does not tell its count)"),
    ],
)
def test_what_a_batch_does_to_the_shutter_is_said_once(lab, monkeypatch, told, said):
    read = lab.camera.read_settings
    monkeypatch.setattr(lab.camera, "read_settings", lambda: {**read(), "shuttercounter": told})
    operator = Operator(lab)
    list(batch_run(lab, operator).walk())
    assert [text for text in operator.said if text.startswith("shutter")] == [f"shutter: {said}"]


def test_the_time_left_is_measured_on_the_way(lab):
    run = batch_run(lab, Operator(lab))
    first = run.standings()[1].left_s(run.pace)
    assert first == pytest.approx(2 * (1 / 60 + 0.5) + 4)
    next(walk := run.walk())
    walk.close()
    after = run.standings()[1].left_s(run.pace)
    assert after != first
    assert after == pytest.approx(run.pace.left_s(2 * (1 / 60 + 0.5), 4))


@pytest.fixture(scope="module")
def whole(make_lab):
    lab = make_lab()
    list(batch_run(lab, Operator(lab)).walk())
    return frames_of(lab)


@pytest.mark.parametrize("leave_at", range(1, 5))
def test_left_at_any_prompt_it_goes_on_there(lab, whole, leave_at):
    with pytest.raises(LeftError):
        list(batch_run(lab, Operator(lab, leave_at)).walk())
    assert len(frames_of(lab)) == (leave_at - 1) * len(PLAN)
    second = Operator(lab)
    list(batch_run(lab, second).walk())
    assert len(second.asked) == 5 - leave_at
    assert second.asked[0].startswith("place scene")  # nobody knows what stands there now
    assert frames_of(lab) == whole
    assert len(lab.camera.taken) == 4 * len(PLAN)


@pytest.mark.parametrize("after", [1, 3, 5, 9, 14, 20])
def test_stopped_within_a_sweep_it_goes_on_there(lab, whole, after):
    run = batch_run(lab, Operator(lab), after=after)
    try:
        *_, last = run.walk()
    except LeftError:  # it was asked for with the last shot of a sweep
        assert run.stop.reason == "Ctrl-C"
    else:
        assert (last.status, last.reason) == ("stopped", "Ctrl-C")
        assert list_runs(lab.catalog)[-1].status == "stopped"
    assert frames_of(lab) != whole
    list(batch_run(lab, Operator(lab)).walk())
    assert frames_of(lab) == whole
    assert len(lab.camera.taken) == 4 * len(PLAN)


def test_wrong_light_is_waited_for_and_shown(lab):
    operator = Operator(lab)
    lab.meter.lux = 400.0
    later = []

    def slowly(text):
        if "set the panels" not in text:
            return
        lux = float(text.partition("panels to ")[2].split()[0])
        begun = lab.clock.now_s()
        lab.camera.lux = lux
        lab.meter.lux = lambda now: 400.0 if lab.clock.now_s() - begun < 60 else lux
        later.append(lux)

    operator.obey = slowly
    run = batch_run(lab, operator)
    begun_s = lab.clock.now_s()
    assert next(run.walk()).status == "done"
    assert lab.clock.now_s() - begun_s > 60
    assert operator.lights[0].startswith("waiting for the light: 400 lux, outside 900 to 1100 lux")
    assert "the light is right: 1000 lux" in operator.said
    assert all(abs(f.light.lux - 1000) < 1 for f in list_frames(lab.catalog))


def test_without_an_operator_wrong_light_ends_it_in_time(lab):
    operator = Operator(lab)
    operator.panels = lambda lux: None
    lab.meter.lux = 400.0
    run = batch_run(lab, operator, attended=False, patience_s=120)
    with pytest.raises(AskOperator, match="the light is not that of bright after 2 min: 400 lux"):
        list(run.walk())
    assert lab.camera.taken == []


def test_ctrl_c_ends_the_wait_for_the_light(lab):
    operator = Operator(lab)
    operator.panels = lambda lux: None
    lab.meter.lux = 400.0
    stop = StopRequest()
    operator.light = lambda text: stop.ask("Ctrl-C")
    with pytest.raises(LeftError, match="Ctrl-C"):
        list(batch_run(lab, operator, stop=stop).walk())


def test_what_the_operator_can_put_right_is_asked_and_tried_again(lab):
    operator = Operator(lab)
    lab.camera.faults.add("open", Reconnect("no camera", "check its cable"))
    lab.camera.dial = "AV"

    def help_out(text):
        Operator.obey(operator, text)
        if "dial to M" in text:
            lab.camera.dial = "Manual"

    operator.obey = help_out
    assert next(batch_run(lab, operator).walk()).status == "done"
    assert operator.asked[1] == "check its cable"
    assert operator.asked[2].startswith("turn the mode dial to M")
    alone = batch_run(lab, operator, attended=False)
    lab.camera.faults.add("open", Reconnect("no camera", "check its cable"))
    with pytest.raises(Reconnect):
        list(alone.walk())


def test_failed_shots_do_not_hold_up_the_other_sweeps(lab):
    shoot, first = lab.camera.shoot, next(iter(PLAN)).exposure
    statuses = []

    def spoiled(timeout_s):
        picture = shoot(timeout_s)
        if not statuses and lab.camera.taken[-1] == first:
            return replace(picture, data=b"")
        return picture

    lab.camera.shoot = spoiled
    statuses.extend(summary.status for summary in batch_run(lab, Operator(lab)).walk())
    assert statuses == ["failed", "done", "done", "done"]
    second = Operator(lab)
    assert [s.scene for s in batch_run(lab, second).walk()] == ["cups"]
    assert len(second.asked) == 1


def test_the_auto_frame_comes_before_its_sweep(lab):
    batch = make_batch(auto_frame=True, lightings=["bright"])
    operator = Operator(lab)
    run = batch_run(lab, operator, batch)
    assert sum(one.exposures for one in run.standings()) == 2 * (len(PLAN) + 1)
    assert [s.status for s in run.walk()] == ["done", "done"]
    assert operator.asked == [
        "place scene cups (cup, 3 objects), set the panels to 1000 lux",
        "turn the mode dial to P",
        "turn the mode dial back to M",
        "place scene mug (coffee mug, 1 object), leave the panels at 1000 lux",
        "turn the mode dial to P",
        "turn the mode dial back to M",
    ]
    assert find_auto_frame(lab.catalog, "mug", "bright") is not None
    assert run.standings()[0].complete
    again = Operator(lab)
    assert list(batch_run(lab, again, batch).walk()) == []
    assert again.asked == []


def test_a_guided_batch_counts_at_most(lab):
    batch = make_batch(sweep="guided")
    legs = itinerary(batch, LIGHTINGS)
    one = standing(lab.catalog, legs[0], batch, PLAN)
    assert len(one.remaining) == one.planned == len(PLAN)
    assert one.to_json()["seconds"] == pytest.approx(one.left_s(Pace()), abs=0.01)


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
