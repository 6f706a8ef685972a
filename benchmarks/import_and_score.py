"""Import and score the public SNAP release, against openpyxl, pandas and literal_eval.

    python benchmarks/import_and_score.py FOLDER [--curve]

FOLDER is a checkout of the release, whole or in part. Ours reads every file, fills a catalog,
scores all responses under one protocol and computes every observer's metrics with intervals; the
peer goes the way of the released scripts: pandas over openpyxl, a loop over the rows of each
workbook with literal_eval, a record a row, a merge with the list of frames, means by EV offset; and
the masks with NumPy. It stores nothing. Both run here, one after the other.
``--curve`` scores made catalogs of up to 1,000,000 responses.
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pandas as pd
from PIL import Image

from evaluate.importing_pictures import Picture, put_pictures
from evaluate.release.importer import import_snap
from evaluate.release.questions import TASKS, parse_options
from evaluate.release.rules import CLASSES, judge
from evaluate.scores import score_observers
from evaluate.scoring import RELEASE, score_catalog
from evaluate.vocabulary import load_vocabulary
from schemas.answer_store import put_observer
from schemas.catalog import Catalog
from schemas.import_store import ResponseRow, Stimuli, put_responses
from schemas.records import Observer, Scene
from schemas.workspace import Workspace


def ours(folder: Path, root: Path) -> dict[str, Any]:
    """Seconds of the import, the score, and a second import."""
    workspace = Workspace.create(root / "lab", "")
    with workspace.catalog() as catalog:
        start, cpu = time.perf_counter(), time.process_time()
        report = import_snap(catalog, workspace, folder)
        imported = time.perf_counter()
        done = score_catalog(catalog, load_vocabulary(), RELEASE)
        score_observers(catalog, RELEASE)
        scored = time.perf_counter()
        cpu_s = time.process_time() - cpu
        import_snap(catalog, workspace, folder)
        again = time.perf_counter()
        assert done.scored == report.counts["responses"]
        top1 = dict(
            catalog_rows(
                catalog,
                "SELECT o.name, avg(v.soft) FROM verdicts v "
                "JOIN responses r ON r.id = v.response_id "
                "JOIN observers o ON o.id = r.observer_id JOIN stimuli s ON s.id = r.stimulus_id "
                "WHERE s.task = 'classification' GROUP BY 1",
            )
        )
    return {
        "responses": done.scored,
        "import_s": imported - start,
        "score_s": scored - imported,
        "second_import_s": again - scored,
        "cpu_s": cpu_s,
        "top1": {name: round(value, 6) for name, value in top1.items()},
    }


def catalog_rows(catalog: Catalog, sql: str) -> list[tuple[Any, ...]]:
    """Rows of a query."""
    with catalog.read() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(sql)]


def peer(folder: Path) -> dict[str, Any]:
    """Read with pandas over openpyxl, score with literal_eval and the same rules."""
    start, cpu = time.perf_counter(), time.process_time()
    data = pd.read_csv(folder / "annotations/data.csv")
    truth = data.set_index("Path")[["Category", "Num_objects"]]
    design = pd.read_excel(folder / "human_experiment/data/exp_samples.xlsx", engine="openpyxl")
    shown = {
        (path, TASKS[str(number)]): parse_options(question, TASKS[str(number)])
        for path, number, question in zip(design["Path"], design["Q_id"], design["Q"], strict=True)
    }
    for path in sorted((folder / "annotations/masks_SNAP").glob("*.png")):
        measure_mask(path)
    top1: dict[str, float] = {}
    responses = 0
    for path in sorted((folder / "raw_results/image_classification").glob("*.xlsx")):
        records = []
        for _, row in pd.read_excel(path, engine="openpyxl").iterrows():
            category = truth.at[row["Path"], "Category"]
            classes = [one[0] for one in ast.literal_eval(row["Pred"])]
            first, any_of_five = (
                classes[0] in CLASSES[category],
                bool(CLASSES[category] & {*classes}),
            )
            records.append({"Path": row["Path"], "top1": first, "top5": any_of_five})
        frame = pd.DataFrame(records)
        top1[path.stem] = round(float(frame["top1"].mean()), 6)
        frame.merge(data, on="Path").groupby("EV_offset")[["top1", "top5"]].mean()
        responses += len(frame)
    for path in sorted((folder / "raw_results/vqa").glob("*.xlsx")):
        answers = pd.read_excel(path, engine="openpyxl", keep_default_na=False)
        records = [score_row(row, truth, shown) for _, row in answers.iterrows()]
        frame = pd.DataFrame(records).merge(data, on="Path")
        for number in range(1, 5):
            frame.groupby("EV_offset")[[f"A{number}_soft", f"A{number}_hard"]].mean()
        responses += 4 * len(frame)
    people = pd.read_excel(
        folder / "eval_results/human/all_subjects.xlsx",
        sheet_name="all_subjects",
        engine="openpyxl",
        keep_default_na=False,
    )
    for _, row in people.iterrows():
        for number in range(1, 5):
            if row[f"A{number}_acc"] != "":
                given = {"Path": row["Path"], f"A{number}": row[f"A{number}_pred"]}
                score_row(given, truth, shown, (number,), person=True)
                responses += 1
    return {
        "responses": responses,
        "read_and_score_s": time.perf_counter() - start,
        "cpu_s": time.process_time() - cpu,
        "top1": top1,
    }


def measure_mask(path: Path) -> list[tuple[int, ...]]:
    """Box and area of each color of a mask, as one writes it with NumPy."""
    rgb = np.asarray(Image.open(path).convert("RGB")).astype(np.int64)
    color = rgb[..., 0] * 65536 + rgb[..., 1] * 256 + rgb[..., 2]
    found = []
    for value in np.unique(color):
        if value:
            rows, columns = np.nonzero(color == value)
            found.append(
                (columns.min(), rows.min(), np.ptp(columns) + 1, np.ptp(rows) + 1, len(rows))
            )
    return found


def score_row(
    row: pd.Series | dict[str, Any],
    truth: pd.DataFrame,
    shown: dict[tuple[str, str], tuple[str, ...]],
    numbers: tuple[int, ...] = (1, 2, 3, 4),
    *,
    person: bool = False,
) -> dict[str, Any]:
    """Score the answers of one row by the released rules, into one record."""
    path = row["Path"]
    category, count = truth.at[path, "Category"], truth.at[path, "Num_objects"]
    record: dict[str, Any] = {"Path": path}
    for number in numbers:
        raw = row.get(f"A{number}_raw", row[f"A{number}"])
        options = shown.get((path, f"q{number}"), ())
        ruling = judge(
            f"q{number}",
            str(row[f"A{number}"]),
            len(str(raw)),
            category,
            count,
            options,
            person=person,
        )
        record[f"A{number}_len"] = len(str(raw))
        record[f"A{number}_soft"] = None if ruling is None else float(ruling.soft)
        record[f"A{number}_hard"] = None if ruling is None else float(ruling.hard)
    return record


def curve(root: Path) -> list[dict[str, float]]:
    """Microseconds a response to put in and to score, over made catalogs of growing size."""
    points = []
    for responses in (10_000, 100_000, 300_000, 1_000_000):
        with Catalog.create(root / f"{responses}.sqlite") as catalog:
            put_s = fill(catalog, responses)
            start = time.perf_counter()
            score_catalog(catalog, load_vocabulary())
            score_s = time.perf_counter() - start
        points.append(
            {
                "responses": responses,
                "put_us_each": round(1e6 * put_s / responses, 2),
                "score_us_each": round(1e6 * score_s / responses, 2),
            }
        )
    return points


def fill(catalog: Catalog, responses: int, observers: int = 10) -> float:
    """Made answers to Q1, half of them different from all others; seconds of their insertion."""
    with catalog.write() as connection:
        pictures = [Picture(Scene(f"s{n}", "cup", 2)) for n in range(responses // observers)]
        frames = put_pictures(connection, pictures, "made")
    names = [
        put_observer(catalog, Observer(f"made-{n}", "model", {"made": n})) for n in range(observers)
    ]
    start = time.perf_counter()
    for observer_id in names:
        with catalog.write() as connection:
            stimuli = Stimuli("made").put(connection, "q1", dict.fromkeys(frames.values(), ()))
            rows = [
                ResponseRow(one.id, observer_id, "cup" if one.id % 2 else f"cup {one.id}")
                for one in stimuli.values()
            ]
            put_responses(connection, rows)
    return time.perf_counter() - start


def main() -> None:
    """Measure and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--curve", action="store_true", help="also score made catalogs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        mine = ours(options.folder.resolve(), root)
        theirs = peer(options.folder.resolve())
        assert mine["top1"] == theirs["top1"], "the two disagree"
        assert mine["responses"] == theirs["responses"]
        total = mine["import_s"] + mine["score_s"]
        document = {
            "ours": mine,
            "peer": theirs,
            "times_faster": round(theirs["read_and_score_s"] / total, 2),
            "times_less_cpu": round(theirs["cpu_s"] / mine["cpu_s"], 2),
        }
        if options.curve:
            document["curve"] = curve(root)
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
