"""An animated GIF from pictures: one small palette, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

COLORS = 96  # few enough for a small file, enough for skies without bands
SAMPLES = 9  # pictures that the palette is taken from


def write_gif(path: Path, pictures: list[NDArray[np.uint8]], frame_time: float) -> None:
    """Write a looping GIF; `path` changes only when the whole film stands on disk.

    Args:
        path: file to write.
        pictures: each of shape (height, width, 3).
        frame_time: of one picture [s]; GIF counts in hundredths of a second.

    Raises:
        ValueError: no pictures.
        OSError: the file cannot be written.
    """
    if not pictures:
        raise ValueError("a film needs at least one picture")
    palette = _palette(pictures)
    frames = [
        Image.fromarray(picture).quantize(palette=palette, dither=Image.Dither.NONE)
        for picture in pictures
    ]
    descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            frames[0].save(
                file,
                format="GIF",
                save_all=True,
                append_images=frames[1:],
                duration=10 * round(100 * frame_time),
                loop=0,
                optimize=False,
            )
        Path(draft).chmod(0o644)  # mkstemp makes it private
        os.replace(draft, path)  # noqa: PTH105 (atomic, and across existing files on Windows)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _palette(pictures: list[NDArray[np.uint8]]) -> Image.Image:
    """One palette for the whole film, from pictures spread over it.

    A colour counts by the root of its area: large skies must not crowd out small bright marks.
    """
    chosen = np.linspace(0, len(pictures) - 1, min(SAMPLES, len(pictures))).astype(int)
    pixels = np.concatenate([pictures[i].reshape(-1, 3) for i in chosen])
    colors, counts = np.unique(pixels >> 2, axis=0, return_counts=True)
    weights = np.ceil(np.sqrt(counts)).astype(int)
    samples = np.repeat((colors << 2) + 2, weights, axis=0).astype(np.uint8)
    return Image.fromarray(samples[None]).quantize(COLORS, method=Image.Quantize.MEDIANCUT)
