"""Files that appear whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A draft beside `path` that takes its place when the block ends well, and goes otherwise.

    A process that is killed, or a disk that is full, leaves what was there before.

    Raises:
        OSError: it cannot be written; the words name the file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(descriptor)
    draft = Path(name)
    try:
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        draft.chmod(0o644)  # mkstemp makes it private
        os.replace(draft, path)  # noqa: PTH105 (atomic, and across existing files on Windows)
    except OSError as error:
        raise OSError(f"cannot write {str(path)!r}: {error.strerror or error}") from error
    finally:
        draft.unlink(missing_ok=True)


def write_json(path: Path, content: Any) -> None:
    """Write `content` as JSON, whole or not at all."""
    with written_whole(path) as draft:
        draft.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
