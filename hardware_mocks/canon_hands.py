"""What a person does to the body: dial, zoom ring, lens switch, menus, clock."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import timedelta

from hardware_mocks.body_clock import BodyClock
from hardware_mocks.canon_events import EventQueue
from hardware_mocks.canon_properties import Mode, Prop
from hardware_mocks.canon_settings import Settings
from hardware_mocks.journal import Journal


class Hands:
    """Changes settings from outside; the host hears of it by events. `lock` is the body's."""

    def __init__(
        self,
        settings: Settings,
        events: EventQueue,
        clock: BodyClock,
        journal: Journal,
        lock: AbstractContextManager[bool],
    ) -> None:
        self._settings, self._events, self._clock = settings, events, clock
        self._journal, self._lock = journal, lock

    def turn_dial(self, mode: Mode) -> None:
        """Turn the mode dial."""
        with self._lock:
            self._events.values_and_choices(self._settings.turn_dial(mode))
            self._journal.add("dial", mode=mode.name)

    def zoom(self, focal_mm: int) -> None:
        """Turn the zoom ring; ValueError for a focal length that the lens has not."""
        with self._lock:
            self._events.values_and_choices(self._settings.zoom(focal_mm))
            self._journal.add("zoom", focal_mm=focal_mm)

    def set(self, name: str, value: int | dict[str, int]) -> None:
        """Change a property at the body itself, by its menu or because its battery ran down.

        Parameters
        ----------
        name : str
            Of `Prop`, in any case: ``white_balance``, ``battery``, ``focus``, ``utc_time``.
        value : int or dict
            Canon's code for it; for ``format`` the place in the quality menu, for
            ``custom_functions`` values by the function's hexadecimal id.

        Raises
        ------
        ValueError
            For a name or a value that this body has not.
        """
        with self._lock:
            props = self._settings.set_by_hand(name, value)
            if Prop.UTC_TIME in props or Prop.CAMERA_TIME in props:
                self._clock.set_timestamp(self._settings.number(props[0]))
            self._events.values_and_choices(props)
            self._journal.add("hand", name=name, value=value)

    def shift_clock(self, offset_s: float) -> None:
        """Put the clock forward or back."""
        with self._lock:
            self._clock.shift(timedelta(seconds=offset_s))
            self._journal.add("hand", name="clock", value=offset_s)
