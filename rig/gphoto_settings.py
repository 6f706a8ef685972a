"""What the body was found with, what it was told since, and what it will not take."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from rig.errors import AskOperator, Retry, RigError
from rig.gphoto_errors import Busy
from rig.gphoto_names import AUTO_PICTURE_STYLE, AUTO_WHITE_BALANCE, pick
from rig.gphoto_session import Session, Setting
from rig.protocols import OfferedSettings
from schemas.exposure import Exposure, spell_f_number, spell_shutter

_log = logging.getLogger(__name__)

_MANUAL = "Manual"


class BodySettings:
    """The settings of one body over its sessions.

    What was found is remembered at the first change and outlives a session that died, so that a
    later one puts back what was there before all of them.
    """

    def __init__(self) -> None:
        self._found: dict[str, str] = {}
        self._told: dict[str, str] = {}  # what the body accepted in this session

    def prepare(
        self,
        session: Session,
        target: str,
        image_format: str,
        white_balance: str = "",
        picture_style: str = "",
    ) -> None:
        """Set what a sweep needs whatever is shot: one JPEG per release, and where it waits.

        An automatic white balance or picture style would render each frame its own way: it is
        replaced for the session where a name is given. What a person has fixed stays.
        """
        self._change(session, "capturetarget", target, required=True)
        self._change(session, "imageformat", image_format, required=True)
        self._change(session, "imageformatsd", image_format)
        self._change(session, "drivemode", "Single")
        self._change(session, "reviewtime", "None")
        self._fix(session, "whitebalance", AUTO_WHITE_BALANCE, white_balance)
        self._fix(session, "picturestyle", AUTO_PICTURE_STYLE, picture_style)

    def offered(self, session: Session) -> OfferedSettings:
        """What the body offers; ``bulb`` and ``auto`` are left out where it lists them."""
        names = ("shutterspeed", "iso", "aperture")
        shutter, iso, f_number = (_values(needed(session, name)) for name in names)
        return OfferedSettings(shutter=shutter, iso=iso, f_number=f_number)

    def apply(self, session: Session, exposure: Exposure) -> None:
        """Tell the body what it has not been told and accepted already.

        Raises Retry, Reconnect, and AskOperator for a setting that the body does not offer; after
        any of them nothing counts as told.
        """
        spellings: dict[str, Callable[[tuple[str, ...]], str]] = {
            "shutterspeed": lambda offered: spell_shutter(exposure.shutter_s, offered),
            "iso": lambda offered: _listed(str(exposure.iso), offered),
            "aperture": lambda offered: _listed(
                spell_f_number(exposure.f_number, offered), offered
            ),
        }
        try:
            for name, spell in spellings.items():
                setting = needed(session, name)
                try:
                    value = spell(_values(setting) or ("nothing",))
                except ValueError as error:
                    raise _not_offered(session, setting, exposure) from error
                if self._told.get(name) != value:
                    self._tell(session, setting, value)
        except RigError:
            self.forget()
            raise

    def forget(self) -> None:
        """Doubt what the body holds: the next `apply` tells it everything."""
        self._told.clear()

    def restore(self, session: Session) -> None:
        """Put back what was found, the last change first. Never raises RigError."""
        self.forget()
        for name, value in reversed(self._found.copy().items()):
            if session.dead:
                _log.warning("the camera is gone; its settings are put back when it returns")
                return
            try:
                setting = session.setting(name)
                if setting is not None and setting.value != value:
                    setting.set(value)
            except RigError as error:
                _log.warning("%s was %r and could not be put back: %s", name, value, error)
            if not session.dead:
                del self._found[name]

    def _change(self, session: Session, name: str, wanted: str, *, required: bool = False) -> None:
        setting = needed(session, name) if required else session.setting(name)
        if setting is None:
            return
        value = pick(wanted, setting.choices)
        if value is None:
            if required:
                raise AskOperator(
                    f"The camera offers no {name} {wanted!r}, only {', '.join(setting.choices)}.",
                    "Choose one of these under [camera] in rig.toml.",
                )
            return
        # The capture target shown is the library's memory of an earlier program, not the body's.
        if value != setting.value or name == "capturetarget":
            self._found.setdefault(name, setting.value)
            setting.set(value)

    def _fix(self, session: Session, name: str, automatic: frozenset[str], wanted: str) -> None:
        setting = session.setting(name)
        if not wanted or setting is None or setting.value not in automatic:
            return
        try:
            self._change(session, name, wanted)
        except Busy:
            raise
        except Retry as error:  # a dial on A+ lets nobody choose; the preflight says so
            _log.info("%s stays %s: %s", name, setting.value, error)

    def _tell(self, session: Session, setting: Setting, value: str) -> None:
        self._found.setdefault(setting.name, setting.value)
        try:
            setting.set(value)
        except Retry as error:
            fresh = needed(session, setting.name)
            if value not in fresh.choices:  # the dial was turned in between
                raise _not_offered(session, fresh, value) from error
            raise
        self._told[setting.name] = value


def needed(session: Session, name: str) -> Setting:
    """A fresh widget that every Canon EOS body has. Raises AskOperator for another kind of body."""
    setting = session.setting(name)
    if setting is None:
        raise AskOperator(
            f"This camera has no setting {name!r}: it cannot be driven by this rig.",
            "Use a Canon EOS body with remote control, in tethered mode.",
        )
    return setting


def _not_offered(session: Session, setting: Setting, wanted: object) -> AskOperator:
    mode = session.value("autoexposuremode")
    if mode != _MANUAL:
        return AskOperator(
            f"The camera offers no {setting.name} for {wanted}: its dial is on {mode or '?'}.",
            "Turn the mode dial to M, then resume.",
        )
    return AskOperator(
        f"The camera offers no {setting.name} for {wanted}, only {_abbreviate(setting.choices)}.",
        "Check lens and zoom, or take the setting out of the plan, then resume.",
    )


def _values(setting: Setting) -> tuple[str, ...]:
    return tuple(choice for choice in setting.choices if choice[:1].isdigit())


def _listed(value: str, offered: Iterable[str]) -> str:
    if value not in offered:
        raise ValueError(value)
    return value


def _abbreviate(choices: tuple[str, ...]) -> str:
    return ", ".join(choices) if len(choices) < 9 else f"{choices[0]} … {choices[-1]}"
