"""`experiment design` in a workspace: whole, never over people's places, checked when read."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from click.testing import CliRunner

from experiment.design_cli import design
from experiment.design_files import (
    design_path,
    list_places,
    load_participant,
    place_of,
    read_design,
    write_design,
)
from experiment.errors import ExperimentError, InfeasibleError
from experiment.rt3 import find_categories, make_rt3_design, spoken
from schemas.design_store import ShownFrame, list_shown_frames
from schemas.questions import prompt_text
from schemas.workspace import WorkspaceError
from tests.experiment.design_lab import DesignLab


@pytest.fixture
def lab(tmp_path):
    lab = DesignLab(tmp_path / "lab")
    yield lab
    lab.catalog.close()


def call(lab, *words):
    return CliRunner().invoke(design, words, obj=lab.workspace.root)


SMALL = ("--participants", "4", "--seed", "1", "--trials-per-question", "8")


def test_what_it_says_of_itself(lab):
    done = call(lab, *SMALL, "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["participants"] == 4
    assert document["trials_each"] == 16
    assert document["min_stops_apart"] >= 4
    assert document["distinct_images"] == 64
    assert document["violations"] == []
    assert document["seed"] == 1
    assert document["by_category"]["counts"] == dict.fromkeys(("cup", "laptop", "mouse", "tie"), 16)
    assert document["by_lighting"] == {
        "counts": {"bright": 32, "dim": 32},
        "max": 32,
        "min": 32,
        "max_min_ratio": 1.0,
    }
    offsets = document["by_ev_offset"]
    assert (offsets["min"], offsets["max"]) == (7, 8)
    assert offsets["max_min_ratio"] == pytest.approx(8 / 7, abs=1e-4)
    stored = read_design(lab.workspace)
    assert document["digest"] == stored.digest
    assert document["path"] == str(design_path(lab.workspace))


def test_the_same_again_and_a_check_of_what_is_stored(lab):
    first = json.loads(call(lab, *SMALL, "--json").stdout)
    before = design_path(lab.workspace).stat().st_mtime_ns
    assert json.loads(call(lab, *SMALL, "--json").stdout) == first
    assert design_path(lab.workspace).stat().st_mtime_ns == before
    checked = call(lab, "--check")
    assert checked.exit_code == 0
    assert "by EV offset: 7 to 8" in checked.stdout
    assert "bright  32" in checked.stdout
    assert "0 of 4 places are taken" in checked.stderr


def test_a_check_fails_when_the_catalog_lost_what_the_design_needs(lab):
    made = lab.design()
    trial = next(made.slots[0].trials)
    lab.execute(
        "UPDATE frames SET outcome = 'failed' WHERE setting = ? AND scene_id = "
        "(SELECT id FROM scenes WHERE name = ?) AND lighting_id = "
        "(SELECT id FROM lightings WHERE name = ?)",
        trial.setting,
        trial.scene,
        trial.lighting,
    )
    checked = call(lab, "--check", "--json")
    assert checked.exit_code == 1
    assert "have no accepted frame" in json.loads(checked.stdout)["violations"][0]


def test_wrong_usage(lab):
    assert call(lab, "--participants", "4").exit_code == 2
    assert call(lab).exit_code == 2
    assert call(lab, *SMALL, "--ev-offsets", "8:-5").exit_code == 2
    assert call(lab, *SMALL, "--classes", "a,b").exit_code == 2
    assert call(lab, "--check").exit_code == 1  # none made yet


def test_ev_offsets_by_choice(lab):
    document = json.loads(call(lab, *SMALL, "--ev-offsets", "-4:3", "--json").stdout)
    assert list(document["by_ev_offset"]["counts"]) == [str(n) for n in range(-4, 4)]
    assert "EV offsets 4 do not take part: 48 pictures" in document["notes"]
    refused = call(lab, *SMALL, "--ev-offsets=-3:3")
    assert refused.exit_code == 1
    assert "no EV offset of the range is 4 stops or more from 0" in refused.stderr


def test_a_refusal_is_one_line_with_what_fits(lab):
    done = call(lab, "--participants", "2", "--seed", "1")
    assert done.exit_code == 1
    assert "scenes: " in done.stderr
    assert "`--trials-per-question 12` fits" in done.stderr
    assert not design_path(lab.workspace).exists()


def test_questions_are_made_where_they_are_missing(tmp_path):
    lab = DesignLab(tmp_path / "bare", scenes=4, questions=False)
    done = call(lab, "--participants", "2", "--seed", "5", "--trials-per-question", "4", "--json")
    lab.catalog.close()
    assert done.exit_code == 0, done.stderr
    assert "snaprig questions make --seed 5" in done.stderr
    made = read_design(lab.workspace)
    shown = [t for slot in made.slots for t in slot.trials if t.task == "q4"]
    assert shown
    assert all(sorted(t.options)[0].startswith("A) ") for t in shown)


def test_frames_without_a_file_are_left_out_while_others_have_theirs(lab):
    lab.execute("UPDATE frames SET path = '' WHERE setting LIKE '%-1'")
    done = call(lab, *SMALL, "--json")
    assert "216 frames were left out: their files are not here" in done.stdout
    made = read_design(lab.workspace)
    assert all(t.setting.endswith("-0") for slot in made.slots for t in slot.trials)
    lab.execute("UPDATE frames SET path = ''")
    done = call(lab, *SMALL, "--json", "--replace")
    assert "no frame has its file here" in done.stdout
    with pytest.raises(ExperimentError, match="is not here"):
        lab.plan()


def test_a_participant_gets_the_next_place_and_keeps_it(lab):
    made = lab.design(participants=3)
    plans = [lab.plan(name) for name in ("P03", "anna", "P01")]
    assert [plan.slot for plan in plans] == [0, 1, 2]
    assert [plan.group for plan in plans] == [1, 2, 1]
    assert lab.plan("anna") == plans[1]
    for plan, slot in zip(plans, made.slots, strict=True):
        assert plan.design_digest == made.digest
        assert [t.index for t in plan.trials] == list(range(16))
        assert [(t.scene, t.setting, t.options) for t in plan.trials] == [
            (t.scene, t.setting, t.options) for t in slot.trials
        ]
        assert all(block.prompt == prompt_text(block.task) for block in plan.blocks)
        assert all(t.block == block.index for block in plan.blocks for t in block.trials)
    with pytest.raises(ExperimentError, match=r"all 3 places .* are taken"):
        lab.plan("late")
    with pytest.raises(WorkspaceError, match="folder name"):
        lab.plan("../P01")
    with pytest.raises(ExperimentError, match="has no place"):
        place_of(lab.workspace, "new", "questions", assign=False)


def test_a_torn_line_costs_the_place_that_nobody_took_yet(lab):
    lab.design(participants=3)
    lab.plan("P01")
    path = lab.workspace.sessions / "participants.jsonl"
    with path.open("ab") as file:
        file.write(b'{"participant": "P02", "stu')
    assert lab.plan("P03").slot == 1
    assert [(p.participant, p.slot) for p in list_places(lab.workspace)] == [("P01", 0), ("P03", 1)]


def test_a_line_that_is_no_place_is_refused(lab):
    lab.design()
    (lab.workspace.sessions / "participants.jsonl").write_text('{"participant": "P01"}\n')
    with pytest.raises(ExperimentError, match="a line that is no place"):
        lab.plan()


def test_places_are_given_once_to_many_at_a_time(lab):
    lab.design(participants=12)
    names = [f"P{number:02d}" for number in range(12)]
    with ThreadPoolExecutor(8) as pool:
        places = list(pool.map(lambda name: place_of(lab.workspace, name, "questions"), names))
    assert sorted(place.slot for place in places) == list(range(12))


def test_a_design_in_use_is_not_written_over(lab):
    first = lab.design(seed=1)
    lab.design(seed=2)  # nobody has a place yet
    write_design(lab.workspace, first)
    plan = lab.plan("P01")
    refused = call(lab, *SMALL[:2], "--seed", "2", *SMALL[4:])
    assert refused.exit_code == 1
    assert "1 participants have their places" in refused.stderr
    assert read_design(lab.workspace) == first
    assert call(lab, *SMALL[:2], "--seed", "2", *SMALL[4:], "--replace").exit_code == 0
    second = read_design(lab.workspace)
    assert second.seed == 2
    # who began under the first goes on under it; the next one begins the second
    assert lab.plan("P01") == plan
    late = lab.plan("P02")
    assert (late.slot, late.design_digest) == (0, second.digest)
    assert read_design(lab.workspace, digest=first.digest) == first


def test_a_design_changed_by_hand_is_refused(lab):
    lab.design()
    path = design_path(lab.workspace)
    path.write_text(path.read_text().replace('"seed": 1', '"seed": 2'))
    with pytest.raises(ExperimentError, match="not as it was written"):
        lab.plan()
    path.write_text("{")
    with pytest.raises(ExperimentError, match="is no design"):
        lab.plan()


def test_options_that_changed_since_are_refused(lab):
    lab.design()
    lab.execute("UPDATE stimuli SET options = '[\"A) 2\"]' WHERE task = 'q4'")
    with pytest.raises(ExperimentError, match=r"options of q4 .* have changed"):
        lab.plan()


# -- three classes by key ------------------------------------------------------------------------


def pictures(**numbers):
    return [
        ShownFrame(i, f"{name}-{i}", "unknown", "picture", name, 0, None, "x.jpg", "00")
        for name, number in numbers.items()
        for i in range(number)
    ]


def test_the_papers_classes_by_id_or_name():
    assert find_categories(["n03095699", "king_penguin", "Snow Leopard", "cup"]) == (
        "king_penguin",
        "Snow Leopard",
        "n03095699",
    )
    assert [spoken(one) for one in ("n02128757", "water_bottle")] == [
        "snow leopard",
        "water bottle",
    ]
    assert find_categories(["a", "b", "c"], ("c", "a", "b")) == ("c", "a", "b")
    with pytest.raises(InfeasibleError, match=r"^classes: .*n02128757 \(snow leopard\)"):
        find_categories(["n02056570", "n03095699"])
    with pytest.raises(InfeasibleError, match=r"^classes: no imported picture is labelled x"):
        find_categories(["a"], ("a", "x"))


def test_classes_come_equally_often_and_pictures_once():
    options = ("a", "b", "c")
    made = make_rt3_design(pictures(a=20, b=25, c=30), options, 4, seed=1)
    for slot in made.slots:
        shown = list(slot.trials)
        assert len({t.key for t in shown}) == len(shown) == 60
        assert [sum(t.category == name for t in shown) for name in options] == [20, 20, 20]
        assert {(t.task, t.options) for t in shown} == {("choice", options)}
        assert [len(block.trials) for block in slot.blocks] == [30, 30]
    assert made.slots[0].blocks != made.slots[1].blocks
    assert make_rt3_design(pictures(a=20, b=25, c=30)[::-1], options, 4, seed=1) == made
    with pytest.raises(InfeasibleError, match=r"^balance: .*`--trials 9` fits"):
        make_rt3_design(pictures(a=20, b=25, c=30), options, 4, 1, trials=10)
    with pytest.raises(InfeasibleError, match=r"^pictures: .*20 of a: `--trials 60` fits"):
        make_rt3_design(pictures(a=20, b=25, c=30), options, 4, 1, trials=63)


def test_an_rt3_design_stands_beside_the_other(lab):
    from schemas.import_store import FrameRow, put_frames, put_runs, put_scenes, unknown_light
    from schemas.records import Scene

    with lab.catalog.write() as connection:
        scenes = [
            Scene(f"{label}-{n}", label, 1)
            for label in ("n02056570", "n02128757", "n03095699")
            for n in range(4)
        ]
        ids = put_scenes(connection, scenes)
        light = unknown_light(connection)
        runs = put_runs(connection, [(ids[s.name], light) for s in scenes], "test")
        rows = [
            FrameRow(ids[s.name], light, runs[ids[s.name], light], "picture", "picture")
            for s in scenes
        ]
        put_frames(connection, [row._replace(path="x.jpg", sha256="00") for row in rows])
    lab.design()
    done = call(lab, "--task", "rt3", "--participants", "2", "--seed", "1", "--json")
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["trials_each"] == 12
    assert document["min_stops_apart"] is None
    assert set(document["by_category"]["counts"].values()) == {8}
    plan = load_participant(lab.workspace, lab.catalog, "P01", "rt3")
    assert (plan.slot, plan.group, len(plan.trials)) == (0, 0, 12)
    assert plan.trials[0].options == ("n02056570", "n02128757", "n03095699")
    assert lab.plan("P01").study == "questions"
    assert call(lab, "--task", "rt3", "--check").exit_code == 0
    assert len(list_shown_frames(lab.catalog, "picture")) == 12


def test_a_slot_without_a_question_of_its_group_violates(lab):
    made = lab.design()
    broken = replace(made, slots=(replace(made.slots[0], group=2), *made.slots[1:]))
    write_design(lab.workspace, broken)
    checked = call(lab, "--check")
    assert checked.exit_code == 1
    assert "constraints are violated" in checked.stderr
