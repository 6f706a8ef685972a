"""The labeling page's answers: what is stored, what a labeler sees, and who is refused."""

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluate.color.groups import Color
from evaluate.color.label_page.desk import Desk, Task
from evaluate.color.label_page.items import Collection
from evaluate.color.label_page.serve import serve
from evaluate.color.label_page.site import make_site
from evaluate.errors import EvaluateError
from evaluate.importing_images import import_images
from rig.cli import snaprig
from schemas.color_store import (
    SCENE,
    ColorFrame,
    ColorLabel,
    delete_color_label,
    list_color_frames,
    list_color_labels,
)
from schemas.exposure import Exposure
from tests.evaluate.conftest import Lab, jpeg

ADDRESS = "http://127.0.0.1:8418"
WRITE = {"x-snaprig": "1", "content-type": "application/json"}


@pytest.fixture
def pictures(lab):
    """Three scenes, each with a bright and a dark frame, the dark one first."""
    for number, scene in enumerate(("cups", "balls", "mugs")):
        lab.frame(scene, "bright", Exposure(1 / 250, 100, 8.0), jpeg(10 + number), category="cup")
        lab.frame(scene, "bright", Exposure(1 / 60, 100, 5.6), jpeg(number), category="cup")
    return lab


def client(lab, task=None):
    site = make_site(Desk(lab.catalog, task or Task("L1")), lab.workspace, "1")
    return TestClient(site, base_url=ADDRESS, headers=WRITE)


def say(page, color, picture=None, side=None):
    at = page.get("/api/state").json()["picture"]
    body = {"picture": picture or at["id"], "side": side or at["side"], "color": color}
    return page.post("/api/label", json=body)


def label_all(lab, labeler, foregrounds, round_=1):
    """Label every picture; the foregrounds by scene name."""
    desk = Desk(lab.catalog, Task(labeler, round_))
    while at := desk.state()["picture"]:
        desk.label(at["id"], "foreground", Color(foregrounds[desk.frame(at["id"]).scene]))
        desk.label(at["id"], "background", Color.GRAY)


def stored(lab):
    return [
        (one.kind, one.labeler, one.round, one.foreground, one.background)
        for one in list_color_labels(lab.catalog)
    ]


def test_a_scene_is_shown_by_its_best_frame_and_labeled_at_once(pictures):
    with client(pictures) as page:
        state = page.get("/api/state").json()
        assert (state["total"], state["done"], state["picture"]["side"]) == (3, 0, "foreground")
        assert [one["name"] for one in state["colors"]] == [str(color) for color in Color]
        assert len({one["key"] for one in state["colors"]}) == 8
        said = say(page, "red").json()
        assert (said["picture"]["id"], said["picture"]["side"]) == (
            state["picture"]["id"],
            "background",
        )
        assert stored(pictures) == [("human", "L1", 1, "red", "")]
        said = say(page, "blue").json()
        assert (said["done"], said["picture"]["side"]) == (1, "foreground")
    (label,) = list_color_labels(pictures.catalog)
    assert (label.scope, label.foreground, label.background) == (SCENE, "red", "blue")
    frame = next(
        one for one in list_color_frames(pictures.catalog) if one.frame_id == label.frame_id
    )
    offsets = {one.ev_offset for one in list_color_frames(pictures.catalog)}
    assert frame.ev_offset == min(offsets, key=abs) != max(offsets, key=abs)


def test_who_and_when_are_kept(pictures):
    with client(pictures, Task("L7")) as page:
        say(page, "red")
    with pictures.catalog.read() as connection:
        who, when = connection.exec_driver_sql("SELECT labeler, labeled_at FROM color_labels").one()
    assert who == "L7"
    assert when


def test_what_is_not_at_hand_is_not_labeled(pictures):
    with client(pictures) as page:
        state = page.get("/api/state").json()
        other = state["ahead"][0]
        assert say(page, "red", picture=other).status_code == 409
        assert say(page, "red", side="background").status_code == 409
        assert say(page, "red", picture=10**6).status_code == 409
        assert say(page, "pink").status_code == 422
        assert page.post("/api/skip", json={"picture": other}).status_code == 409
        assert page.post("/api/undo", json={}).status_code == 409
        assert page.post("/api/undo", json={"more": 1}).status_code == 422
    assert stored(pictures) == []


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["red", "blue", "undo", "skip", "restart"]), max_size=25))
def test_whatever_a_person_does_the_catalog_holds_what_was_said(made_catalog, acts):
    """Against a model: a list of what was said, each undo taking the last away."""
    catalog = made_catalog
    for one in list_color_labels(catalog):
        delete_color_label(catalog, one)
    desk, said = Desk(catalog, Task("L1")), []
    for act in acts:
        at = desk.state()["picture"]
        if act == "restart":
            desk = Desk(catalog, Task("L1"))
        elif act == "undo" and said:
            desk.undo()
            said.pop()
        # A restart knows in which order pictures were begun, not their sides: none stays half said.
        elif act == "skip" and at and at["side"] == "foreground":
            desk.skip(at["id"])
        elif act in ("red", "blue") and at:
            desk.label(at["id"], at["side"], Color(act))
            said.append((at["id"], at["side"], act))
            if at["side"] == "foreground":
                desk.label(at["id"], "background", Color.GRAY)
                said.append((at["id"], "background", "gray"))
        scene_of = {one.frame_id: one.scene_id for one in list_color_frames(catalog)}
        found = {
            (scene_of[one.frame_id], side, getattr(one, side))
            for one in list_color_labels(catalog)
            for side in ("foreground", "background")
            if getattr(one, side)
        }
        assert found == set(said)
        assert desk.progress()["done"] == sum(side == "background" for _, side, _ in said)
        assert desk.state()["can_undo"] == bool(said)


@pytest.fixture(scope="module")
def made_catalog(tmp_path_factory):
    lab = Lab(tmp_path_factory.mktemp("desk") / "lab")
    for scene in ("cups", "balls", "mugs"):
        lab.frame(scene, "bright", Exposure(1 / 60, 100, 5.6), jpeg(1), category="cup")
    yield lab.catalog
    lab.catalog.close()


def test_a_second_round_and_a_second_labeler_see_no_label(pictures):
    label_all(pictures, "L1", {"cups": "red", "balls": "brown", "mugs": "black"})
    for task in (Task("L1", round=2), Task("L2")):
        with client(pictures, task) as page:
            state = page.get("/api/state").json()
            assert (state["total"], state["done"], state["can_undo"]) == (3, 0, False)
            assert state["picture"]["opinions"] == []
            shown = json.dumps(state["picture"])
            assert not any(color in shown for color in ("red", "brown", "black", "L1"))
    with pytest.raises(EvaluateError, match="has finished no picture of round 1"):
        Desk(pictures.catalog, Task("L2", round=2))


def test_rounds_shuffle_differently_and_a_sample_is_one_for_all():
    frames = [ColorFrame(n, n, f"s{n}", "cup", "bright", "picture", None, "x") for n in range(60)]
    whole = Collection(frames, [])
    first = list(whole.to_label("L1", 1))
    assert first == list(whole.to_label("L2", 1)) != sorted(first)
    sample = Collection(frames, [], sample=20)
    assert list(sample.to_label("L2", 1)) == first[:20]
    labels = [ColorLabel(n, SCENE, "human", "red", "red", "L1") for n in range(60)]
    second = list(Collection(frames, labels).to_label("L1", 2))
    assert sorted(second) == sorted(first)
    assert second != first
    away = Collection([frame._replace(path="") for frame in frames], [])
    assert away.to_label("L1", 1) == {}


def test_agreement_of_rounds_and_people(pictures):
    label_all(pictures, "L1", {"cups": "red", "balls": "brown", "mugs": "black"})
    label_all(pictures, "L1", {"cups": "red", "balls": "brown", "mugs": "brown"}, round_=2)
    label_all(pictures, "L2", {"cups": "red", "balls": "red", "mugs": "brown"})
    with client(pictures) as page:
        found = page.get("/api/summary").json()
    percent = {
        (one["first"], one["second"]): one["percent"]
        for one in found["agreement"]
        if one["what"] == "foreground"
    }
    assert percent == {
        ("L1", "L1, round 2"): 66.67,
        ("L1", "L2"): 33.33,
        ("L1, round 2", "L2"): 66.67,
    }
    assert found["differ"] == 2


def test_adjudication_shows_all_labels_and_asks_what_differs(pictures):
    label_all(pictures, "L1", {"cups": "red", "balls": "brown", "mugs": "black"})
    label_all(pictures, "L2", {"cups": "red", "balls": "red", "mugs": "brown"})
    with client(pictures, Task("L3", adjudicate=True)) as page:
        state = page.get("/api/state").json()
        assert state["total"] == 2
        at = state["picture"]
        assert (at["side"], at["foreground"], at["background"]) == ("foreground", "", "gray")
        assert [one["who"] for one in at["opinions"]] == ["L1", "L2"]
        assert len({one["foreground"] for one in at["opinions"]}) == 2
        assert say(page, "brown").json()["done"] == 1
        assert page.post("/api/undo", json={}).json()["done"] == 0
        assert {one[0] for one in stored(pictures)} == {"human"}
        say(page, "brown")
        say(page, "black")
        assert page.get("/api/summary").json()["differ"] == 0
    assert sorted(stored(pictures))[:2] == [
        ("adjudicated", "L3", 1, "black", "gray"),
        ("adjudicated", "L3", 1, "brown", "gray"),
    ]
    with pytest.raises(EvaluateError, match="no two people's labels"):
        Desk(pictures.catalog, Task("L4", adjudicate=True))


def test_imported_pictures_compare_with_imported_labels(lab, tmp_path):
    """Labels of files are of the scene, and so are people's."""
    folder = tmp_path / "pictures"
    (folder / "cup").mkdir(parents=True)
    (folder / "cup/1.jpg").write_bytes(jpeg(1))
    (tmp_path / "list.csv").write_text("file,label\ncup/1.jpg,cup\n")
    import_images(lab.catalog, lab.workspace, folder, tmp_path / "list.csv")
    (tmp_path / "labels.csv").write_text("image,foreground,background\n1.jpg,red,green\n")
    root = str(lab.workspace.root)
    options = ["-w", root, "color", "label", "--import", str(tmp_path / "labels.csv")]
    assert CliRunner().invoke(snaprig, options).exit_code == 0
    with client(lab) as page:
        say(page, "red")
        say(page, "blue")
    done = CliRunner().invoke(snaprig, ["-w", root, "color", "label", "--agreement", "--json"])
    found = {one["what"]: one["percent"] for one in json.loads(done.stdout)["agreement"]}
    assert (found["foreground"], found["background"]) == (100, 0)


def test_pictures_come_by_number_and_only_whole(pictures):
    with client(pictures) as page:
        number = page.get("/api/state").json()["picture"]["id"]
        answer = page.get(f"/api/pictures/{number}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/jpeg")
        for wrong in ("999999", "..%2f..%2fcatalog.sqlite", "1.5"):
            assert page.get(f"/api/pictures/{wrong}").status_code in (404, 422)
        for path in pictures.workspace.frames.rglob("*.jpg"):
            path.write_bytes(b"<svg xmlns='http://www.w3.org/2000/svg'/>")
        answer = page.get(f"/api/pictures/{number}")
        assert (answer.status_code, answer.headers["content-type"]) == (422, "application/json")
        assert "sha256" in answer.json()["detail"]


@pytest.mark.parametrize("path", ["../outside.jpg", "rig.toml"])
def test_a_row_that_names_another_file_serves_nothing(pictures, path):
    (pictures.workspace.root.parent / "outside.jpg").write_bytes(jpeg(1))
    with pictures.catalog.write() as connection:
        connection.exec_driver_sql("UPDATE frames SET path = ?", (path,))
    with client(pictures) as page:
        number = page.get("/api/state").json()["picture"]["id"]
        assert page.get(f"/api/pictures/{number}").status_code == 422


def test_only_this_page_may_ask(pictures):
    with client(pictures) as page:
        at = page.get("/api/state").json()["picture"]
        body = {"picture": at["id"], "side": "foreground", "color": "red"}
        for headers, status in (
            ({"host": "evil.example"}, 400),
            ({"origin": "http://evil.example"}, 403),
            ({"sec-fetch-site": "cross-site"}, 403),
            ({"content-type": "text/plain"}, 415),
        ):
            assert page.post("/api/label", json=body, headers=headers).status_code == status
        del page.headers["x-snaprig"]
        assert page.post("/api/label", json=body).status_code == 403
        document = page.get("/")
        policy = document.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert page.get("/static/label/label.js").status_code == 200
        assert page.get("/static/label/../../site.py").status_code == 404
    assert stored(pictures) == []


@pytest.mark.parametrize(
    ("listen", "said"),
    [
        ("0.0.0.0:8418", "ssh -L"),
        ("192.168.1.5:0", "ssh -L"),
        ("8418", "is not HOST:PORT"),
        ("127.0.0.1:99999", "is not HOST:PORT"),
    ],
)
def test_nobody_else_can_reach_it(pictures, listen, said):
    with pytest.raises(EvaluateError, match=said):
        serve(pictures.workspace, pictures.catalog, Task("L1"), listen, print)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--adjudicate"], "say who labels"),
        (["--round", "2"], "say who labels"),
        (["--labeler", "../x"], "--labeler"),
        (["--labeler", "Ann Example"], "--labeler"),
        (["--labeler", "L1", "--measure"], "leave the other tasks"),
        (["--labeler", "L1", "--adjudicate", "--round", "2"], "has no rounds"),
    ],
)
def test_wrong_usage(lab, options, said):
    done = CliRunner().invoke(snaprig, ["-w", str(lab.workspace.root), "color", "label", *options])
    assert done.exit_code == 2
    assert said in done.stderr


def test_nothing_to_label_is_said(lab):
    options = ["-w", str(lab.workspace.root), "color", "label", "--labeler", "L1"]
    done = CliRunner().invoke(snaprig, options)
    assert done.exit_code == 1
    assert "import images" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_nothing_is_lost(pictures, number):
    pictures.catalog.close()
    command = [sys.executable, "-m", "rig", "-w", str(pictures.workspace.root), "color", "label"]
    command += ["--labeler", "L1", "--listen", "127.0.0.1:0", "--json"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    try:
        line = process.stderr.readline()
        address = line.split()[2].rstrip("/")
        with urllib.request.urlopen(f"{address}/api/state") as answer:
            at = json.load(answer)["picture"]
        body = json.dumps({"picture": at["id"], "side": "foreground", "color": "red"}).encode()
        request = urllib.request.Request(f"{address}/api/label", body, WRITE)
        urllib.request.urlopen(request).close()
        process.send_signal(number)
        out, rest = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, rest
    assert rest == ""
    assert json.loads(out) == {"total": 3, "done": 0, "later": 0, "agreement": [], "differ": 0}
    assert stored(pictures) == [("human", "L1", 1, "red", "")]
