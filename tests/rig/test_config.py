import pytest

from rig.bench import camera_of, meter_of
from rig.config import RigConfig, default_rig_toml
from rig.errors import Abort
from schemas.plan import Lighting


def test_the_file_that_init_writes_is_read_back_as_the_defaults():
    config = RigConfig.parse(default_rig_toml())

    assert config.camera == RigConfig().camera
    assert config.meter == RigConfig().meter
    assert config.lighting == {
        "bright": Lighting(name="bright", lux=1000, tolerance=0.10, ev_reference=11),
        "dim": Lighting(name="dim", lux=10, tolerance=0.10, ev_reference=5),
    }


def test_init_can_be_told_the_devices():
    config = RigConfig.parse(default_rig_toml("ptpip:127.0.0.1:5000", "127.0.0.1:4444"))

    assert config.camera.port == "ptpip:127.0.0.1:5000:5000"
    assert config.meter.hub == "127.0.0.1:4444"


def test_an_empty_file_means_usb():
    config = RigConfig.parse("")

    assert config.camera.port == "usb:"
    assert config.meter.hub == "usb"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[camera]\nprot = "usb:"', ["camera.prot", "'port'"]),
        ('[meetr]\nhub = "usb"', ["meetr", "'meter'"]),
        ("[lighting.dim]\nlux = 10\nev_reference = 5\ntolerence = 0.1", ["'tolerance'"]),
        ("[lighting.dim]\nlux = 10", ["lighting.dim.ev_reference", "required"]),
        ("[lighting.dim]\nlux = -1\nev_reference = 5", ["lighting.dim.lux", "greater than 0"]),
        ('[lighting.dim]\nlux = 1\nev_reference = 5\nname = "x"', ["lighting.dim", "table"]),
        ('[camera]\nport = "com1"', ["com1", "camera port"]),
        ('[camera]\ntarget = "Moon"', ["camera.target", "Memory card"]),
        ("[camera\n", ["not valid TOML"]),
        ("lighting = 3", ["lighting"]),
        ("[lighting]\ndim = 3", ["lighting.dim"]),
        ("[camera]\nzzz = 1", ["camera.zzz", "known: port"]),
    ],
)
def test_a_mistake_is_named(text, words):
    with pytest.raises(Abort) as caught:
        RigConfig.parse(text)

    for word in words:
        assert word in str(caught.value)
    assert caught.value.action


def test_a_missing_file_says_what_makes_one(tmp_path):
    with pytest.raises(Abort) as caught:
        RigConfig.load(tmp_path / "rig.toml")

    assert "snaprig init" in caught.value.action


def test_the_file_that_is_wrong_is_named(tmp_path):
    path = tmp_path / "rig.toml"
    path.write_text("[camera]\nprot = 1\n")

    with pytest.raises(Abort, match=str(path)):
        RigConfig.load(path)


def test_overrides_change_one_device_each_and_leave_the_rest():
    config = RigConfig.parse('[camera]\ntarget = "Memory card"\n[meter]\nserial = "L1"')

    changed = config.overridden(camera="ptpip:10.0.0.7", hub="10.0.0.8:4444")

    assert changed.camera.port == "ptpip:10.0.0.7:15740:15740"
    assert changed.camera.target == "Memory card"
    assert (changed.meter.hub, changed.meter.serial) == ("10.0.0.8:4444", "L1")
    assert config.overridden() == config
    with pytest.raises(Abort):
        config.overridden(camera="nonsense")


def test_a_lighting_is_found_by_name():
    config = RigConfig.parse(default_rig_toml())

    assert config.lighting_named("dim").lux == 10
    with pytest.raises(Abort, match="bright, dim"):
        config.lighting_named("dusk")


def test_devices_are_made_from_the_configuration_and_not_yet_opened():
    config = RigConfig.parse('[camera]\nport = "ptpip:127.0.0.1:9"\n[meter]\nhub = "127.0.0.1:9"')

    camera, meter = camera_of(config.camera), meter_of(config.meter)

    camera.close()
    meter.close()
