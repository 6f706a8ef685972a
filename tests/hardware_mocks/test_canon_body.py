"""Every arrow of the body's state machine, without a wire."""

from __future__ import annotations

import threading
import time

import pytest

from hardware_mocks import canon_properties as tables
from hardware_mocks.body_clock import BodyClock
from hardware_mocks.canon_body import CanonBody
from hardware_mocks.canon_properties import Mode, Prop
from hardware_mocks.canon_states import BodyState
from hardware_mocks.film import Film
from hardware_mocks.journal import Journal
from hardware_mocks.light import Light
from hardware_mocks.ptp import EventCode, Response, decode_events, u32
from hardware_mocks.scene import load_scene
from hardware_mocks.sensor import Developed


class GatedFilm(Film):
    """Holds every exposure until the test lets it through."""

    gate: threading.Event | None = None

    def expose(self, *arguments) -> Developed:
        if self.gate is not None:
            assert self.gate.wait(20)
        return super().expose(*arguments)


@pytest.fixture(scope="module")
def scene(photo):
    return load_scene(photo, size=(96, 64))


@pytest.fixture
def film(scene):
    made = GatedFilm(scene, seed=1)
    yield made
    made.close()


@pytest.fixture
def journal():
    return Journal()


@pytest.fixture
def body(film, journal):
    made = CanonBody(
        film=film, light=Light(1000), clock=BodyClock(), journal=journal, timescale=0.0
    )
    made.listen(True)
    made.host_has_space()
    made.set_property(Prop.DESTINATION, u32(4))
    made.take_events()
    return made


def until(condition) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def finish(body) -> None:
    until(lambda: body.state in (BodyState.IDLE, BodyState.HALF_PRESSED))


def codes(body) -> list[int]:
    return [record.code for record in decode_events(body.take_events())]


def test_idle_to_half_pressed_and_back(body):
    assert body.state is BodyState.IDLE
    assert body.press_button(half=True, full=False) is Response.OK
    assert body.state is BodyState.HALF_PRESSED
    body.release_button(half=True, full=False)
    assert body.state is BodyState.IDLE


@pytest.mark.parametrize("half_first", [True, False])
def test_full_press_exposes_writes_and_announces(body, film, half_first, journal):
    film.gate = threading.Event()
    if half_first:
        body.press_button(half=True, full=False)
    assert body.press_button(half=False, full=True) is Response.OK
    assert body.state in (BodyState.EXPOSING, BodyState.WRITING)
    until(lambda: body.state is BodyState.WRITING)  # the shutter has closed, the film is held
    assert EventCode.REQUEST_OBJECT_TRANSFER not in codes(body)
    film.gate.set()
    finish(body)
    assert EventCode.REQUEST_OBJECT_TRANSFER in codes(body)
    assert [e["picture"] for e in journal.since() if e["kind"] == "picture"] == [1]


def test_busy_body_refuses_settings_and_releases(body, film):
    film.gate = threading.Event()
    body.press_button(half=True, full=True)
    assert body.set_property(Prop.ISO, u32(0x58)) is Response.DEVICE_BUSY
    assert body.press_button(half=True, full=True) is Response.DEVICE_BUSY
    film.gate.set()
    finish(body)
    assert body.set_property(Prop.ISO, u32(0x58)) is Response.OK


def test_picture_waits_for_the_transfer_over_sessions(body):
    body.press_button(half=True, full=True)
    finish(body)
    (waiting,) = body.store.waiting()
    body.session_closed()
    assert codes(body) == []
    body.listen(True)
    assert EventCode.REQUEST_OBJECT_TRANSFER in codes(body)
    body.store.remove(waiting.handle)
    body.listen(True)
    assert EventCode.REQUEST_OBJECT_TRANSFER not in codes(body)


def test_exposure_goes_on_when_the_session_ends(body, film):
    film.gate = threading.Event()
    body.press_button(half=True, full=True)
    body.session_closed()
    film.gate.set()
    finish(body)
    assert len(body.store.waiting()) == 1


def test_full_card_refuses_the_release(body):
    body.set_property(Prop.DESTINATION, u32(2))
    body.card_free_shots = 1
    body.press_button(half=True, full=True)
    finish(body)
    assert body.card_free_shots == 0
    assert body.press_button(half=True, full=True) is Response.STORE_FULL
    assert body.state is not BodyState.EXPOSING


@pytest.mark.parametrize("fails", [False, True])
def test_autofocus_tells_how_it_fared(body, fails):
    body.focus_fails = fails
    body.set_property(Prop.FOCUS, u32(tables.Focus.ONE_SHOT))
    body.take_events()
    body.press_button(half=True, full=False)
    (record,) = decode_events(body.take_events())
    assert record.code == EventCode.OLC_INFO
    assert record.body[-2:] == (b"\x02\x00" if fails else b"\x01\x01")


def test_bulb_lasts_as_long_as_the_button(body, journal):
    body.set_property(Prop.SHUTTER, u32(tables.BULB))
    body.press_button(half=True, full=True)
    until(lambda: body.state is BodyState.EXPOSING)
    time.sleep(0.1)
    body.release_button(half=True, full=True)
    finish(body)
    (picture,) = [e for e in journal.since() if e["kind"] == "picture"]
    assert picture["shutter_s"] >= 0.1


def test_lost_exposure_is_journaled_and_the_body_goes_on(body, film, journal, monkeypatch, caplog):
    def broken(*_: object) -> bytes:
        raise RuntimeError("no film")

    monkeypatch.setattr(film, "write", broken)
    body.press_button(half=True, full=True)
    finish(body)
    assert [e["picture"] for e in journal.since() if e["kind"] == "error"] == [1]
    assert "picture 1 was lost" in caplog.text
    monkeypatch.undo()
    body.press_button(half=True, full=True)
    finish(body)
    assert len(body.store.waiting()) == 1


def test_dial_and_zoom_are_announced(body):
    body.hands.turn_dial(Mode.P)
    assert {EventCode.PROPERTY_CHANGED, EventCode.CHOICES_CHANGED} <= set(codes(body))
    body.hands.zoom(55)
    assert EventCode.CHOICES_CHANGED in codes(body)


def test_host_sets_the_clock(body):
    body.set_property(Prop.UTC_TIME, u32(1_700_000_000))
    assert body.report()["clock"].startswith("2023-11-14T22:13:2")


def test_repeated_settings_differ_and_a_new_session_repeats_them(body, journal):
    def shoot() -> str:
        body.press_button(half=True, full=True)
        finish(body)
        return journal.since()[-1]["true_shutter_s"]

    first, second = shoot(), shoot()
    body.session_opened()
    assert shoot() == first != second
