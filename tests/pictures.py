"""Worlds to make pictures of, and what a picture shows: for the tests of rendering."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from dynenvs.model.builder import ModelBuilder
from dynenvs.model.parts import Joint, free
from dynenvs.simulation.world import World

Picture = NDArray[np.uint8]
Array = NDArray[Any]
RED, GREEN = (230, 40, 30), (40, 190, 60)
SIZE: dict[str, Any] = {"width": 240, "height": 160}


def ball_world(
    *places: tuple[float, float, float], ground: str = "", joint: Joint | None = None
) -> World:
    """Balls of 0.1 m at these places, the first red and the others green."""
    builder = ModelBuilder(max_contacts=20)
    if ground == "half_space":
        builder.half_space("ground")
    if ground == "height_field":
        builder.height_field("ground", heights=np.zeros((5, 5)), half_size=(2, 2))
    if ground == "block_field":
        builder.block_field("ground", heights=np.zeros((5, 5)), half_size=(2, 2))
    for i, place in enumerate(places):
        joint_here = Joint(**{**vars(joint or free()), "position": place})
        builder.body(f"ball {i}", joint=joint_here, density=1000.0)
        builder.sphere(f"skin {i}", f"ball {i}", radius=0.1, color=GREEN if i else RED)
    return World(builder.build())


def where(picture: Picture, color: tuple[int, int, int]) -> NDArray[np.bool_]:
    """Pixels whose colour is rather this pure one than any other."""
    strong = int(np.argmax(color))
    rest = np.delete(picture.astype(int), strong, axis=2).max(axis=2)
    return np.asarray(picture[..., strong] > 1.6 * rest + 20)


def middle(mask: NDArray[np.bool_]) -> Array:
    """Column and row of the middle of marked pixels, from the picture's middle [px]."""
    rows, columns = np.nonzero(mask)
    assert len(rows) > 10
    height, width = mask.shape
    return np.array([columns.mean() + 0.5 - width / 2, rows.mean() + 0.5 - height / 2])


def delays(gif: Path) -> list[float]:
    """How long each picture of a GIF stays [s]."""
    with Image.open(gif) as film:
        found = []
        for i in range(getattr(film, "n_frames", 1)):
            film.seek(i)
            found.append(1e-3 * film.info["duration"])
    return found
