"""A small release in the layout of the public one, made by the tests."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from openpyxl import Workbook
from PIL import Image

HEADER = (
    "Path Object_name Object_id Category EV_offset EV_idx Lux Shutter_speed ISO F-Number "
    "Num_objects"
).split()


def _row(path: str, offset: int | str, index: int, lux: int, *settings: object) -> list[object]:
    scene = path.partition("/")[0]
    number, _, category = scene.partition("_")
    count = {"1_cup": 3, "2_water_bottle": 2}[scene]
    return [path, scene, int(number), category, offset, index, lux, *settings, count]


#: Two scenes under two lights, six manual frames and four auto frames.
ROWS = [
    _row("1_cup/10/-5/9_0_2.jpg", -5, 10, 10, "1/8", 100, 11),
    _row("1_cup/10/-5/9_1_1.jpg", -5, 10, 10, "1/8", 200, 16),
    _row("1_cup/1000/1/6_1_4.jpg", 1, 10, 1000, "1/60", 200, 5.6),
    _row("1_cup/10_auto.jpg", "auto", -1, 10, "1/40", 3200, 4.5),
    _row("1_cup/1000_auto.jpg", "auto", -1, 1000, "1/60", 100, 5),
    _row("2_water_bottle/10/-5/9_2_0.jpg", -5, 10, 10, "1/8", 400, 22),
    _row("2_water_bottle/10/-5/6_1_4.jpg", -5, 10, 10, "1/60", 200, 5.6),
    _row("2_water_bottle/1000/1/6_1_4.jpg", 1, 10, 1000, "1/60", 200, 5.6),
    _row("2_water_bottle/10_auto.jpg", "auto", -1, 10, "1/20", 3200, 4.5),
    _row("2_water_bottle/1000_auto.jpg", "auto", -1, 1000, "1/60", 100, 5),
]

PATHS = [str(row[0]) for row in ROWS]

CUP = "[(968, 'cup', 0.7), (504, 'coffee mug', 0.1)]"
MUG = "[(504, \"coffee mug\", 0.9), (968, 'cup', 0.05)]"

CLASS_QUESTION = "Objects of what class are in the image?"
COUNT_QUESTION = "How many objects are in the image?"
OPTIONS = "Select one of the following options:"
Q3 = f"{CLASS_QUESTION} {OPTIONS} cup, water bottle, tie, other"
Q4 = f"{COUNT_QUESTION} {OPTIONS} A) 2    B) 5    C) 4    D) 3"


class MadeRelease:
    """Writes files of a release below a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)

    def path(self, name: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def csv_list(self, rows: Iterable[Sequence[object]] = tuple(map(tuple, ROWS))) -> None:
        with self.path("annotations/data.csv").open("w", newline="") as file:
            csv.writer(file).writerows([HEADER, *rows])

    def sheet(
        self,
        name: str,
        header: Sequence[str],
        rows: Iterable[Sequence[object]],
        title: str = "Sheet1",
    ) -> None:
        book = Workbook()
        book.active.title = title
        for row in (header, *rows):
            book.active.append(list(row))
        book.save(self.path(name))

    def classifier(self, name: str, answers: dict[str, object]) -> None:
        rows = [[number, *item] for number, item in enumerate(answers.items())]
        self.sheet(f"raw_results/image_classification/{name}.xlsx", ["", "Path", "Pred"], rows)

    def vlm(self, name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        self.sheet(f"raw_results/vqa/{name}.xlsx", ["Path", *header], rows)

    def design(self, rows: Iterable[Sequence[object]], name: str = "exp_samples") -> None:
        header = ["Subject_id", "Path", "Block_id", "Trial_id", "Q_id", "Q", "A"]
        self.sheet(f"human_experiment/data/{name}.xlsx", header, rows)

    def people(self, rows: Iterable[dict[str, object]]) -> None:
        asked = [f"A{n}_{what}" for n in range(1, 5) for what in ("pred", "acc")]
        header = ["Path", *asked, "Subject_id"]
        filled = [
            [row.get(name, "-" if name.endswith("_pred") else None) for name in header]
            for row in rows
        ]
        self.sheet("eval_results/human/all_subjects.xlsx", header, filled, "all_subjects")

    def mask(self, scene: str, boxes: Sequence[tuple[int, int, int, int]]) -> None:
        """Rectangles (left, top, right, bottom), each in its own color."""
        pixels = np.zeros((40, 60, 3), np.uint8)
        for number, (left, top, right, bottom) in enumerate(boxes, start=1):
            pixels[top:bottom, left:right] = (0, number * 40, 128)
        Image.fromarray(pixels).save(self.path(f"annotations/masks_SNAP/{scene}_10_auto.png"))
