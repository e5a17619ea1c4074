"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def refuse_endless(path: Path) -> None:
    """Make sure that what is to be read or written is no pipe and no device.

    Who reads one may wait for ever, and a file written whole would take its place.

    Raises:
        OSError: it is.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(f"{path.name!r} is a pipe or a device: name a file")


@contextmanager
def folders_above(path: Path) -> Iterator[None]:
    """Make the folders above `path`; if the block fails, those that it made and left empty go.

    Raises:
        OSError: one cannot be made.
    """
    missing = [folder for folder in path.parents if not folder.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for folder in missing:  # the innermost first
            with suppress(OSError):
                folder.rmdir()
        raise


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A draft beside `path` that takes its place when the block ends well, and goes otherwise.

    A process that is killed, or a disk that is full, leaves what was there before.  A link stays
    one: what it leads to is written.

    Raises:
        OSError: it cannot be written; the words name the file.
    """
    try:
        refuse_endless(path)
        target = Path(os.path.realpath(path))
        if target.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        with folders_above(target), _draft(target) as draft:
            yield draft
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            os.replace(draft, target)  # noqa: PTH105 (atomic, and across existing files on Windows)
    except OSError as error:
        raise OSError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


@contextmanager
def _draft(path: Path) -> Iterator[Path]:
    """An empty file beside `path` that is gone when the block ends.

    Who may read it: who could read the file that it replaces, or whom the umask lets.
    """
    # Who writes pictures goes by the suffix
    draft = path.with_name(f".{secrets.token_hex(4)}.{path.name}")
    os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666))
    try:
        if path.is_file():
            shutil.copymode(path, draft)
            draft.chmod(draft.stat().st_mode | stat.S_IWUSR)  # it is yet to be written
        yield draft
    finally:
        draft.unlink(missing_ok=True)
