"""The published pairs, group by group, and the command that lists them."""

import json
from collections import Counter

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from evaluate.color.groups import SRGB, Color, Group, all_pairs, group_of, pair
from evaluate.color.vehicles import land_vehicles, vehicle_categories
from evaluate.imagenet import class_names
from evaluate.vocabulary import load_vocabulary
from rig.cli import snaprig

#: Table VII of the paper.
PUBLISHED = """
green green 1.0 Hard; gray gray 1.0 Hard; blue blue 1.0 Hard; white white 1.0 Hard;
black black 1.0 Hard; brown brown 1.0 Hard; red red 1.0 Hard;
green gray 1.33 Medium; green white 1.37 Medium; blue brown 1.39 Medium; brown red 1.55 Medium;
gray white 1.82 Medium; blue red 2.15 Medium; gray red 2.2 Medium; blue black 2.44 Medium;
green red 2.91 Medium; black brown 3.39 Medium; gray brown 3.41 Medium; white red 4.0 Medium;
green brown 4.52 Easy; gray blue 4.72 Easy; black red 5.25 Easy; white brown 6.2 Easy;
green blue 6.26 Easy; blue white 8.59 Easy; gray black 11.54 Easy; green black 15.3 Easy;
white black 21.0 Easy
"""
ROWS = [row.split() for row in PUBLISHED.replace("\n", " ").split(";")]


def test_there_are_28_published_pairs():
    assert len(ROWS) == 28


@pytest.mark.parametrize(("background", "foreground", "ratio", "group"), ROWS)
def test_published_pair(background, foreground, ratio, group):
    found = pair(Color(background), Color(foreground))
    assert found.ratio == pytest.approx(float(ratio), abs=0.01)
    assert found.group == group


def test_seven_twelve_nine_eight():
    assert Counter(one.group for one in all_pairs()) == {
        Group.HARD: 7,
        Group.MEDIUM: 12,
        Group.EASY: 9,
        Group.OTHERS: 8,
    }


@given(st.sampled_from(Color), st.sampled_from(Color))
def test_groups_partition_the_pairs_whatever_their_order(first, second):
    assert group_of(first, second) is group_of(second, first)
    is_others = Color.OTHERS in (first, second)
    assert (group_of(first, second) is Group.OTHERS) == is_others
    assert (group_of(first, second) is Group.HARD) == (first is second and not is_others)


def test_command_lists_36_pairs():
    done = CliRunner().invoke(snaprig, ["color", "groups", "--json"])
    pairs = json.loads(done.stdout)["pairs"]
    assert len(pairs) == 36
    assert {frozenset((one["background"], one["foreground"])) for one in pairs} == {
        frozenset((str(a), str(b))) for a in Color for b in Color
    }
    by_colors = {frozenset((one["background"], one["foreground"])): one for one in pairs}
    for background, foreground, ratio, group in ROWS:
        one = by_colors[frozenset((background, foreground))]
        assert (round(one["ratio"], 2), one["group"]) == (
            pytest.approx(float(ratio), abs=0.01),
            group,
        )
    assert [one["ratio"] for one in pairs if one["group"] == "Others"] == [None] * 8
    text = CliRunner().invoke(snaprig, ["color", "groups"]).stdout
    assert "7 Hard, 12 Medium, 9 Easy, 8 Others" in text
    assert set(SRGB) == set(Color) - {Color.OTHERS}


def test_there_are_49_land_vehicles_as_imagenet_names_them():
    found = land_vehicles()
    assert len(found) == 49
    names = class_names()
    for index, (wnid, name) in found.items():
        assert name in names[index], wnid
    assert found[517] == ("n03126707", "crane")


def test_categories_that_are_vehicles():
    vocabulary = load_vocabulary()
    asked = ["ambulance", "cup", "sports car", "n03126707", "of no class"]
    assert vehicle_categories(vocabulary, asked) == {"ambulance", "sports car", "n03126707"}
