from __future__ import annotations

import math

import pytest

from hardware_mocks import canon_properties as tables
from hardware_mocks.autoexposure import metered_ev
from hardware_mocks.canon_properties import KIT_LENS, Mode, Prop
from hardware_mocks.canon_raw import cr2
from hardware_mocks.canon_settings import Settings
from hardware_mocks.ptp import Response, u32
from schemas.exposure import Exposure, stops_between, true_f_number, true_shutter_s


@pytest.fixture
def settings():
    return Settings("VIRTUAL", 100, KIT_LENS, focal_mm=35)


def test_canon_codes_are_eighths_of_a_true_stop():
    for code, marked_s in tables.SHUTTER_CODES.items():
        true_s = 2 ** ((0x38 - code) / 8)
        assert abs(stops_between(true_shutter_s(marked_s), true_s)) <= 1 / 8 + 1e-9, marked_s
    for code, marked in tables.APERTURE_CODES.items():
        true_n = 2 ** ((code - 8) / 16)
        assert abs(2 * stops_between(true_f_number(marked), true_n)) <= 1 / 8 + 1e-9, marked
    assert all(100 * 2 ** ((code - 0x48) / 8) == iso for code, iso in tables.ISO_CODES.items())


def test_whole_stops_of_the_grid_have_exact_codes():
    codes = {marked_s: code for code, marked_s in tables.SHUTTER_CODES.items()}
    assert codes[30] == 0x10
    assert codes[1 / 60] == 0x68
    assert codes[1 / 4000] == 0x98
    f_codes = {marked: code for code, marked in tables.APERTURE_CODES.items()}
    assert [f_codes[n] for n in (5.6, 8, 11, 16, 22)] == [0x30, 0x38, 0x40, 0x48, 0x50]


def test_manual_exposure_is_what_was_set(settings):
    settings.put(Prop.SHUTTER, u32(0x68))
    settings.put(Prop.ISO, u32(0x58))
    settings.put(Prop.APERTURE, u32(0x30))
    assert settings.exposure(lux=1) == Exposure(1 / 60, 400, 5.6)


@pytest.mark.parametrize("mode", [Mode.P, Mode.AV, Mode.TV, Mode.AUTO])
@pytest.mark.parametrize("lux", [5, 10, 100, 1000, 20_000])
def test_automatic_exposure_is_near_the_meters_ev(settings, mode, lux):
    settings.put(Prop.ISO, u32(tables.ISO_AUTO))
    settings.put(Prop.SHUTTER, u32(0x68))
    settings.turn_dial(mode)
    chosen = settings.exposure(lux)
    # Tv at 1/60 s runs out of apertures and ISO at both ends of this range.
    if not (mode == Mode.TV and lux in (5, 10, 20_000)):
        assert abs(chosen.ev - metered_ev(lux)) < 0.75
    assert chosen.iso <= 3200
    if mode == Mode.TV:
        assert chosen.shutter_s == 1 / 60
    if mode == Mode.AV:
        assert chosen.f_number == 8


def test_compensation_of_one_stop_doubles_the_exposure(settings):
    settings.turn_dial(Mode.P)
    plain = settings.exposure(100)
    settings.put(Prop.EXPOSURE_COMPENSATION, u32(8))
    assert plain.ev - settings.exposure(100).ev == pytest.approx(1, abs=0.4)
    settings.put(Prop.EXPOSURE_COMPENSATION, u32(-8))
    assert plain.ev - settings.exposure(100).ev == pytest.approx(-1, abs=0.4)


def test_auto_iso_in_manual_follows_the_light(settings):
    settings.put(Prop.ISO, u32(tables.ISO_AUTO))
    assert settings.exposure(10).iso > settings.exposure(1000).iso
    assert settings.exposure(10).shutter_s == 1 / 125


@pytest.mark.parametrize("mode", list(Mode))
def test_dial_offers_lists_only_where_the_photographer_chooses(settings, mode):
    settings.turn_dial(mode)
    assert (len(settings.choices(Prop.SHUTTER)) > 1) == (mode in (Mode.M, Mode.TV))
    assert (len(settings.choices(Prop.APERTURE)) > 1) == (mode in (Mode.M, Mode.AV))
    assert (len(settings.choices(Prop.ISO)) > 1) == (mode != Mode.AUTO)
    for prop in (Prop.SHUTTER, Prop.APERTURE, Prop.ISO):
        assert settings.number(prop) in settings.choices(prop)


def test_dial_gives_the_photographers_own_values_back(settings):
    before = settings.spelled()
    settings.turn_dial(Mode.AUTO)
    assert settings.spelled() != before
    settings.turn_dial(Mode.M)
    assert settings.spelled() == before


def test_zoom_changes_the_apertures(settings):
    settings.put(Prop.APERTURE, u32(0x2B))  # f/4.5, wide open at 35 mm
    changed = settings.zoom(55)
    assert Prop.APERTURE in changed
    assert settings.spelled()["f_number"] == "5.6"
    assert tables.APERTURE_CODES[settings.choices(Prop.APERTURE)[0]] == 5.6
    settings.zoom(18)
    assert tables.APERTURE_CODES[settings.choices(Prop.APERTURE)[0]] == 3.5
    assert settings.spelled()["f_number"] == "4.5"
    with pytest.raises(ValueError, match="18, 24, 35, 55"):
        settings.zoom(200)


@pytest.mark.parametrize(
    ("prop", "raw", "refusal"),
    [
        (Prop.ISO, u32(0x58), None),
        (Prop.ISO, u32(0x59), Response.INVALID_VALUE),
        (Prop.MODE, u32(3), Response.INVALID_VALUE),
        (0xD1FF, u32(3), Response.PROPERTY_NOT_SUPPORTED),
        (Prop.FORMAT, tables.FORMATS[0].encode(), None),
        (Prop.FORMAT, u32(1), Response.INVALID_VALUE),
        (Prop.UTC_TIME, b"abc", Response.INVALID_VALUE),
        (Prop.ARTIST, b"someone\0", None),
    ],
)
def test_refusals(settings, prop, raw, refusal):
    assert settings.refusal(prop, raw) is refusal


def test_one_card_slot_has_one_format(settings):
    assert settings.image_format.size_px == (1920, 1280)
    settings.put(Prop.FORMAT_SD, tables.FORMATS[0].encode())
    assert settings.image_format.size_px == (6000, 4000)
    assert settings.values[Prop.FORMAT] == settings.values[Prop.FORMAT_SD]


def test_mode_names():
    assert Mode.parse("manual") is Mode.M
    assert Mode.parse("Auto") is Mode.AUTO
    with pytest.raises(ValueError, match="M, P, AV, TV, Auto"):
        Mode.parse("B")


def test_cr2_holds_the_jpeg_where_its_header_says():
    file = cr2(b"\xff\xd8jpeg\xff\xd9", (6000, 4000))
    assert file[:4] == b"II*\0"
    assert file[8:10] == b"CR"
    assert file.endswith(b"\xff\xd8jpeg\xff\xd9")
    offset = int.from_bytes(file[16 + 2 + 3 * 12 + 8 :][:4], "little")
    assert file[offset:].startswith(b"\xff\xd8")


def test_metered_ev_grows_by_one_a_stop():
    assert metered_ev(2000) - metered_ev(1000) == pytest.approx(1)
    assert math.isfinite(metered_ev(0))


def test_the_menu_of_the_body_reaches_what_the_host_cannot_set(settings):
    settings.set_by_hand("battery", 0)
    assert settings.number(Prop.BATTERY) == 0
    settings.set_by_hand("format", 8)
    assert settings.image_format == tables.FORMATS[8]
    before = settings.values[Prop.CUSTOM_FUNCTIONS]
    settings.set_by_hand("custom_functions", {"0x201": 1})
    after = settings.values[Prop.CUSTOM_FUNCTIONS]
    assert len(before) == len(after) == int.from_bytes(after[:4], "little")
    changed = [i for i in range(len(before)) if before[i] != after[i]]
    words = [int.from_bytes(after[i : i + 4], "little") for i in range(0, len(after), 4)]
    assert len(changed) == 1
    assert words[changed[0] // 4 - 2 : changed[0] // 4 + 1] == [0x201, 1, 1]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("nothing", 1),
        ("mode", 0),
        ("focus", True),
        ("focus", {"a": 1}),
        ("owner", 1),
        ("format", 10),
        ("custom_functions", {"0x999": 1}),
        ("custom_functions", {"0x3": 1}),
    ],
)
def test_what_the_body_has_not_cannot_be_set_by_hand(settings, name, value):
    with pytest.raises(ValueError, match=r".+"):
        settings.set_by_hand(name, value)
