"""Cameras of files, and shapes that are there to touch and not to be seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dynenvs
from dynenvs import World
from dynenvs.viewer.shapes import parts_of

mujoco: Any = pytest.importorskip("mujoco")

SCENE = """
<mujoco><worldbody><geom type="plane" size="9 9 1"/>
<camera name="still" pos="2 -1 1.5" xyaxes="0.5 0.8 0.1 -0.3 0.2 1" fovy="50"/>
<body name="cart" pos="0 0 .5" euler="0 0 20"><freejoint/>
 <geom name="green" size=".1" rgba="0 1 0 1"/>
 <geom name="shell" type="box" size=".3 .3 .3" {shell}/>
 <camera name="turning" pos="0 -2 .3" xyaxes="1 0 0 0 .2 1"/>
 <camera name="going" mode="track" pos="0 -2 .3" xyaxes="1 0 0 0 .2 1"/>
 <camera name="looking" mode="targetbody" target="cart" pos="1 1 1"/></body></worldbody></mujoco>
"""
HIDDEN = {"group": 'group="3" rgba="1 0 0 1"', "clear": 'rgba="1 0 0 0"'}
SIZE = {"width": 320, "height": 240}


def colored(picture: NDArray[np.uint8], channel: int) -> NDArray[np.int64]:
    """Row and column of all pixels in which one of red, green and blue is most of it."""
    shares = picture.astype(float)
    others = np.delete(shares, channel, axis=2).max(axis=2)
    return np.argwhere(shares[:, :, channel] > 1.6 * others + 20.0)


@pytest.mark.parametrize("kind", HIDDEN)
def test_hidden_shapes_are_not_drawn(kind: str) -> None:
    """Neither in pictures nor on pages, but among the collision shapes."""
    model = dynenvs.load(SCENE.format(shell=HIDDEN[kind]))
    world = World(model)
    visual, collision = (
        dynenvs.render(world, **SIZE, shapes=shapes) for shapes in ("visual", "collision")
    )
    assert len(colored(visual, 1)) > 100
    assert len(colored(visual, 0)) == 0
    assert len(colored(collision, 0)) > 100
    parts = parts_of(model, 1.0, (np.full(2, -1.0), np.ones(2)))
    assert [part["covered"] for part in parts if part["type"] == "box"] == [True]
    assert [part["covered"] for part in parts if part["type"] == "sphere"] == [False]


def test_what_has_nothing_else_is_drawn() -> None:
    text = SCENE.format(shell=HIDDEN["group"]).replace('rgba="0 1 0 1"', 'group="4"')
    picture = dynenvs.render(World(dynenvs.load(text)), **SIZE)
    assert len(colored(picture, 0)) > 100


@pytest.mark.parametrize("name", ["still", "turning", "going"])
def test_a_camera_of_the_file_sees_what_it_sees_in_mujoco(name: str) -> None:
    """The ball is where a pinhole at MuJoCo's own place has it, wherever the body has gone."""
    text = SCENE.format(shell=HIDDEN["group"])
    m = mujoco.MjModel.from_xml_string(text)
    data, world = mujoco.MjData(m), World(dynenvs.load(text))
    turn = np.array([0.95, 0.05, -0.1, 0.3]) / np.linalg.norm([0.95, 0.05, -0.1, 0.3])
    for q in (m.qpos0, np.array([0.2, 0.3, 0.7, *turn])):
        data.qpos[:] = q
        mujoco.mj_forward(m, data)
        world.reset(q)
        seen = colored(dynenvs.render(world, camera=name, **SIZE), 1)
        eye = data.camera(name)
        place = eye.xmat.reshape(3, 3).T @ (data.geom("green").xpos - eye.xpos)
        focal = 0.5 * SIZE["height"] / np.tan(np.radians(m.camera(name).fovy[0]) / 2)
        wanted = np.array([120 - focal * place[1] / -place[2], 160 + focal * place[0] / -place[2]])
        assert (np.abs(wanted - (120, 160)) < (120, 160)).all()
        assert len(seen) > 50
        np.testing.assert_allclose((seen.min(axis=0) + seen.max(axis=0)) / 2, wanted, atol=3.0)


def test_faults_of_cameras_are_told() -> None:
    world = World(dynenvs.load(SCENE.format(shell="")))
    assert list(world.model.eyes) == ["still", "turning", "going"]
    with pytest.raises(ValueError, match="camera: unknown name 'front'; the model has: still"):
        dynenvs.render(world, camera="front")
    with pytest.raises(ValueError, match="says where it stands: leave out azimuth"):
        dynenvs.render(world, camera="still", azimuth=1.0)
    with pytest.raises(dynenvs.ModelError, match="eye 'e': unknown body 'b'"):
        dynenvs.ModelBuilder().eye("e", "b").build()
    with pytest.raises(dynenvs.ModelError, match=r"at most 3\.0 rad"):
        dynenvs.ModelBuilder().eye("e", "world", field=3.1)
