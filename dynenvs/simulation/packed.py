"""A model and a state as kernels read them, in one file: for programs without Python."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from dynenvs.files import written_whole
from dynenvs.memory.origin import this
from dynenvs.model.model import Model
from dynenvs.simulation.start import start

HEAD = 64  # bytes before the model


def save_packed(model: Model, file: str | os.PathLike[str]) -> None:
    """Write a model as the compiled core reads it, for C (docs/c.md); whole or not at all.

    The file: 64 bytes of text, padded with spaces, that say "dynenvs", the version, the checksum
    of the layout and the one of what follows (`sum_of`); the model, `model_bytes`; the state in
    which a `World` of it begins, `state_bytes`.  Another version of dynenvs may lay memory out in
    another way: `load` and `save` are what keeps a model for later.

    Args:
        model: what is to be stepped.
        file: path, overwritten if it is there.

    Raises:
        OSError: the file cannot be written; the words name it.
    """
    rows = model.states(1)
    rows["q"][0], rows["v"][0] = start(model, None, None)
    content = model.packed.tobytes() + rows.tobytes()
    head = " ".join(("dynenvs", *this(), f"{sum_of(content):016x}")).encode().ljust(HEAD)
    assert len(head) == HEAD
    with written_whole(Path(file)) as draft:
        draft.write_bytes(head + content)


def sum_of(content: bytes) -> int:
    """A checksum that C computes in a line: each word of 8 bytes times an odd number, modulo 2^64.

    No word can change alone without it, and no two can change places.
    """
    words = np.frombuffer(content, np.uint64)
    return int((words * (2 * np.arange(len(words), dtype=np.uint64) + 1)).sum(dtype=np.uint64))
