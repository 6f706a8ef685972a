"""Pictures of one shape together: what fits only by padding would be seen differently."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evaluate.model import Asked, Given


def by_shape(
    batch: Sequence[Asked], answer: Callable[[Sequence[Asked]], list[Given]]
) -> list[Given]:
    """Answers in the order of the batch, asked for by groups whose arrays have one shape."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, one in enumerate(batch):
        groups.setdefault(tuple(one.prepared.shape), []).append(place)
    found: dict[int, Given] = {}
    for places in groups.values():
        found |= zip(places, answer([batch[place] for place in places]), strict=True)
    return [found[place] for place in range(len(batch))]
