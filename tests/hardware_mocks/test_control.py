from __future__ import annotations

import http.client
import json
import urllib.error

import pytest

from tests.darkroom_process import darkroom

pytestmark = pytest.mark.wire


@pytest.fixture(scope="module")
def shared(photo):
    with darkroom(photo) as running:
        yield running


def raw(room, method, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", room.ready["control_port"], timeout=10)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_ready_line_says_where_everything_is(shared, photo):
    ready = shared.ready
    port = ready["camera_port"]
    assert ready["camera"] == f"ptpip:127.0.0.1:{port}:{port}"
    assert ready["hub"] == f"127.0.0.1:{ready['hub_port']}"
    assert ready["control"] == f"http://127.0.0.1:{ready['control_port']}"
    assert ready["pid"] == shared.proc.pid
    assert (ready["lux"], ready["timescale"], ready["seed"]) == (1000, 0, 0)
    assert ready["scene"]
    assert ready["assumption"]


def test_light_is_set_and_journaled(shared):
    assert shared.post("/lux", {"lux": 10})["lux"] == 10
    assert shared.log()[-1]["kind"] == "lux"
    assert shared.log()[-1]["lux"] == 10


def test_log_since_gives_only_what_is_new(shared):
    last = shared.log()[-1]["seq"] if shared.log() else 0
    shared.post("/lux", {"lux": 20})
    assert [entry["seq"] for entry in shared.log(last)] == [last + 1]


def test_scene_is_changed(shared, photo, tmp_path):
    other = tmp_path / "other.png"
    other.write_bytes(photo.read_bytes())
    before = shared.state()["scene"]
    assert shared.post("/scene", {"photo": str(other), "scene_lux": 500})["scene"] != before


@pytest.mark.parametrize("mode", ["P", "AV", "TV", "Auto", "M"])
def test_dial_is_turned(shared, mode):
    state = shared.post("/dial", {"mode": mode})
    assert state["mode"] == mode.upper()
    assert (state["settings"]["shutter"] == "auto") == (mode in ("P", "AV", "Auto"))
    assert (state["settings"]["f_number"] == "auto") == (mode in ("P", "TV", "Auto"))
    assert (state["settings"]["iso"] == "Auto") == (mode == "Auto")


def test_faults_are_added(shared):
    state = shared.post("/faults", [{"name": "lux_step_mid_exposure", "at": 900, "lux": 3}])
    expected = {"name": "lux_step_mid_exposure", "at": 900, "times": 1, "left": 1}
    assert state["faults"] == [expected | {"lux": 3.0, "for_s": 0.0}]


@pytest.mark.parametrize(
    ("path", "document", "says"),
    [
        ("/lux", {"lux": -1}, "lux"),
        ("/lux", {}, "lux"),
        ("/lux", [], "/lux takes an object"),
        ("/dial", {"mode": "X"}, "one of M, P, AV, TV, Auto"),
        ("/scene", {"photo": "/no/such/file.jpg"}, "/no/such/file.jpg"),
        ("/faults", [{"name": "gremlin", "at": 1}], "corrupt_jpeg"),
    ],
)
def test_what_is_not_understood_is_explained(shared, path, document, says):
    with pytest.raises(urllib.error.HTTPError) as refused:
        shared.post(path, document)
    with refused.value as answer:
        assert answer.code == 400
        assert says in json.load(answer)["error"]


def test_foreign_host_is_refused(shared):
    status, answer = raw(shared, "GET", "/state", Host="evil.example")
    assert status == 403
    assert "loopback" in answer["error"]


def test_write_needs_json_content_type(shared):
    status, _ = raw(shared, "POST", "/lux", b'{"lux": 5}', **{"Content-Type": "text/plain"})
    assert status == 415
    assert shared.state()["lux"] != 5


def test_unknown_paths_are_404(shared):
    assert raw(shared, "GET", "/nothing")[0] == 404
    headers = {"Content-Type": "application/json"}
    assert raw(shared, "POST", "/nothing", b"{}", **headers)[0] == 404
