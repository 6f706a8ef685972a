"""Items sorted into groups by any of their columns: the one way to a metric per condition."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from evaluate.metrics.arrays import BoolArray, FloatArray, IntArray, ratio

Result = TypeVar("Result")

#: EV offsets of well-exposed frames in the paper, both ends included.
WELL_EXPOSED = (-2, 2)

UNDER, WELL, OVER = "under", "well", "over"


@dataclass(frozen=True, eq=False)
class Groups:
    """Which group each item belongs to.

    Attributes
    ----------
    keys : tuple of str
        The columns that were grouped by.
    labels : tuple
        One a group, ascending: the value of the key, or a tuple of values for several keys.
    index : array of int, shape (n,)
        Place of each item's group in `labels`; -1 for items without a value in a key.
    """

    keys: tuple[str, ...]
    labels: tuple[Hashable, ...]
    index: IntArray

    def rows(self) -> list[IntArray]:
        """Items of each group, in their order."""
        order = np.argsort(self.index, kind="stable")
        ends = np.searchsorted(self.index[order], np.arange(len(self.labels) + 1))
        return np.split(order, ends)[1:-1]

    def apply(self, metric: Callable[..., Result], *columns: npt.ArrayLike) -> dict[Any, Result]:
        """A metric of each group: `metric(*columns)` with the rows of that group.

        Examples
        --------
        >>> groups = group_by({"lighting": ["dim", "dim", "bright"]}, ["lighting"])
        >>> groups.apply(lambda hits: int(sum(hits)), [1, 1, 0])
        {'bright': 0, 'dim': 2}
        """
        arrays = [np.asarray(column) for column in columns]
        return {
            label: metric(*(array[rows] for array in arrays))
            for label, rows in zip(self.labels, self.rows(), strict=True)
        }

    def means(self, values: npt.ArrayLike) -> FloatArray:
        """Mean of each group, NaN values left out; shape (n_groups,), NaN for none."""
        found = np.asarray(values, np.float64)
        used = (self.index >= 0) & ~np.isnan(found)
        n = len(self.labels)
        count = np.bincount(self.index[used], minlength=n)
        return ratio(np.bincount(self.index[used], weights=found[used], minlength=n), count)


def group_by(columns: Mapping[str, npt.ArrayLike], keys: Sequence[str]) -> Groups:
    """Group items by one or several columns.

    Parameters
    ----------
    columns : mapping of name to array, shape (n,)
        More may be there than are grouped by. Missing values: None or NaN.

    Raises
    ------
    ValueError
        Without keys, for a key that is no column, or for columns of different lengths.

    Examples
    --------
    >>> table = {"ev_offset": [0, 1, 0, 1], "lighting": ["dim", "dim", "dim", "bright"]}
    >>> group_by(table, ["ev_offset", "lighting"]).labels
    ((0, 'dim'), (1, 'bright'), (1, 'dim'))
    """
    unknown = [key for key in keys if key not in columns]
    if unknown or not keys:
        raise ValueError(f"cannot group by {unknown or 'nothing'}; there are {sorted(columns)}")
    chosen = [np.asarray(columns[key]) for key in keys]
    if len({column.shape for column in chosen}) > 1:
        raise ValueError(f"lengths differ: {[len(column) for column in chosen]}")
    missing = np.any([_missing(column) for column in chosen], axis=0)
    place = np.zeros(int((~missing).sum()), np.int64)
    levels = []
    for column in chosen:
        values, level = np.unique(_plain(column[~missing]), return_inverse=True)
        place = place * len(values) + level
        levels.append(values)
    cells, inverse = np.unique(place, return_inverse=True)
    index = np.full(len(missing), -1)
    index[~missing] = inverse
    parts = np.unravel_index(cells, [len(values) for values in levels]) if len(cells) else ()
    labels = zip(
        *(values[part].tolist() for values, part in zip(levels, parts, strict=False)), strict=True
    )
    return Groups(
        keys=tuple(keys),
        labels=tuple(label[0] if len(keys) == 1 else label for label in labels),
        index=index,
    )


def exposure_range(ev_offsets: npt.ArrayLike) -> npt.NDArray[np.str_]:
    """`under`, `well` (EV offset -2 to 2) or `over` exposed, a key to group by; shape (n,)."""
    offsets = np.asarray(ev_offsets)
    low, high = WELL_EXPOSED
    return np.where(offsets < low, UNDER, np.where(offsets > high, OVER, WELL))


def balanced_mean(values: npt.ArrayLike, groups: Groups) -> float:
    """Mean of the means of all groups, each of equal weight; NaN without any.

    Where observers saw unequal mixtures of exposures, their plain means compare the mixtures
    (Simpson's paradox: better at each exposure, worse in all); these do not. With questions as
    groups it is the macro average.
    """
    means = groups.means(values)
    means = means[~np.isnan(means)]
    return float(means.mean()) if len(means) else float("nan")


def _missing(column: npt.NDArray[Any]) -> BoolArray:
    if column.dtype.kind == "O":
        return np.array([value is None or value != value for value in column], bool)  # noqa: PLR0124
    if column.dtype.kind == "f":
        return np.asarray(np.isnan(column))
    return np.zeros(column.shape, bool)


def _plain(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Objects as the numbers or strings that they are: unique by value, and faster."""
    return np.array(column.tolist()) if column.dtype.kind == "O" else column
