"""An unfinished collection: one file to which every episode that ends is appended.

A record is its length, its checksum, then words (JSON, one line) and arrays (bytes).  The first one
holds the plan of the collection, each other one an episode.  What is whole on disk stays, whatever
becomes of the process; a record that was cut short by its end goes when the file is opened again.
The file is hidden, where Minari does not look for datasets.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np

from dynenvs.agents.evaluation.rollout import Run
from dynenvs.agents.files import open_locked

HEAD = struct.Struct("<QI")  # length of what follows, its CRC-32
ARRAYS = ("observations", "actions", "rewards")
GROUPS = ("state", "infos")  # of arrays by name
WORDS = ("number", "seed", "terminated", "end")


class Journal:
    """The finished episodes of one collection; nobody else writes to it as long as it is open.

    A file that holds no episode when it is closed is removed: there is nothing to go on with.

    Args:
        path: the file; made if there is none.
        plan: what is collected; a file with episodes of another plan is refused.

    Raises:
        ValueError: another plan's file.
        OSError: it cannot be written, or another process is at it.
    """

    def __init__(self, path: Path, plan: dict[str, Any]) -> None:
        self.path, self._file = path, open_locked(path)
        self.size = 0  # end of the last whole record [bytes]
        self._places: dict[int, tuple[int, int]] = {}  # of each episode: first byte, length
        self._begun_here = False  # it held no episode when it was opened
        try:
            self._open(json.loads(json.dumps(plan)))
        except BaseException:
            self.close()
            raise

    def _open(self, plan: dict[str, Any]) -> None:
        begun = self._scan()
        if begun is None or not self._places:
            self._begun_here = True
            self._begin(plan)
            return
        other = sorted(key for key in {**begun, **plan} if begun.get(key) != plan.get(key))
        if other:
            words = ", ".join(f"{key} = {begun.get(key)!r}" for key in other)
            raise ValueError(
                f"an unfinished collection of the same name has {words}: finish it with these "
                f"settings, choose another name, or remove {str(self.path)!r}"
            )

    def _begin(self, plan: dict[str, Any]) -> None:
        """Write the plan into an empty file."""
        try:
            self._file.truncate(0)
            self.size = 0
            self._append(json.dumps(plan).encode() + b"\n")
            os.fsync(self._file.fileno())
        except OSError as error:
            raise OSError(f"cannot write {str(self.path)!r}: {error.strerror or error}") from error

    def _scan(self) -> dict[str, Any] | None:
        """Find all whole records, and cut off what comes after them; returns the plan."""
        plan = None
        self._file.seek(0)
        while len(head := self._file.read(HEAD.size)) == HEAD.size:
            length, checksum = HEAD.unpack(head)
            body = self._file.read(length)
            if len(body) < length:
                break
            if zlib.crc32(body) == checksum:  # else its episode is simulated once more
                words = json.loads(body[: body.index(b"\n")])
                if plan is None:
                    plan = words
                else:
                    self._places[words["number"]] = self.size + HEAD.size, length
            elif plan is None:
                break
            self.size += HEAD.size + length
        self._file.truncate(self.size)
        return plan

    def add(self, runs: list[Run]) -> None:
        """Keep episodes that ended together; `Run.number` counts in the whole collection.

        Raises:
            OSError: they cannot be written; what was whole before stays.
        """
        try:
            for run in runs:
                body = _body(run)
                self._places[run.number] = self._append(body), len(body)
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(self.size)
            raise OSError(f"cannot write {str(self.path)!r}: {error.strerror or error}") from error

    def _append(self, body: bytes) -> int:
        """Write a record; returns its body's place."""
        left = memoryview(HEAD.pack(len(body), zlib.crc32(body)) + body)
        self._file.seek(self.size)
        while left:  # a disk that is nearly full takes a part
            left = left[self._file.write(left) :]
        place, self.size = self.size + HEAD.size, self._file.tell()
        return place

    def finished(self) -> set[int]:
        """Numbers of the episodes that are there."""
        return set(self._places)

    def episodes(self, count: int) -> Iterator[Run]:
        """The first `count` episodes in order; all of them must be there."""
        with mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            for number in range(count):
                place, length = self._places[number]
                yield _run(content[place : place + length])

    def close(self) -> None:
        """Leave the file to others, or remove it if it never came to an episode."""
        if self._begun_here and not self._places:
            self.remove()
        self._file.close()

    def remove(self) -> None:
        """Delete the file: everything has gone into the dataset."""
        if os.name == "nt":  # where no open file can be removed
            self._file.close()
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _body(run: Run) -> bytes:
    arrays = {name: getattr(run, name) for name in ARRAYS}
    for group in GROUPS:
        arrays |= {f"{group}/{name}": values for name, values in getattr(run, group).items()}
    words = {name: getattr(run, name) for name in WORDS}
    words["arrays"] = {name: (array.dtype.str, array.shape) for name, array in arrays.items()}
    return b"".join([json.dumps(words).encode(), b"\n", *(a.tobytes() for a in arrays.values())])


def _run(body: bytes) -> Run:
    place = body.index(b"\n") + 1
    words = json.loads(body[:place])
    found: dict[str, Any] = {group: {} for group in GROUPS}
    for full, (dtype, shape) in words.pop("arrays").items():
        size = int(np.prod(shape))
        values = np.frombuffer(body, dtype, size, place).reshape(shape)
        place += values.nbytes
        group, _, name = full.rpartition("/")
        (found[group] if group else found)[name] = values
    return Run(**words, **found, speed_error=float("nan"))
