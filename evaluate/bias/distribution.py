"""How the pictures of a scan are distributed over exposure, settings, mode, year and camera.

Counted batch by batch, so a scan of any size fits.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evaluate.bias.rows import UNREADABLE
from evaluate.bias.scan import METADATA_KEY, Collection

#: Bins of a whole stop: EV as index, shutter speed as log2 of seconds, F-number as 2 log2 N (f/1
#: is 0, f/2 is 2), ISO as log2(ISO / 100). What lies beyond counts in the last bin of its side.
EV_RANGE: Final = (-6, 20)
SHUTTER_STOPS: Final = (-13, 5)
F_NUMBER_STOPS: Final = (0, 10)
ISO_STOPS: Final = (-1, 10)

#: Finer bins for the distributions, per stop: peaks at thirds of a stop show.
_FINE: Final = 3

Counts = npt.NDArray[np.int64]


class ScanFileError(Exception):
    """A file is no scan."""


def shutter_stops(shutter_s: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """log2 of seconds: 0 is 1 s, -10 is 1/1024 s (marked 1/1000)."""
    return np.asarray(np.log2(shutter_s))


def f_number_stops(f_number: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """2 log2 N: 0 is f/1, 5 is f/5.66 (marked f/5.6)."""
    return np.asarray(2 * np.log2(f_number))


def iso_stops(iso: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """log2(ISO / 100): 0 is ISO 100, 6 is ISO 6400."""
    return np.asarray(np.log2(iso / 100))


_Stops = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]

_AXES: Final[dict[str, tuple[tuple[int, int], _Stops]]] = {
    "exposure_time_s": (SHUTTER_STOPS, shutter_stops),
    "f_number": (F_NUMBER_STOPS, f_number_stops),
    "iso": (ISO_STOPS, iso_stops),
}


@dataclass
class Distribution:
    """Counts of one collection.

    Attributes
    ----------
    images, readable, with_all_three : int
        Rows; pictures that could be read; those with shutter speed, F-number and ISO.
    ev : array of int, shape (27,)
        Pictures by EV index, `EV_RANGE` inclusive.
    stops : dict
        `exposure_time_s`, `f_number`, `iso` → pictures by whole stop.
    fine : dict
        The same names → pictures by third of a stop, keyed by its number.
    modes, years, cameras, reasons, sources : Counter
        Of pictures.
    mode_conflicts : int
        Pictures whose ExposureMode and ExposureProgram disagree on manual.
    """

    collection: Collection
    images: int = 0
    readable: int = 0
    with_all_three: int = 0
    mode_conflicts: int = 0
    ev: Counts = field(default_factory=lambda: _empty(EV_RANGE))
    stops: dict[str, Counts] = field(
        default_factory=lambda: {name: _empty(limits) for name, (limits, _) in _AXES.items()}
    )
    fine: dict[str, Counter[int]] = field(
        default_factory=lambda: {name: Counter() for name in _AXES}
    )
    modes: Counter[str] = field(default_factory=Counter)
    years: Counter[int] = field(default_factory=Counter)
    cameras: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    sources: Counter[str] = field(default_factory=Counter)

    @property
    def nominal(self) -> int:
        """Images that the collection is said to have."""
        return self.collection.nominal or self.images

    def add(self, rows: pa.RecordBatch) -> None:
        """Count a batch of a scan."""
        self.images += rows.num_rows
        self.mode_conflicts += rows.column("mode_conflict").true_count or 0
        for name, counter in (("reason", self.reasons), ("source", self.sources)):
            _count(rows.column(name), counter)
        complete = rows.filter(pc.is_valid(rows.column("ev")))
        self.with_all_three += complete.num_rows
        self.readable = self.images - sum(self.reasons[reason] for reason in UNREADABLE)
        _count(complete.column("mode"), self.modes)
        _count(pc.year(complete.column("date")), self.years)
        makes = pc.fill_null(complete.column("make"), "")
        models = pc.fill_null(complete.column("model"), "")
        _count(pc.binary_join_element_wise(makes, models, "\t"), self.cameras)
        self.add_settings(*(_floats(complete, name) for name in _AXES))

    def add_settings(
        self,
        shutter_s: npt.NDArray[np.float64],
        f_number: npt.NDArray[np.float64],
        iso: npt.NDArray[np.float64],
    ) -> None:
        """Count complete settings, an entry a picture."""
        self.ev += _binned(np.log2(f_number**2 / shutter_s) - np.log2(iso / 100), EV_RANGE)
        for (name, (limits, stops)), values in zip(
            _AXES.items(), (shutter_s, f_number, iso), strict=True
        ):
            stop = stops(values)
            self.stops[name] += _binned(stop, limits)
            thirds, counts = np.unique(np.rint(stop * _FINE).astype(int), return_counts=True)
            self.fine[name].update(dict(zip(thirds.tolist(), counts.tolist(), strict=True)))


def read_distribution(path: Path) -> Distribution:
    """Count the pictures of a scan.

    Raises
    ------
    ScanFileError
        If the file is no scan.
    """
    try:
        with pq.ParquetFile(path) as file:
            about = (file.schema_arrow.metadata or {}).get(METADATA_KEY)
            if about is None:
                raise ScanFileError(f"{path} is no scan: make one with `snaprig bias scan`")
            found = Distribution(Collection(**json.loads(about)))
            for batch in file.iter_batches(batch_size=65_536, columns=_COLUMNS):
                found.add(batch)
    except (pa.ArrowException, OSError) as error:
        raise ScanFileError(f"{path} cannot be read: {error}") from error
    return found


_COLUMNS: Final = [
    "reason", "source", "ev", "exposure_time_s", "f_number", "iso", "mode", "mode_conflict",
    "date", "make", "model",
]  # fmt: skip


def of_settings(name: str, settings: npt.NDArray[np.float64]) -> Distribution:
    """The distribution of frames of a catalog, taken manually.

    Parameters
    ----------
    settings : array, shape (n, 3)
        Shutter speed in seconds, F-number, ISO.
    """
    found = Distribution(Collection(name))
    found.images = found.readable = found.with_all_three = len(settings)
    found.modes["manual"] = len(settings)
    found.add_settings(*settings.T)
    return found


def bias_score(counts: Counts) -> float:
    """How far counts are from uniform: 0 all bins equal, 1 all in one.

    Kullback-Leibler divergence from the uniform distribution over its largest value, log K:
    ``sum p log(p K) / log K``, which is 1 minus the normalized Shannon entropy. NaN without counts.
    """
    total = counts.sum()
    if total == 0:
        return math.nan
    share = counts[counts > 0] / total
    return float(1 + (share * np.log(share)).sum() / math.log(len(counts)))


def bias_interval(
    counts: Counts, seed: int = 0, samples: int = 1000, level: float = 0.95
) -> tuple[float, float]:
    """Bootstrap interval of `bias_score`: pictures drawn anew, with replacement.

    Drawing n pictures from bins is a multinomial draw of their counts.
    """
    total = int(counts.sum())
    if total == 0:
        return math.nan, math.nan
    drawn = np.random.default_rng(seed).multinomial(total, counts / total, size=samples)
    scores = [bias_score(sample) for sample in drawn]
    low, high = np.quantile(scores, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _empty(limits: tuple[int, int]) -> Counts:
    return np.zeros(limits[1] - limits[0] + 1, np.int64)


def _floats(rows: pa.RecordBatch, name: str) -> npt.NDArray[np.float64]:
    return np.asarray(rows.column(name).to_numpy(zero_copy_only=False), np.float64)


def _binned(values: npt.NDArray[np.float64], limits: tuple[int, int]) -> Counts:
    """Counts by the nearest whole number, ties up, within limits."""
    index = np.clip(np.floor(values + 0.5), *limits).astype(int) - limits[0]
    return np.bincount(index, minlength=limits[1] - limits[0] + 1)


def _count(column: pa.Array, counter: Counter[str] | Counter[int]) -> None:
    for entry in pc.value_counts(column).to_pylist():
        if entry["values"] is not None:
            counter[entry["values"]] += entry["counts"]
