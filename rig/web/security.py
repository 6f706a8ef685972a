"""The guard in front of a page's server: who may ask, and who may change something.

Everything on the machine and every page in a browser can reach a loopback port. So, in this order:

1. The host name must be known. A page of another site that points its own name at this address
   (DNS rebinding) sends a foreign one; addresses cannot be rebound, names can.
2. Where a token is set, it, or the session that it opened, must come along. Without one the
   server listens on the loopback only.
3. A request that changes something must be JSON, carry a header of our own, and must not say that
   it comes from another site: a form or an image of another page can do none of that.

An address of the client is no identity and is never looked at.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

#: What a request that changes something has to carry.
OWN_HEADER = "x-snaprig"
#: A session ends after so long; the token opens another one.
SESSION_S = 12 * 3600.0
_COOKIE = "snaprig-session"
_MOST_SESSIONS = 1000
_MOST_BODY_BYTES = 1 << 20
_SAFE = frozenset({"GET", "HEAD"})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

#: Nothing but what this server sends, nothing inline but what a hash allows, in no frame.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def is_loopback(host: str) -> bool:
    """Whether a listener there is reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def split_host(value: str) -> tuple[str, str]:
    """Name and port of a Host header; the name in small letters, an IPv6 address without brackets.

    An empty name for one that cannot be read.
    """
    try:
        parts = urlsplit(f"//{value}")
        port = "" if parts.port is None else str(parts.port)
    except ValueError:
        return "", ""
    if parts.username is not None or parts.path or parts.query or parts.fragment:
        return "", ""
    return (parts.hostname or ""), port


@dataclass
class Sessions:
    """Sessions by cookie; only digests of them are kept.

    Attributes
    ----------
    clock : callable
        Monotonic, in seconds.
    """

    clock: Callable[[], float] = time.monotonic
    _ends_s: dict[str, float] = field(default_factory=dict)

    def open(self) -> str:
        """A new session's secret."""
        now_s = self.clock()
        self._ends_s = {name: end for name, end in self._ends_s.items() if end > now_s}
        while len(self._ends_s) >= _MOST_SESSIONS:
            del self._ends_s[next(iter(self._ends_s))]
        secret = secrets.token_urlsafe(32)
        self._ends_s[_digest(secret)] = now_s + SESSION_S
        return secret

    def holds(self, secret: str) -> bool:
        """Whether it is open."""
        return self._ends_s.get(_digest(secret), 0.0) > self.clock()

    def end(self, secret: str) -> None:
        """Close it."""
        self._ends_s.pop(_digest(secret), None)


@dataclass(frozen=True)
class Policy:
    """What a server allows.

    Attributes
    ----------
    hosts : frozenset of str
        Names it is known by, in small letters.
    any_address : bool
        Whether a numerical address is good, too: where it listens on more than the loopback.
    tokens : tuple of str
        Any of them lets in; none where the loopback is trusted.
    public : tuple of str
        Beginnings of paths that need no token: what the login page is made of.
    login : bytes
        The page for a browser without a session.
    login_policy : str
        Its Content-Security-Policy; empty for the usual one.
    """

    hosts: frozenset[str] = _LOOPBACK
    any_address: bool = False
    tokens: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    login: bytes = b""
    login_policy: str = ""

    @classmethod
    def of(
        cls,
        listen: str,
        *,
        tokens: Iterable[str] = (),
        names: Iterable[str] = (),
        **more: Any,  # noqa: ANN401
    ) -> Policy:
        """The policy of a server that listens at that host, and goes by `names` as well."""
        lan = not is_loopback(listen)
        hosts = (
            _LOOPBACK | {name.lower() for name in names} | ({listen.lower()} if not lan else set())
        )
        return cls(frozenset(hosts), lan, tuple(tokens), **more)

    def knows(self, name: str) -> bool:
        """Whether a host name is ours."""
        if name in self.hosts:
            return True
        if not self.any_address:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def accepts(self, token: str) -> bool:
        """Whether it is one of the tokens; takes the same time for any wrong one."""
        given = token.encode()
        right = False
        for known in self.tokens:  # all of them, whichever fits
            right |= hmac.compare_digest(given, known.encode())
        return right


class Guard:
    """ASGI middleware that asks a `Policy`; streams go through it untouched.

    It answers ``POST /api/session`` (``{"token": …}`` opens a session, ``{}`` ends it) itself.
    """

    def __init__(self, app: App, policy: Policy, sessions: Sessions | None = None) -> None:
        self._app = app
        self._policy = policy
        self._sessions = sessions or Sessions()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = _headers(scope)
        problem = self._refusal(scope, headers)
        if problem is not None:
            await self._refuse(scope, headers, send, *problem)
            return
        if scope["path"] == "/api/session" and scope["method"] == "POST":
            await self._session(headers, receive, send)
            return
        await self._app(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str, str] | None:
        """Status, code and text of why not; None if it may pass."""
        host = headers.get("host", "")
        name, _ = split_host(host)
        if not self._policy.knows(name):
            return 400, "host", "this server is not known by that name"
        writes = scope["method"] not in _SAFE
        opening = writes and scope["path"] == "/api/session"
        if self._policy.tokens and not opening and not self._known(scope["path"], headers):
            return 401, "token", "a token is needed"
        return self._unsafe(host, headers) if writes else None

    def _unsafe(self, host: str, headers: dict[str, str]) -> tuple[int, str, str] | None:
        """Why a request may change nothing."""
        if (why := self._foreign(host, headers)) is not None:
            return 403, "cross_site", why
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            return 415, "content_type", "the body must be application/json"
        if OWN_HEADER not in headers:
            return 403, "cross_site", "the header X-Snaprig is missing"
        return None

    def _known(self, path: str, headers: dict[str, str]) -> bool:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._policy.accepts(token.strip()):
            return True
        return path.startswith(self._policy.public) or self._sessions.holds(_cookie(headers))

    def _foreign(self, host: str, headers: dict[str, str]) -> str | None:
        """Why a request comes from another site; None if nothing says so."""
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return "requests of other sites change nothing here"
        origin = headers.get("origin")
        if origin is None:
            return None
        try:
            netloc = urlsplit(origin).netloc
        except ValueError:
            netloc = ""
        # The host's name is one of ours by now, so equality proves more than itself.
        return None if netloc.lower() == host.lower() else "requests of other sites change nothing"

    async def _session(self, headers: dict[str, str], receive: Receive, send: Send) -> None:
        try:
            document = json.loads(await _body(receive))
            token = document.get("token") if isinstance(document, dict) else None
        except ValueError:
            token = None
        if token is None:
            self._sessions.end(_cookie(headers))
            await _answer(send, 200, {"session": False}, cookie=_set_cookie("", 0))
        elif not self._policy.tokens:
            await _answer(send, 200, {"session": False})
        elif isinstance(token, str) and self._policy.accepts(token):
            cookie = _set_cookie(self._sessions.open(), int(SESSION_S))
            await _answer(send, 200, {"session": True}, cookie=cookie)
        else:
            await _answer(send, 401, {"detail": "that is not the token", "reason": "token"})

    async def _refuse(
        self, scope: Scope, headers: dict[str, str], send: Send, status: int, code: str, text: str
    ) -> None:
        wants_page = scope["method"] == "GET" and "text/html" in headers.get("accept", "")
        if status == 401 and wants_page and self._policy.login:
            await _answer(send, status, self._policy.login, policy=self._policy.login_policy)
        else:
            await _answer(send, status, {"detail": text, "state": "", "reason": code})


def _headers(scope: Scope) -> dict[str, str]:
    """Headers by name in small letters; of doubled ones the parts that decide become unusable."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}, {text}" if key in found else text
    return found


def _cookie(headers: dict[str, str]) -> str:
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == _COOKIE:
            return value
    return ""


def _set_cookie(secret: str, max_age_s: int) -> str:
    return f"{_COOKIE}={secret}; Path=/; Max-Age={max_age_s}; HttpOnly; SameSite=Strict"


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def _with_headers(send: Send) -> Send:
    """Security headers on what the application answers; its own ones win."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [
                *message["headers"],
                *(
                    (name.encode(), value.encode())
                    for name, value in _HEADERS.items()
                    if name.encode() not in given
                ),
            ]
        await send(message)

    return sending


async def _body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if len(body) > _MOST_BODY_BYTES or not message.get("more_body"):
            return bytes(body)


async def _answer(
    send: Send,
    status: int,
    content: dict[str, Any] | bytes,
    *,
    cookie: str = "",
    policy: str = "",
) -> None:
    page = isinstance(content, bytes)
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    kind = b"text/html; charset=utf-8" if page else b"application/json"
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    headers += [(b"set-cookie", cookie.encode())] if cookie else []
    headers += [(b"www-authenticate", b"Bearer")] if status == 401 else []
    headers += [(b"content-security-policy", policy.encode())] if policy else []
    start: Message = {"type": "http.response.start", "status": status, "headers": headers}
    await _with_headers(send)(start)
    await send({"type": "http.response.body", "body": body})
