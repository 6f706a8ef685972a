from __future__ import annotations

import pytest

from hardware_mocks.canon_properties import Destination
from hardware_mocks.faults import FaultScript, Scripted, UnknownFaultError, load_script
from hardware_mocks.named_faults import FAULTS
from hardware_mocks.occasions import Fetch, Release, ShutterOpens
from schemas.exposure import Exposure
from tests.darkroom_process import ROOT


class Bulb:
    lux = 1000.0

    def set(self, lux: float, *, after_s: float = 0.0) -> None:
        self.lux = lux


class Room:
    light = Bulb()
    meter = body = None


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"name": "gremlin", "at": 1}, "known: .*corrupt_jpeg"),
        ({"name": "lux_step_mid_exposure", "lux": 3}, "at must be"),
        ({"name": "lux_step_mid_exposure", "at": 0, "lux": 3}, "at must be"),
        ({"name": "lux_step_mid_exposure", "at": True, "lux": 3}, "at must be"),
        ({"name": "lux_step_mid_exposure", "at": 1}, "needs lux"),
        ({"name": "lux_step_mid_exposure", "at": 1, "lux": "bright"}, "lux must be a float"),
        ({"name": "no_object", "at": 1, "lux": 3}, "no_object has no lux"),
    ],
)
def test_bad_entries_are_explained(entry, says):
    with pytest.raises(UnknownFaultError, match=says):
        Scripted.parse(entry, FAULTS)


def test_script_is_toml(tmp_path):
    path = tmp_path / "faults.toml"
    path.write_text('[[fault]]\nname = "truncated_jpeg"\nat = 5\ntimes = 2\nkeep = 0.5\n')
    (scripted,) = load_script(path, FAULTS)
    assert scripted.to_json() == {
        "name": "truncated_jpeg",
        "at": 5,
        "times": 2,
        "left": 2,
        "keep": 0.5,
    }


@pytest.mark.parametrize("text", ["[[fault]\n", "[[faults]]\n", "fault = 3\n"])
def test_bad_files_are_refused(tmp_path, text):
    path = tmp_path / "faults.toml"
    path.write_text(text)
    with pytest.raises(UnknownFaultError):
        load_script(path, FAULTS)


def test_fault_waits_for_its_picture_and_its_occasion_and_strikes_so_often():
    struck = []
    entry = Scripted.parse({"name": "busy_on_release", "at": 3, "times": 2}, FAULTS)
    script = FaultScript(Room(), [entry], lambda name, picture: struck.append((name, picture)))
    for picture in (1, 2):
        assert script.meet(Release(picture, Destination.HOST)) == []
    assert script.meet(Fetch(3)) == []
    for _ in range(2):
        release = Release(3, Destination.HOST)
        assert script.meet(release) == ["busy_on_release"]
        assert release.refusal == 0x2019
    assert script.meet(Release(3, Destination.HOST)) == []
    assert struck == [("busy_on_release", 3)] * 2
    assert script.pending() == []


def test_added_fault_strikes_too():
    room = Room()
    script = FaultScript(room, [], lambda _name, _picture: None)
    script.add([Scripted.parse({"name": "lux_step_mid_exposure", "at": 1, "lux": 7}, FAULTS)])
    assert script.meet(ShutterOpens(4, Exposure(1, 100, 8))) == ["lux_step_mid_exposure"]
    assert room.light.lux == 7


def test_nothing_more_happens_after_clear():
    entry = Scripted.parse({"name": "silent_black", "at": 1}, FAULTS)
    script = FaultScript(Room(), [entry], lambda _name, _picture: None)
    script.clear()
    assert script.meet(ShutterOpens(4, Exposure(1, 100, 8))) == []


def test_every_fault_of_the_requirements_has_its_name():
    assert set(FAULTS) == set(
        "busy_on_set busy_on_release busy_after_many set_ignored stale_frame leftover_in_buffer "
        "truncated_jpeg corrupt_jpeg no_object double_event raw_plus_jpeg card_full "
        "connection_drop reboot_with_defaults dial_moved auto_iso autofocus_hunt "
        "slow_long_exposure clock_wrong battery_dies silent_black flash_fired lens_zoomed "
        "lux_drift lux_step_mid_exposure meter_unplugged hub_restart hub_hangs meter_frozen "
        "disk_full database_locked".split()
    )
    assert {FAULTS[name].part for name in ("disk_full", "database_locked")} == {"host"}


def test_the_documentation_has_every_fault_with_its_report():
    table = (ROOT / "docs" / "faults.md").read_text()
    for fault in FAULTS.values():
        assert f"| `{fault.name}` | {fault.description} | {fault.report} |" in table


def test_each_fault_is_described_in_one_line():
    for fault in FAULTS.values():
        assert 20 < len(fault.description) < 120, fault.name
        assert fault.report
