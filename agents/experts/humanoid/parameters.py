"""The humanoid as its reference controller sees it: body, gait and gains, chosen by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.agents.experts.humanoid.records import BIPED, JOINTS, LEGS
from dynenvs.envs.robots import humanoid as robot


def humanoid_biped() -> NDArray[Any]:
    """Body, gait and gains of the humanoid, one record of BIPED."""
    biped = np.zeros(1, BIPED)
    b = biped[0]
    b["sole"] = (0.5 * (robot.HEEL + robot.TOE), 0.0, -robot.ANKLE)
    b["sole_size"] = (0.5 * (robot.TOE - robot.HEEL), robot.SOLE_HALF)
    b["half_length"] = 0.5 * (robot.TOE - robot.HEEL) - 0.012
    b["half_width"] = robot.SOLE_HALF - 0.007
    b["width"], b["width_slope"] = 0.18, 0.7
    b["least_width"], b["most_width"], b["reach"] = 0.07, 0.65, 0.6
    leg = robot.THIGH + robot.SHANK
    b["leg"], b["knee"], b["hip"] = 0.985 * leg, (0.955 * leg, 0.973 * leg), robot.HIP_Y
    b["trail"] = 0.07, 0.04
    b["duty"], b["duty_slope"], b["early"] = 0.6, 0.025, (0.5, 0.8)
    b["landing"], b["landing_speed"] = 0.2, (0.2, 0.12)
    b["strongest"], b["most_turning"] = 25.0, 120.0
    b["most_swing"] = (1000.0, 1000.0, 100.0, 40.0, 40.0, 40.0)
    b["friction"], b["grip"] = (0.7, 0.22), (0.07, 0.02)
    b["phase_warp"] = 0.25, 0.1
    b["clearance"], b["toe"], b["hang"] = 0.065, (0.15, 0.38), ((0.1, 0.9), (-0.2, 0.7))
    b["strike"], b["rise"], b["lie"], b["vault"] = 0.22, 0.49, 0.08, 0.035
    b["ahead"], b["aside"], b["around"] = (0.25, 0.5), 0.12, 0.4
    b["wait"], b["patience"], b["change"] = (0.5, 1.5), 10.0, (0.5, 0.2)
    b["over"], b["apex"] = 0.1, 0.55
    b["sink"] = 5.0
    b["edge"], b["keep"], b["margin"], b["least_room"] = 0.2, 0.3, 0.03, 0.5
    b["height"], b["pace"] = 0.875, 1.053
    b["height_rate"], b["tilt_rate"], b["turn_rate"] = 7.0, 18.0, 55.0
    b["yaw_rate"], b["torso_rate"] = 2.5, 8.0
    b["balance_rate"], b["swing_rate"], b["posture_rate"] = 4.0, 25.5, 8.0
    b["hurry"] = (0.15, 0.6)
    b["quicker"] = (0.12, 0.3, 0.5)
    b["foot_rate"], b["flat_rate"], b["skew"] = 22.0, (22.0, 16.0), 0.1
    b["clean"] = (0.2, 0.7)
    b["pose"] = robot.STANDING[JOINTS * LEGS :]
    b["swing"] = (0, 0, 0, 0.4, 0, 0.15, -0.4, 0, -0.15)
    return biped
