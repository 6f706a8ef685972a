"""Write docs/commands.md from the commands' own help: `make docs`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from rig.cli import snaprig

PAGE = Path(__file__).with_name("commands.md")

HEADER = """\
# Commands

Written by `make docs` from each command's `--help`. Exit status: 0 done, 1 failed, 2 wrong
usage, 3 stopped on purpose and resumable. `--json` prints one JSON document on standard
output; logs and progress go to standard error.
"""


def walk(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """Yield every command below `command` with the words that call it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None:
                yield from walk(child, f"{path} {name}")


def page() -> str:
    """The whole page."""
    parts = [HEADER]
    for path, command in walk(snaprig, "snaprig"):
        context = click.Context(command, info_name=path, terminal_width=88, max_content_width=88)
        parts.append(f"## {path}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
