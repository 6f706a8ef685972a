"""A batch of two scenes over devices in memory, and an operator who does what the prompts say."""

from contextlib import contextmanager

from capture.auto_frame import take_auto_frame
from capture.batch import Batch, itinerary
from capture.batch_run import BatchRun, LeftError, Means
from capture.sweep import run_sweep
from schemas.capture_store import add_scene
from schemas.frame_store import list_frames
from schemas.plan import Lighting, SweepPlan
from tests.capture.lab import BRIGHT, NoWait, SteppedLightLog

DIM = Lighting(name="dim", lux=10, ev_reference=5)
LIGHTINGS = {"bright": BRIGHT, "dim": DIM}
PLAN = SweepPlan(shutter=("1/60", "0.5"), iso=(100,), f_number=(5.6, 22))
SCENES = [
    {"name": "cups", "category": "cup", "count": 3},
    {"name": "mug", "category": "coffee mug", "count": 1},
]


def make_batch(**changes):
    return Batch.model_validate({"scene": SCENES, **changes})


class Operator:
    """Does what the prompts say, at once; leaves at the prompt numbered `leave_at`."""

    def __init__(self, lab, leave_at=None):
        self.lab = lab
        self.said = []
        self.asked = []
        self.lights = []
        self.leave_at = leave_at

    def say(self, text):
        self.said.append(text)

    def light(self, text):
        self.lights.append(text)

    def confirm(self, text):
        self.asked.append(text)
        if len(self.asked) == self.leave_at:
            raise LeftError("left at a prompt")
        self.obey(text)

    def obey(self, text):
        if "set the panels to" in text:
            self.panels(float(text.partition("panels to ")[2].split()[0]))
        if "dial to P" in text:
            self.lab.camera.dial = "P"
        if "to M" in text:
            self.lab.camera.dial = "Manual"

    def panels(self, lux):
        self.lab.meter.lux = self.lab.camera.lux = lux


def batch_run(lab, operator, batch=None, stop=None, after=None, attended=True, **changes):
    """A walk with devices in memory; `after` snapshots the stop is asked for."""
    stop = stop or NoWait()
    snapshots = []

    def make_light(meter, band):
        return SteppedLightLog(meter, band, lab.clock)

    @contextmanager
    def meter():
        lab.meter.open()
        yield lab.meter
        lab.meter.close()

    @contextmanager
    def bench():
        opened = lab.bench()
        try:
            yield opened
        finally:
            lab.camera.close()
            lab.meter.close()

    def watch(snapshot):
        snapshots.append(snapshot)
        if len(snapshots) == after:
            stop.ask("Ctrl-C")

    batch = batch or make_batch()
    means = Means(
        meter,
        bench,
        lambda opened, leg, pace, more: run_sweep(
            lab.workspace,
            lab.catalog,
            opened,
            scene=leg.scene.name,
            lighting=leg.lighting,
            plan=PLAN,
            guidance=batch.guidance,
            stop=stop,
            watch=watch,
            references=False,
            make_light=make_light,
            pace=pace,
        ),
        lambda opened, leg: take_auto_frame(
            lab.workspace,
            lab.catalog,
            opened,
            scene=leg.scene.name,
            lighting=leg.lighting,
            make_light=make_light,
        ),
        make_light,
    )
    legs = itinerary(batch, LIGHTINGS)
    for leg in legs:
        add_scene(lab.catalog, leg.scene)
    return BatchRun(
        lab.catalog,
        batch,
        PLAN,
        legs,
        operator,
        means,
        stop,
        attended=attended,
        patience_s=changes.get("patience_s"),
        shutter_life=100_000,
    )


def frames_of(lab):
    return {(f.scene, f.lighting, f.setting): f.outcome for f in list_frames(lab.catalog)}
