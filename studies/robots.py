"""The picture of docs/robots.md: robots of files, standing, as dynenvs draws them.

    python -m studies.robots docs/robots.png ROBOT.xml ...

Each robot stands in its keyframe "home", or with its joints where a walk would begin, its lowest
point on the ground; a file that ends in .urdf gets a free base.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.legged.stance import find_feet, standing_pose
from dynenvs.envs.render.scene import Scene
from dynenvs.envs.render.snapshot import snapshot
from dynenvs.envs.render.viewer import render
from dynenvs.memory.layout import Floats
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.importing.load import load
from dynenvs.model.importing.losses import NotCarriedOver
from dynenvs.model.model import Model
from dynenvs.simulation.world import World

WIDTH, HEIGHT, COLUMNS = 480, 300, 3
LETTERS = 30  # height of names [pixels]: a page shows the picture at half its size
FREE_Q = 7


def standing(path: Path) -> World:
    """A robot on level ground."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCarriedOver)
        robot = load(path, floating=path.suffix == ".urdf")
    builder = ModelBuilder.of(robot.description)
    if not any(geom.type == "half_space" for geom in robot.geoms):
        builder.half_space("ground of the picture")
    world, q = World(builder.build()), stance(robot)
    world.reset(q)
    solids = [s for s in Scene(robot).solids(snapshot(robot, q)) if s.body]
    q[2] -= min(float(solid.core[:, 2].min()) - solid.radius for solid in solids)
    world.reset(q)
    return world


def stance(robot: Model) -> Floats:
    """Positions in which it stands, but for the height."""
    q = np.array(robot.keyframes.get("home", robot.keyframes["qpos0"]).q)
    with contextlib.suppress(ValueError):  # no legs of hinges: as the file has it
        q[FREE_Q:] = standing_pose(robot, find_feet(robot), None)
    return q


def picture(paths: list[Path]) -> NDArray[np.uint8]:
    """All robots, each with its name."""
    from PIL import Image, ImageDraw, ImageFont

    rows = -(-len(paths) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * WIDTH, rows * HEIGHT), "white")
    pen: Any = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(LETTERS)
    for k, path in enumerate(paths):
        seen = render(standing(path), width=WIDTH, height=HEIGHT, azimuth=-1.0, elevation=0.25)
        at = (k % COLUMNS) * WIDTH, (k // COLUMNS) * HEIGHT
        sheet.paste(Image.fromarray(seen), at)
        own = (
            path.stem if path.stem not in ("robot", "anymal", "scene") else path.parent.parent.name
        )
        name = own.removesuffix("_simple_description")
        pen.text((at[0] + 14, at[1] + 8), name, "black", font, stroke_width=3, stroke_fill="white")
    return np.asarray(sheet)


if __name__ == "__main__":
    from PIL import Image

    seen = Image.fromarray(picture([Path(name) for name in sys.argv[2:]]))
    seen.quantize(256, dither=Image.Dither.FLOYDSTEINBERG).save(sys.argv[1], optimize=True)
