"""The planar walkers as their reference controllers see them: legs, and what is chosen by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.agents.experts.planar.records import WALKER
from dynenvs.envs.planar.records import ROOT
from dynenvs.envs.robots import planar_humanoid, planar_quadruped


def humanoid() -> NDArray[Any]:
    """Legs, gait and gains of the planar humanoid, one record of WALKER."""
    robot = planar_humanoid
    walker = np.zeros(1, WALKER)
    g = walker[0]
    g["legs"], g["root"] = 2, ROOT
    g["offsets"][:2] = 0.0, 0.5
    g["thigh"], g["shank"] = robot.THIGH, robot.SHANK
    g["knee"] = -1.0
    g["heel"], g["toe"], g["sole"] = robot.HEEL, robot.TOE, -robot.ANKLE
    g["friction"] = 0.8 * robot.FRICTION
    g["duty"], g["ramp"], g["light"] = 0.6, 0.1, 0.04
    g["height"], g["reach"], g["ahead"] = 0.83, 0.96 * (robot.THIGH + robot.SHANK), -0.05
    g["longest"] = 0.965 * (robot.THIGH + robot.SHANK)
    g["trail"] = 0.45
    g["clearance"], g["below"], g["landing"] = 0.05, 0.008, 0.02
    g["roll"], g["roll_start"], g["roll_end"] = 0.5, 0.5, 0.93
    g["press"] = -0.03
    g["recoil"] = 0.5
    g["speed_rate"], g["acceleration"] = 8.0, 0.8
    g["height_rate"] = 12.0
    g["swing_rate"] = 25.0
    g["landing_speed"] = 0.3
    g["leg_height"], g["leg_speed"] = 0.003, 0.45
    g["trust_q"], g["trust_v"], g["trust_root"] = 0.3, 0.2, 0.3
    return walker


def balance(walker: NDArray[Any]) -> None:
    """What the humanoid does otherwise where its torso pitches; `walker`: one record of WALKER."""
    g = walker[0]
    g["balances"] = 1
    g["turned"] = 1e-3  # its height comes first: balance sees to the pitch
    g["duty"], g["ramp"], g["light"] = 0.59, 0.1, 0.06
    g["height"], g["reach"], g["longest"], g["ahead"] = 0.84, 0.79, 0.804, 0.0
    g["clearance"], g["below"], g["landing"] = 0.045, 0.004, 0.014
    g["roll"], g["roll_start"], g["roll_end"] = 0.8, 0.507, 0.91
    g["recoil"] = 0.9
    g["height_rate"], g["tilt_rate"], g["swing_rate"] = 10.0, 15.0, 24.0
    g["middle"], g["sweep"], g["edge"], g["toeing"] = 0.08, 0.15, 0.017, 0.15
    g["early"], g["resting"] = 0.043, 0.02
    g["room"], g["balance_rate"], g["longest_step"] = 0.11, 3.7, 0.85
    g["quicker"] = 0.12, 0.3, 0.5
    g["smooth"], g["last"] = 0.25, 0.06


def quadruped() -> NDArray[Any]:
    """Legs, gait and gains of the planar quadruped, one record of WALKER."""
    robot = planar_quadruped
    walker = np.zeros(1, WALKER)
    g = walker[0]
    g["legs"], g["root"] = 4, ROOT
    g["hips"] = [x for x, _ in robot.LEGS.values()]
    g["offsets"][:] = 0.0, 0.5, 0.5, 0.0
    g["thigh"], g["shank"] = robot.LINKS["thigh"][0], robot.LINKS["shank"][0]
    g["knee"] = 1.0
    g["sole"], g["radius"] = -robot.LINKS["metatarsal"][0], robot.FOOT_RADIUS
    g["flat_pitch"] = float(np.sum(robot.STANDING))
    g["friction"] = 0.8 * robot.FRICTION
    g["duty"], g["ramp"], g["light"] = 0.56, 0.08, 0.12
    g["height"], g["reach"], g["ahead"] = 0.32, 0.34, 0.017
    g["longest"] = 0.308
    g["trail"] = 0.21
    g["clearance"], g["below"], g["landing"] = 0.036, 0.006, 0.04
    g["roll"], g["roll_start"], g["roll_end"] = -1.0, 0.56, 1.0
    g["speed_rate"], g["acceleration"] = 8.0, 1.5
    g["height_rate"] = 12.0
    g["recoil"] = 0.3
    g["tilt_rate"], g["turned"] = 12.0, 0.2
    g["swing_rate"] = 27.0
    g["landing_speed"] = 0.3
    g["leg_height"], g["leg_speed"] = 0.003, 0.2
    g["trust_q"], g["trust_v"], g["trust_root"] = 0.8, 0.8, 0.3
    return walker
