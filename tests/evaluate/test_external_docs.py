"""The page on external models says what the code does."""

import json
import re
import tomllib
from pathlib import Path

from evaluate.model import Asked
from evaluate.providers.external import Hello, _request
from evaluate.providers.external_answers import read_answer
from evaluate.zoo import ModelRow

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/external-models.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_row_is_one_and_starts_the_example():
    (text,) = blocks("toml")
    (row,) = (ModelRow.model_validate(one) for one in tomllib.loads(text)["model"])
    assert row.provider == "external"
    assert (ROOT / row.command[-1]).is_file()


def test_the_lines_are_those_that_are_written_and_read():
    hello, question, answers = blocks("json")
    assert Hello.model_validate_json(hello).frames == "path"
    shown = json.loads(question)
    asked = Asked(b"", shown["task"], tuple(shown["options"]), tuple(shown["size_px"]))
    assert _request(shown["id"], asked, {"path": shown["path"]}) == shown
    assert read_answer(asked, json.loads(answers.splitlines()[0])).text == "B) 2"


def test_every_key_of_a_question_is_explained():
    asked = Asked(b"", "q1", (), (1, 1))
    for key in (*_request("1", asked, {"path": ""}), "png_base64"):
        assert f"| `{key}` |" in PAGE
    for key in Hello.model_fields:
        assert f"| `{key}` |" in PAGE
