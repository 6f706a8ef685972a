"""Batches that find no memory, and items that a model refuses."""

import gc
import weakref
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluate.engine.batching import GPU_BATCH, GPU_LARGEST, BatchSize, answer_batch
from evaluate.errors import EvaluateError
from evaluate.model import Asked, Given


def asked(*numbers):
    return [Asked(number, "classification", (), (8, 8)) for number in numbers]


class Small:
    """Has memory for `room` items; refuses negative ones."""

    def __init__(self, room, error=MemoryError):
        self.room = room
        self.error = error
        self.asked = []
        self.tensors = []

    def answer(self, batch):
        self.asked.append(len(batch))
        if len(batch) > self.room:
            tensor = Tensor()
            self.tensors.append(weakref.ref(tensor))
            raise self.error("CUDA out of memory. Tried to allocate 2.00 GiB")
        if any(item.prepared < 0 for item in batch):
            raise EvaluateError("negative")
        return [Given(None, {"n": item.prepared}) for item in batch]


class Tensor:
    pass


def numbers(answers):
    return [one.given.payload["n"] for one in answers]


@pytest.mark.parametrize("error", [MemoryError, RuntimeError])
def test_out_of_memory_halves_the_batch_for_good(error):
    model, size = Small(3, error), BatchSize(16, 256)
    answers = answer_batch(model, asked(*range(16)), size)
    assert numbers(answers) == list(range(16))
    assert model.asked == [16, 8, 4, 2, 2, 4, 2, 2, 8, 4, 2, 2, 4, 2, 2]
    assert {one.batch for one in answers} == {2}
    assert (size.size, size.largest) == (2, 2)
    gc.collect()
    # what the failed batch held is free
    assert all(tensor() is None for tensor in model.tensors)


def test_no_memory_for_a_single_item_is_its_failure():
    answers = answer_batch(Small(0), asked(1, 2), BatchSize(2, 2))
    assert [str(one.given) for one in answers] == ["out of memory with a batch of 1"] * 2


@given(st.lists(st.integers(-3, 9), min_size=1, max_size=20), st.integers(1, 8))
def test_only_what_is_refused_fails(items, room):
    # collecting garbage takes long in a process with a large heap, and examples do it often
    with patch("evaluate.engine.batching.free_memory"):
        answers = answer_batch(Small(room), asked(*items), BatchSize(20, 20))
    for item, one in zip(items, answers, strict=True):
        if item < 0:
            assert str(one.given) == "negative"
        else:
            assert one.given.payload == {"n": item}


def test_a_defect_passes_through():
    with pytest.raises(RuntimeError, match="shape"):
        answer_batch(Small(0, lambda _: RuntimeError("shape mismatch")), asked(1), BatchSize(1, 1))


def test_a_missing_answer_is_a_defect():
    class Silent:
        def answer(self, batch):
            return []

    with pytest.raises(RuntimeError, match="0 answers to 2"):
        answer_batch(Silent(), asked(1, 2), BatchSize(2, 2))


def test_sizes_are_found_on_a_gpu_and_kept_where_asked_for():
    size = BatchSize.of(None, "cuda:1")
    assert size.size == GPU_BATCH
    for _ in range(10):
        size.went_well(size.size)
    assert size.size == GPU_LARGEST
    size.was_too_large(GPU_LARGEST)
    size.went_well(size.size)
    assert size.size == GPU_LARGEST // 2
    size.went_well(3)  # the last, short batch says nothing
    assert size.size == GPU_LARGEST // 2
    fixed = BatchSize.of(5, "cuda")
    fixed.went_well(5)
    assert fixed.size == 5
