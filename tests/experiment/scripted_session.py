"""A plan made by hand, and a session of it on a scripted screen and a real log."""

from PIL import Image

from experiment.records import Block, ParticipantPlan, Trial
from experiment.session import Opening, Session
from experiment.timing import Mode, Schedule
from experiment.trial_log import LogWriter, read_log
from tests.experiment.scripted_screen import ScriptedScreen, diligent

PICTURE = Image.new("RGB", (960, 640))
OPTIONS = ("A) 3", "B) 2", "C) 5", "D) 4")


def make_trial(index, block, task):
    options = {"q4": OPTIONS, "choice": ("penguin", "leopard", "ship")}.get(task, ())
    return Trial(
        index=index, block=block, stimulus_id=index + 1, frame_id=index + 1,
        scene=f"scene-{index}", lighting="bright", setting="1-60_100_f8", category="cup",
        objects=3, ev_offset=0, task=task, options=options, path=f"frames/{index}.jpg",
        sha256=f"{index:064x}",
    )  # fmt: skip


def make_plan(tasks=("q1", "q4"), each=3, study="questions", digest="d" * 64):
    blocks = tuple(
        Block(n, task, f"Question {task}?",
              tuple(make_trial(n * each + k, n, task) for k in range(each)))
        for n, task in enumerate(tasks)
    )  # fmt: skip
    return ParticipantPlan("P01", study, 1, 0, digest, blocks)


def start(path, plan=None, screen=None, opening=None, log=LogWriter, **more):
    """One start of a session; its last record and its screen."""
    plan = plan or make_plan()
    screen = screen or ScriptedScreen(on_view=diligent())
    opening = opening or Opening("Look.")
    earlier = read_log(path)
    with log(path) as writer:
        session = Session(
            screen, plan, Schedule(Mode.FRAMES, screen.hz), writer, earlier, opening,
            picture_of=lambda trial: PICTURE, mask_of=lambda number: PICTURE, **more,
        )  # fmt: skip
        end = session.run()
    return end, screen
