"""The planar walkers' experts: what they know of their robots.

All walk by `walk.py`; the humanoid whose torso is free to pitch keeps its balance, too
(`capture.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.agents.experts.common.controller import BatchController, Knowledge
from dynenvs.agents.experts.common.memory import set_common
from dynenvs.agents.experts.planar import parameters, walk
from dynenvs.agents.experts.planar.records import WalkerView
from dynenvs.envs.planar.planar_humanoid import PlanarHumanoidTask
from dynenvs.envs.planar.planar_quadruped import PlanarQuadrupedTask
from dynenvs.envs.planar.walker import WalkerTask

# Legs and gains of each robot
ROBOTS: dict[type[WalkerTask], Callable[[], NDArray[Any]]] = {
    PlanarHumanoidTask: parameters.humanoid,
    PlanarQuadrupedTask: parameters.quadruped,
}


class WalkingController(BatchController):
    """Walks at the commanded speed by inverse dynamics; remembers what it foresees."""

    task_type = tuple(ROBOTS)
    act = staticmethod(walk.act)
    view = WalkerView
    inverse = False

    def know(self, task: PlanarHumanoidTask | PlanarQuadrupedTask) -> Knowledge:
        """Legs, gait and gains."""
        walker = next(make for kind, make in ROBOTS.items() if isinstance(task, kind))()
        set_common(walker, task)
        walker["seen"] = len(task.observation_space.low)
        walker["root"] = task.root
        balances = task.free_pitch and isinstance(task, PlanarHumanoidTask)
        if balances:
            parameters.balance(walker)
        for option in ("slow_frequency", "frequency_slope"):
            walker[option] = task.options[option]
        walker["weight"] = walker["gravity"] * task.model.bodies["mass"].sum()
        self.carried = 1 + task.model.nq + task.model.nv  # the state that it foresees,
        self.carried += 2 + len(task.legs) if balances else 0  # its clock, and which feet stood
        return Knowledge(task.model, walker, np.zeros(0, np.int64))
