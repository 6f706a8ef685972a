"""Read a pickled table of labels without running anything that it names.

CIFAR-B ships its labels as ``numpy.save`` of a dictionary: a pickle. Here numpy's arrays, scalars
and dtypes become plain lists and numbers of ours, and every other name is refused: no code of the
file, and none of numpy's, runs on its content.
"""

from __future__ import annotations

import ast
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from evaluate.errors import EvaluateError

#: A published label file has 0.2 MB.
MAX_BYTES: Final = 64 * 2**20

_MAGIC: Final = b"\x93NUMPY"


class _DType:
    """What a pickled dtype says of itself: kind, item size, byte order."""

    def __init__(self, code: object = "", *_flags: object) -> None:
        self.code = str(code).lstrip("<>=|")
        self.order = "<"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = str(state[1])


class _Array:
    """A pickled array of objects: its items as a list."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        content = state[-1]
        if not isinstance(content, list):
            raise pickle.UnpicklingError("an array of raw bytes inside the table")
        self.items = content


def _reconstruct(*_about: object) -> _Array:
    return _Array()


def _encode(text: str, encoding: str) -> bytes:
    """Bytes as pickles before protocol 3 write them."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes in {encoding!r}")
    return text.encode("latin-1")


def _scalar(dtype: _DType, content: bytes = b"") -> int | str:
    """A number or text of numpy; floats have no place in a table of labels."""
    order = "big" if dtype.order == ">" else "little"
    if dtype.code[:1] in {"i", "u", "b"}:
        return int.from_bytes(content, order, signed=dtype.code.startswith("i"))  # type: ignore[arg-type]  # one of two
    if dtype.code.startswith("U"):
        return content.decode("utf-32-be" if order == "big" else "utf-32-le").rstrip("\0")
    raise pickle.UnpicklingError(f"a scalar of type {dtype.code!r}")


#: What a pickle machine raises on a broken or hostile file is not limited to its own error.
_BROKEN: Final = (
    pickle.UnpicklingError,
    ArithmeticError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    MemoryError,
    OSError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
)

_ALLOWED: Final[dict[tuple[str, str], Callable[..., Any]]] = {
    (f"numpy{core}.multiarray", name): stand_in
    for core in (".core", "._core")
    for name, stand_in in (("_reconstruct", _reconstruct), ("scalar", _scalar))
} | {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _DType,
    ("_codecs", "encode"): _encode,
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - pickle's own signature
        """A stand-in of ours for the few names that a table needs."""
        found = _ALLOWED.get((module, name))
        if found is None:
            raise pickle.UnpicklingError(f"it names {module}.{name}")
        return found

    def persistent_load(self, pid: object) -> Any:  # noqa: ANN401 - pickle's own signature
        """Refuse references to things outside the file."""
        raise pickle.UnpicklingError(f"it refers to something outside ({pid!r})")


def read_table(path: Path) -> dict[Any, Any]:
    """The dictionary in an ``.npy`` file of one object, or in a plain pickle.

    Raises
    ------
    EvaluateError
        If the file holds anything but dictionaries, lists, numbers and texts.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise pickle.UnpicklingError(f"it is larger than {MAX_BYTES >> 20} MiB")
        data = path.read_bytes()
        if data.startswith(_MAGIC):
            data = _after_header(data)
        found = _Unpickler(io.BytesIO(data)).load()
    except _BROKEN as error:
        raise EvaluateError(f"{path.name} is no table of labels: {error}") from error
    if isinstance(found, _Array) and len(found.items) == 1:
        found = found.items[0]
    if not isinstance(found, dict):
        raise EvaluateError(f"{path.name} is no table of labels: it holds no dictionary")
    return found


def _after_header(data: bytes) -> bytes:
    """The pickle behind the header of an ``.npy`` file of objects."""
    width = 2 if data[6:7] == b"\x01" else 4
    start = 8 + width + int.from_bytes(data[8 : 8 + width], "little")
    header = ast.literal_eval(data[8 + width : start].decode("latin-1"))
    if not isinstance(header, dict) or header.get("descr") != "|O":
        raise pickle.UnpicklingError("an array, but not of objects")
    return data[start:]
