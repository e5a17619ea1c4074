"""Arrays as text and back: what the page's script reads is what the simulator wrote."""

from __future__ import annotations

import base64
import gzip
import json
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

TYPES: dict[str, np.dtype[Any]] = {
    "f4": np.dtype("<f4"),
    "f8": np.dtype("<f8"),
    "i4": np.dtype("<i4"),
}


def encode(array: ArrayLike, kind: str = "f4") -> dict[str, Any]:
    """An array as JSON can hold it: type, shape, and its bytes, little end first, in base 64."""
    plain = np.ascontiguousarray(array, TYPES[kind])
    data = base64.b64encode(plain.tobytes()).decode("ascii")
    return {"dtype": kind, "shape": list(plain.shape), "data": data}


def decode(coded: dict[str, Any]) -> NDArray[Any]:
    """The array that `encode` was given, rounded to its type."""
    flat = np.frombuffer(base64.b64decode(coded["data"]), TYPES[coded["dtype"]])
    return flat.reshape(coded["shape"])


def pack(text: str) -> str:
    """A text, compressed, in base 64; the same text gives the same result."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode("ascii")


def unpack(packed: str) -> str:
    """The text that `pack` was given."""
    return gzip.decompress(base64.b64decode(packed)).decode()


def to_json(document: Any) -> str:
    """JSON as browsers read it, which know no NaN: null stands for what is not finite."""
    return json.dumps(_plain(document), allow_nan=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def quaternions(rotations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit quaternions (x, y, z, w) of rotation matrices, shape (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    flat = Rotation.from_matrix(rotations.reshape(-1, 3, 3)).as_quat()
    return np.asarray(flat.reshape(*rotations.shape[:-2], 4))
