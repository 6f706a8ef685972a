"""Open the catalog: the one place that connects to the database.

SQLite in WAL mode, one writer at a time (`BEGIN IMMEDIATE`), readers never wait. What is
stored and asked is in `schemas.capture_store` and `schemas.answer_store`.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection, create_engine, event, inspect

#: Newest migration; `schemas/migrations/versions` ends with it (tested).
HEAD = "0003"

BUSY_TIMEOUT_S = 30

#: Pages of the file that each connection keeps, in MiB: the indexes of a million responses stay in
#: memory while they grow. A process that shoots for nights on end keeps less, and stays small.
CACHE_MIB, SMALL_CACHE_MIB = 64, 8


class CatalogError(Exception):
    """The catalog is missing, foreign, or made by a newer release."""


class Catalog:
    """A connection pool on one catalog file.

    Use `Catalog.create` or `Catalog.open`, then `read()` and `write()`. Safe to share between
    threads; writes of one process queue on a lock, those of several on SQLite's own.
    """

    def __init__(self, path: Path, other: Path | None = None, cache_mib: int = CACHE_MIB) -> None:
        self.path = path
        self._writing = threading.RLock()
        self._engine = create_engine(
            f"sqlite:///{path}",
            connect_args={"timeout": BUSY_TIMEOUT_S, "check_same_thread": False},
        )
        event.listen(self._engine, "connect", lambda made, _record: _configure(made, cache_mib))
        if other is not None:
            event.listen(self._engine, "connect", lambda made, _record: _attach(made, other))
        event.listen(self._engine, "begin", _begin)

    @classmethod
    def create(cls, path: Path) -> Catalog:
        """Make an empty catalog. Raises CatalogError where a file exists already."""
        if path.exists():
            raise CatalogError(f"{path} exists already")
        catalog = cls(path)
        catalog.migrate()
        return catalog

    @classmethod
    def open(cls, path: Path, other: Path | None = None, cache_mib: int = CACHE_MIB) -> Catalog:
        """Open a catalog and bring it to this release's tables.

        Parameters
        ----------
        other : Path or None
            A second catalog at this release's tables; its tables are ``other.frames``, ….
        cache_mib : int
            Pages that each connection may keep in memory.

        Raises
        ------
        CatalogError
            If there is none, it is another kind of file, or a newer release made it.
        """
        if not path.exists():
            raise CatalogError(f"{path} is missing: make a workspace with `snaprig init`")
        catalog = cls(path, other, cache_mib)
        try:
            found = catalog.revision()
        except Exception as error:
            catalog.close()
            raise CatalogError(f"{path} is not a snaprig catalog: {error}") from error
        if found != HEAD:
            catalog.migrate()
        return catalog

    def revision(self) -> str | None:
        """The migration that the file stands at; None for an empty database."""
        with self.read() as connection:
            if not inspect(connection).has_table("alembic_version"):
                return None
            row = connection.exec_driver_sql("SELECT version_num FROM alembic_version").first()
            return None if row is None else str(row[0])

    def migrate(self) -> None:
        """Apply the missing migrations, all in one transaction.

        Raises CatalogError if the file's revision is unknown here: a newer release made it.
        """
        # Alembic costs 0.2 s to import: only a new or old catalog pays for it.
        from alembic import command
        from alembic.config import Config
        from alembic.util import CommandError

        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        with self.write() as connection:
            config.attributes["connection"] = connection
            try:
                command.upgrade(config, "head")
            except CommandError as error:
                raise CatalogError(
                    f"{self.path} was made by a newer release of snaprig: {error}"
                ) from error

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A read transaction: one consistent snapshot."""
        with self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A write transaction, committed at the end, rolled back on an exception."""
        with self._writing, self._engine.connect() as connection:
            writer = connection.execution_options(snaprig_write=True)
            with writer.begin():
                yield writer

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _configure(connection: Any, cache_mib: int) -> None:  # noqa: ANN401 - a DBAPI connection
    # The driver must not open transactions of its own: `_begin` says which kind it is.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    # FULL: a committed frame survives a power cut, not only a crash of the process.
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.execute(f"PRAGMA cache_size=-{1024 * cache_mib}")
    cursor.close()


def snapshot(source: Path, target: Path) -> None:
    """Copy a catalog as it stands at one moment, while others go on writing to it.

    Raises
    ------
    CatalogError
        If it is missing, foreign or damaged.
    """
    if not source.exists():
        raise CatalogError(f"{source} is missing: a workspace has one")
    wal = source.with_name(source.name + "-wal")
    # A folder that cannot be written holds no writer: its catalog stands still.
    still = not os.access(source.parent, os.W_OK) and not wal.exists()
    name = f"{source.resolve().as_uri()}?mode=ro" + ("&immutable=1" if still else "")
    try:
        with (
            closing(sqlite3.connect(name, uri=True, timeout=BUSY_TIMEOUT_S)) as reading,
            closing(sqlite3.connect(target)) as writing,
        ):
            reading.backup(writing)
    except sqlite3.Error as error:
        raise CatalogError(f"{source} cannot be copied: {error}") from error


def _attach(connection: Any, other: Path) -> None:  # noqa: ANN401 - a DBAPI connection
    cursor = connection.cursor()
    cursor.execute("ATTACH DATABASE ? AS other", (str(other),))
    cursor.close()


def _begin(connection: Connection) -> None:
    writing = connection.get_execution_options().get("snaprig_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")
