"""Work shared out over a Ray cluster: pieces as tasks, results in the order in which they come.

Ray does what is hard: it schedules, moves results, and does again what a dead worker or node had
under way.  All that is here bounds how much is under way, so that the driver's memory stays small,
and carries a policy's file to machines that do not have it.
"""

from __future__ import annotations

import hashlib
import logging
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import ray
from ray.exceptions import RayError, RayTaskError

import dynenvs
from dynenvs.agents.files import warn_of_code
from dynenvs.files import written_whole

LOCAL = "local"  # as an address: a cluster of this machine's processors, for this command alone
AHEAD = 2  # tasks under way for each processor
TRIES = 20  # times that a piece is done again because its worker or node died
PATIENCE = 5.0  # with a cluster that does not answer [s]
# One thread a task: Ray counts processors, and threads that spin beside each other starve
ALONE = {"OMP_NUM_THREADS": "1", "SDL_VIDEODRIVER": "dummy"}

Piece = TypeVar("Piece")
Result = TypeVar("Result")


class File(NamedTuple):
    """A file as it travels to other machines."""

    name: str
    content: bytes

    def unpacked(self) -> Path:
        """The file on this machine, with what was sent in it, in a folder of this process."""
        folder = Path(_folder().name, hashlib.sha256(self.content).hexdigest())
        path = folder / Path(self.name).name
        if not (path.is_file() and path.read_bytes() == self.content):
            with written_whole(path) as draft:
                draft.write_bytes(self.content)
        return path


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Of this process: nobody knows its name before, nobody else may enter; it goes at the end."""
    return tempfile.TemporaryDirectory(prefix="dynenvs-")


def carried(agent: str) -> str | File:
    """An agent's name, or its file with what is in it; where that is opened, its code runs."""
    path = Path(agent)
    if not path.is_file():
        return agent
    warn_of_code(path)
    return File(path.name, path.read_bytes())


def arrived(agent: str | File) -> str:
    """The name, or the file's path on this machine, of what `carried` gave."""
    return str(agent.unpacked()) if isinstance(agent, File) else agent


@contextmanager
def cluster(address: str) -> Iterator[None]:
    """Connect to a Ray cluster, and leave it.

    Args:
        address: LOCAL for one of this machine's own, "auto" for the one that runs here, or
            "host:port", "ray://host:port", as Ray takes it.

    Raises:
        ConnectionError: there is none.
    """
    if ray.is_initialized():  # the caller's own
        yield
        return
    try:
        _knock(address)
        ray.init(
            None if address == LOCAL else address,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except (OSError, RayError, RuntimeError, ValueError) as error:
        raise ConnectionError(
            f"no Ray cluster at {address!r} ({str(error).partition(chr(10))[0]}); 'ray start "
            f"--head' starts one, and '{LOCAL}' is one of this machine alone"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Ask whether anybody listens at host:port: Ray itself would ask for minutes.

    Raises:
        OSError: nobody does.
        ValueError: the port is no number.
    """
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host:
        socket.create_connection((host, int(port)), PATIENCE).close()


def spread(
    work: Callable[[Piece], Result], pieces: Iterable[Piece]
) -> Iterator[tuple[Piece, Result]]:
    """Do every piece on the cluster; gives out pieces with their results as they are done.

    Args:
        work: a function that can be pickled; it may run more than once for a piece, of which one
            result counts.
        pieces: what it takes, one after another.

    Raises:
        Exception: whatever `work` raised.
        RayError: a piece's workers died again and again.
    """
    task: Any = ray.remote(_checked).options(
        num_cpus=1, max_retries=TRIES, runtime_env={"env_vars": ALONE}
    )
    under_way: dict[Any, Piece] = {}
    try:
        for piece in pieces:
            while len(under_way) >= AHEAD * _processors():
                yield _next(under_way)
            under_way[task.remote(dynenvs.__version__, work, piece)] = piece
        while under_way:
            yield _next(under_way)
    finally:
        for reference in under_way:
            ray.cancel(reference, force=True)


def _checked(version: str, work: Callable[[Piece], Result], piece: Piece) -> Result:
    """Do a piece where the same version is installed.

    Raises:
        RuntimeError: it is not.
    """
    if dynenvs.__version__ != version:
        raise RuntimeError(
            f"a node has dynenvs {dynenvs.__version__}, and the command comes from {version}"
        )
    return work(piece)


def _next(under_way: dict[Any, Piece]) -> tuple[Piece, Any]:
    """The next piece that is done, with its result."""
    (reference,), _ = ray.wait([*under_way], num_returns=1)
    piece = under_way.pop(reference)
    try:
        return piece, ray.get(reference)
    except RayTaskError as error:
        cause = getattr(error, "cause", None)
        raise (cause if isinstance(cause, Exception) else error) from None


def _processors() -> int:
    """Of the cluster, as it is now: nodes come and go."""
    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return max(1, int(resources.get("CPU", 1)))
