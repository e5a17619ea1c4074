"""`dynenvs train --starts`: where a run's episodes begin, beside the standard beginning.

The run's folder keeps the states (`starts.npz`), so that a run is resumed without the dataset.
Scores are always those of episodes from the standard beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dynenvs.files import folders_above

FILE = "starts.npz"
SHARE = 0.5  # of the episodes, unless it is said


def parse_starts(text: str) -> tuple[str, float]:
    """A dataset and a share, as "humanoid/expert-v0:0.7"; the share may be missing.

    Raises:
        ValueError: no share from 0 to 1.
    """
    name, colon, share = text.rpartition(":")
    if not colon:
        return text, SHARE
    try:
        value = float(share)
    except ValueError:
        value = -1.0
    if not (name and 0.0 <= value <= 1.0):
        raise ValueError(
            f"--starts takes a dataset and a share up to 1, as humanoid:0.5, got {text!r}"
        )
    return name, value


@contextmanager
def kept_starts(folder: Path, log: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The options of the worlds in which a run learns, beside the user's; {} without starts.

    Made where the run's folder has no file yet; a run that fails before its first checkpoint leaves
    none.

    Args:
        folder: the run's.
        log: the run's, whose `starts` says the dataset and the share, or None.

    Raises:
        ValueError, FileNotFoundError: no such dataset, or a broken one.
        OSError: the file cannot be written.
    """
    told = log.get("starts")
    if told is None:
        yield {}
        return
    from dynenvs.agents.data.dataset import open_dataset  # needs Minari, as no other training does
    from dynenvs.agents.data.starts import make_starts

    file = folder / FILE
    with folders_above(file):
        try:
            if not file.exists():
                make_starts(open_dataset(told["dataset"]), file, seed=log["seed"])
            yield {"starts": str(file), "starts_share": told["share"]}
        except BaseException:
            if not (folder / "last.zip").exists():
                file.unlink(missing_ok=True)
            raise
