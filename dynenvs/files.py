"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


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

    A process that is killed, or a disk that is full, leaves what was there before.

    Raises:
        OSError: it cannot be written; the words name the file.
    """
    try:
        with folders_above(path), _draft(path) as draft:
            yield draft
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            os.replace(draft, path)  # noqa: PTH105 (atomic, and across existing files on Windows)
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
