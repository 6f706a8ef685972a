"""Import of COCO files, labelled pictures and trials; the parsers that all imports share."""

import ast
import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from evaluate import import_cli
from evaluate.errors import EvaluateError
from evaluate.importing_coco import import_coco
from evaluate.importing_images import import_images
from evaluate.importing_trials import import_trials
from evaluate.release.questions import parse_options
from evaluate.release.top5 import top5_json
from schemas.answer_store import ensure_stimuli, list_observers, list_responses, pending_stimuli
from schemas.capture_store import list_lightings, list_scenes
from schemas.check import check_files
from schemas.exposure import Exposure
from schemas.frame_store import list_frames
from schemas.import_store import list_instances
from schemas.masks import decode_rle, mask_instances
from schemas.plan import SweepPlan
from schemas.records import Scene
from schemas.release_paths import LIGHTINGS, Shot, parse_path, spell_path
from schemas.workspace import Workspace


@pytest.fixture
def lab(tmp_path):
    return Workspace.create(tmp_path / "lab", "")


@pytest.fixture
def catalog(lab):
    with lab.catalog() as opened:
        yield opened


# --- parsers -----------------------------------------------------------------------------

LABELS = st.lists(
    st.tuples(
        st.integers(0, 999),
        st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20),
        st.floats(0, 1, allow_subnormal=False),
    ),
    min_size=1,
    max_size=5,
)


@given(LABELS)
def test_any_top5_list_is_read_as_python_reads_it(labels):
    payload = top5_json(repr(labels))
    assert payload is not None
    assert json.loads(payload) == {"top5": [list(label) for label in labels]}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "None",
        "nan",
        "[]",
        "[(968, 'cup', 0.7)",
        "(968, 'cup', 0.7)",
        "[(968, 'cup')]",
        "[(1000, 'cup', 0.7)]",
        "[(968, 'cup', 1e999)]",
        "[('968', 'cup', 0.7)]",
        "[(968, 'cup', 0.7)]; print(1)",
        "[(968, 'cup', 0.7)][(968, 'cup', 0.7)]",
        "[(968, 'cup', __import__('os').getpid())]",
    ],
)
def test_what_is_no_top5_list_is_none(text):
    assert top5_json(text) is None


def test_probabilities_keep_their_digits():
    literal = "[(968, 'cup', 0.11960264295339584), (1, 'x', 1.5e-05)]"
    assert "0.11960264295339584" in str(top5_json(literal))
    assert json.loads(str(top5_json(literal)))["top5"] == [
        list(one) for one in ast.literal_eval(literal)
    ]


@pytest.mark.parametrize("lux", list(LIGHTINGS))
def test_every_shot_of_the_grid_has_its_path(lux):
    for shot in SweepPlan():
        offset = shot.exposure.ev_offset(LIGHTINGS[lux].ev_reference)
        one = Shot("1_cup", lux, shot.exposure, offset)
        assert parse_path(spell_path(one)) == one


def test_paths_follow_the_order_of_the_release():
    found = parse_path("1_cup/10/-5/9_0_2.jpg")
    assert found == Shot("1_cup", 10, Exposure(1 / 8, 100, 11.0), -5)


@pytest.mark.parametrize(
    ("question", "task", "options"),
    [
        ("How many objects are in the image? Answer with one number.", "q2", ()),
        (
            "… Select one of the following options: cup, comic book, other",
            "q3",
            ("cup", "comic book", "other"),
        ),
        ("… Select one of the following options: A) 2    B) 5", "q4", ("A) 2", "B) 5")),
    ],
)
def test_options_are_read_from_the_question(question, task, options):
    assert parse_options(question, task) == options


@given(st.integers(1, 7), st.integers(1, 9), st.randoms(use_true_random=False))
def test_boxes_areas_and_run_lengths_of_any_mask(width, height, random):
    values = [[random.choice([0, 0, 1, 2, 3]) for _ in range(width)] for _ in range(height)]
    color = np.array(values, np.uint8)
    rgba = np.dstack([color * 60, color * 0, color * 20, np.full_like(color, 255)])
    found = mask_instances(rgba, "cup")
    assert len(found) == len(set(color.ravel()) - {0})
    for value, one in zip(sorted(set(color.ravel()) - {0}), found, strict=True):
        mask = color == value
        rows, columns = np.nonzero(mask)
        left, top, wide, high = one.box_xywh_px
        assert one.area_px == mask.sum()
        assert np.array_equal(decode_rle(one.rle), mask)
        assert (left, wide) == (columns.min(), np.ptp(columns) + 1)
        assert (top, high) == (rows.min(), np.ptp(rows) + 1)


# --- COCO --------------------------------------------------------------------------------


def truth(**changes: object) -> dict:
    return {
        "images": [
            {"id": 7, "width": 60, "height": 40, "file_name": "b.jpg"},
            {"id": 0, "width": 60, "height": 40, "file_name": "a.jpg"},
        ],
        "categories": [{"id": 3, "name": "cup"}, {"id": 4, "name": "tie"}],
        "annotations": [
            {"id": 1, "image_id": 0, "category_id": 3, "bbox": [1, 2, 3.5, 4], "area": 9},
            {"id": 2, "image_id": 0, "category_id": 4, "bbox": [1, 2, 30, 20], "iscrowd": 1},
        ],
        **changes,
    }


def write(path: Path, document: object) -> Path:
    path.write_text(json.dumps(document))
    return path


def test_a_ground_truth_becomes_scenes_and_objects(catalog, tmp_path):
    found = [{"image_id": 7, "category_id": 4, "bbox": [1, 2, 3, 4], "score": 0.5}]
    gt, dets = write(tmp_path / "gt.json", truth()), write(tmp_path / "det.json", found)
    import_coco(catalog, gt, dets)
    # in the order of the ids: ties between scores fall as in the reference evaluation
    assert list_scenes(catalog) == [Scene("gt-a", "", 1), Scene("gt-b", "", 0)]
    cup, crowd = list_instances(catalog)["gt-a"]
    assert (cup.category, cup.box_xywh_px, cup.area_px, cup.crowd) == (
        "cup",
        (1, 2, 3.5, 4),
        9,
        False,
    )
    assert (crowd.crowd, crowd.area_px) == (True, 600)
    first, second = list_responses(catalog, 1)
    assert first.payload == {"labels": [], "scores": [], "boxes_xywh_px": [], "size_px": [60, 40]}
    assert second.payload["labels"] == ["tie"]
    assert list_lightings(catalog) == []  # nobody set this light


def test_a_second_detector_adds_its_responses_only(catalog, tmp_path):
    gt = write(tmp_path / "gt.json", truth())
    first = import_coco(catalog, gt, write(tmp_path / "one.json", []))
    second = import_coco(catalog, gt, write(tmp_path / "two.json", []))
    assert (len(first.imported), second.imported, second.unchanged) == (2, ["gt/two"], ["gt"])
    assert [one.name for one in list_observers(catalog)] == ["one", "two"]
    again = import_coco(catalog, gt, write(tmp_path / "two.json", []))
    assert again.imported == []
    assert len(list(list_frames(catalog, kind="picture"))) == 2


def test_what_cannot_be_used_of_coco_files_is_named(catalog, tmp_path):
    annotations = [
        {"image_id": 9, "category_id": 3, "bbox": [0, 0, 1, 1]},
        {"image_id": 0, "category_id": 9, "bbox": [0, 0, 1, 1]},
        {"image_id": 0, "category_id": 3, "bbox": [0, 0, 0, 1]},
        {"image_id": 0, "category_id": 3},
    ]
    found = [{"image_id": 0, "category_id": 3, "bbox": [0, 0, 1], "score": 1}, {"image_id": 0}]
    report = import_coco(
        catalog,
        write(tmp_path / "gt.json", truth(annotations=annotations)),
        write(tmp_path / "det.json", {"annotations": found}),
    )
    assert sum(one["rows"] for one in report.rejected) == 6


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "not a COCO ground truth"),
        (truth(categories=[{"id": 1, "name": "cup"}, {"id": 2, "name": "cup"}]), "not unique"),
        (truth(images=truth()["images"][:1] * 2), "not unique"),
    ],
)
def test_an_unusable_ground_truth_is_refused(catalog, tmp_path, document, message):
    with pytest.raises(EvaluateError, match=message):
        import_coco(
            catalog, write(tmp_path / "gt.json", document), write(tmp_path / "det.json", [])
        )


def test_unusable_results_are_refused(catalog, tmp_path):
    gt = write(tmp_path / "gt.json", truth())
    (tmp_path / "det.json").write_text('[{"image_id": 0,')
    with pytest.raises(EvaluateError, match="not a COCO results file"):
        import_coco(catalog, gt, tmp_path / "det.json")


def test_the_public_pairs_come_in_whole(catalog, snaprig_data):
    folder = snaprig_data / "coco100/tests/test_coco_eval"
    report = import_coco(
        catalog,
        folder / "gts/sampled_gts_bbox_area.json",
        folder / "dets/sampled_bbox_results.json",
        "published",
    )
    assert report.counts["instances"] == 830
    assert report.rejected == []
    boxes = [len(one.payload["labels"]) for one in list_responses(catalog, 1)]
    assert (len(boxes), sum(boxes)) == (100, 734)


# --- pictures ----------------------------------------------------------------------------


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    (folder / "deep").mkdir(parents=True)
    exif = Image.Exif()
    exif.get_ifd(0x8769).update({0x829A: 1 / 60, 0x829D: 5.6, 0x8827: 400})
    Image.new("RGB", (60, 40)).save(folder / "a.jpg", exif=exif)
    Image.new("RGB", (30, 20)).save(folder / "deep/b.png")
    Image.new("RGB", (30, 20)).save(folder / "unlisted.png")
    (folder / "cut.jpg").write_bytes((folder / "a.jpg").read_bytes()[:400])
    labels = tmp_path / "labels.csv"
    with labels.open("w", newline="") as file:
        csv.writer(file).writerows(
            [
                ["File", "Label", "Count"],
                ["a.jpg", "cup", "2"],
                ["deep/b.png", "tie", ""],
                ["cut.jpg", "cup", ""],
                ["gone.jpg", "cup", ""],
                ["a.jpg", "mug", ""],
                ["", "x", ""],
            ]
        )
    return folder, labels


def test_labelled_pictures_become_frames_without_known_light(catalog, lab, photos):
    report = import_images(catalog, lab, *photos)
    assert list_scenes(catalog) == [Scene("photos-a", "cup", 2), Scene("photos-deep_b", "tie", 0)]
    first, second = list_frames(catalog, kind="picture")
    assert (first.ev_offset, first.ev_index, first.exif.iso) == (None, 9, 400)
    assert (second.ev, second.width_px) == (None, 30)
    assert {one["reason"]: one["rows"] for one in report.rejected} == {
        "a row without file or label": 1,
        "a file listed twice with different labels": 1,
        "a picture that the list gives no label to": 1,
        "a listed file that is not there": 1,
        "not a whole picture": 1,
    }
    assert check_files(lab, catalog).ok
    assert ensure_stimuli(catalog, "classification") == 2
    assert [one.path for one in pending_stimuli(catalog, 1, "classification")] == [
        "frames/photos-a/unknown/picture.jpg",
        "frames/photos-deep_b/unknown/picture.png",
    ]


def test_pictures_are_taken_in_once(catalog, lab, photos):
    first = import_images(catalog, lab, *photos)
    second = import_images(catalog, lab, *photos)
    assert (len(first.imported), len(second.imported), len(second.unchanged)) == (3, 0, 3)
    assert len(list(list_frames(catalog, kind="picture"))) == 2


def test_boxes_come_with_the_pictures(catalog, lab, photos, tmp_path):
    boxes = write(tmp_path / "boxes.json", truth())
    import_images(catalog, lab, *photos, boxes)
    assert [one.category for one in list_instances(catalog)["photos-a"]] == ["cup", "tie"]


def test_a_list_of_other_files_says_what_it_needs(catalog, lab, photos, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("file,label\nx.jpg,cup\n")
    with pytest.raises(EvaluateError, match="relative to that folder"):
        import_images(catalog, lab, photos[0], other)
    other.write_text("picture,kind\nx.jpg,cup\n")
    with pytest.raises(EvaluateError, match="column `file`"):
        import_images(catalog, lab, photos[0], other)


# --- trials ------------------------------------------------------------------------------

TRIALS = [
    ["s-1", "1", "1", "0.5", "cat", "cat", "0", "0001_ske_s01_0_cat_00_n02_7.png"],
    ["s-1", "1", "2", "NaN", "na", "dog", "0", "0002_ske_s01_0_dog_00_n03_7.png"],
    ["s-1", "1", "3", "0.5", "dog", "cat", "c05", "0003_ske_s01_c05_cat_00_n02_7.png"],
    ["s-1", "1", "4", "0.5", "dog", "cat", "c05", "0004_ske_s01_c05_cat_00_n02_7.png"],
    ["s-1", "1", "5", "0.5", "unicorn", "cat", "0", "0005_ske_s01_0_cat_00_n09_7.png"],
]


def session(folder: Path, subject: str, rows: list[list[str]], number: int = 1) -> None:
    header = "subj,Session,trial,rt,object_response,category,condition,imagename".split(",")
    folder.mkdir(exist_ok=True)
    with (folder / f"d_{subject}_session_{number}.csv").open("w", newline="") as file:
        csv.writer(file).writerows([header, *([subject, str(number), *row[2:]] for row in rows)])


def test_trials_become_responses_of_people(catalog, tmp_path):
    folder = tmp_path / "sketch"
    session(folder, "subject-01", TRIALS)
    session(folder, "resnet50", TRIALS[:1])
    report = import_trials(catalog, folder)
    assert [(one.name, one.kind) for one in list_observers(catalog)] == [
        ("sketch-resnet50", "model"),
        ("sketch-subject-01", "person"),
    ]
    # one picture under two conditions is one frame in two views
    assert [scene.name for scene in list_scenes(catalog)] == ["sketch-n02_7", "sketch-n03_7"]
    cat, silent, contrast = sorted(list_responses(catalog, 2), key=lambda one: one.timing["trial"])
    assert (cat.text, cat.latency_s) == ("cat", 0.5)
    assert (silent.text, silent.latency_s) == ("", None)
    assert contrast.text == "dog"
    assert cat.payload == {"imagename": TRIALS[0][-1], "response": "cat"}
    assert {one["reason"]: one["rows"] for one in report.rejected} == {
        "a picture shown twice to one subject": 1,
        "response is none of the data set's categories": 1,
    }


def test_a_changed_session_replaces_only_itself(catalog, tmp_path):
    folder = tmp_path / "sketch"
    session(folder, "subject-01", TRIALS[:1], 1)
    session(folder, "subject-01", TRIALS[1:2], 2)
    import_trials(catalog, folder)
    changed = [*TRIALS[0][:4], "dog", *TRIALS[0][5:]]
    session(folder, "subject-01", [changed], 1)
    report = import_trials(catalog, folder)
    assert len(report.changed) == 1
    assert [one.text for one in list_responses(catalog, 1)] == ["dog", ""]


def test_a_folder_without_trials_is_refused(catalog, tmp_path):
    with pytest.raises(EvaluateError, match="no CSV file"):
        import_trials(catalog, tmp_path)
    (tmp_path / "x.csv").write_text("subj,trial\n1,2\n")
    with pytest.raises(EvaluateError, match="lacks the columns"):
        import_trials(catalog, tmp_path)


@pytest.mark.parametrize(
    ("name", "trials", "right"), [("sketch", 5600, 5131), ("cue-conflict", 12800, 9927)]
)
def test_the_public_trials_come_in_whole(catalog, snaprig_data, name, trials, right):
    report = import_trials(catalog, snaprig_data / "human-trials" / name)
    assert report.counts["trials"] == report.counts["responses"] == trials
    with catalog.read() as connection:
        found = connection.exec_driver_sql(
            "SELECT count(*) FROM responses r JOIN stimuli s ON s.id = r.stimulus_id "
            "JOIN frames f ON f.id = s.frame_id JOIN scenes c ON c.id = f.scene_id "
            "WHERE r.text = c.category"
        ).scalar_one()
    assert found == right


# --- commands ----------------------------------------------------------------------------


def test_the_commands_print_one_json_document(lab, photos, tmp_path):
    folder, labels = photos
    session(tmp_path / "sketch", "subject-01", TRIALS)
    gt, dets = write(tmp_path / "gt.json", truth()), write(tmp_path / "det.json", [])
    for command, words in (
        (import_cli.images, [folder, "--labels", labels]),
        (import_cli.coco, [gt, dets]),
        (import_cli.trials, [tmp_path / "sketch"]),
    ):
        result = CliRunner().invoke(command, [*map(str, words), "--json"], obj=lab.root)
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["seconds"] >= 0


def test_errors_are_one_line(lab, tmp_path):
    result = CliRunner().invoke(import_cli.trials, [str(tmp_path)], obj=lab.root)
    assert result.exit_code == 1
    assert "no CSV file of trials" in result.output
