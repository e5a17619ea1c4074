"""Closed loops of files: linkages in a plane that no axis of the world lies along."""

from __future__ import annotations

import numpy as np
import pytest

import dynenvs
from dynenvs.contact.assembly.loops import factor_loops
from dynenvs.memory.layout import LoopView, fill_places
from dynenvs.memory.records import HEADER
from dynenvs.simulation.world import World

pytest.importorskip("mujoco")

LINKAGE = """
<mujoco><option timestep="0.001"/><worldbody>
<body name="base" pos="0 0 1" euler="31 17 53"><freejoint/><geom type="box" size=".1 .1 .02"/>
 <body name="crank" euler="10 -20 7"><joint name="crank" axis="0 0 1"/>
  <geom type="capsule" fromto="0 0 0 .2 0 0" size=".01"/>
  <body name="coupler" pos=".2 0 0" euler="0 0 70"><joint axis="0 0 1" stiffness="20"/>
   <geom type="capsule" fromto="0 0 0 .3 0 0" size=".01"/></body>
  <body name="rocker" pos="0 .25 0" euler="0 0 {angle}"><joint axis="0 0 1"/>
   <geom type="capsule" fromto="0 0 0 {length} 0 0" size=".01"/></body></body></body>
</worldbody><contact><exclude body1="coupler" body2="rocker"/></contact>
<equality><connect body1="rocker" body2="coupler" anchor="{length} 0 0"/></equality></mujoco>
"""


def test_a_linkage_in_a_slanting_plane_stays_closed() -> None:
    """The loop is closed to 1e-12 after every step, though nothing moves a row across its plane."""
    tip = np.array([0.2, 0.0]) + 0.3 * np.array([np.cos(np.radians(70)), np.sin(np.radians(70))])
    way = tip - (0.0, 0.25)
    angle, length = np.degrees(np.arctan2(way[1], way[0])), np.linalg.norm(way)
    model = dynenvs.load(LINKAGE.format(angle=angle, length=length))
    world = World(model)
    rng = np.random.default_rng(3)
    world.reset(None, np.concatenate([np.zeros(3), rng.normal(size=3), [2.0, 0.0, 0.0]]))
    for _ in range(200):
        world.step()
        assert np.abs(world.closure).max() < 1e-12
    assert world.diagnostics.degraded == 0
    assert np.abs(world.v).max() < 50.0


def test_a_row_that_roundoff_alone_moves_is_redundant() -> None:
    """As Cassie's plantar rods have it: K has 7e-37 beside 25 and 4 on its diagonal, by hand."""
    header = np.zeros(1, HEADER)
    header["ne"] = 3
    fill_places(header[0])
    packed = np.zeros(int(header["model_bytes"][0]), np.uint8)
    packed[: HEADER.itemsize] = header.view(np.uint8)
    c = LoopView(packed, np.zeros(int(header["workspace_bytes"][0]), np.uint8))
    c.K[:] = [[25.0, 5.0, 0.0], [0.0, 4.0, 1e-19], [0.0, 0.0, 7e-37]]
    c.lasts[:] = 2
    factor_loops(c)
    np.testing.assert_allclose(c.inverse, [1 / 5, 1 / np.sqrt(3), 0.0])
