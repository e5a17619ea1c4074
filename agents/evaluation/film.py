"""An animated GIF from pictures: in the time of what it shows, written whole or not at all."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from dynenvs.files import written_whole

COLORS = 96  # few enough for a small file, enough for skies without bands
CLEAR = COLORS  # the palette's entry of what stays as it was
SAMPLES = 9  # pictures that the palette is taken from
NEAR = 8  # of 255: what a colour may be off, so that films of walks are a third smaller
STILL = 10  # pictures after which what is as before stands still
LEAST = 2  # hundredths of a second that a picture stays: many viewers play shorter ones slowly
FRAME_TIME = 0.04  # between pictures [s]
FILM_SIZE = {"width": 640, "height": 360}  # [px]

Picture = NDArray[np.uint8]


class Film:
    """Pictures and their times; they are packed, for a minute of them is a gigabyte."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self._packed: list[bytes] = []
        self._shape: tuple[int, ...] = ()

    def add(self, picture: Picture, time: float) -> None:
        """Add a picture, shape (height, width, 3), of a time [s] after all before."""
        self.times.append(time)
        self._packed.append(zlib.compress(picture.tobytes(), 1))
        self._shape = picture.shape

    def write(self, path: Path, end: float) -> None:
        """Write a looping GIF; `path` changes only when the whole film stands on disk.

        Each picture appears at its time, to the nearest hundredth of a second, in which GIF counts.
        One that would show for less than two of them at the end is left out.

        Args:
            path: file to write.
            end: how long the film is [s], all times being before.

        Raises:
            ValueError: no pictures, or times that are closer than 0.02 s.
            OSError: the file cannot be written.
        """
        delays = hundredths(self.times, end)
        palette = _palette([self._picture(i) for i in self._spread(len(delays))])
        frames = self._frames(len(delays), palette)
        with written_whole(path) as draft:
            next(frames).save(
                draft,
                format="GIF",
                save_all=True,
                append_images=frames,
                duration=[10 * delay for delay in delays],
                loop=0,
                transparency=CLEAR,
                optimize=False,
            )

    def _picture(self, i: int) -> Picture:
        return np.frombuffer(zlib.decompress(self._packed[i]), np.uint8).reshape(self._shape)

    def _spread(self, count: int) -> list[int]:
        """Some of the first `count` pictures, spread over them."""
        return [int(i) for i in np.linspace(0, count - 1, min(SAMPLES, count))]

    def _frames(self, count: int, palette: Image.Image) -> Iterator[Image.Image]:
        """The pictures in the palette's colours; where they change by little they do not change.

        What stands still gets its own colour, lest something that passed leave a trace there.
        """
        own = palette.getpalette() or []
        entries = own + [0] * (3 * (CLEAR + 1) - len(own))
        colors = np.array(entries, np.int16).reshape(-1, 3)
        shown = np.full(self._shape[:2], CLEAR, np.uint8)
        for i in range(count):
            picture, before = self._picture(i), self._picture(max(i - STILL, 0))
            image = Image.fromarray(picture).quantize(palette=palette, dither=Image.Dither.NONE)
            found = np.asarray(image)
            near = _all_three(np.abs(colors[shown] - picture) <= NEAR)
            stays = (shown == found) | near & ~_all_three(picture == before)
            shown = np.where(stays, shown, found)
            frame = Image.fromarray(np.where(stays, np.uint8(CLEAR), shown))
            frame.putpalette(entries)
            yield frame


def _all_three(which: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether it holds for red, green and blue: quicker than numpy's `all` on short rows."""
    return which[..., 0] & which[..., 1] & which[..., 2]


def hundredths(times: list[float], end: float) -> list[int]:
    """How long each picture stays [0.01 s], so that none is off by more than half of one.

    Args:
        times: when each picture appears [s]; the first one's is where the film begins.
        end: of the film [s].

    Returns:
        One an entry of `times`; one less if the last would stay for less than `LEAST`.

    Raises:
        ValueError: no times, or two that are closer than `LEAST`.
    """
    if not times:
        raise ValueError("a film needs at least one picture")
    marks = [round(100.0 * (time - times[0])) for time in (*times, end)]
    delays = [after - before for before, after in pairwise(marks)]
    if len(delays) > 1 and delays[-1] < LEAST:
        *delays, last = delays
        delays[-1] += last
    if min(delays[:-1], default=LEAST) < LEAST:
        raise ValueError(f"pictures of a GIF must be 0.02 s apart, got times {times}")
    delays[-1] = max(delays[-1], LEAST)
    return delays


def _palette(pictures: list[Picture]) -> Image.Image:
    """One palette for the whole film, from pictures spread over it.

    A colour counts by the root of its area: large skies must not crowd out small bright marks.
    """
    pixels = np.concatenate([picture.reshape(-1, 3) for picture in pictures])
    red, green, blue = (pixels >> 2).T.astype(np.int32)
    # One number a colour: sorted three times as fast as rows
    colors, counts = np.unique(red << 16 | green << 8 | blue, return_counts=True)
    weights = np.ceil(np.sqrt(counts)).astype(int)
    rows = np.stack([colors >> 16, colors >> 8 & 255, colors & 255], axis=1)
    samples = np.repeat((rows << 2) + 2, weights, axis=0).astype(np.uint8)
    return Image.fromarray(samples[None]).quantize(COLORS, method=Image.Quantize.MEDIANCUT)
