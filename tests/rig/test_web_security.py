"""The guard in front of a page's server."""

import asyncio
import json

import pytest

from rig.web.security import SESSION_S, Guard, Policy, Sessions, is_loopback, split_host

TOKEN = "a-token-of-the-lab-0123456789"  # noqa: S105
WRITE = {"content-type": "application/json", "x-snaprig": "1"}


async def application(scope, receive, send):
    del scope, receive
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"inside"})


class Answer:
    def __init__(self, messages):
        self.status = messages[0]["status"]
        self.headers = {k.decode().lower(): v.decode() for k, v in messages[0]["headers"]}
        self.body = b"".join(message.get("body", b"") for message in messages[1:])

    @property
    def reason(self):
        return json.loads(self.body)["reason"]


def ask(guard, method="GET", path="/api/state", headers=(), body=b"{}", host="127.0.0.1:8417"):
    given = dict(headers)
    raw = [(b"host", host.encode())] if host is not None else []
    raw += [(name.encode(), value.encode()) for name, value in given.items()]
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    scope = {"type": "http", "method": method, "path": path, "headers": raw}
    asyncio.run(guard(scope, receive, send))
    return Answer(sent)


@pytest.fixture
def local():
    return Guard(application, Policy.of("127.0.0.1"))


@pytest.fixture
def lan():
    policy = Policy.of("0.0.0.0", tokens=[TOKEN, "another-token-0123456789"], names=["Rig.local"])  # noqa: S104
    return Guard(application, policy)


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8417", "127.0.0.1:1", "[::1]", "[::1]:8417", "LOCALHOST:8417"]
)
def test_the_loopback_by_its_names(local, host):
    assert ask(local, host=host).body == b"inside"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8417",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "evil.example#127.0.0.1",
        "127.0.0.1/evil",
        "user@127.0.0.1",
        "127.0.0.1:8417, evil.example",
        "[::1",
        "192.168.1.7",
        "",
        "127.0.0.1:99999",
        None,
    ],
)
def test_a_rebound_name_is_refused_before_all_else(local, host):
    answer = ask(local, host=host)
    assert (answer.status, answer.reason) == (400, "host")


def test_on_a_network_addresses_and_given_names_only(lan):
    key = {"authorization": f"Bearer {TOKEN}"}
    for host in ("192.168.1.7:8417", "[fe80::1]:8417", "rig.local", "RIG.LOCAL:8417", "127.0.0.1"):
        assert ask(lan, host=host, headers=key).status == 200, host
    for host in ("rig.evil.example", "other.local"):
        assert ask(lan, host=host, headers=key).status == 400, host


# ---- writes


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": None}, 415),
        ({"x-snaprig": None}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"origin": "http://[bad"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
    ],
)
def test_another_site_changes_nothing(local, method, change, status):
    headers = {k: v for k, v in {**WRITE, **change}.items() if v is not None}
    assert ask(local, method, headers=headers).status == status


def test_our_own_page_and_a_program_may(local):
    page = {**WRITE, "origin": "http://127.0.0.1:8417", "sec-fetch-site": "same-origin"}
    assert ask(local, "POST", headers=page).status == 200
    assert ask(local, "POST", headers=WRITE).status == 200
    utf8 = {**WRITE, "content-type": "application/json; charset=utf-8"}
    assert ask(local, "POST", headers=utf8).status == 200


def test_no_page_of_another_site_is_told_that_it_may(local):
    answer = ask(local, "OPTIONS", headers={"origin": "https://evil.example"})
    assert answer.status == 403
    assert not any(name.startswith("access-control") for name in answer.headers)


# ---- token and session


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": f"Basic {TOKEN}"},
        {"authorization": "Bearer "},
        {"authorization": f"Bearer {TOKEN}x"},
        {"cookie": "snaprig-session=made-up"},
        {"cookie": "snaprig-session="},
        {"x-forwarded-for": "127.0.0.1"},
    ],
)
def test_without_the_token_nothing_is_told(lan, headers):
    for path in ("/", "/api/state", "/api/events", "/api/openapi.json", "/api/frames/1/image"):
        answer = ask(lan, path=path, headers=headers)
        assert (answer.status, answer.reason) == (401, "token"), path
    assert ask(lan, "POST", headers={**WRITE, **headers}).status == 401


def test_any_of_the_tokens_lets_in(lan):
    for token in (TOKEN, "another-token-0123456789"):
        assert ask(lan, headers={"authorization": f"Bearer {token}"}).status == 200
        assert ask(lan, headers={"authorization": f"bearer {token}"}).status == 200


def opened(guard):
    body = json.dumps({"token": TOKEN}).encode()
    answer = ask(guard, "POST", "/api/session", WRITE, body)
    assert answer.status == 200
    return answer.headers["set-cookie"]


def test_a_session_opens_with_the_token_and_ends(lan):
    cookie = opened(lan)
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN not in cookie
    held = {"cookie": f"theme=dark; {cookie.split(';')[0]}"}
    assert ask(lan, headers=held).status == 200
    assert ask(lan, "POST", headers={**held, **WRITE}).status == 200
    assert ask(lan, "POST", headers=held).status == 415, "a cookie alone changes nothing"
    ask(lan, "POST", "/api/session", {**WRITE, **held})
    assert ask(lan, headers=held).status == 401


@pytest.mark.parametrize(
    "body", [b'{"token": "wrong"}', b'{"token": 7}', b'{"token": [1]}', b'{"token": "\xc3\xa4"}']
)
def test_a_wrong_token_opens_nothing(lan, body):
    answer = ask(lan, "POST", "/api/session", WRITE, body)
    assert answer.status == 401
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"not json", b"\xff", b"{" * 100])
def test_rubbish_opens_nothing(lan, body):
    answer = ask(lan, "POST", "/api/session", WRITE, body)
    assert json.loads(answer.body) == {"session": False}


def test_a_session_ends_by_itself_and_their_number_is_bounded():
    now_s = [0.0]
    sessions = Sessions(clock=lambda: now_s[0])
    first = sessions.open()
    assert sessions.holds(first)
    now_s[0] = SESSION_S + 1
    assert not sessions.holds(first)
    kept = [sessions.open() for _ in range(1500)]
    assert not sessions.holds(kept[0])
    assert sessions.holds(kept[-1])
    assert len(sessions._ends_s) <= 1000
    assert not any(secret in sessions._ends_s for secret in kept), "only digests are kept"


def test_a_browser_gets_the_login_page_and_what_it_is_made_of():
    policy = Policy.of(
        "0.0.0.0",  # noqa: S104
        tokens=[TOKEN],
        public=("/static/",),
        login=b"<html>sign in",
        login_policy="default-src 'self'",
    )
    guard = Guard(application, policy)
    answer = ask(guard, path="/", headers={"accept": "text/html,*/*"})
    assert (answer.status, answer.body) == (401, b"<html>sign in")
    assert answer.headers["content-security-policy"] == "default-src 'self'"
    assert ask(guard, path="/static/login.js").status == 200
    assert ask(guard, path="/api/state").status == 401


# ---- around


def test_every_answer_says_what_a_browser_must_not_do(local):
    for answer in (ask(local), ask(local, host="evil.example"), ask(local, "POST")):
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["referrer-policy"] == "no-referrer"


def test_the_application_may_say_it_better():
    async def page(scope, receive, send):
        headers = [(b"Content-Security-Policy", b"mine")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    answer = ask(Guard(page, Policy.of("localhost")))
    assert answer.headers["content-security-policy"] == "mine"


def test_sockets_are_closed(local):
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(local({"type": "websocket", "headers": []}, None, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("127.8.8.8", True),
        ("0.0.0.0", False),  # noqa: S104
        ("::", False),
        ("192.168.1.7", False),
        ("rig.local", False),
    ],
)
def test_what_can_be_reached_from_elsewhere(host, local):
    assert is_loopback(host) is local


def test_hosts_are_read_as_browsers_write_them():
    assert split_host("[::1]:8417") == ("::1", "8417")
    assert split_host("Rig.Local") == ("rig.local", "")
    assert split_host("a:b") == ("", "")
