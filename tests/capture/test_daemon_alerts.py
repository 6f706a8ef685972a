"""Alerts: raised at once, repeated until acknowledged, resolved; a dead sender delays nobody."""

import http.server
import json
import sys
import threading

import pytest

from capture.daemon.alerts import Alarm, Sender, senders
from capture.daemon.jobs import Fault
from rig.config import AlertsConfig, RigConfig
from rig.errors import Abort, AskOperator
from tests.capture.daemon_lab import daemon_lab

FAULT = Fault("question", "Waiting for you: the dial is on P", "turn it to M")


class Rig:
    """What is watched, a way that keeps what it is told, and the time."""

    def __init__(self, repeat_min=10.0):
        self.trouble = None
        self.now_s = 0.0
        self.sent, self.told = [], []
        config = AlertsConfig(repeat_min=repeat_min)
        self.alarm = Alarm(self, config, self.told.append, ways=[self], clock=lambda: self.now_s)

    def tell(self, message):
        self.sent.append(message)

    def look(self, trouble=None, after_s=0.0):
        self.now_s += after_s
        self.trouble = trouble
        self.alarm.look()
        return [message["event"] for message in self.sent]


@pytest.fixture
def rig():
    return Rig()


def test_a_fault_is_told_at_once_and_again_until_somebody_acknowledges_it(rig):
    trouble = ("job question 1", FAULT)
    assert rig.look() == []
    assert rig.look(trouble) == ["fault"]
    assert rig.look(trouble, 599) == ["fault"]
    assert rig.look(trouble, 2) == ["fault", "reminder"]
    assert rig.alarm.acknowledge(rig.alarm.alert.id)
    assert rig.look(trouble, 6000) == ["fault", "reminder"]
    assert rig.look(None) == ["fault", "reminder", "resolved"]
    assert rig.look(None, 6000) == ["fault", "reminder", "resolved"]
    assert rig.sent[0]["text"] == FAULT.text
    assert rig.sent[0]["action"] == FAULT.action
    assert len({message["id"] for message in rig.sent}) == 1
    assert [alert and alert["acknowledged"] for alert in rig.told] == [False, True, None]


def test_another_trouble_ends_the_first_and_is_told_itself(rig):
    rig.look(("a", FAULT))
    rig.look(("b", FAULT))
    assert rig.look(("b", FAULT)) == ["fault", "resolved", "fault"]
    assert not rig.alarm.acknowledge(rig.sent[0]["id"]), "that one is over"


def test_a_sender_that_hangs_holds_nobody_up():
    stuck, sent = threading.Event(), []
    hanging = Sender("hanging", lambda _message: stuck.wait(60))
    quick = Sender("quick", sent.append)
    rig = Rig()
    rig.alarm._ways = [hanging, quick]
    for number in range(100):
        rig.look((f"trouble {number}", FAULT))
        rig.look(None)
    assert hanging._messages.full(), "and the rest was dropped"
    quick.tell(None)
    quick._thread.join(30)
    assert sent
    stuck.set()


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, dict(self.headers), body))
        self.server.arrived.set()
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_arguments):
        pass


@pytest.fixture
def receiver():
    server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
    server.got, server.arrived = [], threading.Event()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_ways_of_telling(receiver, tmp_path):
    url = f"http://127.0.0.1:{receiver.server_port}"
    out = tmp_path / "out.json"
    code = "import sys; open(sys.argv[1], 'w').write(sys.stdin.read())"
    config = AlertsConfig(
        webhook=f"{url}/hook", ntfy=f"{url}/rig", command=(sys.executable, "-c", code, str(out))
    )
    message = {"event": "fault", "text": "Über 1000 lux", "action": "turn it"}
    ways = senders(config)
    for way in ways:
        way.tell(message)
        way.tell(None)
        way._thread.join(30)
    assert len(ways) == 3
    got = {path: (headers, body) for path, headers, body in receiver.got}
    assert json.loads(got["/hook"][1]) == message
    headers, body = got["/rig"]
    assert body.decode() == "Über 1000 lux turn it"
    assert (headers["Title"], headers["Priority"]) == ("snaprig: fault", "4")
    assert json.loads(out.read_text()) == message


def test_a_secret_address_is_in_no_log(caplog):
    (way,) = senders(AlertsConfig(webhook="http://127.0.0.1:1/s3cret", timeout_s=1))
    way.tell({"event": "fault", "text": "", "action": ""})
    way.tell(None)
    way._thread.join(30)
    assert "ConnectError" in caplog.text
    assert "s3cret" not in caplog.text


def test_a_question_of_a_sweep_reaches_a_webhook_and_is_resolved(lab, monkeypatch, receiver):
    config = AlertsConfig(webhook=f"http://127.0.0.1:{receiver.server_port}/hook")
    with daemon_lab(lab, monkeypatch) as daemon:
        alarm = Alarm(daemon.service, config, daemon.service.alerted)
        daemon.service.alarm = alarm
        alarm.start()
        lab.camera.faults.add("shoot", AskOperator("the card is full", "put in another"))
        daemon.begin()
        state = daemon.until(lambda state: state["alert"])
        assert receiver.arrived.wait(30)
        with daemon.site() as client:
            client.post("/api/acknowledge", json={"alert": state["alert"]["id"]})
            assert client.get("/api/state").json()["alert"]["acknowledged"]
        receiver.arrived.clear()
        daemon.service.answer(state["question"]["id"], "done")
        daemon.until(lambda state: not state["alert"])
        assert receiver.arrived.wait(30)
        daemon.wait("done")
        alarm.close()
    events = [json.loads(body)["event"] for _path, _headers, body in receiver.got]
    assert events == ["fault", "resolved"]


def test_the_table_of_rig_toml():
    config = RigConfig.parse('[alerts]\nntfy = "https://ntfy.example/rig"\nrepeat_min = 5\n')
    assert (config.alerts.ntfy, config.alerts.repeat_min) == ("https://ntfy.example/rig", 5)
    with pytest.raises(Abort, match="did you mean 'webhook'"):
        RigConfig.parse('[alerts]\nwebhok = "https://x"\n')
    with pytest.raises(Abort, match=r"alerts\.webhook"):
        RigConfig.parse('[alerts]\nwebhook = "file:///etc/passwd"\n')
