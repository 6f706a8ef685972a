"""Measured colors: plain patches under all exposures, masks, resume, refusal."""

import io
import json

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from evaluate.color import measuring
from evaluate.color.groups import SRGB, Color, Group
from evaluate.color.label_summary import count_labels
from evaluate.color.measure import measure, name_color
from evaluate.color.measuring import measure_catalog
from evaluate.color.pixels import decode_small, fit_mask, mean_luma, object_mask
from evaluate.errors import EvaluateError
from rig.cli import snaprig
from schemas.color_store import FRAME, SCENE, list_color_frames, list_color_labels
from schemas.exposure import Exposure
from schemas.import_store import put_instances
from schemas.masks import mask_instances
from schemas.records import Instance
from tests.evaluate.conftest import jpeg


def encode(linear):
    low, high = 12.92 * linear, 1.055 * np.power(linear, 1 / 2.4) - 0.055
    return np.where(linear <= 0.0031308, low, high)


def decode(encoded):
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def exposed(srgb, stops):
    """An 8-bit color under another exposure, and whether that clips a channel."""
    linear = decode(np.array(srgb) / 255) * 2.0**stops
    pixel = np.rint(encode(np.clip(linear, 0, 1)) * 255).astype(np.uint8)
    lost = (linear > 1).any() or ((pixel == 0) & (np.array(srgb) > 0)).any()
    return tuple(int(v) for v in pixel), bool(lost)


def disc(height, width):
    y, x = np.mgrid[:height, :width]
    return ((y - height / 2) / (height / 3)) ** 2 + ((x - width / 2) / (width / 3)) ** 2 < 1


def picture(foreground, background, size=(96, 64)):
    pixels = np.empty((size[1], size[0], 3), np.uint8)
    pixels[:] = background
    pixels[disc(size[1], size[0])] = foreground
    return pixels


WITHIN_RANGE = [
    (color, stops)
    for color, srgb in SRGB.items()
    for stops in range(-9, 5)
    if not exposed(srgb, stops)[1]
]


def test_every_color_has_exposures_that_do_not_clip():
    for color in SRGB:
        assert sum(one is color for one, _ in WITHIN_RANGE) >= 9


@pytest.mark.parametrize(("color", "stops"), WITHIN_RANGE)
def test_a_plain_patch_has_its_color_under_every_exposure_that_does_not_clip(color, stops):
    pixel, _ = exposed(SRGB[color], stops)
    surround, _ = exposed((0x80, 0x80, 0x80), stops)
    found = measure(picture(pixel, surround), disc(64, 96), stops)
    assert found.foreground is color
    assert found.foreground_coverage == 1
    luma = np.dot(pixel, (0.299, 0.587, 0.114))
    assert found.foreground_luma == pytest.approx(luma, abs=0.01)
    assert found.background_luma == pytest.approx(np.dot(surround, (0.299, 0.587, 0.114)), abs=0.01)


@pytest.mark.parametrize("color", SRGB)
def test_a_published_color_has_its_name(color):
    assert name_color(SRGB[color]) is color


def test_most_coverage_wins_and_a_tie_is_others():
    mask = np.zeros((20, 20), np.bool_)
    mask[:10] = True
    pixels = np.zeros((20, 20, 3), np.uint8)
    pixels[:10, :11] = SRGB[Color.RED]
    pixels[:10, 11:] = SRGB[Color.WHITE]
    assert measure(pixels, mask).foreground is Color.RED
    pixels[:10, 10:] = SRGB[Color.WHITE]
    assert measure(pixels, mask).foreground is Color.OTHERS
    assert measure(pixels, mask).group is Group.OTHERS


def test_four_colors_of_a_quarter_each_are_others():
    mask = np.zeros((8, 8), np.bool_)
    mask[:4] = True
    pixels = np.zeros((8, 8, 3), np.uint8)
    for quarter, name in enumerate((Color.RED, Color.WHITE, Color.BLUE, Color.GREEN)):
        pixels[:4, 2 * quarter : 2 * quarter + 2] = SRGB[name]
    assert measure(pixels, mask).foreground is Color.OTHERS


@given(st.integers(1, 40), st.integers(1, 40))
def test_masks_fit_any_size_of_the_same_shape(factor, other):
    mask = np.zeros((2 * factor, 3 * factor), np.bool_)
    mask[:factor] = True
    found = fit_mask(mask, 2 * other, 3 * other)
    assert found.shape == (2 * other, 3 * other)
    assert found[0].all()
    assert not found[-1].any()


def test_a_mask_of_another_shape_is_refused():
    with pytest.raises(EvaluateError, match="another shape"):
        fit_mask(np.ones((64, 96), np.bool_), 96, 96)


def test_a_mask_without_object_or_background_is_refused():
    for mask in (np.zeros((4, 4), np.bool_), np.ones((4, 4), np.bool_)):
        with pytest.raises(ValueError, match="of the object and of the background"):
            measure(np.zeros((4, 4, 3), np.uint8), mask)


def test_the_object_is_of_the_scenes_category_if_any_is():
    cup = Instance("cup", (0, 0, 1, 2), 2, (2, 2), rle={"size": [2, 2], "counts": [0, 2, 2]})
    spoon = Instance("spoon", (1, 0, 1, 2), 2, (2, 2), rle={"size": [2, 2], "counts": [2, 2]})
    box = Instance("cup", (0, 0, 1, 2), 2, (2, 2))
    assert object_mask([cup, spoon], "cup").tolist() == [[True, False], [True, False]]
    assert object_mask([cup, spoon], "bowl").all()
    assert object_mask([box], "cup") is None


SETTINGS = {stops: Exposure(2.0 ** (stops - 6), 100, 8.0) for stops in (-6, 0, 1)}


def png_free_jpeg(pixels):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=95, subsampling=0)
    return buffer.getvalue()


def sweep(lab, scene, foreground, background):
    """Frames of a scene at three EV offsets; its own colors are those at 0."""
    for exposure in SETTINGS.values():
        offset = exposure.ev_offset(11)
        colors = [exposed(one, offset)[0] for one in (foreground, background)]
        lab.frame(scene, "bright", exposure, png_free_jpeg(picture(*colors)))


def put_mask(lab, scene, size=(96, 64)):
    rgba = np.zeros((size[1], size[0], 4), np.uint8)
    rgba[..., 3] = 255
    rgba[disc(size[1], size[0])] = (255, 0, 0, 255)
    with lab.catalog.write() as connection:
        key = connection.exec_driver_sql("SELECT id FROM scenes WHERE name = ?", (scene,)).scalar()
        put_instances(connection, key, mask_instances(rgba, "cup"))


def measured(lab):
    return measure_catalog(lab.catalog, lab.workspace, lambda _done, _total: None)


def test_without_masks_it_refuses_and_says_what_to_do(lab):
    lab.frame("mug", "bright", SETTINGS[0], jpeg(1))
    done = CliRunner().invoke(
        snaprig, ["-w", str(lab.workspace.root), "color", "label", "--measure"]
    )
    assert done.exit_code == 1
    assert "scene annotate" in done.output
    assert "import images" in done.output
    assert list_color_labels(lab.catalog) == []


def test_scenes_have_their_own_colors_and_frames_those_that_appear(lab):
    sweep(lab, "apple", (0xB0, 0, 0), (0xC0, 0xC0, 0xC0))
    put_mask(lab, "apple")
    done = measured(lab)
    assert (done.scenes, done.frames, done.known, done.failed) == (1, 3, 0, {})
    rows = {row.frame_id: row for row in list_color_frames(lab.catalog)}
    labels = list_color_labels(lab.catalog)
    [own] = [one for one in labels if one.scope == SCENE]
    assert (own.foreground, own.background) == ("red", "gray")
    assert rows[own.frame_id].ev_offset == min((r.ev_offset for r in rows.values()), key=abs)
    seen = {rows[one.frame_id].ev_offset: one for one in labels if one.scope == FRAME}
    assert len(seen) == 3
    darkest = seen[min(seen)]
    assert (darkest.foreground, darkest.background) == ("black", "black")
    counts = count_labels(list(rows.values()), labels)
    assert counts["own"]["group"]["Medium"] == 3


def test_a_second_pass_measures_nothing_and_a_new_mask_everything(lab):
    sweep(lab, "apple", (0xB0, 0, 0), (0xC0, 0xC0, 0xC0))
    put_mask(lab, "apple")
    measured(lab)
    again = measured(lab)
    assert (again.scenes, again.frames, again.known) == (0, 0, 3)
    put_mask(lab, "apple", (192, 128))
    changed = measured(lab)
    assert (changed.scenes, changed.frames) == (1, 3)
    assert len(list_color_labels(lab.catalog)) == 4


def test_a_pass_that_was_cut_off_goes_on(lab, monkeypatch):
    monkeypatch.setattr(measuring, "_BATCH", 2)
    for scene, color in (("apple", (0xB0, 0, 0)), ("bowl", (0, 0, 0xFF))):
        sweep(lab, scene, color, (0xC0, 0xC0, 0xC0))
        put_mask(lab, scene)

    def cut(done, total):
        assert total == 6
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measure_catalog(lab.catalog, lab.workspace, cut)
    kept = list_color_labels(lab.catalog)
    assert sum(one.scope == FRAME for one in kept) == 4
    again = measured(lab)
    assert (again.frames, again.known) == (2, 4)
    labels = list_color_labels(lab.catalog)
    assert labels[: len(kept)] == kept
    assert sum(one.scope == SCENE for one in labels) == 2
    assert sum(one.scope == FRAME for one in labels) == 6


def test_scenes_without_a_mask_wait(lab):
    sweep(lab, "apple", (0xB0, 0, 0), (0xC0, 0xC0, 0xC0))
    sweep(lab, "bowl", (0, 0, 0xFF), (0xFF, 0xFF, 0xFF))
    put_mask(lab, "apple")
    done = measured(lab)
    assert (done.scenes, done.frames, done.without_mask) == (1, 3, 3)


def test_unreadable_frames_are_named_and_the_next_best_shows_the_scene(lab):
    sweep(lab, "apple", (0xB0, 0, 0), (0xC0, 0xC0, 0xC0))
    put_mask(lab, "apple")
    best = min(list_color_frames(lab.catalog), key=lambda row: abs(row.ev_offset))
    lab.path_of(best.path).write_bytes(b"not a picture")
    lab.catalog.close()
    done = CliRunner().invoke(
        snaprig, ["-w", str(lab.workspace.root), "color", "label", "--measure", "--json"]
    )
    assert done.exit_code == 1
    document = json.loads(done.stdout)["measured"]
    assert (document["scenes"], document["frames"]) == (1, 2)
    assert document["failed"][0]["examples"] == [best.path]
    assert not any(one.frame_id == best.frame_id for one in list_color_labels(lab.catalog))


def test_pictures_decode_small_and_upright(tmp_path):
    import hashlib

    pixels = picture((255, 0, 0), (0, 0, 255), (1200, 800))
    plain, turned, png = tmp_path / "a.jpg", tmp_path / "b.jpg", tmp_path / "c.png"
    plain.write_bytes(png_free_jpeg(pixels))
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(pixels).save(turned, exif=exif)
    Image.fromarray(pixels).save(png)
    digest = {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in (plain, turned, png)}
    assert decode_small(plain, digest[plain]).shape[1] < 600
    assert decode_small(plain, digest[plain], whole=True).shape == (800, 1200, 3)
    assert decode_small(turned, digest[turned]).shape == (1200, 800, 3)
    assert decode_small(png, digest[png]).shape == (800, 1200, 3)
    with pytest.raises(EvaluateError, match="not the file that the catalog names"):
        decode_small(plain, digest[png])
    want = np.array(Image.fromarray(pixels).convert("L")).mean()
    assert mean_luma(decode_small(plain, digest[plain])) == pytest.approx(want, abs=1)
