"""A capture laptop installs and starts without torch or psychopy."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, entry_points, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

HEAVY = {"torch", "torchvision", "timm", "transformers", "psychopy", "matplotlib", "pandas"}

ROOT = Path(__file__).parents[2]


def closure(name: str, extra: str = "") -> set[str]:
    """Every distribution that installing `name` brings, from the installed metadata."""
    found: set[str] = set()
    waiting = [(name, extra)]
    while waiting:
        current, current_extra = waiting.pop()
        try:
            lines = requires(current) or []
        except PackageNotFoundError:
            continue
        for line in lines:
            requirement = Requirement(line)
            if requirement.marker and not requirement.marker.evaluate({"extra": current_extra}):
                continue
            child = requirement.name.lower().replace("_", "-")
            if child not in found:
                found.add(child)
                waiting += [(child, e) for e in (requirement.extras or {""})]
    return found


def test_core_dependencies_bring_no_heavy_package():
    core = closure("snaprig")
    assert {"gphoto2", "yoctopuce", "libusb-package", "numpy", "pillow", "sqlalchemy"} <= core
    assert not HEAVY & core


def test_the_extras_bring_what_they_are_named_for():
    assert {"torch", "timm", "transformers"} <= closure("snaprig", "evaluate")
    assert "psychopy" in closure("snaprig", "experiment")
    assert "pyarrow" in closure("snaprig", "export")


def imported_by(code: str) -> set[str]:
    """Top-level modules that a fresh interpreter holds after running `code`."""
    report = "import sys; print(' '.join({name.partition('.')[0] for name in sys.modules}))"
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    return set(result.stdout.splitlines()[-1].split())


def test_help_imports_no_vendor_library():
    loaded = imported_by(
        "from rig.cli import snaprig\ntry: snaprig(['--help'])\nexcept SystemExit: pass"
    )
    assert not loaded & (HEAVY | {"gphoto2", "yoctopuce", "numpy", "PIL", "alembic"})


@pytest.mark.parametrize(
    "command", [point.name for point in entry_points(group="snaprig.commands")]
)
def test_help_of_every_command_needs_no_heavy_package(command):
    words = [*command.split("."), "--help"]
    loaded = imported_by(
        f"from rig.cli import snaprig\ntry: snaprig({words})\nexcept SystemExit: pass"
    )
    assert not loaded & (HEAVY | {"gphoto2", "yoctopuce"})


def test_the_package_evaluate_is_ours():
    """A library of that import name exists: it must never shadow this one."""
    import evaluate

    assert Path(evaluate.__file__).is_relative_to(ROOT)
