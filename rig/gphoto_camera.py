"""The camera driver: what is set, when it fires, and what is put back.

One session for the whole run. The sequence of a shot, and why:

1. `apply` sends only the settings that differ from what the body was told last and accepted
   (fewer mechanical moves, fewer busy windows). Any error, `forget` and a new session make the
   next one send all three.
2. `shoot` looks for leftovers first, so that an older picture is never taken for the new one.
3. The button is pressed with ``eosremoterelease`` = "Press Full MF" where the body's widget
   offers it: it fires without asking the autofocus, which hunts in the dark, and it takes 3 ms
   where `trigger_capture` takes 150 ms or more (half press, two waits of 50 ms for a focus report
   that never comes with the lens on MF, full press). If it fails for another reason than a busy
   body, or if no picture follows, the session goes on with `trigger_capture`.
4. The event queue is looked at under our own deadline. libgphoto2's own wait sleeps 50 ms more
   after each empty look; here the sleep is a share of the time waited so far, so that the
   end of a short exposure is seen at once and a long one costs a few looks a second.
5. The picture is transferred, deleted, and what the body says after it is read away.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from rig.errors import AskOperator, Reconnect, Retry, RigError
from rig.gphoto_errors import Busy
from rig.gphoto_names import LET_GO, PRESS_WITHOUT_FOCUS, complete_port
from rig.gphoto_session import Event, EventKind, Session
from rig.gphoto_settings import BodySettings, needed
from rig.protocols import CameraInfo, OfferedSettings, Picture
from schemas.exposure import Exposure

_log = logging.getLogger(__name__)

#: Share of the time waited so far that the next sleep may last, and its limits in seconds.
_SLEEP_SHARE, _SLEEP_MIN_S, _SLEEP_MAX_S = 0.05, 0.005, 0.1

#: A body that never stops talking is not drained for longer than this.
_DRAIN_S = 10.0

#: What follows a picture is a handful of events; more than this many are left for later.
_MOST_EVENTS = 200

#: A body over Wi-Fi refuses everything for about 5 s after it accepted the connection.
_READY_S = 8.0

_RAM = "Internal RAM"


class GphotoCamera:
    """`rig.protocols.Camera` over libgphoto2. All calls come from one thread.

    Parameters
    ----------
    port : str
        ``usb:``, ``usb:BUS,DEVICE`` or ``ptpip:ADDRESS:PORT:PORT``.
    target : str
        Where the body puts a picture until it is fetched: ``Internal RAM`` or ``Memory card``.
    image_format : str
        libgphoto2's name of a JPEG format, in any version's spelling; ``S2`` is 1920x1280.
    white_balance, picture_style : str
        What an automatic one is replaced with for the session; empty leaves it.
    now_s, sleep : callable
        Monotonic clock and sleep, for tests.
    """

    def __init__(
        self,
        port: str = "usb:",
        *,
        target: str = _RAM,
        image_format: str = "S2",
        white_balance: str = "",
        picture_style: str = "",
        now_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._port = complete_port(port)
        self._target = target
        self._image_format = image_format
        self._white_balance, self._picture_style = white_balance, picture_style
        self.leftovers = 0
        self._now_s = now_s
        self._sleep = sleep
        self._open: Session | None = None
        self._settings = BodySettings()
        self._undeleted: list[Event] = []  # ours on the card; outlives a dead session, too
        self._press: str | None = None  # how to fire without autofocus, if that works
        self._let_go: str | None = None

    def open(self) -> CameraInfo:
        """Take the body. Afterwards: one session, JPEG only, no leftover picture in the buffer."""
        self.close()
        self._open = Session(self._port)
        self.leftovers = 0
        try:
            self._when_ready(self._prepare)
            return self._info()
        except RigError:
            self.close()
            raise

    def mode(self) -> str:
        """The mode dial now: ``Manual``, ``P``, ``AV``, ``TV``, ``Auto`` and so on."""
        self._drain()
        return self._session.value("autoexposuremode")

    def read_settings(self) -> Mapping[str, str]:
        """Every readable setting now, by libgphoto2's name.

        Of two of one name the later counts, Canon's own: the standard battery level says 100 %
        for ever on some bodies.
        """
        self._drain()
        return dict(self._session.values())

    def offered(self) -> OfferedSettings:
        """What the body offers now; ``bulb`` and ``auto`` are left out where it lists them."""
        self._drain()  # a new lens or zoom tells its choices by an event
        return self._settings.offered(self._session)

    def apply(self, exposure: Exposure) -> None:
        """Command a triplet. Afterwards the body has been told all three; the Exif is the proof."""
        self._settings.apply(self._session, exposure)

    def forget(self) -> None:
        """Doubt what the body holds. Afterwards the next `apply` sends all three settings."""
        self._settings.forget()

    def shoot(self, timeout_s: float) -> Picture:
        """Expose once and download. Afterwards the camera holds no picture of this session."""
        try:
            self._drain()
            commanded_at, commanded_s = datetime.now(UTC), self._now_s()
            self._fire()
            picture = self._await_picture(commanded_s, timeout_s)
            ended_s = self._now_s()
            data = self._session.download(picture.folder, picture.name)
            self._discard(picture)
            self._settle(data)
        except RigError:
            self.forget()
            raise
        return Picture(data, picture.name, commanded_at, commanded_s, ended_s)

    def close(self) -> None:
        """Put back the settings found by `open` and release the body. Never raises RigError."""
        session, self._open = self._open, None
        if session is None:
            return
        self._settings.restore(session)
        session.exit()

    @property
    def _session(self) -> Session:
        if self._open is None or self._open.dead:
            raise Reconnect("The camera's session is over.", "Open the camera again.")
        return self._open

    # ---- taking the body

    def _prepare(self) -> None:
        self.leftovers += self._drain(keep_card=True)
        for picture in self._undeleted.copy():
            self._discard(picture)
        self._settings.prepare(
            self._session,
            self._target,
            self._image_format,
            self._white_balance,
            self._picture_style,
        )
        self.leftovers += self._drain(keep_card=True)
        release = self._session.setting("eosremoterelease")
        offered = release.choices if release else ()
        self._let_go = next((name for name in LET_GO if name in offered), None)
        can_press = self._let_go and PRESS_WITHOUT_FOCUS in offered
        self._press = PRESS_WITHOUT_FOCUS if can_press else None

    def _when_ready(self, step: Callable[[], None]) -> None:
        """Run `step`, again and again while the body is busy, for `_READY_S` at most."""
        deadline_s = self._now_s() + _READY_S
        while True:
            try:
                step()
            except Retry:
                if self._now_s() >= deadline_s:
                    raise
                self._sleep(0.25)
            else:
                return

    def _info(self) -> CameraInfo:
        read = self._session.value
        serials = (read("eosserialnumber"), read("serialnumber"))
        firmware = read("deviceversion")
        return CameraInfo(
            model=read("cameramodel"),
            serial=serials[0] or serials[1],
            firmware=firmware,
            lens=read("lensname"),
            port=self._session.port,
            simulated=any("virtual" in text.lower() for text in (firmware, *serials)),
        )

    # ---- firing

    def _fire(self) -> None:
        """Press the button and let go of it, whether or not pressing succeeded."""
        try:
            if self._press is None:
                self._session.trigger()  # lets go by itself, unless it fails halfway
                return
            needed(self._session, "eosremoterelease").set(self._press)
        except Retry as error:
            self._take_finger_off()
            if self._press is not None and not isinstance(error, Busy):
                _log.warning("the release without autofocus failed, using the usual one: %s", error)
                self._press = None
            self._require_room(error)
            raise
        self._take_finger_off()

    def _require_room(self, refused: Retry) -> None:
        """Tell a full card from the other causes of a failed release: all are -1 in libgphoto2.

        In the computer's memory there is room; 0 shots left may then only mean that no card is in.
        """
        if isinstance(refused, Busy) or self._target == _RAM:
            return
        self._drain()  # the number of shots left comes by an event
        if self._session.value("availableshots") == "0":
            raise AskOperator(
                "The camera has no room for another picture: its card is full (0 shots left).",
                "Empty the card or put another one in, then `snaprig capture resume`.",
            ) from refused

    def _take_finger_off(self) -> None:
        """Let go of the button: a pressed one keeps the body busy for ever."""
        if self._let_go is None:
            return
        try:
            needed(self._session, "eosremoterelease").set(self._let_go)
        except Retry as error:
            _log.warning("the shutter button may still be pressed: %s", error)

    def _await_picture(self, since_s: float, timeout_s: float) -> Event:
        """The announced JPEG. A raw twin that comes before it is discarded."""
        while True:
            event = self._session.poll()
            if event.kind is EventKind.PICTURE:
                if event.folder != "/":
                    self._undeleted.append(event)
                if _is_jpeg(event):
                    return event
                self._discard(event)
            waited_s = self._now_s() - since_s
            if waited_s >= timeout_s:
                self._press = None
                raise Retry(
                    f"No picture arrived within {timeout_s:.1f} s.",
                    "Check that the lens is on MF and the camera is not showing an error.",
                )
            if event.kind is EventKind.NOTHING:
                nap_s = min(max(_SLEEP_SHARE * waited_s, _SLEEP_MIN_S), _SLEEP_MAX_S)
                self._sleep(min(nap_s, timeout_s - waited_s))

    # ---- reading away

    def _drain(self, *, keep_card: bool = False) -> int:
        """Read events until there are none; discard pictures, and say how many there were.

        With `keep_card`, files on the card are left alone: before the first shot of a session
        they can only be somebody's own.
        """
        leftovers = 0
        deadline_s = self._now_s() + _DRAIN_S
        while (event := self._session.poll()).kind is not EventKind.NOTHING:
            if event.kind is EventKind.PICTURE and not (keep_card and event.folder != "/"):
                leftovers += 1
                self._discard(event)
            if self._now_s() > deadline_s:
                raise Retry(f"The camera kept sending events for {_DRAIN_S:.0f} s.")
        if leftovers:
            _log.warning("discarded %d leftover picture(s) from the camera", leftovers)
        return leftovers

    def _settle(self, taken: bytes) -> None:
        """Read what follows the picture in hand, so that the next release meets an idle body.

        The same picture announced twice, and a raw twin, are discarded. Another JPEG is a Retry:
        one of the two was left over from before, and nothing says which. Trouble that does not
        touch the picture in hand is left for the next call to meet.
        """
        strangers = 0
        try:
            for _ in range(_MOST_EVENTS):
                event = self._session.poll()
                if event.kind is EventKind.NOTHING:
                    break
                if event.kind is EventKind.PICTURE:
                    if _is_jpeg(event):
                        data = self._session.download(event.folder, event.name)
                        strangers += data != taken
                    self._discard(event)
        except RigError as error:
            self.forget()
            _log.info("after a picture: %s", error)
        if strangers:
            raise Retry(
                f"The camera gave {strangers + 1} different pictures for one exposure.",
                "Nothing to do: they are discarded and the frame is shot again.",
            )

    def _discard(self, picture: Event) -> None:
        try:
            self._session.delete(picture.folder, picture.name)
        except Retry as error:  # announced twice and gone already, or a locked card
            _log.warning("could not delete %s from the camera: %s", picture.name, error)
        if picture in self._undeleted:
            self._undeleted.remove(picture)


def _is_jpeg(picture: Event) -> bool:
    return picture.name.lower().endswith((".jpg", ".jpeg"))
