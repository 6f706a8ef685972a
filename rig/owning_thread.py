"""One thread that makes every call into a library that can neither share nor be interrupted."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

_T = TypeVar("_T")


class OwningThread:
    """A daemon thread, started by the first request, that lives as long as the process.

    Callers wait for their answers until a deadline of their own. A request that has not begun by
    then is dropped. One that hangs inside the library is left alone; the thread serves the next
    one when it comes back.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._requests: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = (
            queue.SimpleQueue()
        )
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def post(self, request: Callable[[], _T]) -> Future[_T]:
        """Have `request` run in its turn; never blocks."""
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        answer: Future[_T] = Future()
        self._requests.put((answer, request))
        return answer

    def call(
        self,
        request: Callable[[], _T],
        deadline_s: float,
        undo: Callable[[], object] | None = None,
    ) -> _T:
        """Answer of `request`, or its exception.

        Raises
        ------
        TimeoutError
            After `deadline_s` seconds. If the request then succeeds all the same, `undo` runs
            after it, on the thread.
        """
        answer = self.post(request)
        try:
            return answer.result(timeout=deadline_s)
        except TimeoutError:
            if not answer.cancel() and undo is not None:
                answer.add_done_callback(
                    lambda late: None if late.exception() else _ignore(self.post(undo))
                )
            raise

    def _run(self) -> None:
        while True:
            answer, request = self._requests.get()
            if not answer.set_running_or_notify_cancel():
                continue
            try:
                answer.set_result(request())
            except BaseException as error:  # it belongs to whoever waits for the answer
                answer.set_exception(error)
            del answer, request  # nothing is kept alive while the queue is empty


def _ignore(_future: Future[Any]) -> None:
    return None
