"""Films: a GIF tells the whole episode in its own time, its colours nearly the pictures'."""

from __future__ import annotations

import os
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from pictures import delays
from PIL import Image
from rich.console import Console

from dynenvs.agents.evaluation import demo
from dynenvs.agents.evaluation.film import LEAST, NEAR, Film, hundredths

Picture = NDArray[np.uint8]


def pictures(count: int) -> list[Picture]:
    """A red square that moves over a grey slope, which brightens slowly."""
    found = []
    for i in range(count):
        slope = np.linspace(0, 200, 96) + 0.5 * i
        picture = np.repeat(np.tile(slope, (64, 1))[..., None], 3, axis=2).astype(np.uint8)
        picture[20:40, i : i + 20] = (220, 30, 30)
        found.append(picture)
    return found


def written(path: Path, times: list[float], end: float) -> list[Picture]:
    """The pictures of a film that was written."""
    shown = pictures(len(times))
    made = Film()
    for picture, time in zip(shown, times, strict=True):
        made.add(picture, time)
    made.write(path, end)
    return shown


@pytest.mark.parametrize("step", [0.02, 0.025, 1 / 30, 0.04, 0.045, 0.05, 0.0625])
@pytest.mark.parametrize("rest", [0.0, 0.4, 1.0])
def test_no_picture_is_off_by_more_than_half_a_hundredth(step: float, rest: float) -> None:
    """Through 400 pictures without a drift; none is shorter than viewers play."""
    times = [k * step for k in range(400)]
    end = times[-1] + rest * step
    stays = hundredths(times, end)
    assert len(stays) in (399, 400)
    starts = [0, *accumulate(stays)][:-1]
    assert max(abs(0.01 * start - t) for start, t in zip(starts, times, strict=False)) < 0.00501
    assert 0.01 * sum(stays) == pytest.approx(end, abs=0.00501)
    assert min(stays) >= LEAST


def test_pictures_that_are_too_close_are_refused() -> None:
    with pytest.raises(ValueError, match=r"must be 0\.02 s apart"):
        hundredths([0.0, 0.01, 0.02, 0.03], 0.04)
    with pytest.raises(ValueError, match="at least one picture"):
        hundredths([], 1.0)
    assert hundredths([0.3], 0.305) == [LEAST]  # of a single step: as short as can be


def test_what_is_read_back_has_the_times_and_the_colours(tmp_path: Path) -> None:
    """Of 15 ms steps, three a picture: 45 ms are 4 or 5 hundredths."""
    path, times = tmp_path / "film.gif", [0.045 * k for k in range(40)]
    shown = written(path, times, 1.8)
    stays = delays(path)
    assert set(stays) == {0.04, 0.05}
    assert sum(stays) == pytest.approx(1.8)
    starts = [0.0, *accumulate(stays)][:-1]
    assert max(abs(start - t) for start, t in zip(starts, times, strict=True)) < 0.0051
    with Image.open(path) as gif:
        for i, picture in enumerate(shown):
            gif.seek(i)
            off = np.abs(np.asarray(gif.convert("RGB")).astype(int) - picture)
            assert np.percentile(off, 99) <= NEAR
            assert off[20:40, i : i + 20].max() <= 2 * NEAR  # the square is where it is now


def test_what_stays_takes_no_space(tmp_path: Path) -> None:
    """Nine pictures more of the same, but for a square, are hardly larger than the first."""
    sizes = []
    for count in (1, 10):
        path = tmp_path / f"{count}.gif"
        greys = np.random.default_rng(0).integers(0, 6, (128, 192, 1))
        made = Film()
        for i in range(count):
            picture = np.repeat(40 * greys, 3, axis=2).astype(np.uint8)
            picture[:4, :4] = 20 * i
            made.add(picture, 0.04 * i)
        made.write(path, 0.04 * count)
        sizes.append(path.stat().st_size)
    assert sizes[1] < 1.5 * sizes[0]


def test_what_passed_leaves_no_trace(tmp_path: Path) -> None:
    """A square goes over a still slope, its edge nearly as bright as what is behind."""
    made, still = Film(), pictures(1)[0].copy()
    still[20:40, :20] = still[0, :20]
    for i in range(60):
        picture = still.copy()
        if i < 30:
            picture[20:40, 2 * i : 2 * i + 12] += 7
            picture[22:38, 2 * i + 2 : 2 * i + 10] = (220, 30, 30)
        made.add(picture, 0.04 * i)
    made.write(tmp_path / "film.gif", 2.4)
    with Image.open(tmp_path / "film.gif") as gif:
        gif.seek(getattr(gif, "n_frames", 1) - 1)
        last = np.asarray(gif.convert("RGB"))
    np.testing.assert_array_equal(last[20:40], np.tile(last[:1], (20, 1, 1)))


def test_a_film_is_written_whole_or_not_at_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "film.gif"
    path.write_bytes(b"before")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr("dynenvs.files.os.replace", fail)
        with pytest.raises(OSError, match="disk full"):
            written(path, [0.0, 0.04, 0.08], 0.12)
    assert path.read_bytes() == b"before"
    assert [file.name for file in tmp_path.iterdir()] == ["film.gif"]
    written(path, [0.0, 0.04, 0.08], 0.12)
    assert len(delays(path)) == 3


def test_who_may_see_a_film_is_up_to_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        written(tmp_path / "film.gif", [0.0, 0.04, 0.08], 0.12)
    finally:
        os.umask(before)
    assert (tmp_path / "film.gif").stat().st_mode & 0o777 == 0o600


@pytest.mark.thorough
def test_a_film_tells_the_whole_episode(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """From the reset to the end that the table tells, 8 s here, in 8 s."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(demo, "FILM_SIZE", {"width": 160, "height": 90})
    monkeypatch.setattr(demo, "WARM_UP", 1)
    drawn: list[float] = []
    add = Film.add
    monkeypatch.setattr(Film, "add", lambda self, p, t: drawn.append(t) or add(self, p, t))
    path, told = tmp_path / "swing.gif", Console(record=True, width=100)
    demo.play("dynenvs/DoublePendulum-v0", seed=0, command=None, steps=400, file=path, console=told)
    assert "8.00 s, time limit" in told.export_text()
    assert drawn[0] == 0.0
    assert drawn[-1] == pytest.approx(8.0, abs=0.04)
    assert max(b - a for a, b in pairwise(drawn)) < 0.041
    assert sum(delays(path)) == pytest.approx(8.0)
