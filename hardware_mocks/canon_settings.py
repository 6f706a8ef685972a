"""The body's property store: values, choices, what the dial and the lens make of them.

Pure of threads and wire: it returns the properties that changed, and the body announces them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from hardware_mocks import canon_properties as tables
from hardware_mocks.autoexposure import Choices, Wishes, choose
from hardware_mocks.canon_properties import FORMATS, ImageFormat, Lens, Mode, Prop
from hardware_mocks.canon_store import FOLDER, STORAGE
from hardware_mocks.ptp import Response, u32
from schemas.exposure import Exposure, spell_f_number, spell_shutter

#: Changed by the mode dial: the photographer's own choice comes back with M.
_DIAL_SETTINGS = (Prop.SHUTTER, Prop.APERTURE, Prop.ISO)


class Settings:
    """Property values and choices of one body. Not thread-safe: the body guards it."""

    def __init__(self, serial: str, shutter_count: int, lens: Lens, focal_mm: int) -> None:
        self.lens = lens
        self.focal_mm = focal_mm
        self.values = tables.defaults(STORAGE, FOLDER, serial, shutter_count)
        self._chosen = {prop: self.number(prop) for prop in _DIAL_SETTINGS}

    # --- reading

    def number(self, prop: Prop) -> int:
        """Value of a numeric property."""
        return int(struct.unpack_from("<I", self.values[prop])[0])

    @property
    def mode(self) -> Mode:
        """The mode dial."""
        return Mode(self.number(Prop.MODE))

    @property
    def image_format(self) -> ImageFormat:
        """What the body writes."""
        raw = self.values[Prop.FORMAT]
        return next(f for f in FORMATS if f.encode() == raw)

    def choices(self, prop: Prop) -> tuple[int, ...] | None:
        """Values that the body offers now; None where it offers no list."""
        if prop == Prop.SHUTTER:
            return tables.shutter_choices(self.mode)
        if prop == Prop.APERTURE:
            return tables.aperture_choices(self.mode, self.lens, self.focal_mm)
        if prop == Prop.ISO:
            return tables.iso_choices(self.mode)
        return tables.CHOICES.get(prop)

    def encoded_choices(self, prop: Prop) -> list[bytes] | None:
        """The choices as they go over the wire."""
        if prop in (Prop.FORMAT, Prop.FORMAT_SD):
            return [f.encode() for f in FORMATS]
        numbers = self.choices(prop)
        return None if numbers is None else [u32(n) for n in numbers]

    @property
    def is_bulb(self) -> bool:
        """Whether the shutter stays open as long as the release is pressed."""
        return self.number(Prop.SHUTTER) == tables.BULB

    def exposure(self, lux: float, bulb_s: float = 1.0) -> Exposure:
        """The marked settings that an exposure now has: set ones in M, metered ones elsewhere."""
        shutter_s = tables.SHUTTER_CODES.get(self.number(Prop.SHUTTER))
        f_number = tables.APERTURE_CODES.get(self.number(Prop.APERTURE))
        iso = tables.ISO_CODES.get(self.number(Prop.ISO))
        if self.mode == Mode.M and f_number is not None:
            if self.is_bulb:
                return Exposure(bulb_s, iso or 100, f_number)
            if shutter_s is not None and iso is not None:
                return Exposure(shutter_s, iso, f_number)
        wishes = Wishes(shutter_s, iso, f_number, self._compensation_ev())
        offered = [tables.APERTURE_CODES[c] for c in self.lens.apertures(self.focal_mm)]
        body = Choices(
            tuple(tables.SHUTTER_CODES.values()), tuple(tables.ISO_CODES.values()), offered
        )
        if shutter_s is not None and f_number is not None:  # M with Auto ISO
            return self._auto_iso_in_manual(lux, shutter_s, f_number)
        return choose(self.mode, lux, wishes, body)

    def spelled(self) -> dict[str, str | int]:
        """Settings as people write them, for the control endpoint."""
        shutter = tables.SHUTTER_CODES.get(self.number(Prop.SHUTTER))
        f_number = tables.APERTURE_CODES.get(self.number(Prop.APERTURE))
        iso = tables.ISO_CODES.get(self.number(Prop.ISO))
        automatic = "bulb" if self.is_bulb else "auto"
        target = tables.Destination(self.number(Prop.DESTINATION))
        return {
            "shutter": automatic if shutter is None else spell_shutter(shutter),
            "iso": "Auto" if iso is None else str(iso),
            "f_number": "auto" if f_number is None else spell_f_number(f_number),
            "destination": target.name.lower(),
            "focus": tables.Focus(self.number(Prop.FOCUS)).name.lower(),
            "image_format": FORMATS.index(self.image_format),
            "focal_mm": self.focal_mm,
        }

    # --- changing

    def refusal(self, prop: int, raw: bytes) -> Response | None:
        """Why the host may not set this, or None."""
        if prop not in self.values:
            return Response.PROPERTY_NOT_SUPPORTED
        known = Prop(prop)
        if known in tables.READ_ONLY:
            return Response.INVALID_VALUE
        if known not in tables.TEXTS and len(raw) != len(self.values[known]):
            return Response.INVALID_VALUE
        choices = self.encoded_choices(known)
        if choices is not None and raw not in choices:
            return Response.INVALID_VALUE
        return None

    def put(self, prop: Prop, raw: bytes) -> list[Prop]:
        """Change one value; returns the properties whose value changed with it."""
        self.values[prop] = raw
        if prop in _DIAL_SETTINGS:
            self._chosen[prop] = self.number(prop)
        if prop in (Prop.FORMAT, Prop.FORMAT_SD):  # one card slot: two names of one setting
            self.values[Prop.FORMAT] = self.values[Prop.FORMAT_SD] = raw
            return [Prop.FORMAT, Prop.FORMAT_SD]
        return [prop]

    def set_by_hand(self, name: str, value: int | dict[str, int]) -> list[Prop]:
        """Change what the host may not or has not; ValueError for what this body has not."""
        try:
            prop = Prop[name.upper()]
        except KeyError as error:
            known = ", ".join(p.name.lower() for p in Prop)
            raise ValueError(f"no property {name!r}: one of {known}") from error
        if prop in (Prop.MODE, Prop.MODE_DIAL):
            raise ValueError("the mode dial has a request of its own")
        if prop == Prop.CUSTOM_FUNCTIONS and isinstance(value, dict):
            functions = {int(key, 16): number for key, number in value.items()}
            return self.put(prop, tables.with_custom_functions(self.values[prop], functions))
        if isinstance(value, dict | bool) or not isinstance(value, int):
            raise ValueError(f"{name} takes a whole number, not {value!r}")
        if prop in (Prop.FORMAT, Prop.FORMAT_SD):
            if not 0 <= value < len(FORMATS):
                raise ValueError(f"{name} is a place in a menu of {len(FORMATS)}")
            return self.put(prop, FORMATS[value].encode())
        if prop in tables.TEXTS or len(self.values[prop]) != 4:
            raise ValueError(f"{name} is a text and cannot be set")
        return self.put(prop, u32(value))

    def clear(self, values: Mapping[Prop, bytes]) -> list[Prop]:
        """Set many at once, as "Clear all camera settings" does; returns what changed."""
        changed = [p for prop, value in values.items() for p in self.put(prop, value)]
        return [*changed, *self._fit_to_choices()]

    def turn_dial(self, mode: Mode) -> list[Prop]:
        """Turn the mode dial; returns the properties whose value or choices changed."""
        self.values[Prop.MODE] = self.values[Prop.MODE_DIAL] = u32(mode)
        return [Prop.MODE, Prop.MODE_DIAL, *self._fit_to_choices()]

    def zoom(self, focal_mm: int) -> list[Prop]:
        """Turn the zoom ring; returns the properties whose value or choices changed."""
        self.lens.apertures(focal_mm)  # ValueError for a focal length that it has not
        self.focal_mm = focal_mm
        return self._fit_to_choices()

    def _fit_to_choices(self) -> list[Prop]:
        for prop in _DIAL_SETTINGS:
            offered = self.choices(prop) or ()
            code = self._chosen[prop]
            if code not in offered:  # an aperture that the zoom lost, or a mode that chooses
                code = min(offered, key=lambda c, code=code: abs(c - code))  # type: ignore[misc]
            self.values[prop] = u32(code)
        return list(_DIAL_SETTINGS)

    def _compensation_ev(self) -> float:
        code = self.number(Prop.EXPOSURE_COMPENSATION)
        return (code - (1 << 32) if code >= 1 << 31 else code) / 8

    def _auto_iso_in_manual(self, lux: float, shutter_s: float, f_number: float) -> Exposure:
        speeds = tuple(tables.ISO_CODES.values())
        body = Choices((shutter_s,), speeds, (f_number,))
        return choose(Mode.M, lux, Wishes(shutter_s, None, f_number), body)
