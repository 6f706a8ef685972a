"""Walking through a batch: wrong light, a helping hand, and going on wherever it was left."""

from dataclasses import replace

import pytest

from capture.auto_frame import find_auto_frame
from capture.batch import itinerary, standing
from capture.batch_run import LeftError
from capture.pace import Pace
from capture.stopping import StopRequest
from rig.errors import AskOperator, Reconnect
from schemas.capture_store import list_runs
from schemas.frame_store import list_frames
from tests.capture.batching import LIGHTINGS, PLAN, Operator, batch_run, frames_of, make_batch


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
