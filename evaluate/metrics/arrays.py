"""Array types, and division where nothing divided by nothing is undefined."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def ratio(top: npt.ArrayLike, bottom: npt.ArrayLike) -> FloatArray:
    """Elementwise top / bottom, NaN where the bottom is 0 (or less)."""
    above, below = np.broadcast_arrays(np.asarray(top, np.float64), np.asarray(bottom, np.float64))
    out = np.full(above.shape, np.nan)
    np.divide(above, below, out=out, where=below > 0)
    return out
