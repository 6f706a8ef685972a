"""Each format is read by the tools that are made for it."""

import csv
import json
from contextlib import contextmanager

import datasets
import mlcroissant
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from pycocotools.coco import COCO

import capture.exports.parquet as parquet_form
from capture.exports.coco_rules import check_coco
from capture.exports.job import shown_size
from capture.exports.snap import Names, _cells, _shot, name_scenes, paint
from evaluate.release.importer import import_snap
from rig.errors import Abort
from schemas.annotation_store import set_instances
from schemas.export_store import Selection, stream_rows
from schemas.masks import mask_instance, mask_instances
from schemas.plan import Lighting, SweepPlan
from schemas.records import Instance, Scene
from schemas.release_paths import spell_path
from tests.made_workspace import BOTTLES, BOXES, BRIGHT, CUPS, DIM, ODD, Made

# what the libraries do in their own house: old calls, and files that they leave to the collector
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning",
    "ignore::FutureWarning",
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    made = Made(tmp_path_factory.mktemp("lab") / "my-lab")
    for light in (BRIGHT, DIM):
        made.sweep(CUPS, light)
        made.sweep(BOTTLES, light)
    made.sweep(CUPS, BRIGHT, auto=True)
    made.mark(CUPS)
    made.run("questions", "make", "--seed", "1")
    yield made
    made.catalog.close()


@pytest.fixture(autouse=True)
def no_network(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))


class TestCoco:
    def test_pycocotools_loads_it_and_sees_the_masks(self, lab, tmp_path, capsys):
        lab.json("export", "coco", tmp_path / "out")
        file = tmp_path / "out/annotations/instances.json"
        coco = COCO(str(file))
        capsys.readouterr()
        assert len(coco.getImgIds()) == 32
        assert [one["name"] for one in coco.loadCats(coco.getCatIds())] == ["cup"]
        cups = [image for image in coco.dataset["images"] if image["scene"] == CUPS.name]
        assert len(cups) == 16
        for image in cups[:3]:
            found = coco.loadAnns(coco.getAnnIds(image["id"]))
            assert [tuple(one["bbox"]) for one in found] == [tuple(map(float, b)) for b in BOXES]
            for one, (left, top, width, height) in zip(found, BOXES, strict=True):
                mask = coco.annToMask(one)
                assert mask.sum() == one["area"] == width * height
                assert mask[top : top + height, left : left + width].all()
        assert check_coco(json.loads(file.read_text())) == []
        for image in coco.dataset["images"]:
            with Image.open(tmp_path / "out/images" / image["file_name"]) as picture:
                assert picture.size == (image["width"], image["height"])

    def test_sizes_are_those_shown_when_exif_turns_a_picture(self, tmp_path):
        path = tmp_path / "turned.jpg"
        exif = Image.Exif()
        exif[0x0112] = 6
        Image.new("RGB", (60, 40)).save(path, exif=exif)
        assert shown_size(path.read_bytes()) == (40, 60)

    def test_objects_marked_on_another_picture_are_refused(self, tmp_path):
        made = Made(tmp_path / "lab")
        made.sweep(CUPS)
        wrong = Instance("cup", (0.0, 0.0, 5.0, 5.0), 25.0, (100, 100))
        set_instances(made.catalog, CUPS.name, [wrong])
        result = made.run("export", "coco", tmp_path / "out")
        assert isinstance(result.exception, Abort)
        assert "100 x 100" in str(result.exception)
        made.catalog.close()

    def test_objects_fit_frames_of_another_size(self, tmp_path):
        made = Made(tmp_path / "lab")
        made.sweep(CUPS)
        half = Instance("cup", (3.0, 2.0, 9.0, 6.0), 54.0, (30, 20))
        set_instances(made.catalog, CUPS.name, [half])
        made.json("export", "coco", tmp_path / "out")
        document = json.loads((tmp_path / "out/annotations/instances.json").read_text())
        assert document["annotations"][0]["bbox"] == [6, 4, 18, 12]
        assert document["annotations"][0]["area"] == 216
        made.catalog.close()


SOUND = {
    "categories": [{"id": 1, "name": "cup"}],
    "images": [{"id": 7, "file_name": "a.jpg", "width": 60, "height": 40}],
    "annotations": [
        {"id": 1, "image_id": 7, "category_id": 1, "bbox": [0, 0, 60, 40], "area": 9, "iscrowd": 0}
    ],
}


class TestCocoRules:
    """The reference tools accept all of these without a word."""

    def test_a_sound_one_passes(self):
        assert check_coco(SOUND) == []

    @pytest.mark.parametrize(
        ("part", "change", "fault"),
        [
            ("annotations", {"image_id": 8}, "image 8 is not listed"),
            ("annotations", {"category_id": 0}, "category 0 is not listed"),
            ("annotations", {"bbox": [-1, 0, 5, 5]}, "leaves a picture"),
            ("annotations", {"bbox": [50, 0, 11, 5]}, "leaves a picture"),
            ("annotations", {"bbox": [0, 0, 0, 5]}, "no area"),
            ("annotations", {"bbox": [0, 0, 5]}, "not numbers"),
            ("annotations", {"bbox": [0, 0, 5, float("nan")]}, "not numbers"),
            ("annotations", {"area": None}, "not numbers"),
            ("annotations", {"area": 0}, "no area"),
            ("annotations", {"area": 2500}, "larger than its box"),
            ("annotations", {"iscrowd": None}, "iscrowd"),
            ("annotations", {"id": "1"}, "not a whole number"),
            ("annotations", {"segmentation": {"size": [60, 40]}}, "another size"),
            ("images", {"id": "7"}, "not a whole number"),
            ("images", {"width": 0}, "no size"),
            ("images", {"file_name": "../a.jpg"}, "leaves its folder"),
            ("categories", {"id": 0}, "not a whole number from 1"),
        ],
    )
    def test_each_fault_is_named(self, part, change, fault):
        document = json.loads(json.dumps(SOUND))
        document[part][0].update(change)
        assert any(fault in one for one in check_coco(document)), check_coco(document)

    @pytest.mark.parametrize("part", ["categories", "images", "annotations"])
    def test_ids_that_come_twice_are_named(self, part):
        document = json.loads(json.dumps(SOUND))
        document[part].append({**document[part][0], "file_name": "b.jpg", "name": "b"})
        assert any("twice" in one for one in check_coco(document))

    @given(
        st.lists(
            st.tuples(
                st.integers(0, 50), st.integers(0, 30), st.integers(1, 10), st.integers(1, 10)
            ),
            max_size=9,
        )
    )
    def test_boxes_inside_pass_and_moved_out_fail(self, boxes):
        document = json.loads(json.dumps(SOUND))
        document["annotations"] = [
            {**SOUND["annotations"][0], "id": n, "bbox": list(box), "area": box[2] * box[3]}
            for n, box in enumerate(boxes)
        ]
        assert check_coco(document) == []
        for one in document["annotations"]:
            one["bbox"][0] += 60
        assert len(check_coco(document)) == len(boxes)

    def test_a_document_of_another_kind_is_named(self):
        assert check_coco({"images": []}) == ["categories is not a list of objects"]


class TestCroissant:
    @pytest.fixture(scope="class")
    def out(self, lab, tmp_path_factory):
        out = tmp_path_factory.mktemp("croissant") / "out"
        lab.json("export", "croissant", out, "--license", "CC-BY-4.0", "--creator", "A lab")
        return out

    def test_it_validates_and_its_records_are_whole(self, lab, out):
        dataset = mlcroissant.Dataset(jsonld=out / "croissant.json")
        issues = dataset.metadata.ctx.issues
        assert not issues.errors
        assert not issues.warnings
        records = list(dataset.records("frames"))
        assert len(records) == 32
        stored = dict(lab.rows("SELECT sha256, lux FROM frames WHERE kind = 'manual'"))
        for record in records:
            assert record["frames/lux"] == stored.pop(record["frames/sha256"].decode())
            assert record["frames/image"].size == (60, 40)
            assert record["frames/captured_at"].tzinfo is not None
        assert stored == {}
        scenes = list(dataset.records("scenes"))
        assert [(one["scenes/scene"], one["scenes/count"]) for one in scenes] == [
            (b"cups-3", 3),
            (b"7_water_bottle", 2),
        ]
        objects = list(dataset.records("objects"))
        assert [one["objects/x_px"] for one in objects] == [2, 20, 40]

    def test_the_datasets_library_reads_the_folder(self, out):
        loaded = datasets.load_dataset("imagefolder", data_dir=str(out), split="train")
        assert loaded.num_rows == 32
        assert loaded[0]["image"].size == (60, 40)
        assert {"scene", "lux", "ev_offset", "sha256"} <= set(loaded.column_names)


class TestParquet:
    def test_pictures_in_it_load_in_datasets_and_pandas(self, lab, tmp_path):
        out = tmp_path / "out"
        lab.json("export", "parquet", out)
        table = pd.read_parquet(out / "data")
        assert len(table) == 32
        assert table["image"][0]["path"].startswith("images/cups-3/bright") or table["image"][0][
            "path"
        ].startswith("images/cups-3/dim")
        assert [len(one) for one in table["objects"]] == [3] * 16 + [0] * 16
        assert table["captured_at"].dt.tz is not None
        loaded = datasets.load_dataset(str(out), split="train")
        assert isinstance(loaded.features["image"], datasets.Image)
        assert loaded[0]["image"].size == (60, 40)
        assert loaded[0]["objects"][0]["bbox"] == list(BOXES[0])

    def test_pictures_beside_it_load_in_datasets_and_pandas(self, lab, tmp_path):
        out = tmp_path / "out"
        lab.json("export", "parquet", out, "--by-path")
        table = pd.read_parquet(out / "metadata.parquet")
        assert all((out / name).exists() for name in table["file_name"])
        loaded = datasets.load_dataset("imagefolder", data_dir=str(out), split="train")
        assert loaded.num_rows == 32
        assert loaded[0]["image"].size == (60, 40)
        assert loaded[16]["objects"] == []

    def test_files_that_are_whole_are_not_made_again(self, lab, tmp_path, monkeypatch):
        out = tmp_path / "out"
        monkeypatch.setattr(parquet_form, "_SHARD_BYTES", 20_000)
        shards, taken = [], parquet_form.pq.ParquetWriter

        @contextmanager
        def dying(path, *rest, **keys):
            shards.append(path.name)
            if len(shards) == 3:
                raise OSError(28, "No space left on device", str(path))
            with taken(path, *rest, **keys) as writer:
                yield writer

        monkeypatch.setattr(parquet_form.pq, "ParquetWriter", dying)
        stopped = lab.run("export", "parquet", out).exception
        assert isinstance(stopped, Abort)
        assert "No space left on device" in str(stopped)
        assert "goes on" in stopped.action
        said = lab.json("export", "parquet", out)
        assert said["kept"] > 0
        assert said["copied"] + said["kept"] == 32
        files = sorted((out / "data").glob("*.parquet"))
        assert len(files) > 3
        assert len(shards) == len(files) + 1  # none twice but the one that failed
        assert sum(pq.read_metadata(file).num_rows for file in files) == 32
        assert files[0].name == f"train-00000-of-{len(files):05d}.parquet"
        files[1].write_bytes(files[1].read_bytes()[:-1] + b"x")  # damaged since: made again
        again = lab.json("export", "parquet", out)
        assert 0 < again["copied"] < 32


class TestVqa:
    def test_questions_and_answers_belong_together(self, lab, tmp_path):
        out = tmp_path / "out"
        lab.json("export", "vqa", out)
        asked = json.loads((out / "questions.json").read_text())["questions"]
        answers = json.loads((out / "annotations.json").read_text())["annotations"]
        assert len(asked) == 32 * 4
        by_id = {one["question_id"]: one for one in answers}
        assert len(by_id) == len(answers) == len(asked)
        for one in asked:
            answer = by_id[one["question_id"]]
            right = answer["multiple_choice_answer"]
            assert (out / "images" / one["image"]).exists()
            assert answer["image_id"] == one["image_id"]
            assert (right in one["options"]) == bool(one["options"])
            cups = answer["scene"] == CUPS.name
            match one["task"]:
                case "q1" | "q3":
                    assert right == ("cup" if cups else "water bottle")
                case "q2":
                    assert right == ("3" if cups else "2")
                case "q4":
                    assert right[3:] == ("3" if cups else "2")
        stored = lab.rows("SELECT options FROM stimuli WHERE task = 'q3' ORDER BY frame_id LIMIT 1")
        assert any(one["options"] == json.loads(stored[0][0]) for one in asked)

    def test_without_questions_it_says_how_to_make_them(self, tmp_path):
        made = Made(tmp_path / "lab")
        made.sweep()
        result = made.run("export", "vqa", tmp_path / "out")
        assert "questions make" in result.exception.action
        assert not list((tmp_path / "out").rglob("*.jpg"))
        made.catalog.close()


_SAME = (
    "SELECT s.category, s.count, l.name, l.lux, l.ev_reference, x.kind, x.setting, x.shutter_s, "
    "x.iso, x.f_number, x.ev, x.ev_index, x.ev_offset, x.sha256, x.size_bytes, x.exif_iso "
    "FROM frames x JOIN scenes s ON s.id = x.scene_id JOIN lightings l ON l.id = x.lighting_id "
    "ORDER BY x.sha256"
)


class TestSnap:
    def import_into(self, folder, root):
        again = Made(root)
        report = import_snap(again.catalog, again.workspace, folder)
        assert report.rejected == []
        return again

    def test_round_trip_gives_the_same_frames(self, lab, tmp_path):
        lab.json("export", "snap", tmp_path / "out")
        again = self.import_into(tmp_path / "out", tmp_path / "again")
        assert again.rows(_SAME) == lab.rows(_SAME)
        objects = "SELECT number, x_px, y_px, width_px, height_px, area_px, rle FROM instances"
        assert again.rows(objects) == lab.rows(objects)
        asked = "SELECT task, options, f.sha256 FROM stimuli t JOIN frames f ON f.id = t.frame_id "
        order = "ORDER BY f.sha256, task"
        assert again.rows(asked + order) == lab.rows(asked + order)
        again.catalog.close()

    def test_columns_paths_and_order_are_the_release_s(self, lab, tmp_path):
        out = tmp_path / "out"
        lab.json("export", "snap", out)
        with (out / "annotations/data.csv").open(newline="") as file:
            rows = list(csv.reader(file))
        assert ",".join(rows[0]) == (
            "Path,Object_name,Object_id,Category,EV_offset,EV_idx,Lux,Shutter_speed,ISO,F-Number,"
            "Num_objects"
        )
        listed = {row[0]: row[1:] for row in rows[1:]}
        # cups-3 is no name of the release's form: it gets the first free number
        assert listed["1_cup/1000/0/6_0_4.jpg"] == [
            *("1_cup", "1", "cup", "0", "11", "1000", "1/60", "100", "5.6", "3")
        ]
        assert listed["1_cup/1000_auto.jpg"][3:6] == ["auto", "-1", "1000"]
        assert all((out / path).exists() for path in listed)
        assert list(listed)[8].startswith("1_cup/1000/")
        with (out / "annotations/scenes.csv").open(newline="") as file:
            assert list(csv.reader(file))[1][:2] == ["1_cup", "cups-3"]

    def test_other_lights_and_references_come_back(self, tmp_path):
        made = Made(tmp_path / "lab")
        made.sweep(CUPS, ODD)
        made.sweep(CUPS, Lighting(name="bright", lux=1000, ev_reference=10))
        made.json("export", "snap", tmp_path / "out")
        again = self.import_into(tmp_path / "out", tmp_path / "again")
        assert again.rows(_SAME) == made.rows(_SAME)
        made.catalog.close()
        again.catalog.close()

    def test_simulated_frames_come_back_as_such(self, tmp_path):
        made = Made(tmp_path / "lab")
        made.sweep(CUPS, BRIGHT, simulated=True)
        made.sweep(CUPS, DIM)
        made.json("export", "snap", tmp_path / "out", "--include", "both")
        again = self.import_into(tmp_path / "out", tmp_path / "again")
        light = "SELECT l.name, r.simulated FROM runs r JOIN lightings l ON l.id = r.lighting_id"
        assert sorted(again.rows(light)) == [("bright", 1), ("dim", 0)]
        made.catalog.close()
        again.catalog.close()

    def test_lights_that_would_share_a_folder_are_refused(self, tmp_path):
        made = Made(tmp_path / "lab")
        made.sweep(CUPS, BRIGHT)
        made.sweep(CUPS, Lighting(name="lamp", lux=1000, ev_reference=11))
        result = made.run("export", "snap", tmp_path / "out")
        assert "1000 lux both" in str(result.exception)
        assert made.json("export", "snap", tmp_path / "out", "--lighting", "lamp")["frames"] == 8
        made.catalog.close()

    def test_settings_off_the_grid_are_left_out_and_counted(self, tmp_path):
        made = Made(tmp_path / "lab")
        made.sweep(CUPS, plan=SweepPlan(shutter=("1/60", "1/80"), iso=(100,), f_number=(5.6, 7.1)))
        said = made.json("export", "snap", tmp_path / "out")
        assert said["frames"] == 1
        assert list(said["left_out"].values()) == [3]
        made.catalog.close()

    def test_scene_names_of_the_release_s_form_keep_their_numbers(self):
        scenes = [
            Scene("mugs", "cup", 2),
            Scene("1_cup", "cup", 2),
            Scene("2_tie", "laptop", 2),
            Scene("x", "coffee mug", 1),
        ]
        assert name_scenes(scenes) == {
            "mugs": "2_cup",
            "1_cup": "1_cup",
            "2_tie": "3_laptop",
            "x": "4_coffee_mug",
        }

    @given(
        st.lists(
            st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(1, 3), st.integers(1, 3)),
            min_size=1,
            max_size=6,
        )
    )
    def test_painted_masks_read_back_as_they_were(self, boxes):
        made = []
        taken = np.zeros((8, 60), bool)
        for number, (left, top, width, height) in enumerate(boxes):
            mask = np.zeros((8, 60), bool)
            mask[top : top + height, 10 * number + left : 10 * number + left + width] = True
            mask &= ~taken
            taken |= mask
            made += [mask] if mask.any() else []
        instances = [mask_instance(mask, "cup") for mask in made]
        painted, covered = paint(instances)
        rgba = np.dstack([painted, np.full(painted.shape[:2], 255, np.uint8)])
        assert not covered
        assert mask_instances(np.ascontiguousarray(rgba), "cup") == instances


class TestPublicRelease:
    """Against the release's own files."""

    @pytest.fixture(scope="class")
    def release(self, snaprig_data, tmp_path_factory):
        root = tmp_path_factory.mktemp("release")
        there, here = snaprig_data / "snap/annotations", root / "checkout/annotations"
        (here / "masks_SNAP").mkdir(parents=True)
        for name in ("data.csv", "images_SNAP"):
            (here / name).symlink_to(there / name)
        for picture in (there / "images_SNAP").glob("*.jpg"):
            name = f"masks_SNAP/{picture.stem}.png"
            (here / name).symlink_to(there / name)
        made = Made(root / "lab")
        report = import_snap(made.catalog, made.workspace, root / "checkout")
        assert report.counts["frames"] == 37_357
        yield made, snaprig_data / "snap/annotations"
        made.catalog.close()

    def test_every_row_is_written_as_the_release_has_it(self, release):
        made, annotations = release
        with (annotations / "data.csv").open(newline="") as file:
            theirs = {row[0]: row for row in csv.reader(file)}
        theirs.pop("Path")
        selection = Selection(kinds=("manual", "auto"))
        names = Names.of(made.catalog, selection)
        with made.catalog.write() as connection:
            connection.exec_driver_sql("UPDATE frames SET path = path || 'x' WHERE path = ''")
            for row in stream_rows(connection, selection):
                path = spell_path(_shot(row, names))
                assert [str(cell) for cell in _cells(row, path, names)] == theirs.pop(path)
            connection.exec_driver_sql("UPDATE frames SET path = '' WHERE path = 'x'")
        assert theirs == {}

    def test_its_pictures_make_the_round_trip(self, release, tmp_path):
        made, _ = release
        said = made.json("export", "snap", tmp_path / "out")
        assert (said["frames"], said["left_out"]) == (
            20,
            {"imported without its picture": 37_557 - 20},
        )
        again = Made(tmp_path / "again")
        report = import_snap(again.catalog, again.workspace, tmp_path / "out")
        assert report.rejected == []
        assert report.counts["pictures"] == 20
        objects = (
            "SELECT s.name, i.number, i.x_px, i.y_px, i.area_px, i.rle FROM instances i "
            "JOIN scenes s ON s.id = i.scene_id ORDER BY 1, 2"
        )
        ours = dict.fromkeys(row[0] for row in again.rows(objects))
        assert again.rows(objects) == [row for row in made.rows(objects) if row[0] in ours]
        assert len(ours) == 20
        again.catalog.close()
