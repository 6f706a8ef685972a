"""The API over HTTP in this process: what it answers, refuses, and never does."""

import contextlib
import json
import os

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from starlette.testclient import httpx as client_library

from capture.daemon.past import history
from capture.daemon.reading import thinned
from rig.errors import AskOperator
from schemas.capture_store import add_scene, put_lighting, start_run
from schemas.frame_store import add_frame, list_frames
from schemas.records import Frame, Outcome, Scene
from tests.capture.daemon_lab import WRITE, DaemonLab, daemon_lab
from tests.capture.lab import BRIGHT, SMALL

HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def shot(make_lab):
    """A daemon whose workspace holds one whole sweep; nothing is shot any more."""
    lab = make_lab()
    lab.sweep()
    return DaemonLab(lab)


@pytest.fixture
def client(shot):
    with shot.site() as client:
        yield client


def start(**options):
    body = {
        "kind": "sweep",
        "scene": "cups",
        "lighting": "bright",
        "plan": SMALL.model_dump(mode="json"),
        "checklist_done": True,
        "references": False,
    }
    return {**body, **options}


def test_from_start_to_grid(lab, monkeypatch):
    with daemon_lab(lab, monkeypatch) as daemon, daemon.site() as client:
        state = client.get("/api/state").json()
        options = client.get("/api/options").json()
        assert options["rev"] == state["rev"]
        assert [scene["name"] for scene in options["scenes"]] == ["cups"]
        body = start(rev=state["rev"], key="once")
        first = client.post("/api/start", json=body)
        assert first.status_code == 201
        again = client.post("/api/start", json=body)
        assert again.status_code == 200
        assert again.json()["job"]["id"] == first.json()["job"]["id"]
        busy = client.post("/api/start", json=start(rev=first.json()["state"]["rev"]))
        assert (busy.status_code, busy.json()["reason"]) == (409, "busy")
        ended = daemon.wait("done")
        moved = client.post("/api/start", json=start(rev=state["rev"]))
        assert (moved.status_code, moved.json()["reason"]) == (409, "moved")
        job = client.get(f"/api/jobs/{ended['job']['id']}").json()
        assert job["summary"]["accepted"] == ended["job"]["counts"]["accepted"]
        assert client.get("/api/jobs").json()[0] == job
        grid = client.get("/api/grid").json()
        rows = {frame.setting: frame for frame in list_frames(lab.catalog)}
        assert len(grid["cells"]) == 8
        for cell in grid["cells"]:
            row = rows[cell["stem"]]
            assert (cell["outcome"], cell["frame_id"]) == (row.outcome, row.id)
            assert cell["ev_offset"] == row.ev_offset
        (run,) = client.get("/api/history").json()
        assert (run["status"], run["cause"], run["planned"]) == ("done", "completed", 8)
        assert sum(run["counts"].values()) == 8
        light = client.get("/api/light").json()
        assert light["run"] == run["run"]
        assert (light["low"], light["high"]) == (900, 1100)
        assert {lux for _, lux in light["points"]} == {1000}


def test_commands_by_http(lab, monkeypatch):
    with daemon_lab(lab, monkeypatch) as daemon, daemon.site() as client:
        lab.camera.faults.add("shoot", AskOperator("the card is full", "put in another"))
        rev = client.get("/api/state").json()["rev"]
        client.post("/api/start", json=start(rev=rev))
        question = daemon.wait("needs_operator")["question"]
        stale = client.post("/api/answer", json={"question": "x", "answer": "done"})
        assert (stale.status_code, stale.json()["reason"]) == (409, "no_question")
        daemon.shutter.hold_at(daemon.shutter.begun + 2)
        answered = client.post("/api/answer", json={"question": question["id"], "answer": "done"})
        assert answered.status_code == 200
        daemon.until(lambda state: state["state"] == "running")
        assert client.post("/api/pause", json={}).json()["state"] == "pausing"
        daemon.shutter.release()
        daemon.wait("paused")
        assert client.post("/api/pause", json={}).status_code == 200
        unconfirmed = client.post("/api/stop", json={})
        assert (unconfirmed.status_code, unconfirmed.json()["reason"]) == (409, "confirm")
        assert "cups" in unconfirmed.json()["detail"]
        assert client.post("/api/resume", json={}).status_code == 200
        state = daemon.wait("running", "done")
        client.post("/api/stop", json={"confirm": state["job"]["id"]})
        daemon.wait("interrupted", "done")


def test_frames_by_number(shot, client):
    lab = shot.lab
    kept, lost = (
        next(f for f in list_frames(lab.catalog) if bool(f.path) is has) for has in (True, False)
    )
    facts = client.get(f"/api/frames/{kept.id}").json()
    assert (facts["stem"], facts["outcome"], facts["attempts"]) == (kept.setting, "accepted", 1)
    assert len(facts["histogram"]) == 256
    assert sum(facts["histogram"]) == 96 * 64
    image = client.get(f"/api/frames/{kept.id}/image")
    assert image.content == lab.workspace.resolve(kept.path).read_bytes()
    assert image.headers["content-type"] == "image/jpeg"
    assert image.headers["x-content-type-options"] == "nosniff"
    small = client.get(f"/api/frames/{kept.id}/thumbnail?width=48")
    assert small.content.startswith(b"\xff\xd8")
    assert b"Exif" not in small.content
    assert client.get(f"/api/frames/{kept.id}/clipping").content.startswith(b"\x89PNG")
    rejected = client.get(f"/api/frames/{lost.id}").json()
    assert rejected["reason"]
    for kind in ("image", "thumbnail", "clipping"):
        assert client.get(f"/api/frames/{lost.id}/{kind}").status_code == 404
    newest = client.get("/api/frames?limit=3").json()
    assert [frame["id"] for frame in newest] == sorted((f["id"] for f in newest), reverse=True)


@pytest.mark.parametrize(
    "path",
    [
        "/api/frames/../../rig.toml/image",
        "/api/frames/%2e%2e%2frig.toml/image",
        "/api/frames/1%00/image",
        "/api/frames//etc/passwd/image",
        "/api/frames/0/image",
        "/api/frames/-1/image",
        "/api/frames/99999999999999999999999/image",
        "/api/frames/1e3/image",
        "/api/frames/9999/image",
        "/static/../../rig.toml",
        "/static/%2e%2e/page.py",
        "/static//etc/passwd",
        "/static/",
        "/daemon.json",
        "/rig.toml",
    ],
)
def test_no_path_leads_to_another_file(client, path):
    answer = client.get(path)
    assert answer.status_code in (404, 422)
    assert b"root:" not in answer.content
    assert b"[camera]" not in answer.content


@pytest.mark.parametrize("escape", ["../outside.jpg", "/etc/passwd", "frames/a\0b", "rig.toml"])
def test_a_row_that_names_another_file_serves_nothing(make_lab, escape):
    lab = make_lab()
    (lab.workspace.root.parent / "outside.jpg").write_bytes(b"secret")
    put_lighting(lab.catalog, BRIGHT)
    frame_id = stored(lab, escape)
    daemon = DaemonLab(lab)
    with daemon.site() as client:
        assert client.get(f"/api/frames/{frame_id}/image").status_code == 404


def test_a_link_out_of_the_frames_serves_nothing(make_lab):
    lab = make_lab()
    secret = lab.workspace.root.parent / "secret.jpg"
    secret.write_bytes(b"secret")
    put_lighting(lab.catalog, BRIGHT)
    os.symlink(secret, lab.workspace.frames / "link.jpg")
    frame_id = stored(lab, "frames/link.jpg")
    with DaemonLab(lab).site() as client:
        assert client.get(f"/api/frames/{frame_id}/image").status_code == 404


def stored(lab, path, scene="cups", number=0):
    run = start_run(
        lab.catalog,
        scene=scene,
        lighting="bright",
        plan=SMALL,
        simulated=True,
        devices={},
        versions={},
    )
    frame = Frame(
        scene=scene,
        lighting="bright",
        run_id=run,
        kind="manual",
        requested=list(SMALL)[number].exposure,
        outcome=Outcome.ACCEPTED,
        attempt=1,
        path=path,
    )
    return add_frame(lab.catalog, frame)


def test_hostile_names_stay_text(make_lab):
    """A name made by hand in the catalog: JSON and nothing else goes out, never as a page."""
    lab = make_lab()
    add_scene(lab.catalog, Scene(HOSTILE, HOSTILE, 1))
    put_lighting(lab.catalog, BRIGHT)
    stored(lab, "", scene=HOSTILE)
    with DaemonLab(lab).site() as client:
        asked = {"scene": HOSTILE, "lighting": "bright"}
        for path in ("/api/options", "/api/history", "/api/frames", "/api/state", "/api/jobs"):
            answer = client.get(path)
            assert answer.headers["content-type"] == "application/json", path
        for path in ("/api/grid", "/api/frames"):
            answer = client.get(path, params=asked)
            assert answer.headers["content-type"] == "application/json"
        wrong = client.post("/api/start", json=start(scene=HOSTILE + "x", rev=1))
        assert wrong.headers["content-type"] == "application/json"
        page = client.get("/")
        assert "img-src 'self'" in page.headers["content-security-policy"]
        assert HOSTILE not in page.text


def test_every_route_needs_the_token(shot):
    with shot.site(tokens=["the-token-of-this-lab"]) as client:
        schema = shot_schema(shot)
        for path, operations in schema["paths"].items():
            for method in operations:
                url = path.replace("{frame_id}", "1").replace("{run}", "1").replace("{job_id}", "x")
                answer = client.request(method, url, json={} if method == "post" else None)
                assert answer.status_code == 401, (method, url)
        assert client.get("/").status_code == 401
        assert client.get("/", headers={"Accept": "text/html"}).status_code == 401
        key = {"Authorization": "Bearer the-token-of-this-lab"}
        assert client.get("/api/state", headers=key).status_code == 200


def test_no_secret_is_in_what_is_told(shot, client):
    root = shot.lab.workspace.root
    text = (root / "rig.toml").read_text()
    (root / "rig.toml").write_text(text + '\n[alerts]\nntfy = "https://ntfy.example/s3cret"\n')
    try:
        for path in ("/api/state", "/api/options", "/api/history", "/api/jobs", "/api/preflight"):
            assert "s3cret" not in client.get(path).text
    finally:
        (root / "rig.toml").write_text(text)


def test_a_write_without_the_own_header_is_refused(shot):
    with shot.site() as client:
        del client.headers["X-Snaprig"]
        assert client.post("/api/pause", json={}).status_code == 403
        form = client.post("/api/pause", data={"a": "b"}, headers=WRITE)
        assert form.status_code == 415


def test_a_hundred_sweeps_of_history_are_one_small_answer(make_lab):
    lab = make_lab()
    put_lighting(lab.catalog, BRIGHT)
    for _ in range(120):
        start_run(
            lab.catalog,
            scene="cups",
            lighting="bright",
            plan=SMALL,
            simulated=True,
            devices={},
            versions={},
        )
    with DaemonLab(lab).site() as client:
        first = client.get("/api/history").json()
        rest = client.get("/api/history", params={"before": first[-1]["run"]}).json()
    assert [run["run"] for run in (*first, *rest)] == list(range(120, 0, -1))
    assert {run["cause"] for run in first} == {"killed"}, "no status, and nobody runs"
    assert history(lab.catalog, 120, limit=1, before=None)[0]["status"] == "running"


def test_a_long_trace_keeps_its_dips():
    points = [(number, 1000.0) for number in range(50_000)]
    points[31_415] = (31_415, 7.0)
    points[40_000] = (40_000, 9999.0)
    thin = thinned(points)
    assert len(thin) <= 1200
    assert (31_415, 7.0) in thin
    assert (40_000, 9999.0) in thin
    assert thin == sorted(thin)
    assert thinned(points[:1000]) == points[:1000]


def test_the_stream_begins_where_the_snapshot_ends(lab, monkeypatch):
    with daemon_lab(lab, monkeypatch) as daemon, daemon.site() as client:
        seen = client.get("/api/state").json()
        daemon.hub.publish("note", {"text": "between"})
        daemon.hub.close()  # else it would go on
        after = f"{seen['boot']}-{seen['seq']}"
        answer = client.get("/api/events", params={"after": after})
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["x-accel-buffering"] == "no"
        assert answer.headers["cache-control"] == "no-cache"


# ---- whatever is sent


def shot_schema(shot):
    with shot.site() as client:
        document = client.get("/api/openapi.json").json()
    assert json.dumps(document)
    return document


def test_nothing_that_is_sent_breaks_it(shot):
    """Every route, with what its description allows and with what it does not."""
    fuzzed = []
    with shot.site() as client:
        schema = schemathesis.openapi.from_dict(client.get("/api/openapi.json").json())
        for found in schema.get_all_operations():
            operation = found.ok()
            if operation.path == "/api/events":
                continue  # it never ends
            fuzzed.append(operation.label)
            modes = schemathesis.GenerationMode
            try_all(operation.as_strategy(generation_mode=modes.POSITIVE), client)
            with contextlib.suppress(Unsatisfiable):  # nothing can be wrong about it
                try_all(operation.as_strategy(generation_mode=modes.NEGATIVE), client)
    assert len(fuzzed) > 15


def try_all(strategy, client):
    @settings(
        max_examples=12,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategy)
    def sent(case):
        given_url = case.formatted_path
        options = case.as_transport_kwargs(base_url="http://127.0.0.1:8417")
        options["headers"] = {**options["headers"], **WRITE}
        options.pop("cookies", None)
        if isinstance(options.get("data"), bytes | str):
            options["content"] = options.pop("data")
        url = options.pop("url")
        try:
            answer = client.request(options.pop("method"), url, **options)
        except (ValueError, client_library.InvalidURL):
            return  # no client can send that
        assert answer.status_code < 500, (given_url, options, answer.text)
        if answer.status_code >= 400 and answer.headers["content-type"] == "application/json":
            assert answer.json()["detail"]

    sent()


def test_it_is_described_for_programs(shot):
    document = shot_schema(shot)
    paths = set(document["paths"])
    assert {"/api/state", "/api/events", "/api/start", "/api/stop", "/api/grid"} <= paths
    for operations in document["paths"].values():
        for operation in operations.values():
            assert operation["description"]
