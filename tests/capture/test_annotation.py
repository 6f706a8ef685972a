"""Objects of a scene: marked once, checked against what the scene declares, drawn on a frame."""

import json
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from pycocotools import mask as reference

from capture.annotation_files import AnnotationError, read_coco, read_cvat
from rig.errors import Abort
from schemas.annotation_store import clearest_frame, scene_instances
from schemas.masks import (
    MaskError,
    compress_rle,
    decode_rle,
    decompress_rle,
    encode_rle,
    fit,
    mask_instance,
    polygon_mask,
    same_proportions,
)
from schemas.overlay import COLORS, draw_instances
from schemas.records import Instance
from tests.made_workspace import BOXES, CUPS, SIZE_PX, Made

MASKS = st.integers(1, 12).flatmap(
    lambda width: st.integers(1, 12).flatmap(
        lambda height: st.lists(
            st.booleans(), min_size=width * height, max_size=width * height
        ).map(lambda bits: np.array(bits).reshape(height, width))
    )
)


@pytest.fixture
def lab(tmp_path):
    made = Made(tmp_path / "lab")
    made.sweep(CUPS)
    yield made
    made.catalog.close()


def paint(path, boxes=BOXES, size_px=SIZE_PX, mode="RGB"):
    pixels = np.zeros((size_px[1], size_px[0], 4), np.uint8)
    pixels[..., 3] = 255 if mode == "RGB" else 0
    for number, (left, top, width, height) in enumerate(boxes, start=1):
        pixels[top : top + height, left : left + width] = (number * 40, 0, 90, 255)
    Image.fromarray(pixels).convert(mode).save(path)
    return path


def coco_file(path, annotations, images=((1, "cups.jpg"),)):
    document = {
        "categories": [{"id": 3, "name": "Cup"}, {"id": 4, "name": "spoon"}],
        "images": [
            {"id": key, "file_name": name, "width": SIZE_PX[0], "height": SIZE_PX[1]}
            for key, name in images
        ],
        "annotations": annotations,
    }
    path.write_text(json.dumps(document))
    return path


def coco_object(box, **more):
    return {"id": 1, "image_id": 1, "category_id": 3, "bbox": list(box), "iscrowd": 0, **more}


def cvat_file(path, shapes, head=""):
    path.write_text(
        f'<?xml version="1.0"?>{head}<annotations><version>1.1</version>'
        f'<image id="0" name="cups.jpg" width="60" height="40">{shapes}</image></annotations>'
    )
    return path


def boxes_of(instances):
    return [one.box_xywh_px for one in instances]


FLOAT_BOXES = [tuple(map(float, box)) for box in BOXES]


class TestMasks:
    def test_objects_of_a_mask_picture_are_stored(self, lab, tmp_path):
        said = lab.json("scene", "annotate", CUPS.name, "--masks", paint(tmp_path / "m.png"))
        assert said["changed"] is True
        assert [one["box_xywh_px"] for one in said["instances"]] == [list(b) for b in FLOAT_BOXES]
        stored = scene_instances(lab.catalog, CUPS.name)
        assert [one.category for one in stored] == ["cup"] * 3
        for one, (left, top, width, height) in zip(stored, BOXES, strict=True):
            mask = decode_rle(one.rle)
            assert mask.sum() == one.area_px == width * height
            assert mask[top : top + height, left : left + width].all()

    def test_a_transparent_background_is_none(self, lab, tmp_path):
        path = paint(tmp_path / "m.png", mode="RGBA")
        assert len(lab.json("scene", "annotate", CUPS.name, "--masks", path)["instances"]) == 3

    @pytest.mark.parametrize("boxes", [BOXES[:2], (*BOXES, (0, 30, 2, 2)), ()])
    def test_another_number_than_declared_is_refused(self, lab, tmp_path, boxes):
        result = lab.run(
            "scene", "annotate", CUPS.name, "--masks", paint(tmp_path / "m.png", boxes)
        )
        assert isinstance(result.exception, Abort)
        assert f"3 x cup, the file has {len(boxes)}" in str(result.exception)
        assert scene_instances(lab.catalog, CUPS.name) == ()

    def test_the_same_twice_changes_nothing_and_others_need_replace(self, lab, tmp_path):
        first, moved = paint(tmp_path / "a.png"), ((0, 0, 4, 4), *BOXES[1:])
        second = paint(tmp_path / "b.png", moved)
        lab.json("scene", "annotate", CUPS.name, "--masks", first)
        assert not lab.json("scene", "annotate", CUPS.name, "--masks", first)["changed"]
        result = lab.run("scene", "annotate", CUPS.name, "--masks", second)
        assert "--replace" in str(result.exception)
        assert boxes_of(scene_instances(lab.catalog, CUPS.name)) == FLOAT_BOXES
        said = lab.json("scene", "annotate", CUPS.name, "--masks", second, "--replace")
        assert said["instances"][0]["box_xywh_px"] == [0, 0, 4, 4]

    def test_a_picture_of_other_proportions_is_refused_and_a_larger_one_not(self, lab, tmp_path):
        wide = paint(tmp_path / "w.png", size_px=(80, 40))
        assert "another picture" in str(
            lab.run("scene", "annotate", CUPS.name, "--masks", wide).exception
        )
        large = paint(tmp_path / "l.png", size_px=(120, 80))
        assert lab.json("scene", "annotate", CUPS.name, "--masks", large)["image_size_px"] == [
            *(120, 80)
        ]

    def test_a_file_that_is_no_picture_is_named(self, lab, tmp_path):
        (tmp_path / "m.png").write_text("no")
        result = lab.run("scene", "annotate", CUPS.name, "--masks", tmp_path / "m.png")
        assert "cannot be decoded" in str(result.exception)

    def test_usage(self, lab, tmp_path):
        path = paint(tmp_path / "m.png")
        assert lab.run("scene", "annotate", CUPS.name).exit_code == 2
        both = lab.run("scene", "annotate", CUPS.name, "--masks", path, "--coco", path)
        assert both.exit_code == 2
        assert (
            lab.run("scene", "annotate", CUPS.name, "--masks", path, "--label", "x").exit_code == 2
        )
        assert "there is no scene" in str(
            lab.run("scene", "annotate", "nobody", "--masks", path).exception
        )


class TestCoco:
    def test_boxes_polygons_and_both_kinds_of_run_lengths(self, tmp_path):
        mask = np.zeros((40, 60), bool)
        mask[10:20, 30:50] = True
        counts = encode_rle(mask)["counts"]
        square = [5, 5, 15, 5, 15, 25, 5, 25]
        found = read_coco(
            coco_file(
                tmp_path / "c.json",
                [
                    coco_object((1, 2, 3, 4), area=10.5),
                    coco_object((0, 0, 9, 9), segmentation=[square]),
                    coco_object((0, 0, 9, 9), segmentation={"size": [40, 60], "counts": counts}),
                    coco_object(
                        (0, 0, 9, 9),
                        segmentation={"size": [40, 60], "counts": compress_rle(counts)},
                        iscrowd=1,
                    ),
                ],
            ),
            None,
        )
        assert boxes_of(found) == [
            (1, 2, 3, 4),
            (5, 5, 10, 20),
            (30, 10, 20, 10),
            (30, 10, 20, 10),
        ]
        assert [one.area_px for one in found] == [10.5, 200, 200, 200]
        assert [one.crowd for one in found] == [False, False, False, True]
        assert {one.category for one in found} == {"Cup"}

    def test_labels_of_other_classes_need_a_word(self, lab, tmp_path):
        three = [coco_object(box) for box in BOXES]
        spoon = coco_object((0, 0, 2, 2), category_id=4)
        path = coco_file(tmp_path / "c.json", [*three, spoon])
        result = lab.run("scene", "annotate", CUPS.name, "--coco", path)
        assert "objects called spoon" in str(result.exception)
        said = lab.json("scene", "annotate", CUPS.name, "--coco", path, "--label", "cup")
        assert said["left_out"] == 1
        # the scene's word for it, whatever the file writes
        assert {one["category"] for one in said["instances"]} == {"cup"}

    def test_one_of_several_pictures_must_be_named(self, lab, tmp_path):
        images = [(1, "a/cups.jpg"), (2, "b.jpg")]
        path = coco_file(tmp_path / "c.json", [coco_object(box) for box in BOXES], images)
        assert "say which with --image" in str(
            lab.run("scene", "annotate", CUPS.name, "--coco", path).exception
        )
        for name in ("cups.jpg", "a/cups.jpg", "1"):
            lab.json("scene", "annotate", CUPS.name, "--coco", path, "--image", name)
        assert "no picture called" in str(
            lab.run("scene", "annotate", CUPS.name, "--coco", path, "--image", "z").exception
        )

    @pytest.mark.parametrize(
        ("change", "what"),
        [
            ({"category_id": 9}, "has no name"),
            ({"bbox": [50, 0, 20, 5]}, "leaves its picture"),
            ({"bbox": [0, 0, 0, 5]}, "without an area"),
            ({"bbox": ["x"]}, "not a COCO ground truth"),
            ({"segmentation": [[1, 2, 3, 4]]}, "three corners"),
            ({"segmentation": {"size": [60, 40], "counts": [2400]}}, "another size"),
            ({"segmentation": {"size": [40, 60], "counts": "~"}}, "run lengths"),
        ],
    )
    def test_what_cannot_be_used_is_named(self, tmp_path, change, what):
        path = coco_file(tmp_path / "c.json", [{**coco_object((1, 1, 2, 2)), **change}])
        with pytest.raises((AnnotationError, MaskError), match=what):
            read_coco(path, None)

    def test_another_kind_of_file_is_named(self, tmp_path):
        (tmp_path / "c.json").write_text("[]")
        with pytest.raises(AnnotationError, match="not a COCO ground truth"):
            read_coco(tmp_path / "c.json", None)


class TestCvat:
    def test_boxes_polygons_and_masks(self, lab, tmp_path):
        shapes = (
            '<tag label="scene"/>'
            '<box label="cup" xtl="2" ytl="3" xbr="12" ybr="11" occluded="0"><attribute name="a"/>'
            "</box>"
            '<polygon label="cup" points="20,5;32,5;32,25;20,25"/>'
            '<mask label="cup" rle="0,375" left="40" top="10" width="15" height="25"/>'
        )
        path = cvat_file(tmp_path / "c.xml", shapes)
        assert boxes_of(read_cvat(path, None)) == FLOAT_BOXES
        lab.json("scene", "annotate", CUPS.name, "--cvat", path)
        assert boxes_of(scene_instances(lab.catalog, CUPS.name)) == FLOAT_BOXES

    def test_a_document_type_is_refused_before_any_entity(self, tmp_path):
        bomb = (
            '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">'
            '<!ENTITY c SYSTEM "file:///etc/passwd">]>'
        )
        path = cvat_file(tmp_path / "c.xml", '<box label="&b;&c;"/>', bomb)
        with pytest.raises(AnnotationError, match="document type"):
            read_cvat(path, None)

    @pytest.mark.parametrize(
        ("shape", "what"),
        [
            ('<polyline label="cup" points="1,1;2,2"/>', "no outline"),
            ('<ellipse label="cup" cx="1" cy="1" rx="2" ry="2"/>', "no outline"),
            ('<box label="cup" xtl="2" ytl="3" xbr="12"/>', "ybr"),
            ('<box label="cup" xtl="0" ytl="0" xbr="9" ybr="9" rotation="30"/>', "rotated"),
            ('<mask label="cup" rle="0,9" left="59" top="0" width="3" height="3"/>', "fit"),
            ('<mask label="cup" rle="0,8" left="0" top="0" width="3" height="3"/>', "fit"),
            ('<thing label="cup"/>', "unknown shape"),
        ],
    )
    def test_what_cannot_be_used_is_named(self, tmp_path, shape, what):
        with pytest.raises(AnnotationError, match=what):
            read_cvat(cvat_file(tmp_path / "c.xml", shape), None)

    def test_broken_xml_is_named(self, tmp_path):
        (tmp_path / "c.xml").write_text("<annotations>")
        with pytest.raises(AnnotationError, match="cannot be read as XML"):
            read_cvat(tmp_path / "c.xml", None)


class TestRunLengths:
    @given(MASKS)
    def test_they_give_the_mask_back(self, mask):
        assert np.array_equal(decode_rle(encode_rle(mask)), mask)

    @given(MASKS)
    def test_the_compressed_text_is_pycocotools_own(self, mask):
        text = compress_rle(encode_rle(mask)["counts"])
        theirs = reference.encode(np.asfortranarray(mask.astype(np.uint8)))
        assert text == theirs["counts"].decode()
        assert decompress_rle(text) == encode_rle(mask)["counts"]

    @given(st.lists(st.integers(0, 10**7), max_size=20))
    def test_any_run_lengths_survive_compression(self, counts):
        assert decompress_rle(compress_rle(counts)) == counts

    @given(st.text(max_size=20))
    def test_any_text_is_read_or_refused(self, text):
        with suppress(MaskError):
            assert all(count >= 0 for count in decompress_rle(text))

    @given(MASKS)
    def test_box_and_area_are_the_references(self, mask):
        if not mask.any():
            with pytest.raises(MaskError):
                mask_instance(mask, "cup")
            return
        found = mask_instance(mask, "cup")
        encoded = reference.encode(np.asfortranarray(mask.astype(np.uint8)))
        assert list(found.box_xywh_px) == reference.toBbox(encoded).tolist()
        assert found.area_px == reference.area(encoded)

    @given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 20), st.integers(1, 20))
    def test_a_polygon_of_whole_pixels_fills_them(self, left, top, width, height):
        right, bottom = left + width, top + height
        mask = polygon_mask([[left, top, right, top, right, bottom, left, bottom]], (40, 40))
        assert mask.sum() == width * height
        assert mask[top:bottom, left:right].all()


class TestFit:
    @given(MASKS.filter(lambda mask: bool(mask.any())), st.integers(1, 4))
    def test_a_larger_picture_scales_all(self, mask, factor):
        one = mask_instance(mask, "cup")
        size = one.image_size_px[0] * factor, one.image_size_px[1] * factor
        fitted = fit(one, size)
        assert fitted.area_px == one.area_px * factor**2
        assert fitted.box_xywh_px == tuple(side * factor for side in one.box_xywh_px)
        assert fit(one, one.image_size_px) is one

    def test_other_proportions_are_another_picture(self):
        one = Instance("cup", (0, 0, 5, 5), 25, (60, 40))
        with pytest.raises(MaskError, match="60 x 40"):
            fit(one, (40, 60))

    def test_rounded_halves_are_one_picture(self):
        assert same_proportions((1921, 1281), (960, 640))
        assert same_proportions((960, 640), (1921, 1281))
        assert not same_proportions((1920, 1280), (1920, 1080))


class TestOverlay:
    def test_boxes_and_masks_are_where_the_objects_are(self):
        one = Instance("cup", (100.0, 50.0, 60.0, 40.0), 2400.0, (300, 200))
        mask = np.zeros((200, 300), bool)
        mask[50:90, 100:160] = True
        gray = Image.new("L", (300, 200), 100)
        drawn = np.asarray(draw_instances(gray, [mask_instance(mask, "cup")])).astype(int)
        changed = (drawn != 100).any(axis=2)
        rows, columns = np.nonzero(changed)
        assert (columns.min(), rows.min()) == (100, 50)
        assert (drawn[50, 110] == COLORS[0]).all()
        inside = drawn[85, 150]
        assert not (inside == 100).all()
        assert not (inside == COLORS[0]).all()
        box_only = np.asarray(draw_instances(gray, [one])).astype(int)
        assert (box_only[85, 150] == 100).all()
        assert (box_only[50, 110] == COLORS[0]).all()

    def test_it_is_drawn_on_the_frame_nearest_to_offset_0(self, lab, tmp_path):
        lab.mark(CUPS)
        said = lab.json("scene", "overlay", CUPS.name, "--out", tmp_path / "o.png")
        best = min(abs(row[0]) for row in lab.rows("SELECT ev_offset FROM frames"))
        assert abs(said["ev_offset"]) == best
        assert clearest_frame(lab.catalog, CUPS.name).path == said["frame"]
        with Image.open(tmp_path / "o.png") as picture:
            assert picture.size == SIZE_PX
        lab.json("scene", "overlay", CUPS.name)
        assert (lab.root / f"reports/overlay-{CUPS.name}.png").exists()

    def test_what_is_missing_is_named(self, lab, tmp_path):
        assert "nobody marked" in str(lab.run("scene", "overlay", CUPS.name).exception)
        lab.mark(CUPS)
        result = lab.run("scene", "overlay", CUPS.name, "--lighting", "dim")
        assert "no accepted frame under dim" in str(result.exception)
        assert lab.run("scene", "overlay", CUPS.name, "--out", tmp_path / "o.gif").exit_code == 2
        path = lab.workspace.resolve(clearest_frame(lab.catalog, CUPS.name).path)
        path.write_bytes(b"no picture")
        result = lab.run("scene", "overlay", CUPS.name)
        assert "cannot be read" in str(result.exception)
