"""The body: buttons, shutter, pictures and the events that tell of them.

A picture bound for the host waits in the body's memory until the host confirms the transfer. A
client that vanishes leaves it there, and the next session hears of it again, as real EOS bodies
do (libgphoto2#1124): whoever connects must drain it. Settings and counters outlive sessions.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Mapping
from typing import Any

from hardware_mocks import canon_properties as tables
from hardware_mocks.body_clock import BodyClock
from hardware_mocks.canon_events import EventQueue
from hardware_mocks.canon_hands import Hands
from hardware_mocks.canon_properties import Destination, Focus, Prop
from hardware_mocks.canon_raw import files_of
from hardware_mocks.canon_settings import Settings
from hardware_mocks.canon_shutter import Shot, Shutter, Taken
from hardware_mocks.canon_states import BUSY, BodyState, Hung
from hardware_mocks.canon_store import PictureStore
from hardware_mocks.faults import FaultScript
from hardware_mocks.film import Film
from hardware_mocks.journal import Journal
from hardware_mocks.light import Light
from hardware_mocks.occasions import Occasion, PictureMade, Release, Setting, ShutterOpens
from hardware_mocks.ptp import Response, u32

_log = logging.getLogger(__name__)

MODEL = "Canon EOS Rebel T7"
#: A driver reads "virtual" here and labels every frame as simulated.
FIRMWARE = "3-1.1.0-virtual"
SERIAL = "VIRTUAL00001"
_FIRST_SHUTTER_COUNT = 23229
_CARD_SHOTS = 8277
START_FOCAL_MM = 35
#: How long a GetEvent waits for a picture whose exposure is over.
_PATIENCE_S = 0.2


class CanonBody:
    """One camera body with lens and card. Thread-safe.

    Attributes
    ----------
    faults : FaultScript or None
        What goes wrong; None for a body without faults.
    hands : Hands
        What a person can do to it.
    focus_fails : bool
        Whether the autofocus, where it is on, finds nothing to lock on: a press of the button
        that asks for it exposes nothing.
    hung : Hung or None
        Refuses settings and releases as busy, until that ends.
    card_free_shots : int
        Pictures that still fit on the card.
    """

    def __init__(
        self,
        *,
        film: Film,
        light: Light,
        clock: BodyClock,
        journal: Journal,
        timescale: float,
    ) -> None:
        self.faults: FaultScript | None = None
        self.focus_fails = False
        self.hung: Hung | None = None
        self.card_free_shots = _CARD_SHOTS
        self.store = PictureStore()
        self._film, self._light, self._clock, self._journal = film, light, clock, journal
        self._shutter = Shutter(film, light, clock, SERIAL, timescale)
        self._settings = Settings(SERIAL, _FIRST_SHUTTER_COUNT, tables.KIT_LENS, START_FOCAL_MM)
        self._events = EventQueue(self._settings)
        self._lock = threading.RLock()
        self.hands = Hands(self._settings, self._events, clock, journal, self._lock)
        self._finished = threading.Condition(self._lock)
        self._state = BodyState.IDLE
        self._host_has_space = False
        self._pictures = 0
        self._image_number = 0
        self._previous = b""
        self._shot: Shot | None = None
        self._update_available_shots()

    # --- what the control endpoint sees

    @property
    def state(self) -> BodyState:
        """What the body is doing."""
        with self._lock:
            return self._state

    def report(self) -> dict[str, Any]:
        """Mode, settings as spelled, counters and buffer, JSON-ready."""
        with self._lock:
            return {
                "mode": self._settings.mode.name,
                "settings": self._settings.spelled(),
                "state": self._state.value,
                "busy": self._is_busy,
                "pictures": self._pictures,
                "image_number": self._image_number,
                "shutter_counter": self._settings.number(Prop.SHUTTER_COUNTER),
                "buffer": [f.info.name for f in self.store.waiting()],
                "card": [f.info.name for f in self.store.on_card()],
                "card_free_shots": self.card_free_shots,
                "clock": self._clock.now().isoformat(),
            }

    # --- the session

    def session_opened(self) -> None:
        """A host has opened a PTP session: repeated settings are counted from zero."""
        self._film.new_session()
        with self._lock:
            self.hung = None if self.hung is Hung.UNTIL_SESSION else self.hung

    def session_closed(self) -> None:
        """The session has ended, orderly or not: buttons are let go, events are forgotten.

        Where pictures go, and what room a host has said to have, outlives it.
        """
        with self._lock:
            self.release_button(half=True, full=True)
            self._events.listen(False)

    def listen(self, on: bool) -> None:
        """SetEventMode: on tells every value, every list and every picture still waiting."""
        with self._lock:
            self._events.listen(on)
            self._refresh_times()
            on_request = tables.ON_REQUEST
            props = [p for p in self._settings.values if p not in on_request]
            self._events.values_and_choices(props)
            for file in self.store.waiting():
                self._events.file(file)

    def take_events(self) -> bytes:
        """Everything that happened since the last call, as a GetEvent reply.

        A picture that is being written is waited for a moment: told that there is nothing yet,
        libgphoto2 sleeps for 50 ms at least before it asks again.
        """
        with self._finished:
            shot = self._shot
            if self._state in BUSY and shot is not None and shot.due_s <= time.monotonic():
                self._finished.wait_for(lambda: self._state not in BUSY, _PATIENCE_S)
            return self._events.take()

    def tell(self, prop: int) -> bool:
        """RequestDevicePropValue: announce one value; False where there is no such property."""
        with self._lock:
            if prop not in self._settings.values:
                return False
            self._events.values_and_choices([Prop(prop)])
            return True

    def host_has_space(self) -> None:
        """PCHDDCapacity: the host can take pictures."""
        with self._lock:
            self._host_has_space = True
            self._update_available_shots()

    # --- power and card

    def lose_power(self) -> None:
        """Everything stops: what is in memory is gone, an exposure and the host with it."""
        with self._lock:
            self._shot = self.hung = None
            self.store.forget_memory()
            self._host_has_space = False
            self._settings.put(Prop.DESTINATION, u32(Destination.CARD))
            self._update_available_shots()
            self._become_idle()

    def clear_settings(self, values: Mapping[Prop, bytes]) -> None:
        """Menu and shooting settings become these; dial, lens and its switch are mechanical."""
        with self._lock:
            self._events.values_and_choices(self._settings.clear(values))
            self._update_available_shots()
            self._journal.add("hand", name="clear settings", value=len(values))

    def use_card(self, free_shots: int = _CARD_SHOTS) -> None:
        """Have so much room on the card; a card with room for many is a new one."""
        with self._lock:
            if free_shots >= _CARD_SHOTS:
                self.store.forget_card()
            self.card_free_shots = free_shots
            self._update_available_shots()
            self._journal.add("card", free_shots=free_shots)

    # --- settings

    @property
    def properties(self) -> tuple[int, ...]:
        """Codes of every property."""
        return tuple(self._settings.values)

    def set_property(self, prop: int, raw: bytes) -> Response:
        """SetDevicePropValueEx: apply a value, or say why not."""
        with self._lock:
            if self._is_busy:
                return Response.DEVICE_BUSY
            if (refusal := self._settings.refusal(prop, raw)) is not None:
                return refusal
            value = int.from_bytes(raw, "little") if len(raw) == 4 else None
            setting = Setting(self._pictures + 1, prop, value)
            self._meet(setting)
            if setting.refusal is not None:
                return Response(setting.refusal)
            if not setting.ignored:
                self._apply(Prop(prop), raw)
            return Response.OK

    def _apply(self, prop: Prop, raw: bytes) -> None:
        self._events.values(self._settings.put(prop, raw))
        if prop == Prop.DESTINATION:
            self._update_available_shots()
        if prop in (Prop.UTC_TIME, Prop.CAMERA_TIME):
            self._clock.set_timestamp(self._settings.number(prop))
        self._journal.add("setting", prop=f"{prop:04x}", **self._settings.spelled())

    # --- the release button

    def press_button(self, *, half: bool, full: bool, focus: bool = True) -> Response:
        """RemoteReleaseOn: returns at once; the exposure goes on in its own thread.

        Without `focus` it fires whatever the autofocus finds.
        """
        with self._lock:
            if self._is_busy:
                return Response.DEVICE_BUSY
            if half:
                self._half_press(focus=focus)
            if full and focus and self.focus_fails and self._focuses:
                return Response.OK  # and nothing happens, as with a finger on the button
            return self._full_press() if full else Response.OK

    def release_button(self, *, half: bool, full: bool) -> None:
        """RemoteReleaseOff."""
        with self._lock:
            if full and self._shot is not None:
                self._shot.released.set()
            if half and self._state is BodyState.HALF_PRESSED:
                self._state = BodyState.IDLE

    @property
    def _is_busy(self) -> bool:
        return self._state in BUSY or self.hung is not None

    @property
    def _focuses(self) -> bool:
        return self._settings.number(Prop.FOCUS) != Focus.MANUAL

    def _half_press(self, *, focus: bool) -> None:
        self._state = BodyState.HALF_PRESSED
        lux = self._light.lux
        self._film.prepare(self._settings.exposure(lux), lux)
        if focus and self._focuses:
            self._events.focus(found=not self.focus_fails)

    def _full_press(self) -> Response:
        settings = self._settings
        destination = Destination(settings.number(Prop.DESTINATION))
        release = Release(self._pictures + 1, destination)
        self._meet(release)
        if release.refusal is not None:
            return Response(release.refusal)
        if destination == Destination.CARD and self.card_free_shots <= 0:
            return Response.STORE_FULL
        self._pictures += 1
        exposure = settings.exposure(self._light.lux)
        self._shot = Shot(
            self._pictures,
            exposure,
            self._film.next(exposure),
            math.inf if settings.is_bulb else time.monotonic() + self._shutter.open_s(exposure),
            destination,
            settings.mode,
            settings.image_format,
            settings.is_bulb,
            settings.focal_mm,
        )
        self._state = BodyState.EXPOSING
        self._events.busy(True)
        threading.Thread(
            target=self._shoot, args=(self._shot,), name="shutter", daemon=True
        ).start()
        return Response.OK

    # --- the exposure, in its own thread

    def _shoot(self, shot: Shot) -> None:
        try:
            opens = ShutterOpens(shot.picture, shot.exposure, self._shutter.open_s(shot.exposure))
            struck = self._meet(opens)
            taken = self._shutter.expose(shot, opens, lambda: self._shutter_closed(shot))
            made = PictureMade(
                shot.picture,
                taken.exposure,
                files=files_of(shot.image_format, taken.jpeg),
                previous=self._previous,
                another=lambda: self._shutter.by_another(taken.inscription),
            )
            struck += self._meet(made)
            self._finish(shot, taken, made, struck)
        except Exception:
            _log.exception("picture %d was lost", shot.picture)
            self._journal.add("error", picture=shot.picture)
            self._become_idle()

    def _become_idle(self) -> None:
        with self._finished:
            self._state = BodyState.IDLE
            self._events.busy(False)
            self._finished.notify_all()

    def _shutter_closed(self, shot: Shot) -> int:
        with self._lock:
            if shot is self._shot:
                self._state = BodyState.WRITING
            self._image_number += 1
            return self._image_number

    def _finish(self, shot: Shot, taken: Taken, made: PictureMade, struck: list[str]) -> None:
        """Store, write the journal, then announce: who has the picture finds it in the journal."""
        with self._lock:
            if shot is not self._shot:  # the power went while it was exposed
                self._journal.add("picture", **taken.facts, faults=struck, offered=[])
                return
            on_card = shot.destination == Destination.CARD
            stored = [
                self.store.add(
                    data,
                    picture=shot.picture,
                    image_number=taken.facts["image_number"],
                    on_card=on_card,
                    size_px=shot.image_format.size_px,
                    taken_at=taken.taken_at,
                )
                for data in made.files
                for _ in range(1 if on_card else made.announcements)
            ]
            self._previous = made.files[-1] if made.files else self._previous
            offered = [file.offer for file in stored]
            self._journal.add("picture", **taken.facts, faults=struck, offered=offered)
            count = self._settings.number(Prop.SHUTTER_COUNTER) + 1
            self._settings.values[Prop.SHUTTER_COUNTER] = u32(count)
            self.card_free_shots -= int(on_card)
            for file in stored:
                for _ in range(made.announcements if on_card else 1):
                    self._events.file(file)
            self._events.values([Prop.SHUTTER_COUNTER])
            self._update_available_shots()
            self._become_idle()  # at the same moment: who has the picture may go on

    # ---

    def _meet(self, occasion: Occasion) -> list[str]:
        return self.faults.meet(occasion) if self.faults is not None else []

    def _update_available_shots(self) -> None:
        to_card = self._settings.number(Prop.DESTINATION) == Destination.CARD
        shots = self.card_free_shots if to_card else _CARD_SHOTS if self._host_has_space else 0
        if shots != self._settings.number(Prop.AVAILABLE_SHOTS):
            self._settings.values[Prop.AVAILABLE_SHOTS] = u32(shots)
            self._events.values([Prop.AVAILABLE_SHOTS])

    def _refresh_times(self) -> None:
        seconds = u32(int(self._clock.now().timestamp()))
        self._settings.values[Prop.CAMERA_TIME] = seconds
        self._settings.values[Prop.UTC_TIME] = seconds
