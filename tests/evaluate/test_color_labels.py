"""Labels from files, whose label counts, and that no file runs code."""

import json
import os
import pickle

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from evaluate.color.groups import Color, Group
from evaluate.color.importing import import_labels
from evaluate.color.label_files import FileLabel, read_labels
from evaluate.color.label_summary import agreements
from evaluate.color.labels import best_labels
from evaluate.color.restricted_pickle import read_table
from evaluate.errors import EvaluateError
from evaluate.importing_images import import_images
from rig.cli import snaprig
from schemas.color_store import (
    FRAME,
    SCENE,
    ColorFrame,
    ColorLabel,
    delete_color_label,
    list_color_frames,
    list_color_labels,
    put_color_labels,
)
from tests.evaluate.color_catalog import Made, put_made

COUNTS = {
    "green": 2863, "gray": 1040, "blue": 2467, "white": 676,
    "black": 401, "brown": 2114, "red": 168, "others": 271,
}  # fmt: skip


def run(lab, *args):
    return CliRunner().invoke(snaprig, ["-w", str(lab.workspace.root), "color", "label", *args])


def test_published_counts_without_any_picture(lab, snaprig_data):
    path = snaprig_data / "colour-labels/cifar10_test_background.csv"
    done = json.loads(run(lab, "--import", str(path), "--json").stdout)
    assert done["imported"]["background"] == COUNTS
    assert done["imported"]["rows"] == 10_000
    assert done["imported"]["labels"] == 0
    missing = done["imported"]["without_picture"]
    assert missing["rows"] == 10_000
    assert missing["examples"][0] == "airplane/0001.png"


TABLE = {"cat": {"0001.png": 0, "0002.png": np.int64(3)}, "dog": {"0001.png": np.str_("red")}}
ROWS = [
    FileLabel("cat", "0001.png", None, Color.GREEN),
    FileLabel("cat", "0002.png", None, Color.WHITE),
    FileLabel("dog", "0001.png", None, Color.RED),
]


def test_numpys_pickle_is_read_without_numpy(tmp_path):
    np.save(tmp_path / "a.npy", TABLE)
    assert read_labels(tmp_path / "a.npy").labels == ROWS
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        (tmp_path / "b.pkl").write_bytes(pickle.dumps(TABLE, protocol=protocol))
        assert read_labels(tmp_path / "b.pkl").labels == ROWS


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_runs_no_code(tmp_path, protocol):
    trap = tmp_path / "trap"
    for content in ({"cat": {"1.png": Evil(trap)}}, Evil(trap)):
        path = tmp_path / "evil.pkl"
        path.write_bytes(pickle.dumps(content, protocol=protocol))
        with pytest.raises(EvaluateError, match=r"mkdir"):
            read_table(path)
        np.save(tmp_path / "evil.npy", np.array(content, dtype=object), allow_pickle=True)
        with pytest.raises(EvaluateError, match=r"mkdir"):
            read_table(tmp_path / "evil.npy")
    assert not trap.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x93NUMPY",
        b"\x93NUMPY\x01\x00\x10\x00not a header....",
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"cos\nsystem\n.",
        b"Pbuiltins\n.",
        pickle.dumps([1, 2]),
        pickle.dumps(np.arange(3)),
        pickle.dumps({"a": np.float64(1.5)}),
        pickle.dumps({1: 2})[:-1],
    ],
)
def test_hostile_and_broken_pickles_are_refused(tmp_path, content):
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    with pytest.raises(EvaluateError, match=r"x\.npy"):
        read_table(path)


@given(content=st.binary(max_size=60))
def test_random_bytes_are_refused_or_a_dictionary(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("bytes") / "x.pkl"
    path.write_bytes(content)
    try:
        found = read_table(path)
    except EvaluateError:
        return
    assert isinstance(found, dict)


def test_csv_and_json_say_the_same(tmp_path):
    (tmp_path / "a.csv").write_text(
        "class,image,foreground,background\ncat,0001.png,grey,Green\n,b.jpg,,violet\n"
    )
    rows = [
        {"class": "cat", "image": "0001.png", "foreground": "gray", "background": 0},
        {"file": "b.jpg", "background": "others"},
    ]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    found = read_labels(tmp_path / "a.csv").labels
    assert found == read_labels(tmp_path / "a.json").labels
    assert found[1] == FileLabel("", "b.jpg", None, Color.OTHERS)
    nested = {"cat": {"0001.png": {"foreground": "gray", "background": "green"}}}
    (tmp_path / "b.json").write_text(json.dumps(nested))
    assert read_labels(tmp_path / "b.json").labels == found[:1]


def test_rows_that_cannot_be_used_are_counted_with_the_reason(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("image,background\na.png,mauve\n,red\nb.png,\nc.png,9\nd.png,red\n")
    found = read_labels(path)
    assert len(found.labels) == 1
    assert sum(found.rejected_rows.values()) == 4
    assert any("'mauve' is no color" in reason for reason in found.rejected)


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "image,background\n"])
def test_a_file_without_labels_is_refused(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(EvaluateError, match=r"holds no color label"):
        read_labels(tmp_path / "a.csv")


def put_pictures(lab, tmp_path, names):
    folder = tmp_path / "val"
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        from tests.evaluate.conftest import jpeg

        path.write_bytes(jpeg(number))
    listing = tmp_path / "list.csv"
    listing.write_text("file,label\n" + "".join(f"{n},{n.split('/')[0]}\n" for n in names))
    import_images(lab.catalog, lab.workspace, folder, listing)


def test_labels_find_pictures_by_class_and_name(lab, tmp_path):
    put_pictures(lab, tmp_path, ["cat/0001.jpg", "dog/0001.jpg", "dog/only here.jpg"])
    path = tmp_path / "labels.csv"
    path.write_text(
        "class,image,background\ncat,0001.jpg,red\ndog,0001.jpg,blue\nhound,only here.jpg,green\n"
        "bird,0001.jpg,black\n"
    )
    done = import_labels(lab.catalog, path)
    assert (done.matched, done.missing, done.ambiguous) == (3, ("bird/0001.jpg",), ())
    rows = list_color_frames(lab.catalog)
    best = best_labels(rows, list_color_labels(lab.catalog))
    got = {row.scene: best[row.frame_id].background for row in rows}
    assert got == {
        "val-cat_0001": Color.RED,
        "val-dog_0001": Color.BLUE,
        "val-dog_only_here": Color.GREEN,
    }
    assert all(one.group is None for one in best.values())  # no foreground: no pair
    again = import_labels(lab.catalog, path)
    assert again.matched == 3
    assert len(list_color_labels(lab.catalog)) == 3


def test_a_name_that_several_pictures_have_labels_none(lab, tmp_path):
    put_pictures(lab, tmp_path, ["cat/0001.jpg", "dog/0001.jpg"])
    (tmp_path / "labels.csv").write_text("image,background\n0001.jpg,red\n")
    done = import_labels(lab.catalog, tmp_path / "labels.csv")
    assert (done.matched, done.ambiguous) == (0, ("0001.jpg",))


def frames():
    return [
        ColorFrame(number, 1 + number // 10, "s", "cup", "bright", "manual", 0, "")
        for number in (1, 2, 11)
    ]


def label(frame_id, kind, colors, scope=SCENE, **more):
    return ColorLabel(frame_id, scope, kind, *colors, more.pop("by", "ann"), **more)


def test_people_win_over_measurements_whatever_the_order():
    given_labels = [
        label(1, "measured", ("red", "red")),
        label(1, "imported", ("blue", "red")),
        label(2, "human", ("green", "red")),
    ]
    for some in (given_labels, given_labels[::-1]):
        found = best_labels(frames(), some)
        assert {found[1], found[2]} == {found[1]}
        assert (found[1].foreground, found[1].kind) == (Color.GREEN, "human")
        assert 11 not in found
    found = best_labels(frames(), [*given_labels, label(1, "adjudicated", ("white", "red"))])
    assert found[2].foreground is Color.WHITE


def test_later_rounds_win_and_a_side_left_open_is_filled():
    found = best_labels(
        frames(),
        [
            label(1, "human", ("red", "white"), round=2),
            label(1, "human", ("blue", "white"), round=1),
            label(11, "imported", ("", "green")),
            label(11, "measured", ("red", "blue")),
        ],
    )
    assert found[1].foreground is Color.RED
    assert (found[11].foreground, found[11].background) == (Color.RED, Color.GREEN)
    assert (found[11].kind, found[11].group) == ("measured", Group.MEDIUM)


def test_a_persons_label_of_a_frame_wins_there_only_and_apparent_is_measured():
    given_labels = [
        label(1, "human", ("red", "white")),
        label(2, "human", ("black", "white"), FRAME),
        label(2, "measured", ("black", "black"), FRAME),
        label(11, "measured", ("red", "red"), FRAME),
    ]
    found = best_labels(frames(), given_labels)
    assert [found[i].foreground for i in (1, 2, 11)] == [Color.RED, Color.BLACK, Color.RED]
    seen = best_labels(frames(), given_labels, apparent=True)
    assert {key: one.group for key, one in seen.items()} == {2: Group.HARD, 11: Group.HARD}


def test_agreement_of_people_rounds_and_measurements(lab):
    ids = put_made(lab, [Made(f"s{n}", "Hard") for n in range(4)])
    others = [label(i, "human", ("red", "red"), by="bea") for i in ids[:3]]
    others += [label(ids[3], "human", ("white", "red"), by="bea")]
    others += [label(i, "measured", ("red", "blue"), by="cielab-1 mask x") for i in ids[:2]]
    put_color_labels(lab.catalog, others)
    found = {
        (one.first, one.second, one.what): one.found
        for one in agreements(list_color_frames(lab.catalog), list_color_labels(lab.catalog))
    }
    assert found["ann", "bea", "foreground"].percent == 75
    assert found["ann", "bea", "background"].percent == 100
    assert found["ann", "bea", "group"].percent == 75
    assert (found["bea", "measured", "both"].n, found["bea", "measured", "both"].percent) == (2, 0)
    delete_color_label(lab.catalog, others[3])
    lab.catalog.close()
    said = run(lab, "--agreement").output
    assert "ann and bea, foreground: 100.0 % of 3 equal, kappa undefined" in said


def test_nothing_to_do_is_wrong_usage(lab):
    assert run(lab).exit_code == 2
