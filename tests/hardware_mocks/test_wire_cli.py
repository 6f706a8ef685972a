"""Debian's gphoto2 command line, an older libgphoto2: the independent peer of the wheel."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess

import gphoto2 as gp
import pytest

pytestmark = [
    pytest.mark.wire,
    pytest.mark.skipif(shutil.which("gphoto2") is None, reason="gphoto2 is not installed"),
]


@pytest.fixture
def gphoto2(room, tmp_path):
    # Importing the wheel points these at its own drivers: the peer would be no other version.
    wheel = {"CAMLIBS", "IOLIBS", "LD_LIBRARY_PATH"}
    environment = {k: v for k, v in os.environ.items() if k not in wheel}
    # Older versions keep the last capture target in ~/.gphoto, newer ones in XDG_CONFIG_HOME.
    environment |= {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}

    def run(*arguments: str) -> str:
        command = ["gphoto2", "--port", room.camera, "--camera", "PTP/IP Camera", *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def digest(path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def current(listing: str, setting: str) -> str:
    """Value of a setting in the output of --list-all-config."""
    part = listing.split(f"/{setting}\n", 1)[1]
    return part.split("Current: ", 1)[1].split("\n", 1)[0]


def choices(listing: str, setting: str) -> list[str]:
    part = listing.split(f"/{setting}\n", 1)[1].split("\nEND", 1)[0]
    return [line.split(" ", 2)[2] for line in part.splitlines() if line.startswith("Choice:")]


def test_summary_names_a_canon_to_another_libgphoto2(gphoto2):
    assert "Canon EOS Rebel T7" in gphoto2("--summary")
    wheel = gp.gp_library_version(gp.GP_VERSION_SHORT)[0]
    assert f"libgphoto2         {wheel}" not in gphoto2("--version")


def test_list_all_config_reads_as_a_real_dump(room, gphoto2, snaprig_data):
    """The release holds the dump of a real T7 in P; settings and choices must be its own."""
    room.post("/dial", {"mode": "P"})
    ours = gphoto2("--list-all-config")
    path = snaprig_data / "snap" / "scripts" / "camera" / "config.txt"
    real = path.read_text(encoding="utf-8").replace("\r", "")
    same_value = "manufacturer cameramodel model ptpversion batterylevel lensname shuttercounter"
    same_value += " availableshots shutterspeed aperture iso autoexposuremode capturetarget"
    same_value += " drivemode meteringmode colorspace exposurecompensation aeb output customfuncex"
    for setting in same_value.split():
        assert current(ours, setting) == current(real, setting), setting
    same_choices = "imageformat imageformatsd iso shutterspeed aperture meteringmode picturestyle"
    same_choices += " reviewtime capturetarget colorspace exposurecompensation aeb"
    same_choices += " whitebalanceadjusta"
    for setting in same_choices.split():
        assert choices(ours, setting) == choices(real, setting), setting
    # Named since the libgphoto2 that wrote the dump.
    renamed = {"Unknown value 0017": "AWB White", "Unknown value 0007": "Continuous timer"}
    for setting in ("whitebalance", "drivemode"):
        assert choices(ours, setting) == [renamed.get(c, c) for c in choices(real, setting)]


@pytest.mark.parametrize("target", ["Internal RAM", "Memory card"])
def test_capture_image_and_download(room, gphoto2, tmp_path, target):
    settings = {"capturetarget": target, "shutterspeed": "1/60", "iso": "400", "aperture": "8"}
    sets = [part for k, v in settings.items() for part in ("--set-config-value", f"{k}={v}")]
    gphoto2(*sets, "--capture-image-and-download", "--filename", "shot.jpg")
    (entry,) = room.pictures()
    assert digest(tmp_path / "shot.jpg") == entry["sha256"]
    assert (entry["shutter_s"], entry["iso"], entry["f_number"]) == (1 / 60, 400, 8)
    assert room.state()["buffer"] == room.state()["card"] == []


def test_trigger_and_wait(room, gphoto2, tmp_path):
    wait = ("--wait-event-and-download=FILEADDED", "--filename", "shot.jpg")
    gphoto2("--set-config-value", "capturetarget=Internal RAM", "--trigger-capture", *wait)
    assert digest(tmp_path / "shot.jpg") == room.pictures()[0]["sha256"]


def test_card_is_listed_downloaded_and_emptied(room, gphoto2, tmp_path):
    gphoto2("--set-config-value", "capturetarget=Memory card", "--capture-image")
    gphoto2("--set-config-value", "capturetarget=Memory card", "--capture-image")
    folder = "/store_00020001/DCIM/100CANON"
    listing = gphoto2("--folder", folder, "--list-files")
    assert "IMG_0001.JPG" in listing
    assert "IMG_0002.JPG" in listing
    gphoto2("--folder", folder, "--get-file", "2", "--filename", "second.jpg")
    assert digest(tmp_path / "second.jpg") == room.pictures()[1]["sha256"]
    gphoto2("--folder", folder, "--delete-all-files")
    assert room.state()["card"] == []
