"""A terminal that follows a job of the daemon, as if it were shot right here."""

from __future__ import annotations

import queue
import sys
import threading
from contextlib import suppress
from typing import Any, NoReturn, TextIO

from capture.asking import has_input
from capture.daemon.client import Client, DaemonGoneError
from capture.progress import shown
from capture.shooting import say
from capture.states import RunState, Snapshot, Watch
from capture.stopping import StopRequest, stop_on_signals
from capture.sweep import Summary
from rig.errors import Abort, AskOperator
from rig.preflight import Finding, Status
from schemas.exposure import Exposure
from schemas.records import Outcome, RunStatus

_LOOK_S = 0.2
_HANGUP = "SIGHUP"


class DetachedError(Exception):
    """The terminal leaves; the job goes on."""


def someone_is_there() -> bool:
    """Whether a person sits at this terminal."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def run_by_daemon(client: Client, request: dict[str, Any]) -> Summary:
    """Have the daemon shoot a sweep, show how it goes, and return how it ended.

    Raises
    ------
    AskOperator, Abort
        As the engine itself raises them.
    """
    return _summary(_followed(client, "/api/start", request))


def preflight_by_daemon(client: Client, request: dict[str, Any]) -> list[Finding]:
    """Have the daemon make its checks; what they found. Raises as `run_by_daemon` does."""
    job = _followed(client, "/api/preflight", request)
    if job["state"] != "done" and (job["fault"] or {}).get("code") != "preflight":
        _raise_end(job)
    found = client.get("/api/preflight")["findings"]
    return [Finding(**{**one, "status": Status(one["status"])}) for one in found]


def _followed(client: Client, path: str, request: dict[str, Any]) -> dict[str, Any]:
    """Start a job and follow it to its end; returns it.

    The first Ctrl-C stops the job after its frame, as it does without a daemon. A terminal that
    is closed, or a second Ctrl-C, leaves the job to the daemon.
    """
    attended = someone_is_there()
    answered = client.post(path, {**request, "attended": attended})
    job = (answered.get("job") or answered["state"]["job"])["id"]
    stop = StopRequest()
    try:
        with stop_on_signals(stop, say):
            return _Following(client, job, stop, sys.stdin if attended else None).to_its_end()
    except KeyboardInterrupt:
        raise AskOperator(
            "not followed any more; the daemon goes on", "`snaprig capture status` says how far"
        ) from None
    except DetachedError:
        raise AskOperator("the terminal is gone; the daemon goes on") from None
    except DaemonGoneError as error:
        raise AskOperator(
            f"the daemon does not answer any more ({error})",
            "start it again; it says what was interrupted, and `snaprig capture resume` goes on",
        ) from error


def _summary(job: dict[str, Any]) -> Summary:
    """How its sweep ended; raises what the engine raised before there was one."""
    document = job["summary"]
    if document is None:
        _raise_end(job)
    return Summary(**{**document, "status": RunStatus(document["status"])})


def _raise_end(job: dict[str, Any]) -> NoReturn:
    """Raise what ended a job before it could say how it went."""
    fault = job["fault"]
    text = fault["text"] if fault else f"{job['title']} ended as {job['cause']}"
    action = fault["action"] if fault else ""
    if job["state"] == "failed":
        raise Abort(text, action)
    raise AskOperator(text, action)


class _Following:
    def __init__(self, client: Client, job: str, stop: StopRequest, answers: TextIO | None) -> None:
        self._client = client
        self._job = job
        self._stop = stop
        self._answers = answers
        self._stopped = False
        self._question: dict[str, Any] | None = None
        self._news: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()

    def to_its_end(self) -> dict[str, Any]:
        """Follow until the job is over; returns it."""
        threading.Thread(target=self._listen, name="events", daemon=True).start()
        state = self._client.get("/api/state")
        title = "/".join(filter(None, (state["job"]["scene"], state["job"]["lighting"])))
        with shown(title or "daemon") as watch:
            self._show(state, watch)
            while not _over(state, self._job):
                self._obey()
                self._hear_answer()
                with suppress(queue.Empty):
                    name, data = self._news.get(timeout=_LOOK_S)
                    if name in ("gone", "resync"):
                        state = self._client.get("/api/state")  # raises where it is gone for good
                    elif name == "state":
                        state = data
                    elif name == "note":
                        watch(_snapshot(state, data["text"]))
                        continue
                    self._show(state, watch)
        ended: dict[str, Any] = self._client.get(f"/api/jobs/{self._job}")
        return ended

    def _listen(self) -> None:
        """The stream, again and again; what is missed in between the state tells."""
        failures = 0
        while failures < 3:
            try:
                for news in self._client.events():
                    failures = 0
                    if news[0] != "heartbeat":
                        self._news.put(news)
            except DaemonGoneError:
                failures += 1
                self._news.put(("gone", None))
                threading.Event().wait(1.0)

    def _obey(self) -> None:
        if not self._stop.asked or self._stopped:
            return
        if self._stop.reason == _HANGUP:
            raise DetachedError
        self._stopped = True
        with suppress(Abort):  # it ended meanwhile
            self._client.post("/api/stop", {"confirm": self._job})

    def _show(self, state: dict[str, Any], watch: Watch) -> None:
        watch(_snapshot(state))
        question = state["question"]
        if question is None or (self._question and self._question["id"] == question["id"]):
            self._question = question
            return
        self._question = question
        say(f"WAITING FOR YOU: {question['text']}")
        if question["action"]:
            say(f"  {question['action']}")
        if self._answers is not None:
            yes_no = question["kind"] == "checklist"
            say("  y or n" if yes_no else "  press Enter when done, q and Enter to stop")

    def _hear_answer(self) -> None:
        question, source = self._question, self._answers
        if question is None or source is None or not has_input(source, 0):
            return
        line = source.readline()
        if line == "":
            self._answers = None
            return
        word = line.strip().lower()
        if question["kind"] == "checklist":
            answer = {"y": "yes", "n": "no"}.get(word[:1], "")
        else:
            answer = "stop" if word in ("q", "quit") else "done"
        with suppress(Abort):  # somebody else was quicker
            self._client.post("/api/answer", {"question": question["id"], "answer": answer})


def _over(state: dict[str, Any], job: str) -> bool:
    now = state["job"]
    return now is None or now["id"] != job or now["ended_at"] is not None


def _snapshot(state: dict[str, Any], message: str = "") -> Snapshot:
    """The engine's step as the daemon tells it."""
    job = state["job"]
    shot = job.get("shot")
    exposure = shot and Exposure(shot["shutter_s"], shot["iso"], shot["f_number"])
    running = state["phase"] or job["state"]
    known = {str(phase) for phase in RunState}
    return Snapshot(
        state=RunState(running) if running in known else RunState.STOPPED,
        planned=job["planned"],
        counts={Outcome(name): number for name, number in job["counts"].items()},
        shot=exposure or None,
        lux=(state["light"] or {}).get("lux"),
        shots_per_min=job.get("shots_per_min"),
        left_s=job.get("left_s"),
        message=message,
    )
