"""Trials out, and in again: the same people, models, pictures and answers."""

import csv
import json

import pytest
from click.testing import CliRunner

from evaluate.export_cli import trials as command
from evaluate.exporting_trials import export_trials, subject
from evaluate.importing_trials import COLUMNS, import_trials
from evaluate.vocabulary import load_vocabulary
from schemas.answer_store import (
    CLASSIFICATION,
    add_responses,
    add_stimuli,
    ensure_stimuli,
    list_observers,
    list_responses,
    pending_stimuli,
    put_observer,
)
from schemas.exposure import Exposure
from schemas.records import Observer, Response, Stimulus

ROWS = [
    ["1", "1", "0.5", "cat", "cat", "0", "0001_ske_s01_0_cat_00_n02_7.png"],
    ["1", "2", "NaN", "na", "dog", "0", "0002_ske_s01_0_dog_00_n03_7.png"],
    ["1", "10", "1.13377118110657", "dog", "cat", "c05", "0010_ske_s01_c05_cat_00_n02_7.png"],
    ["2", "1", "0.25", "dog", "dog", "c05", "0001_ske_s01_c05_dog_00_n03_7.png"],
]


def write(folder, subj, rows):
    folder.mkdir(exist_ok=True)
    for session in {row[0] for row in rows}:
        with (folder / f"d_{subj}_session_{session}.csv").open("w", newline="") as file:
            own = [[subj, *row] for row in rows if row[0] == session]
            csv.writer(file).writerows([COLUMNS, *own])


def read(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


def content(catalog):
    """Observers with their answers, without ids and dates."""
    return {
        (one.name, one.kind, json.dumps(one.spec)): sorted(
            (r.text, json.dumps(r.payload), r.latency_s or 0, json.dumps(r.timing))
            for r in list_responses(catalog, one.id)
        )
        for one in list_observers(catalog)
    }


def test_round_trip_of_trials(make_lab, tmp_path):
    source, target = tmp_path / "sketch", tmp_path / "out"
    write(source, "subject-01", ROWS)
    write(source, "resnet50", [[*row[:2], "NaN", *row[3:]] for row in ROWS[:1]])
    first, second = make_lab("first"), make_lab("second")
    import_trials(first.catalog, source)
    written = export_trials(first.catalog, load_vocabulary(), target)
    assert [one.path for one in written] == [
        "sketch/sketch-resnet50.csv",
        "sketch/sketch-subject-01.csv",
    ]
    assert [(one.trials, one.no_response) for one in written] == [(1, 0), (4, 1)]
    # what was read is what is written, in the order of the sessions
    assert read(target / "sketch/sketch-subject-01.csv") == [
        list(COLUMNS),
        *(["subject-01", *row] for row in ROWS),
    ]
    report = import_trials(second.catalog, target / "sketch")
    assert report.rejected == []
    assert content(first.catalog) == content(second.catalog)


def test_real_trials_come_back(make_lab, tmp_path, snaprig_data):
    first, second = make_lab("first"), make_lab("second")
    import_trials(first.catalog, snaprig_data / "human-trials" / "sketch")
    export_trials(first.catalog, load_vocabulary(), tmp_path / "out")
    import_trials(second.catalog, tmp_path / "out" / "sketch")
    assert content(first.catalog) == content(second.catalog)


def photos(lab, number):
    """Frames of a cup, one EV offset each."""
    for power in range(number):
        lab.frame(
            "1_comic_book",
            "bright",
            Exposure(1 / 60, 100 * 2**power, 8.0),
            b"x",
            category="comic_book",
        )


def test_labels_of_a_model_become_the_classes_they_name(make_lab, tmp_path):
    lab = make_lab("lab")
    photos(lab, 3)
    observer = put_observer(lab.catalog, Observer("org/net", "model", {}))
    ensure_stimuli(lab.catalog, CLASSIFICATION)
    answers = [{"top5": [[917, "comic book", 0.5]]}, {"top5": [[1, "goldfish", 0.5]]}, {}]
    add_responses(
        lab.catalog,
        [
            Response(
                one.stimulus_id,
                observer,
                payload=payload,
                latency_s=0.1,
                error="" if payload else "lost",
            )
            for one, payload in zip(
                pending_stimuli(lab.catalog, observer, CLASSIFICATION), answers, strict=True
            )
        ],
    )
    (written,) = export_trials(lab.catalog, load_vocabulary(), tmp_path)
    assert written.path == "classification/org%2Fnet.csv"
    rows = read(tmp_path / written.path)[1:]
    assert [row[4] for row in rows] == ["comic_book", "other", "na"]
    assert {row[3] for row in rows} == {"NaN"}
    assert len({row[6] for row in rows}) == 3  # one condition an EV offset
    other = make_lab("other")
    report = import_trials(other.catalog, tmp_path / "classification")
    assert report.rejected == []  # "other" is a wrong answer, not a row to drop
    (model,) = list_observers(other.catalog)
    assert (model.name, model.kind) == ("classification-org/net", "model")
    # the picture's own name comes back whole from behind the prefix
    said = list(list_responses(other.catalog, model.id))
    assert sorted(str(one.text) for one in said) == ["", "comic_book", "other"]


def test_answers_in_words(lab, tmp_path):
    photos(lab, 5)
    observer = put_observer(lab.catalog, Observer("anna", "person", {}))
    add_stimuli(lab.catalog, [Stimulus(number, "original", "q1") for number in range(1, 6)])
    said = ["a book", "Laptop", "a cup or a tie", "giraffe", ""]
    pending = pending_stimuli(lab.catalog, observer, "q1")
    add_responses(
        lab.catalog,
        [
            Response(one.stimulus_id, observer, text, latency_s=1.5)
            for one, text in zip(pending, said, strict=True)
        ],
    )
    (written,) = export_trials(lab.catalog, load_vocabulary(), tmp_path)
    rows = read(tmp_path / written.path)[1:]
    assert [row[4] for row in rows] == ["comic_book", "laptop", "na", "other", "na"]
    assert rows[0][:4] == ["subject-anna", "1", "1", "1.5"]


@pytest.mark.parametrize(
    ("name", "kind", "spec", "found"),
    [
        ("snap-subject-01", "person", {"subject": 1}, "subject-01"),
        ("sketch-subject-07", "person", {"subject": "subject-07"}, "subject-07"),
        ("anna", "person", {}, "subject-anna"),
        ("resnet50", "model", {}, "resnet50"),
        ("human-vlm", "model", {}, "model-human-vlm"),
    ],
)
def test_the_name_tells_people_from_models(name, kind, spec, found):
    assert subject(Observer(name, kind, spec)) == found


def test_the_command(lab, tmp_path):
    out = tmp_path / "out"
    empty = CliRunner().invoke(command, [str(out)], obj=lab.workspace.root)
    assert (empty.exit_code, "nothing written" in empty.output) == (0, True)
    write(tmp_path / "sketch", "subject-01", ROWS)
    import_trials(lab.catalog, tmp_path / "sketch")
    done = CliRunner().invoke(command, [str(out), "--json"], obj=lab.workspace.root)
    (file,) = json.loads(done.stdout)["files"]
    assert (file["path"], file["trials"]) == ("sketch/sketch-subject-01.csv", 4)
    said = CliRunner().invoke(command, [str(out)], obj=lab.workspace.root).output
    assert "4 trials, 1 without response" in said
    assert "Examples:" in CliRunner().invoke(command, ["--help"]).output
