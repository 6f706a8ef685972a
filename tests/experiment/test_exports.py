"""Psych-DS: every column described, every answer back as it was, nobody's age by accident."""

import csv
import io
import json
import re

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from evaluate.scoring import PAPER, score_catalog
from evaluate.vocabulary import load_vocabulary
from experiment.demographics import Person, write_person
from experiment.dictionary import COLUMNS, Column
from experiment.export_cli import export
from experiment.importing import import_sessions
from experiment.psychds import to_csv
from experiment.trial_log import LogWriter, log_path
from tests.experiment.design_lab import DesignLab, record, right_answer, write_session

NASTY = ['say "hi", ok', "a\nb", "a\r\nb", "x,y;z\t", "שלום", "苹果 pâté", "=1+1", "", " ", "'"]


@pytest.fixture
def lab(tmp_path):
    lab = DesignLab(tmp_path / "lab")
    lab.design(participants=6)
    yield lab
    lab.catalog.close()


def call(lab, *words):
    done = CliRunner().invoke(export, ("--json", *words), obj=lab.workspace.root)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def table(lab, name="task-questions", folder=None):
    path = (folder or lab.workspace.reports / "psychds") / f"data/{name}_data.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


@given(st.lists(st.text(), min_size=1))
def test_any_text_survives_a_table(texts):
    columns = [Column("a", ""), Column("answer", "")]
    data = to_csv(columns, ({"a": n, "answer": text} for n, text in enumerate(texts)))
    rows = list(csv.DictReader(io.StringIO(data.decode(), newline=""), strict=True))
    assert [row["answer"] for row in rows] == texts
    assert [row["a"] for row in rows] == [str(n) for n in range(len(texts))]


def test_answers_come_back_as_they_were(lab):
    plan = lab.plan()
    write_session(lab, plan, lambda trial: NASTY[trial.index % len(NASTY)])
    done = call(lab)
    assert (done["participants"], done["rows"], done["unscored"]) == (1, 16, 16)
    rows = table(lab)
    assert [row["answer"] for row in rows] == [NASTY[n % len(NASTY)] for n in range(16)]
    for row, trial in zip(rows, plan.trials, strict=True):
        assert (row["scene"], row["lighting"], row["setting"]) == (
            trial.scene,
            trial.lighting,
            trial.setting,
        )
        assert row["ev_offset"] == str(trial.ev_offset)
        assert (row["category"], row["objects"]) == (trial.category, str(trial.objects))
        assert json.loads(row["options"] or "[]") == list(trial.options)
        assert (float(row["latency"]), float(row["image_duration"])) == (0.5, 0.2)


def test_scores_stand_beside_the_answers(lab):
    plan = lab.plan()
    write_session(lab, plan, lambda t: right_answer(t) if t.index % 2 else "9")
    import_sessions(lab.catalog, lab.workspace)
    score_catalog(lab.catalog, load_vocabulary(lab.workspace.root), PAPER)
    assert call(lab)["unscored"] == 0
    for row in table(lab):
        right = int(row["trial"]) % 2 == 1
        assert (row["hard"] == "1") is right, row
        assert (row["error_kind"] == "") is right


def test_a_trial_shown_again_has_two_rows_of_which_one_counts(lab):
    plan = lab.plan()
    write_session(lab, plan, right_answer)
    with LogWriter(log_path(lab.workspace, "P01")) as log:
        log.append(record(plan.trials[0], "again", showing=2, extra={"first_input_s": 0.25}))
    call(lab)
    rows = [row for row in table(lab) if row["trial"] == "0"]
    assert [(row["showing"], row["counts"]) for row in rows] == [("1", "true"), ("2", "false")]
    assert [row["first_input"] for row in rows] == ["", "0.25"]
    assert len({row["row_id"] for row in table(lab)}) == 17


def test_the_dictionary_names_every_column(lab):
    write_session(lab, lab.plan(), right_answer)
    write_person(lab.workspace, "P01", Person(30, "f"))
    for words in ((), ("--with-demographics",)):
        done = call(lab, *words)
        folder = lab.workspace.reports / "psychds"
        document = json.loads((folder / "dataset_description.json").read_text(encoding="utf-8"))
        assert document["@context"] == "https://schema.org/"
        assert document["@type"] == "Dataset"
        assert document["name"]
        assert document["description"]
        described = {one["name"] for one in document["variableMeasured"]}
        assert all(one["description"] for one in document["variableMeasured"])
        for name in done["files"]:
            if name.endswith(".csv"):
                # Psych-DS: key-value pairs, keys of a-z, values of letters and digits
                stem = name.removeprefix("data/")
                assert re.fullmatch(r"([a-z]+-[A-Za-z0-9]+_)+data\.csv", stem)
                with (folder / name).open(encoding="utf-8", newline="") as file:
                    header = next(csv.reader(file))
                assert set(header) <= described
                sidecar = json.loads((folder / name).with_suffix(".json").read_text())
                assert [one["name"] for one in sidecar["variableMeasured"]] == header
    assert [one.name for one in COLUMNS] == list(table(lab)[0])


def test_age_and_sex_only_when_asked(lab):
    for number in range(6):
        plan = lab.plan(f"P{number}")
        write_session(lab, plan, right_answer)
        write_person(lab.workspace, plan.participant, Person(20 + number, "f" if number else ""))
    call(lab)
    folder = lab.workspace.reports / "psychds"
    assert not (folder / "data/description-participants_data.csv").exists()
    said = json.loads((folder / "dataset_description.json").read_text())["description"]
    assert '"mean": 22.5' in said
    assert '"not said": 1' in said
    assert not {"age", "sex"} & set(table(lab)[0])
    call(lab, "--with-demographics")
    rows = table(lab, "description-participants")
    assert rows[0] == {"participant": "P0", "age": "20", "sex": ""}


def test_a_summary_of_few_people_is_not_given(lab):
    write_session(lab, lab.plan(), right_answer)
    write_person(lab.workspace, "P01", Person(31, "f"))
    call(lab)
    folder = lab.workspace.reports / "psychds"
    said = (folder / "dataset_description.json").read_text()
    assert "31" not in said
    assert "not given for fewer than 5 people" in said


def test_what_an_earlier_export_held_on_people_does_not_stay(lab):
    write_session(lab, lab.plan(), right_answer)
    call(lab, "--with-demographics")
    call(lab)
    folder = lab.workspace.reports / "psychds"
    assert not (folder / "data/description-participants_data.csv").exists()


def test_nothing_to_export_is_said(lab):
    for what in ("no session of a person", "1 of robots: add --with-robots"):
        done = CliRunner().invoke(export, (), obj=lab.workspace.root)
        assert done.exit_code == 1
        assert what in done.stderr
        write_session(lab, lab.plan("R01"), right_answer, robot=True)
    assert not (lab.workspace.reports / "psychds").exists()


def test_robots_are_left_out_unless_asked(lab, tmp_path):
    write_session(lab, lab.plan("P01"), right_answer)
    write_session(lab, lab.plan("R01"), right_answer, robot=True)
    done = call(lab)
    assert (done["participants"], done["robots_left_out"]) == (1, 1)
    done = call(lab, "--with-robots", "--out", str(tmp_path / "out"))
    assert (done["participants"], done["rows"]) == (2, 32)
    rows = table(lab, folder=tmp_path / "out")
    assert {row["participant"]: row["robot"] for row in rows} == {"P01": "false", "R01": "true"}
