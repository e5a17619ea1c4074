"""The quadruped as its reference controller sees it: legs, gait and gains, chosen by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.agents.experts.quadruped.records import TROT
from dynenvs.envs.robots import quadruped as robot

# How the numbers of `quadruped_trot` grow with a robot's size, by Froude's law: as which power of
# its length.  Those that are not here are ratios or accelerations.
GROWTH = {
    "duty_slope": -0.5,
    "clearance": 1.0,
    "singular": 3.0,
    "height_slope": 0.5,
    "reach": 1.0,
    "height_rate": -0.5,
    "tilt_rate": -0.5,
    "turn_rate": -0.5,
    "speed_rate": -0.5,
    "swing_rate": -0.5,
    "twist": -1.0,
    "press": -0.5,
    "sink": -0.5,
    "fast": 0.5,
    "touchdown": 0.5,
    "lead": 0.5,
    "gain": 0.5,
    "braking": 0.5,
}


def quadruped_trot(terrain: str = "flat") -> NDArray[Any]:
    """Legs, gait and gains of the quadruped on a terrain, one record of TROT."""
    trot = np.zeros(1, TROT)
    t = trot[0]
    t["pair"] = [0, 1, 1, 0]  # in the order of `robot.LEGS`
    t["first"], t["second"] = [0, 1], [3, 2]
    y = robot.HIP_Y + robot.THIGH_Y
    t["stance"] = [(front * robot.HIP_X, left * y) for front, left in robot.LEGS.values()]
    t["duty"], t["duty_slope"], t["least_duty"] = 0.6, 0.04, 0.53
    t["arrival"], t["landing"] = 0.015, 0.0
    t["clearance"] = 0.05
    t["phase_warp"], t["rise"] = -0.1, 0.5
    t["singular"] = 1e-4
    t["height"], t["height_slope"], t["reach"] = 0.29, 0.004, 0.19
    t["height_rate"], t["tilt_rate"], t["turn_rate"] = 16.0, 16.0, 40.0
    t["speed_rate"], t["swing_rate"], t["swing_damping"] = 16.0, 32.0, 0.9
    t["ease"], t["press"], t["sink"] = 20.0, 66.0, 25.0
    t["lift"], t["twist"] = 15.0, 150.0
    t["friction"], t["grip"], t["fast"], t["slack"] = 0.28, 0.7, (0.15, 0.4), 0.4
    t["quicker"], t["beside"] = (0.5, 1.0, 1.0), (0.25, 0.35)
    t["sway"] = 0.5
    t["trim"] = [0.025, 0.02, 0.008]
    t["acceleration"], t["deceleration"] = 3.0, 6.0
    t["edge"], t["aside"], t["follow"] = 0.7, 6.0, 1.0
    t["touchdown"] = 0.3
    t["lead"] = 0.05
    t["gain"], t["braking"] = 0.6, 1.5
    if terrain != "flat":  # higher over steps; no speeding up towards the end of a step
        t["height"] = 0.30 if terrain == "slope" else 0.31
        t["height_slope"], t["arrival"] = 0.01, 0.005
        t["clearance"], t["sway"], t["landing"], t["lead"] = 0.06, 0.0, 0.0, 0.0
        t["friction"], t["touchdown"] = 0.6, 0.15  # slopes ask for more than level ground
    return trot
