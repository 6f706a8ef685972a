"""Sessions in the catalog: once only, the proven showing counts, people are scored like models."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from evaluate.scores import score_observers
from evaluate.scoring import PAPER, RELEASE, score_catalog
from evaluate.vocabulary import load_vocabulary
from experiment.demographics import Person, read_person, write_person
from experiment.errors import ExperimentError
from experiment.import_cli import import_sessions as command
from experiment.importing import import_sessions
from experiment.trial_log import MISSED, End, LogWriter, log_path
from schemas.answer_store import add_responses, list_observers, list_responses, put_observer
from schemas.records import Observer, Response
from tests.experiment.design_lab import DesignLab, header, record, right_answer, write_session


@pytest.fixture
def lab(tmp_path):
    lab = DesignLab(tmp_path / "lab")
    lab.design()
    yield lab
    lab.catalog.close()


def responses(lab, name="P01"):
    (observer,) = [one for one in list_observers(lab.catalog) if one.name == name]
    return list(list_responses(lab.catalog, observer.id))


def test_a_session_lands_once_however_often_it_is_brought(lab):
    plan = lab.plan()
    write_session(lab, plan, right_answer)
    (first,) = import_sessions(lab.catalog, lab.workspace)
    assert (first.trials, first.added, first.unchanged, first.ended) == (16, 16, False, True)
    assert first.timing == {"proven": 16}
    stored = responses(lab)
    (again,) = import_sessions(lab.catalog, lab.workspace)
    assert (again.added, again.corrected, again.unchanged) == (0, 0, True)
    assert responses(lab) == stored
    by_stimulus = {one.stimulus_id: one for one in stored}
    for trial in plan.trials:
        one = by_stimulus[trial.stimulus_id]
        assert one.text == right_answer(trial)
        assert one.frame_sha256 == trial.sha256
        assert one.latency_s == 0.5
        assert one.timing["trial"] == trial.index
        assert (one.timing["status"], one.timing["image_frames"]) == ("proven", 12)
        assert one.timing["design_digest"] == plan.design_digest


def test_a_session_that_goes_on_is_completed(lab):
    plan = lab.plan()
    path = log_path(lab.workspace, "P01")
    with LogWriter(path) as log:
        log.append(header(plan))
        for trial in plan.trials[:5]:
            log.append(record(trial, right_answer(trial)))
    (half,) = import_sessions(lab.catalog, lab.workspace)
    assert (half.trials, half.added, half.ended) == (5, 5, False)
    kept = {one.id for one in responses(lab)}
    with LogWriter(path) as log:
        log.append(header(plan, start=2))
        for trial in plan.trials[5:]:
            log.append(record(trial, right_answer(trial)))
        log.append(End("done", 16))
    (whole,) = import_sessions(lab.catalog, lab.workspace)
    assert (whole.trials, whole.added, whole.corrected, whole.ended) == (16, 11, 0, True)
    assert kept < {one.id for one in responses(lab)}


def test_the_showing_with_the_best_evidence_counts(lab):
    plan = lab.plan()
    trial = plan.trials[0]
    path = log_path(lab.workspace, "P01")
    with LogWriter(path) as log:
        log.append(header(plan))
        log.append(record(trial, "first", status="failed", dropped_frames=1))
    import_sessions(lab.catalog, lab.workspace)
    score_catalog(lab.catalog, load_vocabulary(lab.workspace.root), PAPER)
    assert responses(lab)[0].text == "first"
    assert responses(lab)[0].timing["status"] == "failed"
    with LogWriter(path) as log:
        log.append(record(trial, "second", showing=2))
        log.append(record(plan.trials[1], "bad", status="failed"))
        log.append(record(plan.trials[1], "worse", status="failed", showing=2))
    (done,) = import_sessions(lab.catalog, lab.workspace)
    assert (done.trials, done.shown_again, done.added, done.corrected) == (2, 2, 1, 1)
    assert done.timing == {"proven": 1, "failed": 1}
    found = {one.timing["trial"]: one for one in responses(lab)}
    assert found[0].text == "second"
    # the flagged one stays on record
    assert found[0].timing["other_showings"][0]["answer"] == "first"
    assert found[0].timing["other_showings"][0]["status"] == "failed"
    assert found[1].text == "bad"  # of equals the first: the picture was new then
    score_catalog(lab.catalog, load_vocabulary(lab.workspace.root), PAPER, only_new=True)
    assert score_observers(lab.catalog, PAPER)[0]["n"] == 2


def test_a_session_lands_whole_or_not_at_all(lab, monkeypatch):
    def break_down(*_args):
        raise OSError("no space left on device")

    write_session(lab, lab.plan(), right_answer)
    with monkeypatch.context() as broken:
        broken.setattr("schemas.session_store.put_import", break_down)
        with pytest.raises(OSError, match="no space"):
            import_sessions(lab.catalog, lab.workspace)
    assert responses(lab) == []
    (done,) = import_sessions(lab.catalog, lab.workspace)
    assert done.added == 16


def test_a_miss_is_an_answer_too_late(lab):
    plan = lab.plan()
    path = log_path(lab.workspace, "P01")
    with LogWriter(path) as log:
        log.append(header(plan))
        log.append(record(plan.trials[0], "", latency_s=None, error=MISSED))
    import_sessions(lab.catalog, lab.workspace)
    (one,) = responses(lab)
    assert (one.text, one.error, one.latency_s) == ("", "", None)
    assert one.timing["missed"] is True


def test_half_a_surrogate_pair_does_not_stop_the_others(lab):
    plan = lab.plan()
    write_session(lab, plan, lambda trial: "cu\ud83cp" if trial.index == 3 else "cup")
    (done,) = import_sessions(lab.catalog, lab.workspace)
    assert done.added == 16
    assert sorted({one.text for one in responses(lab)}) == ["cu?p", "cup"]


def test_robots_are_told_from_people(lab):
    write_session(lab, lab.plan("P01"), right_answer)
    write_session(lab, lab.plan("R01"), right_answer, robot=True)
    import_sessions(lab.catalog, lab.workspace)
    specs = {one.name: (one.kind, one.spec) for one in list_observers(lab.catalog)}
    assert specs["P01"] == ("person", {"source": "snaprig experiment", "dataset": "sessions"})
    assert specs["R01"][1]["robot"] is True
    score_catalog(lab.catalog, load_vocabulary(lab.workspace.root), PAPER)
    names = [one["name"] for one in score_observers(lab.catalog, PAPER)]
    assert names == ["people of sessions", "people of robots"]


def test_what_does_not_belong_here_is_refused(lab, tmp_path):
    plan = lab.plan()
    with pytest.raises(ExperimentError, match="is not there"):
        import_sessions(lab.catalog, lab.workspace, [tmp_path / "none.jsonl"])
    path = tmp_path / "log.jsonl"
    path.write_text("")
    with pytest.raises(ExperimentError, match="has no header"):
        import_sessions(lab.catalog, lab.workspace, [path])
    cases = [
        ([header(plan), header(plan, participant="P02")], "mixes sessions"),
        ([header(plan), record(replace(plan.trials[0], scene="gone"), "x")], "not in this catalog"),
        ([header(plan), record(replace(plan.trials[0], options=("B",)), "x")], "other options"),
    ]
    for number, (found, what) in enumerate(cases):
        path = tmp_path / f"log-{number}.jsonl"
        with LogWriter(path) as log:
            for one in found:
                log.append(one)
        with pytest.raises(ExperimentError, match=what):
            import_sessions(lab.catalog, lab.workspace, [path])
    assert all(not list(list_responses(lab.catalog, o.id)) for o in list_observers(lab.catalog))


# the released scripts score Q1 of people by a rule of their own, so not ("first", RELEASE): only
# `paper` is one rule
@pytest.mark.parametrize(
    ("place", "protocol"), [("first", PAPER), ("second", PAPER), ("second", RELEASE)]
)
def test_a_person_and_a_model_with_the_same_answers_have_the_same_metrics(lab, protocol, place):
    if place == "second":
        lab.plan("somebody")  # the other group
    plan = lab.plan()
    # right, right but wordy, wrong, blank, not understandable, in turn
    ways = (
        right_answer,
        lambda trial: f"I think {right_answer(trial)}",
        lambda trial: "tie" if trial.task in ("q1", "q3") else "9",
        lambda trial: "  ",
        lambda trial: "???",
        right_answer,
    )
    answers = {trial.index: ways[trial.index % 6](trial) for trial in plan.trials}
    write_session(lab, plan, lambda trial: answers[trial.index])
    import_sessions(lab.catalog, lab.workspace)
    model = put_observer(lab.catalog, Observer("model", "model", {"id": "m"}))
    add_responses(
        lab.catalog,
        [Response(trial.stimulus_id, model, answers[trial.index]) for trial in plan.trials],
    )
    score_catalog(lab.catalog, load_vocabulary(lab.workspace.root), protocol)
    machine, person = score_observers(lab.catalog, protocol)
    assert (machine.pop("name"), machine.pop("kind")) == ("model", "model")
    assert (person.pop("name"), person.pop("kind")) == ("people of sessions", "person")
    assert person == machine
    assert person["n"] == 16
    assert 0 < person["metrics"]["hard"] < person["metrics"]["soft"] < 1


def test_the_command(lab):
    def call(*words):
        return CliRunner().invoke(command, words, obj=lab.workspace.root)

    assert "no session" in call().stderr
    path = write_session(lab, lab.plan(), right_answer)
    document = json.loads(call("--json").stdout)
    assert document["added"] == 16
    assert document["sessions"][0]["participant"] == "P01"
    assert "was there already" in call(str(path)).stdout
    assert call(str(path.parent / "other.jsonl")).exit_code == 1


def test_age_and_sex_lie_apart(lab):
    assert read_person(lab.workspace, "P01") == Person()
    write_session(lab, lab.plan(), right_answer)
    write_person(lab.workspace, "P01", Person(31, "f"))
    assert read_person(lab.workspace, "P01") == Person(31, "f")
    import_sessions(lab.catalog, lab.workspace)
    with lab.catalog.read() as connection:
        dump = "\n".join(connection.connection.driver_connection.iterdump())
    assert '"f"' not in dump
    assert "age_years" not in dump
