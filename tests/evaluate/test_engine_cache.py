"""Prepared frames on disk."""

import os

import numpy as np
import pytest

from evaluate.engine.cache import Cached, PreparedCache
from evaluate.engine.worker import Worker
from schemas.ask_store import Ask, FrameAsks

SHA, OTHER = "ab" * 32, "cd" * 32
PIXELS = np.arange(3 * 8 * 8, dtype=np.uint8).reshape(3, 8, 8)


@pytest.fixture
def cache(tmp_path):
    return PreparedCache(tmp_path / "cache", 1_000_000)


def files(cache):
    return [path for path in cache._folder.rglob("*") if path.is_file()]


def test_what_was_stored_comes_back(cache):
    cache.put(SHA, "resize 224", Cached(PIXELS, (1920, 1280)))
    found = cache.get(SHA, "resize 224")
    np.testing.assert_array_equal(found.prepared, PIXELS)
    assert found.prepared.dtype == np.uint8
    assert found.size_px == (1920, 1280)


def test_another_frame_or_transform_is_a_miss(cache):
    cache.put(SHA, "resize 224", Cached(PIXELS, (1920, 1280)))
    assert cache.get(OTHER, "resize 224") is None
    assert cache.get(SHA, "resize 225") is None


def test_a_damaged_file_is_a_miss(cache):
    cache.put(SHA, "k", Cached(PIXELS, (8, 8)))
    (path,) = files(cache)
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:10], b"", whole[:50] + b"x" + whole[51:], b"X" + whole[1:]):
        path.write_bytes(damaged)
        assert cache.get(SHA, "k") is None
    path.write_bytes(whole)
    assert cache.get(SHA, "k") is not None


def test_the_oldest_make_room(tmp_path):
    cache = PreparedCache(tmp_path, 10 * 400)
    for number in range(30):
        cache.put(f"{number:064x}", "k", Cached(PIXELS, (8, 8)))
        for path in files(cache):
            if path.name == f"{number:064x}":
                os.utime(path, (number, number))
        assert sum(path.stat().st_size for path in files(cache)) <= 10 * 400
    assert cache.get(f"{29:064x}", "k") is not None
    assert cache.get(f"{0:064x}", "k") is None
    # a new process counts what is there
    again = PreparedCache(tmp_path, 10 * 400)
    assert again._total == sum(path.stat().st_size for path in files(cache))


def test_a_full_disk_ends_the_cache_and_not_the_run(lab, tmp_path, monkeypatch, caplog):
    from evaluate.engine.work import Settings
    from tests.evaluate.asking import row_named
    from tests.evaluate.test_engine_pass import Thumb, put_frames

    (frame,) = put_frames(lab, 1)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(PreparedCache, "put", full)
    settings = Settings(
        lab.workspace.root, cache=tmp_path / "c", cache_bytes=1, load=lambda *_: Thumb("k")
    )
    worker = Worker([row_named("thumb")], settings)
    asks = FrameAsks(frame.path, frame.sha256, (Ask(0, 1, "classification", ()),))
    rows = [row for done in worker.work([asks]) for row in done.rows]
    assert [row.error for row in rows] == [""]
    assert "No space left" in caplog.text
