"""A model that other processes can load by name, and that waits for a test when it is told to."""

import os
import time
from pathlib import Path

import numpy as np

from evaluate.errors import EvaluateError
from evaluate.model import Given, Label, top5_payload
from evaluate.zoo import ModelRow


def held_row(folder: Path, name: str = "held") -> ModelRow:
    """A row whose model leaves its process id in a folder, and waits while `hold` is there."""
    return ModelRow(
        name=name,
        task="classification",
        provider="external",
        id=name,
        arguments={"folder": str(folder)},
    )


class HeldModel:
    """Answers with the mean red of a frame as its class."""

    tasks = ("classification",)
    device = "cpu"
    transform_key = None

    def __init__(self, row):
        self.spec = {"id": row.id}
        self.folder = Path(row.arguments["folder"])

    def prepare(self, pixels):
        return float(pixels[..., 0].mean(dtype=np.float64))

    def answer(self, batch):
        (self.folder / f"{os.getpid()}.pid").touch()
        while (self.folder / "hold").exists():
            time.sleep(0.02)
        return [
            Given(None, top5_payload([Label(int(asked.prepared), "red", asked.prepared / 255)]))
            for asked in batch
        ]


def load(row, options):
    """As a provider's `load`."""
    if row.name == "absent":
        raise EvaluateError("absent cannot run here: nobody has it")
    if row.name == "dies":
        os._exit(9)
    return HeldModel(row)
