"""`dynenvs train --starts`: where a run's episodes begin, beside the standard beginning.

The run's folder keeps the states (`starts.npz`), so that a run is resumed without their source.
Scores are always those of episodes from the standard beginning.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dynenvs.files import folders_above, written_whole

FILE_KIND = ".npz"  # what tells a file from a dataset
FILE = f"starts{FILE_KIND}"
SHARE = 0.5  # of the episodes, unless it is said


def parse_starts(text: str) -> tuple[str, float]:
    """A dataset or a file, and a share, as "humanoid/expert-v0:0.7"; the share may be missing.

    Raises:
        ValueError: no share from 0 to 1.
    """
    name, colon, share = text.rpartition(":")
    if not colon or text.endswith(FILE_KIND):
        return text, SHARE
    try:
        value = float(share)
    except ValueError:
        value = -1.0
    if not (name and 0.0 <= value <= 1.0):
        raise ValueError(
            "--starts takes a dataset, or a file of states (.npz), and a share up to 1, as "
            f"humanoid:0.5, got {text!r}"
        )
    return name, value


def located(source: str, share: float) -> tuple[str, float]:
    """What `parse_starts` gives, a file with its whole path."""
    return str(Path(source).resolve()) if source.endswith(FILE_KIND) else source, share


@contextmanager
def kept_starts(folder: Path, log: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The options of the worlds in which a run learns, beside the user's; {} without starts.

    Made where the run's folder has no file yet; a run that fails before its first checkpoint leaves
    none.

    Args:
        folder: the run's.
        log: the run's, whose `starts` says the dataset (or the file) and the share, or None.

    Raises:
        ValueError, FileNotFoundError: no such dataset or file, or a broken one.
        OSError: the file cannot be written.
    """
    told = log.get("starts")
    if told is None:
        yield {}
        return
    file = folder / FILE
    with folders_above(file):
        try:
            if not file.exists():
                _bring(told["dataset"], file, log["seed"])
            yield {"starts": str(file), "starts_share": told["share"]}
        except BaseException:
            if not (folder / "last.zip").exists():
                file.unlink(missing_ok=True)
            raise


def _bring(source: str, file: Path, seed: int) -> None:
    """States of a dataset, or a copy of a file of them, into the run's folder.

    Raises:
        ValueError, FileNotFoundError: as of `kept_starts`.
        OSError: the file cannot be written.
    """
    if source.endswith(FILE_KIND):
        if not Path(source).is_file():
            raise FileNotFoundError(
                f"--starts: there is no file {source!r}; `dynenvs starts DATASET FILE` or "
                "`save_starts` of a vector environment makes one"
            )
        with written_whole(file) as draft:
            shutil.copyfile(source, draft)
        return
    from dynenvs.agents.data.dataset import open_dataset  # needs Minari, as no other training does
    from dynenvs.agents.data.starts import make_starts

    make_starts(open_dataset(source), file, seed=seed)
