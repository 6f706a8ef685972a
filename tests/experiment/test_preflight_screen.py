"""What is checked before a participant sits down."""

import json
from dataclasses import replace

import pytest

from experiment.config import ExperimentConfig
from experiment.errors import ExperimentError
from experiment.preflight import Level, check_pictures, check_screen, failures, visual_angle
from experiment.records import Block, ParticipantPlan
from experiment.screen import ScreenFacts
from experiment.timing import Refresh
from tests.experiment.picture_lab import make_lab
from tests.experiment.scripted_session import make_trial

GOOD = ScreenFacts(
    window_px=(1680, 1050), frame_buffer_px=(1680, 1050), screen_px=(1680, 1050), screens=1,
    session_type="x11", compositor=False, renderer="NVIDIA GeForce", high_priority=True,
    gamma={"wanted": None, "applied": False},
)  # fmt: skip
PROVEN = Refresh(60, 59.95, 0.0001, 119, "")
UNPROVEN = Refresh(60, 700, 0.0001, 119, "flips do not wait for the screen")
LAB = ExperimentConfig.model_validate({"display": {"width_cm": 47.4}})


def checked(facts=GOOD, refresh=PROVEN, config=LAB, *, proof_needed=True, robot=False):
    checks = check_screen(facts, refresh, config, proof_needed=proof_needed, robot=robot)
    return {check.name: check for check in checks}


def test_a_good_screen_passes():
    found = checked()
    assert {check.level for check in found.values()} == {Level.OK}
    assert failures(list(found.values())) == ""
    assert "12 refreshes" in found["durations"].text


def test_an_unproven_refresh_is_refused_or_marked():
    assert checked(refresh=UNPROVEN)["refresh"].level is Level.FAIL
    assert "--timing unproven" in checked(refresh=UNPROVEN)["refresh"].text
    assert checked(refresh=UNPROVEN, proof_needed=False)["refresh"].level is Level.NOTE


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"window_px": (1600, 1000)}, "does not fill"),
        ({"frame_buffer_px": (3360, 2100)}, "scaling"),
        (
            dict.fromkeys(("window_px", "frame_buffer_px", "screen_px"), (1024, 768)),
            "at least 1200 x 760 px",
        ),
    ],
)
@pytest.mark.parametrize("robot", [False, True])
def test_a_screen_that_scales_or_is_too_small_is_refused_for_everybody(change, words, robot):
    check = checked(replace(GOOD, **change), proof_needed=False, robot=robot)["size"]
    assert check.level is Level.FAIL
    assert words in check.text


def test_wayland_is_refused_where_proof_is_needed():
    wayland = replace(GOOD, session_type="wayland")
    assert checked(wayland)["desktop"].level is Level.FAIL
    assert checked(wayland, proof_needed=False)["desktop"].level is Level.NOTE


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"compositor": True}, "compositor"),
        ({"screens": 2}, "screens"),
        ({"renderer": "Mesa llvmpipe"}, "graphics"),
        ({"high_priority": False}, "priority"),
        ({"gamma": {"wanted": None, "applied": False, "problem": "OSError"}}, "gamma"),
    ],
)
def test_what_may_harm_is_noted(change, name):
    assert checked(replace(GOOD, **change))[name].level is Level.NOTE


def test_a_gamma_that_was_wanted_and_not_set_is_refused_for_a_person():
    failed = replace(GOOD, gamma={"wanted": 2.2, "applied": False, "problem": "OSError: no"})
    assert checked(failed)["gamma"].level is Level.FAIL
    assert checked(failed, robot=True)["gamma"].level is Level.NOTE
    applied = replace(GOOD, gamma={"wanted": 2.2, "applied": True})
    assert checked(applied)["gamma"].level is Level.OK


def test_a_screen_of_unknown_width_has_no_angle_and_takes_no_person():
    unknown = ExperimentConfig()
    assert checked(config=unknown)["angle"].level is Level.FAIL
    assert checked(config=unknown, robot=True)["angle"].level is Level.NOTE
    assert visual_angle(GOOD, unknown) is None
    assert visual_angle(GOOD, LAB) == (
        pytest.approx(25.44, abs=0.01),
        pytest.approx(17.11, abs=0.01),
    )


def test_every_failure_is_named_at_once():
    bad = replace(GOOD, window_px=(1600, 1000), session_type="wayland")
    line = failures(list(checked(bad, UNPROVEN, ExperimentConfig()).values()))
    for words in ("does not fill", "Wayland", "do not wait", "width_cm"):
        assert words in line


@pytest.fixture
def pictured(tmp_path):
    """A workspace and a plan of its pictures."""
    from schemas.frame_store import list_frames

    workspace = make_lab(tmp_path / "lab", scenes=2)
    with workspace.catalog() as catalog:
        frames = list_frames(catalog)
    trials = tuple(
        replace(make_trial(n, 0, "q1"), path=frame.path, sha256=frame.sha256)
        for n, frame in enumerate(frames)
    )
    return workspace, ParticipantPlan("P1", "questions", 1, 0, "d", (Block(0, "q1", "?", trials),))


def test_all_pictures_are_opened_and_hashed(pictured):
    workspace, plan = pictured
    seen = []
    assert check_pictures(workspace, plan, (960, 640), lambda: seen.append(1)) == 4
    assert len(seen) == 4


@pytest.mark.parametrize("harm", ["gone", "cut", "changed"])
def test_one_bad_picture_among_them_is_named(pictured, harm):
    workspace, plan = pictured
    path = workspace.resolve(plan.trials[2].path)
    data = path.read_bytes()
    if harm == "gone":
        path.unlink()
    else:
        path.write_bytes(data[: len(data) // 2] if harm == "cut" else data + b"\0")
    with pytest.raises(ExperimentError, match=path.name):
        check_pictures(workspace, plan, (960, 640))


def test_pictures_of_another_size_are_named_before_the_session(pictured):
    workspace, plan = pictured
    with pytest.raises(ExperimentError, match=r"1920 x 1280 px.*shown_px"):
        check_pictures(workspace, plan, (800, 600))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[display]\nwidth_mm = 474\n", "width_cm"),
        ("[displays]\nwidth_cm = 47\n", "'display'"),
        ("[experiment]\nmask = 'pink'\n", "experiment.mask"),
        ("[experiment\n", "cannot be read"),
        ("[experiment]\nshown_px = [960]\n", "experiment.shown_px"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path, text, words):
    (tmp_path / "experiment.toml").write_text(text)
    with pytest.raises(ExperimentError, match=words):
        ExperimentConfig.load(tmp_path)


def test_without_a_file_the_papers_values_hold(tmp_path):
    config = ExperimentConfig.load(tmp_path)
    trials = config.experiment
    assert (trials.fixation_s, trials.image_s, trials.mask_s) == (1.0, 0.2, 0.2)
    assert (trials.shown_px, config.display.distance_cm) == ((960, 640), 60)
    assert json.dumps(config.model_dump(mode="json"))
