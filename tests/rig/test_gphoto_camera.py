"""The driver over a scripted session: what it sends, in which order, and what it puts back."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass, field

import pytest

from rig import gphoto_camera
from rig.errors import AskOperator, Reconnect, Retry
from rig.gphoto_camera import GphotoCamera
from rig.gphoto_errors import Busy
from rig.gphoto_session import Event, EventKind
from schemas.exposure import Exposure
from tests.devices import FakeClock

NOTHING = Event(EventKind.NOTHING)
CHATTER = Event(EventKind.OTHER, text="Camera Status 1")
COMPLETE = Event(EventKind.OTHER)

CHOICES = {
    "capturetarget": ("Internal RAM", "Memory card"),
    "imageformat": ("L", "M", "S2", "RAW + L"),
    "drivemode": ("Single", "Continuous"),
    "reviewtime": ("None", "2 seconds"),
    "shutterspeed": ("bulb", "30", "10.3", "1", "0.5", "1/60", "1/250"),
    "iso": ("Auto", "100", "400"),
    "aperture": ("5.6", "8", "22"),
    "autoexposuremode": ("P", "AV", "Manual"),
    "eosremoterelease": ("None", "Press Full MF", "Release Full", "Release"),
}


def picture(name: str = "capt0000.jpg", folder: str = "/") -> Event:
    return Event(EventKind.PICTURE, folder=folder, name=name)


@dataclass
class Body:
    """What outlives a session."""

    values: dict[str, str] = field(
        default_factory=lambda: {
            "capturetarget": "Memory card",
            "imageformat": "RAW + L",
            "drivemode": "Continuous",
            "reviewtime": "2 seconds",
            "shutterspeed": "1",
            "iso": "100",
            "aperture": "22",
            "autoexposuremode": "Manual",
            "eosremoterelease": "None",
            "cameramodel": "Canon EOS Test",
            "eosserialnumber": "123",
            "deviceversion": "3-1.0.0",
            "lensname": "lens",
        }
    )
    choices: dict[str, tuple[str, ...]] = field(default_factory=lambda: dict(CHOICES))
    events: deque[Event] = field(default_factory=deque)
    on_release: deque[list[Event]] = field(default_factory=deque)
    errors: dict[str, deque[Exception]] = field(default_factory=lambda: defaultdict(deque))
    log: list[tuple[str, ...]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    dead: bool = False

    def did(self, *verbs: str) -> list[tuple[str, ...]]:
        return [entry for entry in self.log if entry[0] in verbs]


class ScriptedSetting:
    def __init__(self, session: ScriptedSession, name: str) -> None:
        self._session, self.name = session, name
        self.value = session.body.values[name]
        self.choices = session.body.choices.get(name, ())

    def set(self, value: str) -> None:
        self._session.meet(f"set {self.name}")
        body = self._session.body
        body.log.append(("set", self.name, value))
        body.values[self.name] = value
        if value.startswith("Press"):
            self._session.release()


class ScriptedSession:
    def __init__(self, body: Body, port: str) -> None:
        self.body, self.port = body, port
        self.dead = False
        if body.dead:
            raise Reconnect("nobody there")

    def meet(self, what: str) -> None:
        if self.body.dead:
            self.dead = True
            raise Reconnect("gone")
        if self.body.errors[what]:
            error = self.body.errors[what].popleft()
            self.dead = isinstance(error, Reconnect)
            raise error

    def release(self) -> None:
        script = self.body.on_release
        self.body.events.extend(script.popleft() if script else [CHATTER, picture(), COMPLETE])

    def setting(self, name: str) -> ScriptedSetting | None:
        self.meet(f"get {name}")
        return ScriptedSetting(self, name) if name in self.body.values else None

    def value(self, name: str) -> str:
        setting = self.setting(name)
        return setting.value if setting else ""

    def poll(self) -> Event:
        self.meet("poll")
        return self.body.events.popleft() if self.body.events else NOTHING

    def trigger(self) -> None:
        self.meet("trigger")
        self.body.log.append(("trigger",))
        self.release()

    def download(self, folder: str, name: str) -> bytes:
        self.meet("download")
        self.body.log.append(("download", folder + name))
        return self.body.files.get(name, f"{folder}{name}".encode())

    def delete(self, folder: str, name: str) -> None:
        self.meet("delete")
        self.body.log.append(("delete", folder + name))

    def exit(self) -> None:
        self.body.log.append(("exit",))


@pytest.fixture
def body() -> Body:
    return Body()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def camera(body, clock, monkeypatch) -> GphotoCamera:
    monkeypatch.setattr(gphoto_camera, "Session", lambda port: ScriptedSession(body, port))
    return GphotoCamera("ptpip:127.0.0.1:9", now_s=clock.now_s, sleep=clock.sleep)


E = Exposure(1 / 60, 400, 8.0)


def test_open_readies_the_body_and_close_puts_everything_back_in_reverse(camera, body):
    before = dict(body.values)

    info = camera.open()
    assert (info.model, info.serial, info.firmware, info.lens) == (
        ("Canon EOS Test", "123", "3-1.0.0", "lens")
    )
    assert info.port == "ptpip:127.0.0.1:9:9"
    assert not info.simulated
    assert body.values["capturetarget"] == "Internal RAM"
    assert body.values["imageformat"] == "S2"
    assert body.values["drivemode"] == "Single"
    assert body.values["reviewtime"] == "None"
    camera.apply(E)
    camera.shoot(5)
    changed = [name for _, name, _ in body.did("set") if name != "eosremoterelease"]
    body.log.clear()
    camera.close()
    camera.close()

    restored = [name for _, name, _ in body.did("set")]
    assert restored == changed[::-1]
    assert {**body.values, "eosremoterelease": "None"} == before
    assert body.did("exit") == [("exit",)]


def test_a_body_that_calls_itself_virtual_is_recorded_as_simulated(camera, body):
    body.values["deviceversion"] = "3-1.0.0-Virtual"
    assert camera.open().simulated


def test_formats_go_by_the_names_of_an_older_library(camera, body):
    body.choices["imageformat"] = ("Large Fine JPEG", "Smaller JPEG", "RAW")
    body.choices["eosremoterelease"] = ("None", "Press Full", "Release Full")
    camera.open()

    assert body.values["imageformat"] == "Smaller JPEG"
    camera.shoot(5)
    assert body.did("trigger")  # that library has no release without focus


def test_a_body_without_the_format_is_for_the_operator(camera, body):
    body.choices["imageformat"] = ("L", "RAW")
    with pytest.raises(AskOperator, match="L, RAW"):
        camera.open()
    assert body.did("exit")


def test_a_body_that_is_busy_after_connecting_is_waited_for(camera, body, clock):
    body.errors["set imageformat"].extend([Busy("busy")] * 4)
    camera.open()
    assert body.values["imageformat"] == "S2"
    assert clock.now_s() > 0

    body.errors["set imageformat"].extend([Busy("busy")] * 1000)
    body.values["imageformat"] = "L"
    with pytest.raises(Busy):
        camera.open()


def test_leftovers_in_memory_are_discarded_and_files_on_the_card_kept(camera, body):
    body.events.extend([CHATTER, picture(), picture("IMG_0001.JPG", "/store_1/DCIM"), CHATTER])
    camera.open()
    assert body.did("delete") == [("delete", "/capt0000.jpg")]


def test_only_what_differs_is_sent_until_there_is_doubt(camera, body):
    camera.open()

    def sent(exposure: Exposure) -> list[str]:
        body.log.clear()
        camera.apply(exposure)
        return [name for _, name, _ in body.did("set")]

    every = ["shutterspeed", "iso", "aperture"]
    assert sent(E) == every
    assert sent(E) == []
    assert sent(Exposure(1 / 60, 100, 8.0)) == ["iso"]
    assert body.log == [("set", "iso", "100")]
    camera.forget()
    assert sent(E) == every
    body.errors["poll"].append(Busy("busy"))
    with pytest.raises(Busy):
        camera.shoot(5)
    assert sent(E) == every
    body.errors["set iso"].append(Busy("busy"))
    with pytest.raises(Busy):
        camera.apply(Exposure(1 / 250, 100, 8.0))
    assert sent(Exposure(1 / 250, 100, 8.0)) == every
    camera.open()
    assert sent(E) == every


def test_settings_are_sent_in_the_bodys_own_spelling(camera, body):
    camera.open()
    camera.apply(Exposure(10.0, 100, 22.0))
    assert body.values["shutterspeed"] == "10.3"
    assert camera.offered().shutter == ("30", "10.3", "1", "0.5", "1/60", "1/250")
    assert camera.offered().iso == ("100", "400")


def test_a_setting_that_is_not_offered_is_for_the_operator(camera, body):
    camera.open()
    with pytest.raises(AskOperator, match="aperture") as caught:
        camera.apply(Exposure(1 / 60, 100, 11.0))
    assert "lens" in caught.value.action
    with pytest.raises(AskOperator, match="iso"):
        camera.apply(Exposure(1 / 60, 200, 8.0))

    body.values["autoexposuremode"] = "AV"
    body.choices["shutterspeed"] = ("auto",)
    with pytest.raises(AskOperator, match="AV") as caught:
        camera.apply(E)
    assert "dial to M" in caught.value.action
    assert camera.mode() == "AV"


def test_a_dial_turned_between_look_and_set_is_for_the_operator(camera, body):
    camera.open()

    class Turned(Retry):
        def __init__(self) -> None:
            body.choices["shutterspeed"] = ("auto",)
            body.values["autoexposuremode"] = "P"
            super().__init__("unspecified error")

    session = camera._session
    meet = session.meet
    session.meet = lambda what: (
        (_ for _ in ()).throw(Turned()) if what == ("set shutterspeed") else meet(what)
    )
    with pytest.raises(AskOperator, match="dial is on P"):
        camera.apply(E)


def test_a_shot_is_released_without_focus_fetched_deleted_and_read_to_the_end(camera, body):
    camera.open()
    body.log.clear()
    body.events.append(picture("capt0007.jpg"))  # left over: never taken for the new one
    body.on_release.append([CHATTER, picture("capt0008.jpg"), CHATTER, COMPLETE])

    shot = camera.shoot(5)

    assert shot.data == b"/capt0008.jpg"
    assert body.log == [
        ("delete", "/capt0007.jpg"),
        ("set", "eosremoterelease", "Press Full MF"),
        ("set", "eosremoterelease", "Release"),
        ("download", "/capt0008.jpg"),
        ("delete", "/capt0008.jpg"),
    ]
    assert not body.events
    assert shot.commanded_monotonic_s <= shot.ended_monotonic_s


def test_the_raw_twin_and_a_second_announcement_are_discarded(camera, body):
    camera.open()
    body.files = {"b.jpg": b"same", "c.jpg": b"same"}
    body.on_release.append([picture("a.cr2"), picture("b.jpg"), picture("c.jpg"), COMPLETE])
    shot = camera.shoot(5)
    assert shot.name == "b.jpg"
    assert body.did("delete") == [("delete", "/a.cr2"), ("delete", "/b.jpg"), ("delete", "/c.jpg")]


def test_two_pictures_of_one_exposure_are_both_discarded_and_shot_again(camera, body):
    camera.open()
    body.on_release.append([picture("old.jpg"), picture("new.jpg"), COMPLETE])
    with pytest.raises(Retry, match="2 different pictures"):
        camera.shoot(5)
    assert body.did("delete") == [("delete", "/old.jpg"), ("delete", "/new.jpg")]
    assert camera.shoot(5).name == "capt0000.jpg"


def test_trouble_after_the_picture_does_not_lose_it(camera, body):
    camera.open()
    camera.apply(E)
    body.on_release.append([picture()])
    body.errors["delete"].append(Retry("deleted already"))
    polls = iter([NOTHING, picture(), Retry("second announcement of what is gone")])
    session = camera._session

    def poll() -> Event:
        event = next(polls)
        if isinstance(event, Exception):
            raise event
        return event

    session.poll = poll
    assert camera.shoot(5).data == b"/capt0000.jpg"


def test_no_picture_is_a_retry_at_our_own_deadline_and_the_usual_release_comes_next(
    camera, body, clock
):
    camera.open()
    body.on_release.append([CHATTER])
    before_s = clock.now_s()
    with pytest.raises(Retry, match=r"5\.0 s"):
        camera.shoot(5)
    assert clock.now_s() - before_s == pytest.approx(5, abs=0.2)

    camera.shoot(5)
    assert body.did("trigger")


@pytest.mark.parametrize(("error", "usual"), [(Busy("busy"), False), (Retry("no"), True)])
def test_a_failed_release_lets_go_of_the_button(camera, body, error, usual):
    camera.open()
    body.log.clear()
    body.errors["set eosremoterelease"].append(error)
    with pytest.raises(Retry):
        camera.shoot(5)
    assert body.log == [("set", "eosremoterelease", "Release")]

    camera.shoot(5)
    assert bool(body.did("trigger")) is usual


@pytest.mark.parametrize(
    ("target", "error"), [("Memory card", AskOperator), ("Internal RAM", Retry)]
)
def test_no_shots_left_mean_a_full_card_only_where_pictures_go_to_it(
    body, clock, monkeypatch, target, error
):
    monkeypatch.setattr(gphoto_camera, "Session", lambda port: ScriptedSession(body, port))
    camera = GphotoCamera("ptpip:127.0.0.1:9", target=target, now_s=clock.now_s, sleep=clock.sleep)
    body.values["availableshots"] = "0"
    camera.open()
    body.errors["set eosremoterelease"].append(Retry("no"))
    with pytest.raises(error):
        camera.shoot(5)


def test_a_failed_trigger_lets_go_of_the_button_too(camera, body):
    body.choices["eosremoterelease"] = ("None", "Press Full", "Release Full")
    camera.open()
    body.log.clear()
    body.errors["trigger"].append(Busy("busy"))
    with pytest.raises(Busy):
        camera.shoot(5)
    assert body.log == [("set", "eosremoterelease", "Release Full")]


def test_a_body_that_never_stops_talking_is_a_retry(camera, body, clock):
    camera.open()

    def poll() -> Event:
        clock.sleep(0.5)
        return CHATTER

    camera._session.poll = poll
    with pytest.raises(Retry, match="kept sending"):
        camera.shoot(5)


def test_a_dead_session_is_reconnect_until_opened_and_the_settings_found_are_not_lost(camera, body):
    before = dict(body.values)
    camera.open()
    camera.apply(E)
    body.dead = True
    with pytest.raises(Reconnect):
        camera.shoot(5)
    with pytest.raises(Reconnect, match="session is over"):
        camera.apply(E)
    camera.close()
    with pytest.raises(Reconnect):
        camera.open()

    body.dead = False
    camera.open()
    camera.shoot(5)
    camera.close()
    assert {**body.values, "eosremoterelease": "None"} == before


def test_close_goes_on_when_one_setting_cannot_be_put_back(camera, body):
    camera.open()
    body.errors["set drivemode"].append(Busy("busy"))
    camera.close()
    assert body.values["drivemode"] == "Single"
    assert body.values["capturetarget"] == "Memory card"


def test_nothing_works_before_open(camera):
    with pytest.raises(Reconnect):
        camera.shoot(5)
    camera.close()
