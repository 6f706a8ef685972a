"""The design: every demand holds, or the request is refused by the name of the one that cannot."""

import csv
import os
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiment.design import GROUPS, Candidate, Request, make_design
from experiment.design_report import report_design
from experiment.errors import InfeasibleError
from experiment.records import Design

ROOT = Path(__file__).parents[2]
OPTIONS = {"q1": (), "q2": (), "q3": ("cup", "tie", "other"), "q4": ("A) 2", "B) 3")}
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def crossed(scenes, offsets, lights=("bright", "dim"), each=2, categories=2):
    """Every scene under every light at every EV offset, `each` times."""
    return [
        Candidate(f"s{s}", light, f"{ev}-{n}", f"c{s % categories}", 2, ev, OPTIONS)
        for s in range(scenes)
        for light in lights
        for ev in offsets
        for n in range(each)
    ]


@st.composite
def catalogs(draw):
    """Scenes that have some EV offsets under some lights, and questions with known options."""
    pictures = []
    for scene in range(draw(st.integers(1, 7))):
        category = f"c{draw(st.integers(0, 2))}"
        cells = draw(
            st.lists(
                st.tuples(
                    st.integers(-6, 9), st.sampled_from(["bright", "dim"]), st.integers(1, 3)
                ),
                min_size=1,
                max_size=12,
                unique_by=lambda cell: cell[:2],
            )
        )
        for ev, light, number in cells:
            for n in range(number):
                missing = draw(st.sets(st.sampled_from(["q2", "q3", "q4"]), max_size=1))
                unknown = draw(st.sampled_from([None, None, None, "q3", "q4"]))
                options = {t: () if t == unknown else o for t, o in OPTIONS.items()}
                options = {t: o for t, o in options.items() if t not in missing}
                pictures.append(
                    Candidate(f"s{scene}", light, f"{ev}-{n}", category, 2, ev, options)
                )
    return pictures


def usable_scenes(pictures, group, offsets):
    """Scenes with two pictures 4 stops apart, found the slow way."""
    first, second = GROUPS[group]
    by_scene = defaultdict(list)
    for one in pictures:
        if one.ev_offset in offsets:
            by_scene[one.scene].append(one)
    return {
        scene
        for scene, found in by_scene.items()
        if any(
            a.askable(first) and b.askable(second) and abs(a.ev_offset - b.ev_offset) >= 4
            for a in found
            for b in found
        )
    }


def held(design, pictures, trials):
    """Every demand, from the issue's own words."""
    known = {one[:3]: one for one in pictures}
    for number, slot in enumerate(design.slots):
        assert slot.group == 1 + number % 2
        shown = list(slot.trials)
        # one version of a question: nobody who saw the options answers the open one
        assert {t.task for t in shown} == set(GROUPS[slot.group])
        assert Counter(t.task for t in shown) == dict.fromkeys(GROUPS[slot.group], trials)
        assert max(Counter((t.task, t.scene) for t in shown).values()) == 1
        by_scene = defaultdict(list)
        for trial in shown:
            by_scene[trial.scene].append(trial)
            picture = known[trial.key]
            assert picture.askable(trial.task)
            assert picture.options[trial.task] == trial.options
            assert (picture.category, picture.ev_offset) == (trial.category, trial.ev_offset)
        for pair in by_scene.values():
            assert len(pair) == 2
            assert abs(pair[0].ev_offset - pair[1].ev_offset) >= 4
        for block in slot.blocks:
            assert 1 <= len(block.trials) <= 50
            assert {t.task for t in block.trials} == {block.task}


@given(catalogs(), st.integers(1, 5), st.integers(1, 7), st.integers(0, 9))
@quick
def test_every_demand_holds_or_is_named(pictures, participants, trials, seed):
    offsets = tuple(range(-6, 10))
    request = Request(participants, seed, trials, offsets)
    groups = {1 + n % 2 for n in range(participants)}
    most = min(len(usable_scenes(pictures, group, offsets)) for group in groups)
    if most < trials:
        with pytest.raises(InfeasibleError) as refused:
            make_design(pictures, request)
        assert refused.value.constraint in ("scenes", "options", "stops apart")
        return
    design = make_design(pictures, request)
    held(design, pictures, trials)
    assert report_design(design).violations == []


@given(catalogs(), st.integers(1, 3))
@quick
def test_a_refusal_says_what_fits(pictures, participants):
    request = Request(participants, 1, 100, tuple(range(-6, 10)))
    with pytest.raises(InfeasibleError) as refused:
        make_design(pictures, request)
    _, found, number = str(refused.value).partition("--trials-per-question ")
    if found:
        fits = int(number.split("`")[0])
        held(make_design(pictures, replace(request, trials=fits)), pictures, fits)
    else:
        assert "no" in str(refused.value)
        with pytest.raises(InfeasibleError):
            make_design(pictures, replace(request, trials=1))


@given(
    st.integers(2, 8),
    st.integers(1, 5),
    st.integers(0, 5),
    st.sampled_from([range(-4, 5), range(-5, 9), range(0, 8)]),
)
@quick
def test_where_all_conditions_exist_they_come_equally_often(scenes, participants, seed, offsets):
    pictures = crossed(scenes, offsets, each=3)
    design = make_design(pictures, Request(participants, seed, scenes))
    report = report_design(design)
    shown = 2 * participants * scenes
    for name in ("ev_offset", "lighting"):
        counts = list(report.by[name].counts.values())
        counts += [0] * ((len(offsets) if name == "ev_offset" else 2) - len(counts))
        assert max(counts) - min(counts) <= 1, report.by[name]
    assert report.distinct_images == min(shown, len(pictures))


@given(st.integers(1, 6), st.integers(1, 9), st.integers(0, 3))
@quick
def test_with_fewer_trials_than_scenes_categories_and_scenes_stay_even(participants, trials, seed):
    pictures = crossed(9, range(-4, 5), categories=3)
    design = make_design(pictures, Request(participants, seed, trials))
    for group in {slot.group for slot in design.slots}:
        slots = [slot for slot in design.slots if slot.group == group]
        for name, values in (("category", 3), ("scene", 9)):
            counts = Counter(getattr(t, name) for slot in slots for t in slot.trials)
            found = sorted(counts.values())
            found = [0] * (values - len(found)) + found
            assert found[-1] - found[0] <= 2  # both questions of one more participant
    counts = Counter(t.category for slot in design.slots for t in slot.trials)
    found = [counts[f"c{n}"] for n in range(3)]
    assert max(found) - min(found) <= 2


def test_pictures_come_again_only_when_all_were_shown():
    pictures = crossed(3, range(-4, 5), each=1)
    design = make_design(pictures, Request(20, 1, 3))
    showings = Counter(t.key for slot in design.slots for t in slot.trials)
    # 120 trials over 54 pictures: 2 or 3 each
    assert set(showings.values()) == {2, 3}
    assert len(showings) == len(pictures)


def test_a_scarce_offset_is_shown_again_rather_than_hardly_ever():
    pictures = crossed(20, range(-4, 4), each=3)
    pictures += crossed(5, (4,), lights=("dim",), each=1)
    design = make_design(pictures, Request(6, 1, 20))
    counts = report_design(design).by["ev_offset"].counts
    assert len(counts) == 9
    # 240 trials, 5 pictures at +4: each is shown about five times, all others once at most
    assert counts["4"] >= 20
    assert max(counts.values()) - counts["4"] <= 7
    showings = Counter((t.ev_offset, t.key) for slot in design.slots for t in slot.trials)
    assert {n for (ev, _), n in showings.items() if ev != 4} == {1}
    at_4 = [n for (ev, _), n in showings.items() if ev == 4]
    assert max(at_4) - min(at_4) <= 2


def test_the_outermost_offsets_are_not_shown_more_often():
    # drawn by chance, pairs 4 stops apart would show them 2.5 times as often as the middle one
    design = make_design(crossed(10, range(-4, 5)), Request(18, 3, 10))
    for group in (1, 2):
        counts = Counter(
            t.ev_offset for slot in design.slots if slot.group == group for t in slot.trials
        )
        assert max(counts.values()) - min(counts.values()) <= 2
    assert set(report_design(design).by["ev_offset"].counts.values()) == {40}


def test_blocks_take_turns_and_are_counterbalanced():
    design = make_design(crossed(100, (-4, 0, 4), each=1), Request(8, 1, 100))
    first = Counter()
    for slot in design.slots:
        tasks = [block.task for block in slot.blocks]
        assert [len(block.trials) for block in slot.blocks] == [50] * 4
        assert tasks == tasks[::-1]
        assert tasks[0] != tasks[1]
        first[slot.group, tasks[0]] += 1
    assert set(first.values()) == {2}
    orders = [[t.scene for t in slot.blocks[0].trials] for slot in design.slots]
    assert all(order != sorted(order) for order in orders)


def test_rare_offsets_stay_out_unless_asked_for():
    pictures = crossed(20, range(-4, 5))
    pictures += [Candidate("s0", "dim", "9-0", "c0", 2, 9, OPTIONS)]
    design = make_design(pictures, Request(2, 1, 20))
    assert 9 not in design.parameters["ev_offsets"]
    assert all(t.ev_offset != 9 for slot in design.slots for t in slot.trials)
    asked = make_design(pictures, Request(2, 1, 20, (*range(-4, 5), 9)))
    assert any(t.ev_offset == 9 for slot in asked.slots for t in slot.trials)


def test_refusals_name_the_demand():
    few = crossed(5, range(-4, 5))
    with pytest.raises(InfeasibleError, match=r"^scenes: .*`--trials-per-question 5` fits"):
        make_design(few, Request(2, 1, 6))
    near = [one for one in crossed(5, (0, 3, 4)) if (one.scene, one.ev_offset) != ("s1", 4)]
    with pytest.raises(InfeasibleError, match=r"^stops apart: .*`--trials-per-question 4` fits"):
        make_design(near, Request(2, 1, 5, (0, 3, 4, 8)))
    with pytest.raises(InfeasibleError, match=r"^stops apart: .* from 3: name a wider range"):
        make_design(near, Request(2, 1, 5, (0, 3, 4)))
    unknown = [one._replace(options={**OPTIONS, "q4": ()}) for one in few]
    with pytest.raises(InfeasibleError, match=r"^options: .*q1 and q4"):
        make_design(unknown, Request(2, 1, 5))
    with pytest.raises(InfeasibleError, match=r"^frames: no accepted frames"):
        make_design([], Request(2, 1, 5))


def test_the_same_request_gives_the_same_design():
    pictures = crossed(6, range(-4, 5))
    request = Request(4, 7, 6)
    design = make_design(pictures, request)
    assert make_design(pictures[::-1], request) == design
    assert Design.from_json(design.as_json()) == design
    assert Design.from_json(design.as_json()).digest == design.digest


def test_it_is_the_same_in_every_process():
    code = (
        "from tests.experiment.test_design import crossed, Request, make_design\n"
        "print(make_design(crossed(4, range(-4, 5)), Request(3, 1, 4)).digest)"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_the_digest_changes_with_anything():
    pictures = crossed(4, range(-4, 5))
    request = Request(3, 1, 4)
    other = [one._replace(options={**OPTIONS, "q4": ("A) 3", "B) 2")}) for one in pictures]
    designs = [
        make_design(pictures, request),
        make_design(pictures, replace(request, seed=2)),
        make_design(pictures, replace(request, participants=2)),
        make_design(pictures, replace(request, trials=3)),
        make_design(pictures, replace(request, min_stops=5)),
        make_design(pictures, replace(request, ev_offsets=tuple(range(-3, 5)))),
        make_design(other, request),
        make_design([one._replace(category="c9") for one in pictures], request),
    ]
    assert len({design.digest for design in designs}) == len(designs)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda t: replace(t, ev_offset=0), "stops apart"),
        (lambda t: replace(t, scene="s0", setting=f"{t.scene}{t.setting}"), "more than once in"),
        (lambda t: replace(t, options=()), "without options"),
        (lambda t: replace(t, task="q2"), "not of one question"),
        (lambda t: replace(t, ev_offset=99), "does not take part"),
        (lambda t: replace(t, scene="s0", lighting="dim", setting="x"), "pictures more than once"),
    ],
)
def test_a_violated_demand_is_found(change, what):
    design = make_design(crossed(4, range(-4, 5)), Request(2, 1, 4))
    slot = design.slots[0]
    blocks = tuple(replace(b, trials=tuple(change(t) for t in b.trials)) for b in slot.blocks)
    broken = replace(design, slots=(replace(slot, blocks=blocks), design.slots[1]))
    found = report_design(broken).violations
    assert any(what in one for one in found), found
    assert all(one.startswith("participant 1:") for one in found)


def test_the_published_frames_in_balance(snaprig_data):
    pictures = []
    with (snaprig_data / "snap/annotations/data.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["EV_offset"] != "auto":
                scene, light, ev, name = row["Path"].split("/")
                category, count = row["Category"], int(row["Num_objects"])
                pictures.append(Candidate(scene, light, name, category, count, int(ev), OPTIONS))
    assert len(pictures) == 37_357
    design = make_design(pictures, Request(43, 1))
    held(design, pictures, 100)
    report = report_design(design, Counter(one.ev_offset for one in pictures))
    assert (report.trials_each, report.min_stops_apart) == (200, 4)
    assert (report.distinct_images, report.most_showings) == (8600, 1)
    assert set(report.by["category"].counts.values()) == {860}
    assert set(report.by["lighting"].counts.values()) == {4300}
    # there are 594 pictures at +8, fewer than an equal share: all are shown, the rest is even
    offsets = dict(report.by["ev_offset"].counts)
    assert list(offsets) == [str(n) for n in range(-5, 9)]
    assert offsets.pop("8") == 594
    assert max(offsets.values()) - min(offsets.values()) <= 1
    assert any("594 pictures" in note for note in report.notes)
