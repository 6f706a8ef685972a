"""How commands talk to the daemon of their workspace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rig.errors import Abort
from rig.ownership import holder
from schemas.workspace import Workspace

#: An answer is at hand in milliseconds; a start reads the catalog first.
_TIMEOUT_S = 30.0
#: A stream that says nothing for so long is broken: its heart beats every 2 s.
_SILENCE_S = 15.0


class DaemonGoneError(Exception):
    """It does not answer any more."""


@dataclass(frozen=True)
class Client:
    """One daemon, by the file that it left in the workspace."""

    address: str
    key: str

    def get(self, path: str) -> Any:  # noqa: ANN401 - JSON
        """What it says. Raises DaemonGoneError, or Abort with its reason."""
        return self._ask("GET", path, None)

    def post(self, path: str, document: dict[str, Any]) -> Any:  # noqa: ANN401
        """Have it do something."""
        return self._ask("POST", path, document)

    def events(self) -> Iterator[tuple[str, Any]]:
        """Names and data of what happens from now on. Raises DaemonGoneError at the end."""
        import httpx  # 0.1 s, for those who have a daemon

        timeout = httpx.Timeout(_TIMEOUT_S, read=_SILENCE_S)
        try:
            with (
                httpx.Client(headers=self._headers, timeout=timeout, trust_env=False) as http,
                http.stream("GET", f"{self.address}/api/events") as answer,
            ):
                answer.raise_for_status()
                name = ""
                for line in answer.iter_lines():
                    field, _, value = line.partition(": ")
                    if field == "event":
                        name = value
                    elif field == "data":
                        yield name, json.loads(value)
        except (httpx.HTTPError, ValueError) as error:
            raise DaemonGoneError(str(error)) from error
        raise DaemonGoneError("the stream ended")

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}", "X-Snaprig": "1"}

    def _ask(self, verb: str, path: str, document: dict[str, Any] | None) -> Any:  # noqa: ANN401
        import httpx

        try:
            answer = httpx.request(
                verb,
                self.address + path,
                json=document,
                headers=self._headers,
                timeout=_TIMEOUT_S,
                trust_env=False,  # a proxy has no business on the loopback
            )
            told = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise DaemonGoneError(f"{type(error).__name__}: {error}") from error
        if answer.is_success:
            return told
        detail = told.get("detail", answer.status_code) if isinstance(told, dict) else told
        raise Abort(f"the daemon refuses: {detail}", "")


def find_daemon(workspace: Workspace) -> Client | None:
    """The daemon that owns the workspace; None where none does.

    Its file is believed only while the process that wrote it holds the lock.
    """
    owner = holder(workspace)
    if owner is None:
        return None
    try:
        document = json.loads((workspace.root / "daemon.json").read_text(encoding="utf-8"))
        if document["pid"] != owner.pid:
            return None
        return Client(str(document["address"]), str(document["key"]))
    except FileNotFoundError:  # a capture run without a daemon
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Abort(
            f"the daemon's file cannot be read: {error}",
            "are you another user than the daemon? Its page is open to you all the same",
        ) from error
