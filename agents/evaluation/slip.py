"""How far a walker's feet slide over the ground while they carry load, for episodes of a batch."""

from __future__ import annotations

import math

import numpy as np

from dynenvs.agents.evaluation.episode import step_limit
from dynenvs.agents.evaluation.feet import crept, radius, stances, trace
from dynenvs.envs.core.vector import DynVectorEnv


class FeetRecord:
    """Positions, and which contact features carry load, at the end of each control step.

    Args:
        envs: the worlds; `note` is to be called after each of their steps.
    """

    def __init__(self, envs: DynVectorEnv) -> None:
        self.states, self.model = envs.worlds.states, envs.task.robot
        # The pendulums have no feet
        feet = np.asarray(getattr(envs.task, "foot_of_feature", ()), np.int64)
        feet = feet[: np.flatnonzero(feet >= 0).max(initial=-1) + 1]  # the rest is of no use here
        self.legs = [np.flatnonzero(feet == leg) for leg in range(feet.max(initial=-1) + 1)]
        shape = (envs.num_envs, step_limit(envs) if self.legs else 0)
        self.q = np.empty((*shape, self.model.nq))
        self.loaded = np.empty((*shape, len(feet)), np.bool_)

    def note(self, step: int) -> None:
        """Keep what control step `step` ended with."""
        if self.legs:
            self.q[:, step] = self.states["q"][:, : self.model.nq]
            impulses = self.states["memory"]["impulse"][:, : self.loaded.shape[2]]
            self.loaded[:, step] = impulses[:, :, 2] > 0.0

    def slip(self, world: int, steps: int) -> float:
        """How far the feet slid in the first `steps` control steps of a world [m].

        The way that a foot's contact points go along the ground from touchdown to lift-off, less
        what rolling explains: of each foot that of the point which went farthest, all feet
        together.  A foot that creeps in hops of less than a millimetre has not lifted off.  NaN
        where there are no feet.
        """
        if not self.legs:
            return math.nan
        feet = trace(self.model, self.q[world, :steps])
        loaded = self.loaded[world, :steps]
        total = 0.0
        for points in self.legs:
            ways = [0.0]
            for f in map(int, points):
                path = crept(feet, f, radius(self.model, f))
                went = np.hypot(*np.diff(path[:, :2], axis=0).T)
                spans = stances(loaded[:, f], feet.gap[:, f])
                ways.append(float(sum(went[first:last].sum() for first, last in spans)))
            total += max(ways)
        return total
