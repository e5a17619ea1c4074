"""The quadruped's expert: what it knows of the robot and of its ground."""

from __future__ import annotations

from dynenvs.agents.experts.common.controller import BatchController, Knowledge
from dynenvs.agents.experts.common.memory import set_common
from dynenvs.agents.experts.common.scan import see_ground
from dynenvs.agents.experts.quadruped.parameters import quadruped_trot
from dynenvs.agents.experts.quadruped.records import CARRIED, TrotView
from dynenvs.agents.experts.quadruped.trot import act
from dynenvs.envs.legged.quadruped import QuadrupedTask


class TrottingController(BatchController):
    """Trots as commanded by inverse dynamics.

    `predict` hands on an estimate of velocities and of the motors' delay as its state; without it
    the expert acts on the observation alone, which does where torques act at once.

    Of loose objects it knows nothing: the observation's entries about them come last, and it does
    not read them.
    """

    task_type = QuadrupedTask
    act = staticmethod(act)
    view = TrotView
    carried = CARRIED
    inverse = False

    def know(self, task: QuadrupedTask) -> Knowledge:
        """Legs, gait and gains, where the height scan is, and the leg of each contact feature."""
        model = task.level
        gait = quadruped_trot(task.terrain)
        gait["slow_frequency"], gait["frequency_slope"] = task.gait_frequency
        set_common(gait, task)
        gait["mass"] = model.bodies["mass"].sum()
        see_ground(gait, task)
        return Knowledge(model, gait, task.feet_of(model))
