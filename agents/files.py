"""Files that only one process writes, JSON, what is asked or said of a file before work begins."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import tempfile
from functools import cache
from io import FileIO
from pathlib import Path
from typing import Any

from dynenvs.agents.written import is_remembered
from dynenvs.files import folders_above, refuse_endless, written_whole

try:
    import fcntl
except ImportError:  # Windows: whoever runs two at once must name them differently
    fcntl = None  # type: ignore[assignment]

SHIPPED = Path(__file__).parent / "policies"  # with the package
SUFFIX = ".safetensors"  # of policies that open without running code


def open_locked(path: Path) -> FileIO:
    """A file to read and write, unbuffered, made if there is none; nobody else has it open so.

    The lock ends when the file is closed, or the process ends, however that ends.

    Raises:
        OSError: it cannot be opened, or another process has it; the words name the file.
    """
    try:
        with folders_above(path):
            while True:
                file = FileIO(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "rb+")
                try:
                    if fcntl is not None:
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if path.exists() and os.path.samestat(path.stat(), os.fstat(file.fileno())):
                        return file
                except OSError:
                    file.close()
                    raise
                file.close()  # who had it before has just removed it
    except BlockingIOError:
        raise OSError(f"another process is at {str(path)!r}: wait until it has ended") from None
    except OSError as error:
        raise OSError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


def check_space(folder: Path, size: int) -> None:
    """Refuse to begin what needs `size` bytes where there are fewer: some libraries die of that.

    Raises:
        OSError: says how many are needed.
    """
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            if hasattr(os, "posix_fallocate"):  # knows of quotas and limits, too
                os.posix_fallocate(file.fileno(), 0, size)
            elif shutil.disk_usage(folder).free < size:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror} ({size / 1e6:.1f} MB are needed)") from error


def check_writable(path: Path) -> None:
    """Refuse a place where no file can be written: better to know before the work than after it.

    Folders that are not there yet are not made: the nearest one that is there must take files.

    Raises:
        OSError: says why.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        refuse_endless(path)
        nearest = next(folder for folder in path.absolute().parents if folder.exists())
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise OSError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


def write_json(path: Path, content: Any) -> None:
    """Write `content` as JSON, whole or not at all."""
    with written_whole(path) as draft:
        draft.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


@cache
def warn_of_code(path: Path) -> None:
    """Say once of a policy's zip that opening it may do anything, before it is opened.

    Args:
        path: a zip of stable-baselines3.  Nothing is said of a file that runs no code, nor of a
            zip that this user's own commands have written.
    """
    if path.suffix == SUFFIX or is_remembered(path):
        return
    print(
        f"dynenvs: stable-baselines3 unpickles parts of {str(path)!r}, which runs any code in "
        "them, and none of your own commands wrote it: open only what you trust",
        file=sys.stderr,
        flush=True,
    )


def shipped(env_id: str) -> list[str]:
    """Names of the trained policies that ship with the package for an environment."""
    stem = f"{_stem(env_id)}_"
    files = sorted(SHIPPED.glob(f"{stem}*{SUFFIX}"))
    return [file.stem.removeprefix(stem) for file in files]


def shipped_file(env_id: str, name: str) -> Path:
    """Where the policy of that name stands, if there is one."""
    return SHIPPED / f"{_stem(env_id)}_{name}{SUFFIX}"


def _stem(env_id: str) -> str:
    return env_id.removeprefix("dynenvs/")
