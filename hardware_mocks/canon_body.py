r"""The body: buttons, shutter, pictures and the events that tell of them.

States, and what leads from one to the next::

                press half                press full
        IDLE ---------------> HALF_PRESSED ---------> EXPOSING
         ^  \                     |                      |
         |   \____ press full ____|______________________^
         |                        |                      | shutter closes
         |<---- release half -----'                      v
         '<------------- picture announced ---------- WRITING

In EXPOSING and WRITING the body is busy: it refuses settings and releases with 0x2019.

A picture bound for the host waits in the body's memory until the host confirms the transfer. A
client that vanishes leaves it there, and the next session hears of it again, as real EOS bodies
do (libgphoto2#1124): whoever connects must drain it. Settings and counters outlive sessions.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections import deque
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from hardware_mocks import canon_properties as tables
from hardware_mocks.body_clock import BodyClock
from hardware_mocks.canon_properties import Destination, Focus, Mode, Prop
from hardware_mocks.canon_raw import cr2
from hardware_mocks.canon_settings import Settings
from hardware_mocks.canon_store import FOLDER, STORAGE, PictureStore, StoredFile
from hardware_mocks.faults import FaultScript
from hardware_mocks.film import Film, Inscription
from hardware_mocks.journal import Journal
from hardware_mocks.light import Light
from hardware_mocks.occasions import PictureMade, Release, Setting, ShutterOpens
from hardware_mocks.ptp import (
    EventCode,
    EventRecord,
    Response,
    encode_events,
    object_added,
    transfer_request,
    u16,
    u32,
)
from schemas.exposure import Exposure, ev, true_shutter_s

_log = logging.getLogger(__name__)

MODEL = "Canon EOS Rebel T7"
#: A driver reads "virtual" here and labels every frame as simulated.
FIRMWARE = "3-1.1.0-virtual"
SERIAL = "VIRTUAL00001"
_FIRST_SHUTTER_COUNT = 23229
_CARD_SHOTS = 8277
_LONGEST_BULB_S = 60.0
_AF_LOCKED = bytes.fromhex("000000000101")
_AF_FAILED = bytes.fromhex("000000000200")


class BodyState(Enum):
    """What the body is doing."""

    IDLE = "idle"
    HALF_PRESSED = "half pressed"
    EXPOSING = "exposing"
    WRITING = "writing"


_BUSY = frozenset({BodyState.EXPOSING, BodyState.WRITING})


@dataclass(frozen=True)
class _Shot:
    """What was fixed when the release was pressed."""

    picture: int
    exposure: Exposure
    destination: Destination
    mode: Mode
    bulb: bool


class CanonBody:
    """One camera body with lens and card. Thread-safe.

    Parameters
    ----------
    timescale : float
        Factor on every exposure time: 1 is real time, 0 exposes at once.
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
        self.card_free_shots = _CARD_SHOTS
        self.store = PictureStore()
        self._film, self._light, self._clock = film, light, clock
        self._journal, self._timescale = journal, timescale
        self._lock = threading.RLock()
        self._settings = Settings(SERIAL, _FIRST_SHUTTER_COUNT, tables.KIT_LENS, focal_mm=35)
        self._state = BodyState.IDLE
        self._events: deque[EventRecord] = deque()
        self._listening = False
        self._host_has_space = False
        self._pictures = 0
        self._image_number = 0
        self._previous = b""
        self._full_released = threading.Event()

    # --- what the control endpoint sees and does

    @property
    def state(self) -> BodyState:
        """What the body is doing."""
        with self._lock:
            return self._state

    @property
    def pictures(self) -> int:
        """Exposures since the dark room started."""
        with self._lock:
            return self._pictures

    def report(self) -> dict[str, Any]:
        """Mode, settings as spelled, counters and buffer, JSON-ready."""
        with self._lock:
            return {
                "mode": self._settings.mode.name,
                "settings": self._settings.spelled(),
                "state": self._state.value,
                "busy": self._state in _BUSY,
                "pictures": self._pictures,
                "image_number": self._image_number,
                "shutter_counter": self._settings.number(Prop.SHUTTER_COUNTER),
                "buffer": [f.info.name for f in self.store.waiting()],
                "card": [f.info.name for f in self.store.on_card()],
                "clock": self._clock.now().isoformat(),
            }

    def turn_dial(self, mode: Mode) -> None:
        """Turn the mode dial by hand."""
        with self._lock:
            self._announce_settings(self._settings.turn_dial(mode))
            self._journal.add("dial", mode=mode.name)

    def zoom(self, focal_mm: int) -> None:
        """Turn the zoom ring by hand."""
        with self._lock:
            self._announce_settings(self._settings.zoom(focal_mm))
            self._journal.add("zoom", focal_mm=focal_mm)

    # --- the session

    def session_opened(self) -> None:
        """A host has opened a PTP session: repeated settings are counted from zero."""
        self._film.new_session()

    def session_closed(self) -> None:
        """The session has ended, orderly or not: buttons are let go, events are forgotten."""
        with self._lock:
            self.release_button(half=True, full=True)
            self._listening = self._host_has_space = False
            self._events.clear()
            self._update_available_shots()

    def listen(self, on: bool) -> None:
        """SetEventMode: on tells every value, every list and every picture still waiting."""
        with self._lock:
            self._events.clear()
            self._listening = on
            if on:
                self._refresh_times()
                on_request = tables.ON_REQUEST
                self._announce_settings([p for p in self._settings.values if p not in on_request])
                for file in self.store.waiting():
                    self._announce_file(file)

    def take_events(self) -> bytes:
        """Everything that happened since the last call, as a GetEvent reply."""
        with self._lock:
            events, self._events = self._events, deque()
        return encode_events(events)

    def tell(self, prop: int) -> bool:
        """RequestDevicePropValue: announce one value; False where there is no such property."""
        with self._lock:
            if prop not in self._settings.values:
                return False
            self._announce_settings([Prop(prop)])
            return True

    def host_has_space(self) -> None:
        """PCHDDCapacity: the host can take pictures."""
        with self._lock:
            self._host_has_space = True
            self._update_available_shots()

    # --- settings

    @property
    def properties(self) -> tuple[int, ...]:
        """Codes of every property."""
        return tuple(self._settings.values)

    def set_property(self, prop: int, raw: bytes) -> Response:
        """SetDevicePropValueEx: apply a value, or say why not."""
        with self._lock:
            if self._state in _BUSY:
                return Response.DEVICE_BUSY
            if (refusal := self._settings.refusal(prop, raw)) is not None:
                return refusal
            value = int.from_bytes(raw, "little") if len(raw) == 4 else None
            setting = Setting(self._pictures + 1, prop, value)
            self._meet(setting)
            if setting.refusal is not None:
                return Response(setting.refusal)
            if setting.ignored:
                return Response.OK
            self._apply(Prop(prop), raw)
            return Response.OK

    def _apply(self, prop: Prop, raw: bytes) -> None:
        changed = self._settings.put(prop, raw)
        self._announce_settings(changed, choices=False)
        if prop == Prop.DESTINATION:
            self._update_available_shots()
        if prop in (Prop.UTC_TIME, Prop.CAMERA_TIME):
            self._clock.set_timestamp(self._settings.number(prop))
        self._journal.add("setting", prop=f"{prop:04x}", **self._settings.spelled())

    # --- the release button

    def press_button(self, *, half: bool, full: bool) -> Response:
        """RemoteReleaseOn: returns at once; the exposure goes on in its own thread."""
        with self._lock:
            if self._state in _BUSY:
                return Response.DEVICE_BUSY
            if half:
                self._half_press()
            return self._full_press() if full else Response.OK

    def release_button(self, *, half: bool, full: bool) -> None:
        """RemoteReleaseOff."""
        with self._lock:
            if full:
                self._full_released.set()
            if half and self._state is BodyState.HALF_PRESSED:
                self._state = BodyState.IDLE

    def _half_press(self) -> None:
        self._state = BodyState.HALF_PRESSED
        lux = self._light.lux
        self._film.prepare(self._settings.exposure(lux), lux)
        if self._settings.number(Prop.FOCUS) != Focus.MANUAL:
            found = _AF_FAILED if self.focus_fails else _AF_LOCKED
            body = u32(8 + len(found)) + u16(0x0100) + u16(0) + found
            self._announce(EventRecord(EventCode.OLC_INFO, body))

    def _full_press(self) -> Response:
        destination = Destination(self._settings.number(Prop.DESTINATION))
        release = Release(self._pictures + 1)
        self._meet(release)
        if release.refusal is not None:
            return Response(release.refusal)
        if destination == Destination.CARD and self.card_free_shots <= 0:
            return Response.STORE_FULL
        self._pictures += 1
        self._full_released.clear()
        settings = self._settings
        shot = _Shot(
            self._pictures,
            settings.exposure(self._light.lux),
            destination,
            settings.mode,
            settings.is_bulb,
        )
        self._state = BodyState.EXPOSING
        self._announce(EventRecord(EventCode.CAMERA_STATUS, u32(1)))
        threading.Thread(target=self._shoot, args=(shot,), name="shutter", daemon=True).start()
        return Response.OK

    # --- the exposure, in its own thread

    def _shoot(self, shot: _Shot) -> None:
        try:
            self._expose(shot)
        except Exception:
            _log.exception("picture %d was lost", shot.picture)
            self._journal.add("error", picture=shot.picture)
        finally:
            with self._lock:
                self._state = BodyState.IDLE
                self._announce(EventRecord(EventCode.CAMERA_STATUS, u32(0)))

    def _expose(self, shot: _Shot) -> None:
        struck = self._meet(ShutterOpens(shot.picture, shot.exposure))
        taken_at = self._clock.now()
        started_s = time.monotonic()
        exposure = shot.exposure
        if shot.bulb:
            self._full_released.wait(_LONGEST_BULB_S)
            exposure = Exposure(time.monotonic() - started_s, exposure.iso, exposure.f_number)
            ended_s = time.monotonic()
        else:
            self._film.prepare(exposure, self._light.at(started_s))
            ended_s = started_s + self._timescale * true_shutter_s(exposure.shutter_s)
            time.sleep(max(0.0, ended_s - time.monotonic()))
        span = self._light.span(started_s, ended_s)
        developed = self._film.expose(exposure, span.mean_lux)
        with self._lock:
            self._state = BodyState.WRITING
            self._clock.exposed(exposure.shutter_s)
            self._image_number += 1
            number = self._image_number
            size_px = self._settings.image_format.size_px
        inscription = Inscription(
            taken_at, number, SERIAL, tables.KIT_LENS.name, shot.mode == Mode.M, size_px
        )
        jpeg = self._film.write(developed, exposure, inscription)
        made = PictureMade(
            shot.picture,
            exposure,
            files=self._files(jpeg, size_px),
            previous=self._previous,
            another=lambda: self._left_by_another(inscription),
        )
        struck += self._meet(made)
        facts = {
            "picture": shot.picture,
            "image_number": number,
            "mode": shot.mode.name,
            "shutter_s": exposure.shutter_s,
            "iso": exposure.iso,
            "f_number": exposure.f_number,
            "ev": ev(exposure.shutter_s, exposure.iso, exposure.f_number),
            "true_shutter_s": developed.shutter_s,
            "true_f_number": developed.f_number,
            "lux": span.mean_lux,
            "lux_min": span.min_lux,
            "lux_max": span.max_lux,
            "scene": self._film.scene.name,
            "scene_digest": self._film.scene.digest,
            "started_monotonic_s": started_s,
            "ended_monotonic_s": ended_s,
            "taken_at": taken_at.isoformat(),
            "destination": shot.destination.name.lower(),
            "sha256": hashlib.sha256(jpeg).hexdigest(),
            "bytes": len(jpeg),
            "faults": struck,
        }
        self._finish(shot, made.files, facts, taken_at, size_px)

    def _finish(
        self,
        shot: _Shot,
        files: list[bytes],
        facts: dict[str, Any],
        taken_at: datetime,
        size_px: tuple[int, int],
    ) -> None:
        """Store, write the journal, then announce: who has the picture finds it in the journal."""
        with self._lock:
            on_card = shot.destination == Destination.CARD
            stored = [
                self.store.add(
                    data,
                    picture=shot.picture,
                    image_number=facts["image_number"],
                    on_card=on_card,
                    size_px=size_px,
                    taken_at=taken_at,
                )
                for data in files
            ]
            if files:
                self._previous = files[-1]
            offered = [
                {
                    "name": f.info.name,
                    "bytes": len(f.data),
                    "sha256": hashlib.sha256(f.data).hexdigest(),
                }
                for f in stored
            ]
            self._journal.add("picture", **facts, offered=offered)
            count = self._settings.number(Prop.SHUTTER_COUNTER) + 1
            self._settings.values[Prop.SHUTTER_COUNTER] = u32(count)
            if on_card:
                self.card_free_shots -= 1
            for file in stored:
                self._announce_file(file)
            self._announce_settings([Prop.SHUTTER_COUNTER], choices=False)
            self._update_available_shots()

    def _files(self, jpeg: bytes, size_px: tuple[int, int]) -> list[bytes]:
        kinds = [kind for kind, _, _ in self._settings.image_format.files]
        return [jpeg if kind == 1 else cr2(jpeg, size_px) for kind in kinds]

    def _left_by_another(self, inscription: Inscription) -> bytes:
        exposure = Exposure(1 / 30, 800, 5.6)
        developed = self._film.expose(exposure, self._light.lux)
        return self._film.write(developed, exposure, inscription)

    # --- events

    def _meet(self, occasion: Setting | Release | ShutterOpens | PictureMade) -> list[str]:
        return self.faults.meet(occasion) if self.faults is not None else []

    def _announce(self, record: EventRecord) -> None:
        if self._listening:
            self._events.append(record)

    def _announce_settings(self, props: list[Prop], *, choices: bool = True) -> None:
        for prop in props:
            body = u32(prop) + self._settings.values[prop]
            self._announce(EventRecord(EventCode.PROPERTY_CHANGED, body))
        for prop in props if choices else ():
            offered = self._settings.encoded_choices(prop)
            if offered is not None:
                body = u32(prop) + u32(3) + u32(len(offered)) + b"".join(offered)
                self._announce(EventRecord(EventCode.CHOICES_CHANGED, body))

    def _announce_file(self, file: StoredFile) -> None:
        if file.on_card:
            body = object_added(file.handle, STORAGE, FOLDER, file.info, file.taken_s)
            self._announce(EventRecord(EventCode.OBJECT_ADDED, body))
        else:
            body = transfer_request(file.handle, file.info)
            self._announce(EventRecord(EventCode.REQUEST_OBJECT_TRANSFER, body))

    def _update_available_shots(self) -> None:
        to_card = self._settings.number(Prop.DESTINATION) == Destination.CARD
        shots = self.card_free_shots if to_card else _CARD_SHOTS if self._host_has_space else 0
        if shots != self._settings.number(Prop.AVAILABLE_SHOTS):
            self._settings.values[Prop.AVAILABLE_SHOTS] = u32(shots)
            self._announce_settings([Prop.AVAILABLE_SHOTS], choices=False)

    def _refresh_times(self) -> None:
        seconds = u32(int(self._clock.now().timestamp()))
        self._settings.values[Prop.CAMERA_TIME] = seconds
        self._settings.values[Prop.UTC_TIME] = seconds
