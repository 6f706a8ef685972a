"""The block of custom functions, against the dump of a real T7."""

import re

import pytest

from rig.custom_functions import (
    HIGH_ISO_NR,
    HIGHLIGHT_TONE,
    LONG_EXPOSURE_NR,
    parse_custom_functions,
)

#: As a T7 gave it (libgphoto2 2.5.27).
T7 = (
    "bc,4,1,2c,3,101,1,0,103,1,0,10f,1,0,2,2c,3,201,1,0,202,1,0,203,1,0,3,14,1,50e,1,0,"
    "4,38,4,701,1,0,704,1,0,70e,1,0,811,1,0,"
)


def test_every_function_of_a_t7_is_found():
    found = parse_custom_functions(T7)
    assert [hex(key) for key in found] == [
        *("0x101", "0x103", "0x10f", "0x201", "0x202", "0x203", "0x50e"),
        *("0x701", "0x704", "0x70e", "0x811"),
    ]
    assert set(found.values()) == {0}


def test_values_are_those_of_their_function():
    changed = T7.replace("201,1,0", "201,1,2").replace("203,1,0", "203,1,1")
    found = parse_custom_functions(changed)
    assert (found[LONG_EXPOSURE_NR], found[HIGH_ISO_NR], found[HIGHLIGHT_TONE]) == (2, 0, 1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "bad length",
        "malloc failed",
        "bc",
        "bc,4,1",
        T7[:-10],
        T7 + "1,",
        "8,1,",
        T7.upper()[3:],
    ],
)
def test_what_does_not_add_up_gives_nothing(text):
    assert parse_custom_functions(text) == {}


def test_the_released_dump_is_understood(snaprig_data):
    dump = (snaprig_data / "snap/scripts/camera/config.txt").read_text()
    block = re.search(r"customfuncex\n(?:.*\n)*?Current: (.*)", dump)
    assert block is not None
    assert parse_custom_functions(block[1]) == parse_custom_functions(T7) != {}
