"""What every `rig.protocols.Camera` promises."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator

import pytest

from rig.bench import camera_of
from rig.config import CameraConfig
from rig.errors import AskOperator, Reconnect, Retry
from rig.gphoto_camera import GphotoCamera
from rig.protocols import Camera
from schemas.exposure import Exposure, parse_f_number, parse_shutter_s, spell_shutter
from schemas.jpeg import check_complete, read_exif
from tests.conformance.under_test import CameraUnderTest, stopped
from tests.darkroom_process import darkroom

TIMEOUT_S = 20.0

TRIPLETS = [
    Exposure(1 / 60, 400, 8.0),
    Exposure(1 / 60, 100, 8.0),
    Exposure(1 / 250, 100, 11.0),
    Exposure(0.5, 100, 22.0),
]


@pytest.fixture
def camera(camera_under_test: CameraUnderTest) -> Iterator[Camera]:
    camera = camera_under_test.make()
    yield camera
    camera.close()


def assert_exif_is(data: bytes, exposure: Exposure) -> None:
    exif = read_exif(data)
    assert exif.shutter_s is not None
    assert exif.f_number is not None
    assert abs(math.log2(exif.shutter_s / exposure.shutter_s)) < 1 / 8
    assert abs(2 * math.log2(exif.f_number / exposure.f_number)) < 1 / 8
    assert exif.iso == exposure.iso


def _take(camera: Camera, exposure: Exposure, timeout_s: float) -> None:
    camera.apply(exposure)
    camera.shoot(timeout_s)


class TestCamera:
    def test_the_body_names_itself_the_same_at_every_open(self, camera):
        first = camera.open()
        camera.close()
        assert camera.open() == first
        assert first.model
        assert first.serial

    def test_open_of_an_open_camera_starts_over(self, camera):
        camera.open()
        camera.open()
        camera.apply(TRIPLETS[0])
        assert_exif_is(camera.shoot(TIMEOUT_S).data, TRIPLETS[0])

    def test_it_stands_on_manual_and_offers_the_grid(self, camera):
        camera.open()
        assert camera.mode() == "Manual"
        offered = camera.offered()
        for exposure in TRIPLETS:
            assert spell_shutter(exposure.shutter_s, offered.shutter)
            assert str(exposure.iso) in offered.iso
            assert exposure.f_number in [parse_f_number(name) for name in offered.f_number]
        assert all(parse_shutter_s(name) > 0 for name in offered.shutter)

    def test_a_picture_is_a_whole_jpeg_taken_with_the_settings_asked_for(self, camera):
        camera.open()
        for exposure in TRIPLETS:
            camera.apply(exposure)
            picture = camera.shoot(TIMEOUT_S)
            check_complete(picture.data)
            assert_exif_is(picture.data, exposure)
            assert picture.name
            assert picture.commanded_monotonic_s <= picture.ended_monotonic_s
            assert picture.commanded_at.tzinfo is not None

    def test_settings_hold_after_doubt(self, camera):
        camera.open()
        camera.apply(TRIPLETS[0])
        camera.forget()
        camera.apply(TRIPLETS[0])
        assert_exif_is(camera.shoot(TIMEOUT_S).data, TRIPLETS[0])

    def test_one_exposure_gives_one_picture_and_nothing_is_left(self, camera, camera_under_test):
        before = camera_under_test.exposures()
        camera.open()
        camera.apply(TRIPLETS[0])
        pictures = [camera.shoot(TIMEOUT_S) for _ in range(3)]
        camera.close()

        assert camera_under_test.exposures() - before == 3
        assert len({picture.name for picture in pictures}) == 3
        camera.open()
        camera.apply(TRIPLETS[2])
        assert_exif_is(camera.shoot(TIMEOUT_S).data, TRIPLETS[2])

    def test_close_puts_the_settings_back(self, camera, camera_under_test):
        before = camera_under_test.settings()
        camera.open()
        for exposure in TRIPLETS:
            camera.apply(exposure)
        camera.shoot(TIMEOUT_S)
        camera.close()
        camera.close()
        assert camera_under_test.settings() == before

    def test_a_setting_that_no_body_offers_is_for_the_operator(self, camera):
        camera.open()
        with pytest.raises(AskOperator) as caught:
            camera.apply(Exposure(1 / 60, 123456, 8.0))
        assert caught.value.action
        camera.apply(TRIPLETS[0])
        assert_exif_is(camera.shoot(TIMEOUT_S).data, TRIPLETS[0])

    def test_a_dial_off_manual_is_seen_and_for_the_operator(self, camera, camera_under_test):
        if camera_under_test.turn_dial is None:
            pytest.skip("nobody here to turn the dial")
        camera.open()
        camera_under_test.turn_dial("AV")
        assert camera.mode() == "AV"
        with pytest.raises(AskOperator, match="dial"):
            camera.apply(TRIPLETS[0])
        camera_under_test.turn_dial("M")
        assert camera.mode() == "Manual"
        camera.apply(TRIPLETS[0])
        assert_exif_is(camera.shoot(TIMEOUT_S).data, TRIPLETS[0])

    def test_every_setting_is_read_as_it_is_now(self, camera, camera_under_test):
        camera.open()
        camera.apply(TRIPLETS[0])
        settings = camera.read_settings()
        assert settings["iso"] == str(TRIPLETS[0].iso)
        assert parse_shutter_s(settings["shutterspeed"]) == pytest.approx(1 / 60)
        assert settings["autoexposuremode"] == camera.mode() == "Manual"
        assert settings["reviewtime"] == "None"
        assert all(isinstance(value, str) for value in settings.values())
        assert {"imageformat", "capturetarget", "drivemode", "whitebalance"} <= set(settings)
        if camera_under_test.turn_dial is not None:
            camera_under_test.turn_dial("P")
            assert camera.read_settings()["autoexposuremode"] == "P"
            camera_under_test.turn_dial("M")

    def test_a_body_without_leftovers_has_none(self, camera):
        camera.open()
        assert camera.leftovers == 0

    def test_a_camera_that_is_not_open_asks_to_be_opened(self, camera):
        verbs = (camera.mode, camera.offered, camera.read_settings, lambda: camera.shoot(1))
        for verb in verbs:
            with pytest.raises(Reconnect):
                verb()


@pytest.mark.wire
class TestCameraOnTheWire:
    """What takes a body that can be made to fail."""

    def test_the_body_says_that_it_is_virtual(self, room):
        camera = camera_of(CameraConfig(port=room.camera))
        try:
            assert camera.open().simulated
        finally:
            camera.close()

    def test_the_end_of_a_session_leaves_standard_input_alone(self, room):
        before = os.fstat(0)
        camera = camera_of(CameraConfig(port=room.camera))
        camera.open()
        camera.close()
        assert os.path.samestat(os.fstat(0), before)

    def test_an_automatic_rendering_is_replaced_for_the_session_and_put_back(self, room):
        room.post("/body", {"white_balance": 0, "picture_style": 0x87, "battery": 1})
        camera = camera_of(CameraConfig(port=room.camera, white_balance="Shadow"))
        try:
            camera.open()
            settings = camera.read_settings()
            assert (settings["whitebalance"], settings["picturestyle"]) == ("Shadow", "Standard")
            assert settings["batterylevel"] == "50%"  # Canon's own, not the standard one
            camera.close()
            plain = GphotoCamera(room.camera)
            plain.open()
            found = plain.read_settings()
            plain.close()
            assert (found["whitebalance"], found["picturestyle"]) == ("Auto", "Auto")
        finally:
            camera.close()
            room.post("/body", {"white_balance": 1, "picture_style": 0x81, "battery": 2})

    def test_a_picture_that_waited_in_the_body_is_counted(self, scene):
        with darkroom(scene, timescale=0) as room:
            camera = camera_of(CameraConfig(port=room.camera))
            camera.open()
            room.post("/faults", [{"name": "connection_drop", "at": 1}])
            with pytest.raises(Reconnect):
                _take(camera, TRIPLETS[0], 1.0)
            camera.close()
            camera.open()
            assert camera.leftovers == 1
            camera.close()
            camera.open()
            assert camera.leftovers == 0
            camera.close()

    def test_pictures_come_whole_from_the_memory_card_too(self, room):
        camera = camera_of(CameraConfig(port=room.camera, target="Memory card"))
        try:
            camera.open()
            before = room.state()
            for exposure in TRIPLETS:
                camera.apply(exposure)
                assert_exif_is(camera.shoot(TIMEOUT_S).data, exposure)
            assert room.state()["card"] == before["card"]
        finally:
            camera.close()

    @pytest.mark.parametrize(
        ("fault", "kind"),
        [
            ("busy_on_set", Retry),
            ("busy_on_release", Retry),
            ("no_object", Retry),
            ("leftover_in_buffer", Retry),
            ("connection_drop", Reconnect),
        ],
    )
    @pytest.mark.parametrize("target", ["Internal RAM", "Memory card"])
    def test_a_fault_is_an_error_of_ours_and_the_next_try_succeeds(
        self, scene, fault, kind, target
    ):
        with darkroom(scene, timescale=0) as room:
            camera = camera_of(CameraConfig(port=room.camera, target=target))
            camera.open()
            camera.apply(TRIPLETS[0])
            camera.shoot(TIMEOUT_S)
            room.post("/faults", [{"name": fault, "at": 1, "times": 1}])
            with pytest.raises(kind) as caught:
                _take(camera, TRIPLETS[2], 1.0)
            assert caught.value.action
            if kind is Reconnect:
                camera.close()
                camera.open()
            camera.apply(TRIPLETS[2])
            assert_exif_is(camera.shoot(TIMEOUT_S).data, TRIPLETS[2])
            camera.close()
            state = room.state()
            assert (state["buffer"], state["card"]) == ([], [])

    def test_lost_connections_leave_no_descriptor_open(self, scene):
        """libgphoto2 selects on its sockets: beyond descriptor 1023 it overwrites its stack."""
        with darkroom(scene, timescale=0) as room:
            camera = camera_of(CameraConfig(port=room.camera))
            camera.open()
            before = len(os.listdir("/dev/fd"))
            for _ in range(3):
                at = len(room.pictures()) + 1
                room.post("/faults", [{"name": "connection_drop", "at": at, "times": 1}])
                with pytest.raises(Reconnect):
                    _take(camera, TRIPLETS[0], 1.0)
                camera.close()
                camera.open()
            after = len(os.listdir("/dev/fd"))
            camera.close()
        assert after == before

    def test_a_silent_and_then_a_vanished_body_is_reconnect_and_the_next_one_is_taken(self, scene):
        with darkroom(scene, timescale=0) as room:
            camera = camera_of(CameraConfig(port=room.camera))
            camera.open()
            camera.apply(TRIPLETS[0])
            with stopped(room):
                with pytest.raises(Reconnect):
                    camera.shoot(TIMEOUT_S)
                camera.close()
            camera.open()
            camera.apply(TRIPLETS[0])
            assert_exif_is(camera.shoot(TIMEOUT_S).data, TRIPLETS[0])
            room.proc.kill()
            room.proc.wait(10)
            with pytest.raises(Reconnect):
                camera.shoot(TIMEOUT_S)
            camera.close()
            with pytest.raises(Reconnect):
                camera.open()
