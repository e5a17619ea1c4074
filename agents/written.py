"""Which policies' zips this user's own commands have written: opening those is no surprise.

A zip of stable-baselines3 runs code when it is opened, and nothing in it can say whose it is: a
stranger can copy any note or card.  So the digest of each zip that is written goes into a record
in this user's cache, which others cannot write (`jit/cache.py`).
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from dynenvs.files import written_whole
from dynenvs.jit.cache import cache_root, is_own, mark
from dynenvs.jit.library import digest_of

NAME = "policies-written.txt"
MOST = 1 << 20  # of the record [bytes]: beyond it the older half is forgotten


def remember(path: Path) -> None:
    """Note that a zip is this user's own; where the cache cannot be written, nothing is noted."""
    record = cache_root() / NAME
    with suppress(OSError):
        mark(record.parent)
        if not _is_safe(record):
            return
        if record.is_file() and record.stat().st_size > MOST:
            digests = record.read_text().splitlines()
            with written_whole(record) as draft:
                draft.write_text("".join(f"{digest}\n" for digest in digests[len(digests) // 2 :]))
        # In one piece: several processes may do so at once
        file = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, f"{digest_of(path)}\n".encode())
        finally:
            os.close(file)


def is_remembered(path: Path) -> bool:
    """Whether a zip is, bit for bit, one that `remember` has noted."""
    record = cache_root() / NAME
    try:
        return _is_safe(record) and digest_of(path) in record.read_text().splitlines()
    except (OSError, UnicodeDecodeError):  # no record, or no file
        return False


def _is_safe(record: Path) -> bool:
    """Whether nobody else can have written the record: nor its folder."""
    return is_own(record.parent.stat()) and (not record.exists() or is_own(record.stat()))
