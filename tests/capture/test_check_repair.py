"""Any damage is named exactly, put right and shot again; what is good is never touched."""

import json
import os
import random

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capture.auto_frame import find_auto_frame, require_absent, take_auto_frame
from rig.errors import Abort
from rig.ownership import owned
from rig.workspace_cli import check
from schemas.check import check_files
from schemas.frame_store import list_frames
from schemas.repair import repair
from schemas.workspace import PARTIAL
from tests.capture.lab import BRIGHT, SMALL, SteppedLightLog


@pytest.fixture(scope="module")
def swept(make_lab):
    """A finished sweep, to be copied."""
    lab = make_lab()
    lab.sweep()
    return lab.workspace.root


def accepted(lab):
    """Every frame with a file, reference frames included."""
    return [frame for frame in list_frames(lab.catalog, kind=None) if frame.path]


def flip(path, rng):
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def truncate(path, rng):
    os.truncate(path, rng.randrange(path.stat().st_size))


def delete(path, rng):
    path.unlink()


def lengthen(path, rng):
    path.write_bytes(path.read_bytes() + b"\0")


DAMAGES = (flip, truncate, delete, lengthen)


def damage(lab, seed):
    """Spoil some files in some way; returns the catalog paths of those that are not good now."""
    rng = random.Random(seed)  # noqa: S311 - places to damage, not a secret
    frames = accepted(lab)
    rng.shuffle(frames)
    hit = set()
    for _ in range(rng.randrange(4)):
        path = lab.workspace.root / frames.pop().path
        rng.choice(DAMAGES)(path, rng)
        hit.add(lab.workspace.relative(path))
    if rng.random() < 0.5 and len(frames) > 1:
        first, second = (lab.workspace.root / frames.pop().path for _ in range(2))
        aside = first.with_suffix(".aside")
        first.rename(aside)
        second.rename(first)
        aside.rename(second)
        hit |= {lab.workspace.relative(first), lab.workspace.relative(second)}
    return hit, rng


def litter(lab, rng):
    """Files that no row knows; returns their names."""
    folder = lab.workspace.sweep_folder("cups", "bright")
    names = [
        f"stray{n}.jpg{PARTIAL if rng.random() < 0.5 else ''}" for n in range(rng.randrange(3))
    ]
    for name in names:
        (folder / name).write_bytes(b"left by a crash")
    return {lab.workspace.relative(folder / name) for name in names}


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32))
def test_random_damage_is_named_repaired_and_shot_again(make_lab, swept, seed):
    lab = make_lab(swept)
    hit, rng = damage(lab, seed)
    strays = litter(lab, rng)
    good = {
        frame.path: ((lab.workspace.root / frame.path).stat(), frame)
        for frame in accepted(lab)
        if frame.path not in hit
    }

    found = check_files(lab.workspace, lab.catalog)
    assert sorted(p.file for p in found.problems) == sorted(hit)  # each once
    assert set(found.orphans) == strays
    assert found.ok is (not hit)

    result = repair(lab.workspace, lab.catalog, found)
    assert result.left.ok
    assert {r.file for r in result.repaired} == hit | strays
    between = check_files(lab.workspace, lab.catalog)
    assert (between.ok, between.orphans) == (True, [])
    assert between.checked == len(good)

    hit = {path for path in hit if "ref-" not in path}  # a run takes its own
    summary = lab.sweep(references=False)
    assert (summary.status, summary.remaining) == ("done", 0)
    again = [s.exposure for s in SMALL if any(s.exposure.stem in path for path in hit)]
    assert list(dict.fromkeys(lab.camera.taken)) == again
    after = check_files(lab.workspace, lab.catalog)
    assert (after.ok, after.orphans) == (True, [])
    assert after.checked == len(good) + len(hit)
    rows = {frame.path: frame for frame in accepted(lab)}
    for path, (stat, frame) in good.items():
        now = (lab.workspace.root / path).stat()
        assert (now.st_ino, now.st_mtime_ns, now.st_size) == (
            stat.st_ino,
            stat.st_mtime_ns,
            stat.st_size,
        )
        assert rows[path] == frame


# ---- the command


def invoke(lab, *arguments):
    result = CliRunner().invoke(check, arguments, obj=lab.workspace.root)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_check_says_what_is_wrong_and_repair_what_comes_next(make_lab, swept):
    lab = make_lab(swept)
    assert "all as their rows say" in invoke(lab).stdout
    path = next(frame.path for frame in accepted(lab) if frame.kind == "manual")
    flip(lab.workspace.root / path, random.Random(1))  # noqa: S311 - a place, not a secret
    before = invoke(lab)
    assert before.exit_code == 1
    assert f"{path}: its bytes changed: sha256 differs from the row" in before.stdout
    assert "next: snaprig check --repair" in before.stdout
    document = json.loads(invoke(lab, "--json").stdout)
    assert (document["ok"], document["checked"]) == (False, len(accepted(lab)))
    assert [p["file"] for p in document["problems"]] == [path]
    assert set(document) == {"ok", "checked", "problems", "orphans"}
    assert invoke(lab, "--quick").exit_code == 0  # the size is right

    repaired = invoke(lab, "--repair")
    assert repaired.exit_code == 0
    assert f"moved to quarantine/{path}, to be shot again" in repaired.stdout
    assert "1 put right" in repaired.stdout
    assert "next: snaprig capture resume --scene cups --lighting bright" in repaired.stdout
    again = json.loads(invoke(lab, "--repair", "--json").stdout)
    assert again["ok"]
    assert (again["repaired"], again["next"]) == ([], [])
    assert lab.sweep().remaining == 0


def test_nothing_is_repaired_while_a_run_goes_on(make_lab, swept):
    lab = make_lab(swept)
    (lab.workspace.frames / "half.jpg.partial").touch()
    with owned(lab.workspace):
        with pytest.raises(Abort, match="capturing into this workspace"):
            invoke(lab, "--repair")
        assert invoke(lab).exit_code == 0
    assert (lab.workspace.frames / "half.jpg.partial").exists()


def take(lab):
    return take_auto_frame(
        lab.workspace,
        lab.catalog,
        lab.bench(),
        scene="cups",
        lighting=BRIGHT,
        make_light=lambda meter, band: SteppedLightLog(meter, band, lab.clock),
    )


def test_a_damaged_auto_frame_is_taken_again(lab):
    lab.camera.dial = "P"
    first = take(lab)
    (lab.workspace.root / first.path).unlink()
    result = repair(lab.workspace, lab.catalog, check_files(lab.workspace, lab.catalog))
    assert result.next == ["snaprig capture auto-frame --scene cups --lighting bright"]
    require_absent(lab.catalog, "cups", "bright")
    take(lab)
    assert find_auto_frame(lab.catalog, "cups", "bright") is not None
    assert check_files(lab.workspace, lab.catalog).ok
