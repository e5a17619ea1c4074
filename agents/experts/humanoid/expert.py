"""The humanoid's expert: what it knows of the robot, and which tasks it knows."""

from __future__ import annotations

import numpy as np

from dynenvs.agents.experts.common.controller import BatchController, Knowledge
from dynenvs.agents.experts.common.memory import set_common
from dynenvs.agents.experts.common.scan import see_ground
from dynenvs.agents.experts.humanoid.filter import check_order, set_filter
from dynenvs.agents.experts.humanoid.parameters import humanoid_biped
from dynenvs.agents.experts.humanoid.records import CARRIED, BipedView
from dynenvs.agents.experts.humanoid.walk import act
from dynenvs.envs.legged.humanoid import HumanoidTask
from dynenvs.envs.robots.humanoid import STANDING
from dynenvs.memory.layout import Floats


class StridingController(BatchController):
    """Walks on two legs as commanded by inverse dynamics; acts on the observation alone.

    Of loose objects it knows nothing: the observation's entries about them come last, and it does
    not read them.
    """

    task_type = HumanoidTask
    act = staticmethod(act)
    view = BipedView
    carried = CARRIED
    inverse = False

    def know(self, task: HumanoidTask) -> Knowledge:
        """Body, gait and gains, and the leg of each contact feature that is a sole's corner."""
        model = task.level
        check_order(task)
        body = humanoid_biped()
        body["slow_frequency"], body["frequency_slope"] = task.gait_frequency
        set_common(body, task)
        see_ground(body, task)
        set_filter(body, model, _standing(), task.dt)
        features = model.candidates
        corners = features["center"][:, 2] < 0.999 * body["sole"][0, 2]
        leg_of_corner = np.where(corners, task.feet_of(model), -1)
        return Knowledge(model, body, leg_of_corner)


def _standing() -> Floats:
    """Positions in which the robot stands, the base at the origin."""
    return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, *STANDING])
