"""Fixtures that every part of the suite shares."""

import os
from pathlib import Path

import pytest

NO_DATA = "SNAPRIG_DATA is not set"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`pytest --rig rig.toml` runs the conformance suites over real devices, too."""
    parser.addoption("--rig", help="rig.toml of real devices to run the conformance suites over")


@pytest.fixture(scope="session")
def snaprig_data() -> Path:
    """Folder with the public data that some tests need; they skip where it is unset."""
    folder = os.environ.get("SNAPRIG_DATA")
    if not folder:
        pytest.skip(NO_DATA)
    return Path(folder).resolve(strict=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end how much was not tested for want of data."""
    skipped = terminalreporter.stats.get("skipped", [])
    wanting = sum(NO_DATA in str(report.longrepr) for report in skipped)
    terminalreporter.write_line(f"skipped for want of data (SNAPRIG_DATA): {wanting}")
