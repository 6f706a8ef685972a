"""Questions and their answers: whose, until when, and what counts without a person."""

from datetime import UTC, datetime, timedelta

import pytest

from rig.checklist import AUTO_LIGHTING, HIGH_ISO_NR, ROOM, Answer, Answers, check_answer
from rig.errors import Abort

NOW = datetime(2026, 3, 1, 20, 0, tzinfo=UTC)
YES = Answer(AUTO_LIGHTING.check, "012345", True, NOW)


def test_an_answer_is_shown_with_its_date():
    found = check_answer(AUTO_LIGHTING, YES, claimed=False)
    assert (found.status, found.found) == ("ok", "yes, said on 2026-03-01 20:00 UTC")


@pytest.mark.parametrize(("question", "status"), [(AUTO_LIGHTING, "fail"), (HIGH_ISO_NR, "warn")])
def test_a_no_is_blamed_even_where_the_checklist_is_claimed(question, status):
    no = Answer(question.check, "012345", False, NOW)
    for claimed in (False, True):
        found = check_answer(question, no, claimed=claimed)
        assert found.status == status
        assert question.action in found.action


def test_a_claim_is_told_from_an_answer():
    found = check_answer(AUTO_LIGHTING, None, claimed=True)
    assert (found.status, "--checklist-done" in found.found) == ("ok", True)
    assert check_answer(AUTO_LIGHTING, None, claimed=False).status == "warn"


def test_answers_about_the_body_last_and_those_about_the_room_a_night():
    room = ROOM[0]
    answers = Answers([YES, Answer(room.check, "012345", True, NOW)])
    later = NOW + timedelta(hours=13)
    assert answers.standing(AUTO_LIGHTING, "012345", later) == YES
    assert answers.standing(AUTO_LIGHTING, "another body", later) is None
    assert answers.standing(room, "012345", NOW + timedelta(hours=11)) is not None
    assert answers.standing(room, "012345", later) is None


def test_answers_and_bursts_survive_in_a_file(tmp_path):
    path = tmp_path / "preflight.json"
    assert Answers.load(path).find(YES.check, "012345") is None
    answers = Answers().with_answer(YES).with_burst("012345", "bright", {"at": NOW.isoformat()})
    answers.save(path)
    again = Answers.load(path)
    assert again.find(YES.check, "012345") == YES
    assert again.burst("012345", "bright")["at"] == NOW.isoformat()
    assert again.burst("012345", "dim") is None
    no = Answer(YES.check, "012345", False, NOW)
    again.with_answer(no).with_burst("012345", "bright", {"at": "later"}).save(path)
    assert Answers.load(path).find(YES.check, "012345") == no
    assert Answers.load(path).burst("012345", "bright")["at"] == "later"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"answers": [{"at": 1}], "bursts": []}'])
def test_a_broken_file_says_what_to_do(tmp_path, text):
    path = tmp_path / "preflight.json"
    path.write_text(text)
    with pytest.raises(Abort, match=r"preflight\.json") as error:
        Answers.load(path)
    assert "Delete" in error.value.action
