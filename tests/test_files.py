"""Files that are written whole take nobody else's place."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import gymnasium as gym
import pytest

import dynenvs
from dynenvs import ModelBuilder, ModelError, free
from dynenvs.agents.files import check_writable
from dynenvs.files import written_whole

if not hasattr(os, "mkfifo"):
    pytest.skip("no pipes and links on Windows", allow_module_level=True)


def test_pipes_and_devices_stay_what_they_are(tmp_path: Path) -> None:
    """A file that is written whole takes the place of what was there, of a device too for root."""
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    ball = ModelBuilder().body("ball", joint=free(), mass=1.0, inertia=(1, 1, 1)).build()
    for attempt in (
        partial(dynenvs.save, ball, pipe),
        partial(dynenvs.save_packed, ball, pipe),
        partial(check_writable, pipe),
    ):
        with pytest.raises(OSError, match=r"cannot write .*pipe.json' is a pipe or a device"):
            attempt()
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
    with pytest.raises(ModelError, match="is a pipe or a device: name a file"):
        dynenvs.load(pipe)  # which nobody writes into
    with pytest.raises(ValueError, match=r"starts: .* is a pipe or a device"):
        gym.make("dynenvs/DoublePendulum-v0", starts=pipe)
    with pytest.raises(OSError, match=r"cannot write '/': it is a folder"):
        dynenvs.save(ball, "/")


def test_a_link_stays_one(tmp_path: Path) -> None:
    """And what it leads to is written."""
    link, file = tmp_path / "link", tmp_path / "there" / "file"
    file.parent.mkdir()
    link.symlink_to(file)
    for text in ("old", "new"):  # the first time it leads nowhere
        with written_whole(link) as draft:
            draft.write_text(text)
        assert link.is_symlink()
        assert file.read_text() == text
    assert list(file.parent.iterdir()) == [file]
