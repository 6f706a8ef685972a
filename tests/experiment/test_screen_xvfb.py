"""The real screen: PsychoPy in a virtual X server, real X events, and what is really visible."""

import json
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from Xlib import X, display

from hardware_mocks.robot_participant import Hands
from tests.experiment.picture_lab import photograph, virtual_screen

pytestmark = pytest.mark.timeout(400)  # PsychoPy starts slowly on a busy machine

SCRIPT = Path(__file__).with_name("screen_process.py")
WIDE, HIGH = 960, 640


class ShownScreen:
    """The screen's process, the X server as seen from outside, and hands."""

    def __init__(self, process, env, monkeypatch):
        self.process = process
        self.size_px = json.loads(process.stdout.readline())["size_px"]
        monkeypatch.setenv("DISPLAY", env["DISPLAY"])
        self.display = display.Display()
        self.hands = Hands()

    def do(self, what, **more):
        self.process.stdin.write(json.dumps({"do": what, **more}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def show(self, view, **more):
        return self.do("show", view=view, **more)["flip_s"]

    def inputs(self, for_s=0.3):
        return self.do("inputs", for_s=for_s)["inputs"]

    def grab(self):
        """RGB pixels of the root window, as a photograph of the screen would have them."""
        width, height = self.size_px
        root = self.display.screen().root
        data = root.get_image(0, 0, width, height, X.ZPixmap, 0xFFFFFFFF).data
        return np.frombuffer(data, np.uint8).reshape(height, width, 4)[:, :, 2::-1]

    def center(self):
        width, height = self.size_px
        left, top = (width - WIDE) // 2, (height - HIGH) // 2
        return self.grab()[top : top + HIGH, left : left + WIDE]

    def shows(self, pixels):
        """Whether these pixels are in the middle; of two middles either one."""
        (width, height), grabbed = self.size_px, self.grab()
        lefts = {(width - WIDE) // 2, (width - WIDE + 1) // 2}
        tops = {(height - HIGH) // 2, (height - HIGH + 1) // 2}
        return any(
            np.array_equal(grabbed[top : top + HIGH, left : left + WIDE], pixels)
            for left in lefts
            for top in tops
        )


@contextmanager
def opened(monkeypatch, size="1680x1050x24", *arguments):
    with virtual_screen(size) as env:
        process = subprocess.Popen(
            [sys.executable, str(SCRIPT), *arguments], env=env, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        with process:
            one = ShownScreen(process, env, monkeypatch)
            try:
                yield one
            finally:
                one.hands.close()
                one.display.close()
                process.stdin.close()
                process.wait(30)


@pytest.fixture(scope="module")
def screen():
    with pytest.MonkeyPatch.context() as monkeypatch, opened(monkeypatch) as one:
        yield one


@pytest.fixture
def frame(tmp_path):
    """A frame as a camera gives it, and its exact halves."""
    path = tmp_path / "frame.jpg"
    path.write_bytes(photograph(7))
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB")).astype(float)
    mean = pixels.reshape(HIGH, 2, WIDE, 2, 3).mean(axis=(1, 3))
    return path, np.floor(mean + 0.5).astype(np.uint8)


def test_the_halved_picture_is_on_the_screen_pixel_by_pixel(screen, frame):
    path, halved = frame
    screen.do("load", path=str(path), mask="noise")
    screen.show("picture")
    assert np.array_equal(screen.center(), halved)
    outside = screen.grab().copy()
    left, top = (1680 - WIDE) // 2, (1050 - HIGH) // 2
    outside[top : top + HIGH, left : left + WIDE] = outside[0, 0]
    assert np.unique(outside.reshape(-1, 3), axis=0).tolist() in ([[127] * 3], [[128] * 3])


def test_on_a_screen_of_odd_size_too_with_a_photodiode_square(monkeypatch, frame):
    path, halved = frame
    with opened(monkeypatch, "1367x901x24", "photodiode") as odd:
        odd.do("load", path=str(path), mask="noise")
        odd.show("picture")
        assert odd.shows(halved)
        assert odd.grab()[-20:, :20].min() == 255
        odd.show("mask")
        assert odd.grab()[-20:, :20].max() == 0


@pytest.mark.parametrize("kind", ["noise", "white"])
def test_the_mask_covers_the_picture_and_nothing_shines_through(screen, frame, kind):
    screen.do("load", path=str(frame[0]), mask=kind)
    screen.show("mask")
    mask = screen.center()
    if kind == "white":
        assert mask.min() == 255
    else:
        expected = np.random.default_rng(1).integers(0, 256, (HIGH, WIDE, 3), dtype=np.uint8)
        assert np.array_equal(mask, expected)


def test_loading_shows_nothing(screen, frame):
    screen.show("fixation")
    before = screen.grab().copy()
    screen.do("load", path=str(frame[0]), mask="noise")
    assert np.array_equal(screen.grab(), before)


def test_a_virtual_screen_is_recognized_and_its_missing_gamma_recorded(screen):
    facts = screen.do("facts")
    assert facts["window_px"] == [1680, 1050]
    assert "llvmpipe" in facts["renderer"]
    assert facts["gamma"]["applied"] is False


def typed(events):
    return "".join(event["text"] for event in events if event["kind"] == "text")


@pytest.mark.parametrize(
    "text", ["cup", "water bottle", "pâté ñandú ßü", "שלום", "苹果", 'a,b "c"']
)
def test_text_of_any_script_arrives_as_it_is_typed(screen, text):
    screen.inputs(0.05)
    screen.hands.type(text)
    assert typed(screen.inputs()) == text


DEAD_ACUTE, DEAD_TILDE, COMPOSE = 0xFE51, 0xFE53, 0xFF20


def test_dead_keys_and_the_compose_key_make_one_letter(screen):
    def tap():
        for keysym in (ord("p"), DEAD_ACUTE, ord("e"), DEAD_TILDE, ord("n"), COMPOSE, *b"ss"):
            screen.hands._tap(keysym)
            time.sleep(0.1)

    screen.inputs(0.05)
    typist = threading.Thread(target=tap)
    typist.start()
    events = screen.inputs(3)
    typist.join()
    assert typed(events) == "péñß"


def test_keys_with_a_meaning_arrive_once_and_enter_is_no_text(screen):
    screen.inputs(0.05)
    for name in ("space", "Return", "BackSpace", "Escape"):
        screen.hands.press(name)
    events = screen.inputs()
    keys = [event["key"] for event in events if event["kind"] == "key"]
    assert keys == ["space", "enter", "escape"]
    assert typed(events) == " "
    assert [event["motion"] for event in events if event["kind"] == "motion"] == ["backspace"]


def test_keys_are_stamped_after_they_were_sent(screen):
    screen.inputs(0.05)
    sent_s = screen.hands.press("space")
    (event, _text) = screen.inputs()
    assert event["at_s"] > sent_s


def test_the_shortest_click_arrives_where_it_was_made(screen):
    screen.show("options", prompt="?", options=["cup", "book"])
    screen.inputs(0.05)
    for x_px, y_px in ((640, 400), (1000, 500), (1000, 500)):
        screen.hands.click(x_px, y_px, hold_s=0)
    clicks = [(event["x_px"], event["y_px"]) for event in screen.inputs()]
    assert clicks == [(-200, 125), (160, 25), (160, 25)]


def test_a_button_that_stays_down_clicks_once(screen):
    screen.inputs(0.05)
    screen.hands.click(840, 500, hold_s=0.5)
    assert len(screen.inputs(0.1)) == 1


def test_a_held_key_says_when_it_went_down(screen):
    """Its repetitions come later, but began with the press: a trial can tell them apart."""
    screen.inputs(0.05)
    hands = screen.hands
    keycode = hands._display.keysym_to_keycode(ord("z"))
    hands._send(X.KeyPress, keycode)
    time.sleep(0.9)
    hands._send(X.KeyRelease, keycode)
    time.sleep(0.05)
    hands.press("z")
    hands.press("space")
    events = screen.inputs()
    assert len(typed(events)) > 4
    assert {event["key"] for event in events if event["kind"] == "key"} == {"space"}
    presses = sorted({event["pressed_s"] for event in events if event.get("text") == "z"})
    assert len(presses) == 2, "held, and pressed once more"


def test_a_space_bar_that_is_held_is_pressed_once(screen):
    screen.inputs(0.05)
    hands = screen.hands
    keycode = hands._display.keysym_to_keycode(ord(" "))
    hands._send(X.KeyPress, keycode)
    time.sleep(0.9)
    hands._send(X.KeyRelease, keycode)
    assert [event["kind"] for event in screen.inputs()].count("key") == 1


def test_the_pointer_shows_with_options_only_and_every_view_can_be_drawn(screen, frame):
    screen.do("load", path=str(frame[0]), mask="noise")
    pictures = []
    for view, more in (
        ("blank", {}), ("fixation", {}), ("picture", {}), ("mask", {}),
        ("text", {"prompt": "What?", "text": "pâté שלום " + "long " * 80}),
        ("options", {"prompt": "Which?", "options": [str(n) + " of them" for n in range(11)]}),
        ("page", {"title": "Instructions", "body": "Look.\nAnswer."}),
    ):  # fmt: skip
        screen.show(view, **more)
        pictures.append(screen.grab().tobytes())
    assert len(set(pictures)) == len(pictures)
