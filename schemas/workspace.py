"""The workspace: where a lab's configuration, catalog, frames and reports lie.

A file is written first (temporary name, fsync, rename, fsync of the folder), its row second:
after a crash there may be a file without a row, never a row without its file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from schemas.catalog import CACHE_MIB, Catalog
from schemas.exposure import Exposure
from schemas.records import reference_setting

#: Suffix of files that are being written; a finished name never ends so.
PARTIAL = ".partial"

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class WorkspaceError(Exception):
    """No workspace here, or a name that would leave it."""


@dataclass(frozen=True)
class Workspace:
    """A folder made by `snaprig init`."""

    root: Path

    @property
    def rig_toml(self) -> Path:
        """Devices, lightings, tolerances."""
        return self.root / "rig.toml"

    @property
    def catalog_path(self) -> Path:
        """The SQLite catalog."""
        return self.root / "catalog.sqlite"

    @property
    def frames(self) -> Path:
        """Stored frames."""
        return self.root / "frames"

    @property
    def reports(self) -> Path:
        """Reports, each in its folder or file."""
        return self.root / "reports"

    @property
    def sessions(self) -> Path:
        """Designs and logs of human trials."""
        return self.root / "sessions"

    @classmethod
    def create(cls, root: Path, rig_toml: str) -> Workspace:
        """Make a workspace with an empty catalog.

        Raises
        ------
        WorkspaceError
            If the folder holds something already.
        """
        if root.exists() and any(root.iterdir()):
            raise WorkspaceError(f"{root} is not empty: name a new folder")
        workspace = cls(root)
        for folder in (workspace.frames, workspace.reports, workspace.sessions):
            folder.mkdir(parents=True)
        write_atomically(workspace.rig_toml, rig_toml.encode())
        Catalog.create(workspace.catalog_path).close()
        return workspace

    @classmethod
    def open(cls, root: Path) -> Workspace:
        """The workspace in a folder; WorkspaceError says how to make one."""
        workspace = cls(root)
        if not workspace.catalog_path.exists():
            raise WorkspaceError(
                f"no workspace in {root.resolve()}: make one with `snaprig init {root}`, "
                "or name yours with `snaprig -w FOLDER`"
            )
        return workspace

    def catalog(self, cache_mib: int = CACHE_MIB) -> Catalog:
        """Open the catalog; close it, or use it as a context manager."""
        return Catalog.open(self.catalog_path, cache_mib=cache_mib)

    def sweep_folder(self, scene: str, lighting: str) -> Path:
        """Folder of all frames of a scene under a lighting."""
        return self.frames / safe_name(scene) / safe_name(lighting)

    def frame_path(self, scene: str, lighting: str, exposure: Exposure, ev_reference: int) -> Path:
        """Where an accepted frame is stored."""
        offset = str(exposure.ev_offset(ev_reference))
        return self.sweep_folder(scene, lighting) / offset / f"{exposure.stem}.jpg"

    def auto_frame_path(self, scene: str, lighting: str) -> Path:
        """Where the auto-exposure frame of a scene under a lighting is stored."""
        return self.sweep_folder(scene, lighting) / "auto.jpg"

    def reference_path(self, scene: str, lighting: str, number: int) -> Path:
        """Where a reference frame of a scene under a lighting is stored."""
        return self.sweep_folder(scene, lighting) / f"{reference_setting(number)}.jpg"

    def relative(self, path: Path) -> str:
        """A stored path as the catalog names it: relative to the workspace, with slashes."""
        return path.relative_to(self.root).as_posix()

    def resolve(self, relative: str) -> Path:
        """The file behind a catalog path; WorkspaceError if it would leave the workspace."""
        path = (self.root / relative).resolve()
        if not path.is_relative_to(self.root.resolve()):
            raise WorkspaceError(f"{relative!r} leads out of the workspace")
        return path

    def holds(self, path: Path) -> bool:
        """Whether a file lies among the frames, where everything is ours to move."""
        return path.parent.resolve().is_relative_to(self.frames.resolve())

    def set_aside(self, path: Path, reason: str) -> Path:
        """Move a file of the frames to ``quarantine/REASON``; nothing there is written over."""
        first = aside = self.root / "quarantine" / reason / path.relative_to(self.frames)
        number = 2
        while os.path.lexists(aside):
            aside = first.with_stem(f"{first.stem}-{number}")
            number += 1
        aside.parent.mkdir(parents=True, exist_ok=True)
        path.rename(aside)
        return aside

    def stored_files(self, folder: Path | None = None) -> Iterator[Path]:
        """Every file below `folder` (all frames by default), unfinished ones included."""
        for where, _, names in os.walk(folder or self.frames):
            for name in sorted(names):
                yield Path(where) / name


def safe_name(name: str) -> str:
    """The name, if it can be a folder: letters, digits, `_` and `-`.

    Raises
    ------
    WorkspaceError
        For anything else: dots and slashes would leave the workspace or break exports.
    """
    if not _SAFE_NAME.fullmatch(name):
        raise WorkspaceError(
            f"{name!r} cannot be a folder name: use letters, digits, '_' and '-' only"
        )
    return name


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that it is either whole or absent, power cuts included."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + PARTIAL)
    with partial.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
