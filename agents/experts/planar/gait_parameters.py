"""The walkers as their reference controllers see them: legs, and what is chosen by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.agents.experts.planar.biped_records import BIPED
from dynenvs.agents.experts.planar.gaits import GAIT
from dynenvs.envs.planar import planar_humanoid as humanoid_env
from dynenvs.envs.planar import planar_quadruped as quadruped_env
from dynenvs.envs.planar.records import ROOT
from dynenvs.envs.robots import planar_humanoid, planar_quadruped


def humanoid_gait() -> NDArray[Any]:
    """Legs and gains of the planar humanoid, one record of GAIT without shapes."""
    robot = planar_humanoid
    gait = np.zeros(1, GAIT)
    g = gait[0]
    g["legs"], g["root"] = 2, ROOT
    g["duty"], g["landing"] = 0.57, 0.0375
    g["slow_frequency"], g["frequency_slope"] = humanoid_env.GAIT
    g["sole_x"], g["sole_z"] = robot.TOE, -robot.ANKLE
    g["heel_x"] = robot.HEEL
    g["thigh"], g["shank"] = robot.THIGH, robot.SHANK
    g["offsets"][:2] = 0.0, 0.5
    g["hip_rate"], g["hip_acceleration"] = 15.0, 0.6
    g["height_rate"] = 8.0
    g["swing_rate"] = 20.0
    return gait


def humanoid_balance() -> NDArray[Any]:
    """Body, gait and gains of the planar humanoid whose torso pitches, one record of BIPED."""
    robot = planar_humanoid
    biped = np.zeros(1, BIPED)
    b = biped[0]
    b["sole"] = (0.5 * (robot.HEEL + robot.TOE), 0.0, -robot.ANKLE)
    b["half_length"] = 0.5 * (robot.TOE - robot.HEEL) - 0.012
    b["half_width"] = b["most_width"] = 1.0  # there is no sideways
    b["reach"] = 0.85
    leg = robot.THIGH + robot.SHANK
    b["leg"], b["knee"], b["trail"] = 0.985 * leg, 0.955 * leg, 0.09
    b["duty"], b["duty_slope"] = 0.58, 0.04
    b["arrival"], b["landing"] = 0.04, 0.05
    b["phase_warp"] = 0.1
    b["clearance"], b["heel"] = 0.045, 0.2
    b["height"] = 0.875
    b["height_rate"], b["tilt_rate"] = 7.0, 10.0
    b["balance_rate"], b["swing_rate"] = 4.0, 25.0
    return biped


def quadruped_gait() -> NDArray[Any]:
    """Legs and gains of the planar quadruped, one record of GAIT without shapes."""
    robot = planar_quadruped
    gait = np.zeros(1, GAIT)
    g = gait[0]
    length = robot.LINKS["metatarsal"][0]
    pitch = float(np.sum(robot.STANDING))
    g["legs"], g["root"] = 4, ROOT
    g["hips"] = [x for x, _ in robot.LEGS.values()]
    g["duty"], g["landing"] = 0.55, 0.05
    g["slow_frequency"], g["frequency_slope"] = quadruped_env.GAIT
    g["pitch"] = pitch
    g["sole_x"] = g["heel_x"] = -length * np.sin(pitch)
    g["radius"] = robot.FOOT_RADIUS
    g["sole_z"] = -length * np.cos(pitch) - robot.FOOT_RADIUS
    g["thigh"] = robot.LINKS["thigh"][0]
    g["shank"] = robot.LINKS["shank"][0]
    g["offsets"][:] = 0.0, 0.5, 0.5, 0.0
    g["hip_rate"], g["hip_acceleration"] = 15.0, 1.5
    g["height_rate"] = 10.0
    g["swing_rate"] = 18.0
    g["tilt_rate"] = 10.0
    return gait
