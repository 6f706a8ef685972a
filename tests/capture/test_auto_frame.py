"""The auto frame: whose light it is, the dial's way back, and the EV reference of a data set."""

import io
import json
from types import SimpleNamespace

import piexif
import pytest
from click.testing import CliRunner

import capture.auto_frame_cli
import rig.bench
from capture.auto_frame import take_auto_frame, wait_for_manual
from capture.cli import capture as command
from capture.ev_reference import adopt_ev_reference, derive_ev_reference
from rig.errors import Abort, AskOperator
from schemas.capture_store import add_scene, list_events, list_lightings, list_runs, put_lighting
from schemas.catalog import CatalogError
from schemas.check import check_files
from schemas.frame_store import list_frames, load_histogram
from schemas.records import Scene
from tests.capture.lab import BRIGHT, SteppedLightLog


def shoot_auto(lab, scene="cups", f_number="8", lighting=BRIGHT):
    """An auto frame that the body chose `f_number` for."""
    bench = lab.bench()
    lab.camera.dial = "P"
    lab.camera.settings["f_number"] = f_number
    try:
        return take_auto_frame(
            lab.workspace,
            lab.catalog,
            bench,
            scene=scene,
            lighting=lighting,
            make_light=lambda meter, band: SteppedLightLog(meter, band, lab.clock),
        )
    finally:
        bench.camera.close()
        bench.meter.close()
        lab.camera.dial = "Manual"


def test_a_picture_that_the_flash_lit_is_nobodys_auto_frame(lab):
    lab.camera.spoilers.append(with_flash)
    with pytest.raises(AskOperator, match="flash fired") as error:
        shoot_auto(lab)
    assert "fold the flash in" in error.value.action
    assert not list(list_frames(lab.catalog, kind="auto"))
    assert not list(lab.workspace.stored_files())
    assert "flash_fired" in [event.kind for event in list_events(lab.catalog)]
    shoot_auto(lab)
    assert len(list(list_frames(lab.catalog, kind="auto"))) == 1


def with_flash(data):
    """The same picture, whose Exif says that the flash fired."""
    exif = piexif.load(data)
    exif["Exif"][piexif.ExifIFD.Flash] = 9
    file = io.BytesIO()
    piexif.insert(piexif.dump(exif), data, file)
    return file.getvalue()


def test_the_dial_is_waited_for(lab):
    lab.bench()
    modes = iter(["P", "P", "AV", "Manual", "P"])
    waited = []
    camera = SimpleNamespace(mode=lambda: next(modes))
    wait_for_manual(camera, waited.append, 0.5)
    assert waited == [0.5] * 3
    assert next(modes) == "P"


# ---- the command


@pytest.fixture
def invoke(lab, monkeypatch):
    monkeypatch.setattr(
        capture.auto_frame_cli,
        "take_auto_frame",
        lambda *_a, scene, lighting, **_o: shoot_from(lab, scene, lighting),
    )

    class Opened:
        def __enter__(self):
            self.bench = lab.bench()
            lab.camera.dial = "P"
            return self.bench

        def __exit__(self, *_error):
            self.bench.camera.close()
            self.bench.meter.close()

    monkeypatch.setattr(rig.bench, "open_bench", lambda _config: Opened())

    def invoke_command(*arguments):
        result = CliRunner().invoke(command, arguments, obj=lab.workspace.root)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke_command


def shoot_from(lab, scene, lighting):
    frame = shoot_auto(lab, scene, lighting=lighting)
    lab.camera.dial = "P"
    lab.camera.is_open = True
    return frame


SHOOT = ("auto-frame", "--scene", "cups", "--lighting", "bright")


def test_without_a_terminal_the_dial_is_left_to_the_operator(lab, invoke):
    result = invoke(*SHOOT, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["mode_dial"] == "P"
    assert "turn the mode dial back to M" in result.stderr


def test_at_a_terminal_the_dial_is_waited_for(lab, invoke, monkeypatch):
    turned = []

    def operator(camera):
        turned.append(camera.mode())
        camera.dial = "Manual"

    terminal = SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(capture.auto_frame_cli, "sys", terminal)
    monkeypatch.setattr(capture.auto_frame_cli, "wait_for_manual", operator)
    result = invoke(*SHOOT, "--json")
    assert turned == ["P"]
    assert json.loads(result.stdout)["mode_dial"] == "Manual"
    assert "the mode dial is on M" in result.stderr
    again = invoke(*SHOOT, "--replace", "--no-wait")
    assert turned == ["P"]
    assert "turn the mode dial back to M" in again.stderr


def test_ctrl_c_leaves_the_dial_and_keeps_the_frame(lab, invoke, monkeypatch):
    def operator(_camera):
        raise KeyboardInterrupt

    terminal = SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(capture.auto_frame_cli, "sys", terminal)
    monkeypatch.setattr(capture.auto_frame_cli, "wait_for_manual", operator)
    result = invoke(*SHOOT, "--json")
    assert json.loads(result.stdout)["mode_dial"] == "P"
    assert len(list(list_frames(lab.catalog, kind="auto"))) == 1


def test_a_scene_is_needed_for_shooting_only(invoke):
    result = invoke("auto-frame", "--lighting", "bright")
    assert result.exit_code == 2
    assert "--scene" in result.stderr


# ---- the EV reference


def three_auto_frames(lab):
    """Auto frames at EV 12.9, 13.0 and 14.0: the median rounds to 13."""
    for scene, f_number in (("mugs", "7.1"), ("pens", "11"), ("cups", "8")):
        if scene != "cups":
            add_scene(lab.catalog, Scene(scene, scene, 1))
        shoot_auto(lab, scene, f_number)


def test_the_reference_is_one_rounded_value_for_all_scenes(lab, invoke):
    three_auto_frames(lab)
    before = {f.scene: f for f in list_frames(lab.catalog, kind="auto")}
    luma = load_histogram(lab.catalog, before["cups"].id)
    assert {f.ev_offset for f in before.values()} == {11 - 13, 11 - 14}
    result = invoke("auto-frame", "--lighting", "bright", "--ev-reference", "auto", "--json")
    document = json.loads(result.stdout)
    assert document["ev_reference"] == 13
    assert document["evs"] == sorted(document["evs"])
    assert len(document["evs"]) == 3
    after = {f.scene: f for f in list_frames(lab.catalog, kind="auto")}
    assert {f.ev_offset for f in after.values()} == {0, -1}
    assert check_files(lab.workspace, lab.catalog).ok  # the files say so, too
    assert load_histogram(lab.catalog, after["cups"].id) == luma
    assert [light.ev_reference for light in list_lightings(lab.catalog)] == [13]
    put_lighting(lab.catalog, BRIGHT.model_copy(update={"ev_reference": 13}))
    with pytest.raises(CatalogError):
        put_lighting(lab.catalog, BRIGHT)  # rig.toml must follow
    text = invoke("auto-frame", "--lighting", "bright", "--ev-reference", "auto").stdout
    assert "[lighting.bright]" in text
    assert "ev_reference = 13" in text


def test_sweeps_under_another_reference_are_never_moved(lab):
    three_auto_frames(lab)
    lab.sweep()
    with pytest.raises(Abort, match="has sweeps under EV reference 11") as error:
        derive_ev_reference(lab.catalog, "bright")
    assert "another name" in error.value.action
    with pytest.raises(CatalogError, match="has sweeps"):
        adopt_ev_reference(lab.workspace, lab.catalog, "bright", 13)
    assert [light.ev_reference for light in list_lightings(lab.catalog)] == [11]
    assert {f.ev_offset for f in list_frames(lab.catalog, kind="auto")} == {11 - 13, 11 - 14}


def test_sweeps_under_the_same_reference_are_no_obstacle(lab):
    light = BRIGHT.model_copy(update={"ev_reference": 13})
    shoot_auto(lab, lighting=light)
    lab.sweep(lighting=light)
    value, evs = derive_ev_reference(lab.catalog, "bright")
    assert (value, len(evs)) == (13, 1)
    assert len(list_runs(lab.catalog)) == 2
    adopt_ev_reference(lab.workspace, lab.catalog, "bright", value)


def test_without_an_auto_frame_there_is_nothing_to_derive(lab):
    with pytest.raises(Abort, match="no auto frame"):
        derive_ev_reference(lab.catalog, "bright")
