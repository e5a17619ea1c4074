"""What the plots under the picture show: numbers of an environment, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dynenvs.envs.checks import known
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.legged.legged import SPEEDS
from dynenvs.envs.legged.shells import LeggedRobot
from dynenvs.viewer.moment import Moment, normal_force


class Plot(NamedTuple):
    """One plot: lines over time."""

    name: str
    unit: str
    lines: tuple[str, ...]
    log: bool = False  # whether the axis is logarithmic


Reader = Callable[[DynEnv, Moment], Sequence[float]]

SHOWN = ("reward", "speed", "torques", "residual")  # unless the user says otherwise
OTHERS = {  # of what `info` says
    "tip_height": ("tip height", "m"),
    "tip_distance": ("tip distance", "m"),
    "pressure": ("pressure", "N"),
}


class Readings:
    """The plots of an environment, and the numbers in them.

    Args:
        env: that runs.
    """

    def __init__(self, env: DynEnv) -> None:
        self._env = env
        found = [*_speeds(env), *_torques(env), *_others(env)]
        self._readers = [_REWARD, *found, _FORCE, _RESIDUAL]

    @property
    def plots(self) -> list[Plot]:
        """What there is."""
        return [plot for plot, _ in self._readers]

    def now(self, moment: Moment) -> list[list[float]]:
        """The numbers of each plot's lines as they are now."""
        return [[float(x) for x in read(self._env, moment)] for _, read in self._readers]


def chosen_plots(plots: Sequence[Plot], wanted: Sequence[str] | None) -> list[str]:
    """Names of the plots that are open at first.

    Raises:
        ValueError: there is no plot of that name.
    """
    names = [plot.name for plot in plots]
    if wanted is None:
        usual = [name for name in names if name in SHOWN]
        return usual if "speed" in names else names[:4]
    for name in wanted:
        known(name, names, "plot")
    return list(wanted)


def _residual(env: DynEnv, moment: Moment) -> list[float]:
    return [float(env.worlds.states["status"]["residual"][0])]


_REWARD: tuple[Plot, Reader] = (
    Plot("reward", "", ("reward",)),
    lambda env, moment: [env.worlds.rewards[0]],
)
_FORCE: tuple[Plot, Reader] = (
    Plot("contact force", "N", ("normal",)),
    lambda env, moment: [normal_force(moment)],
)
_RESIDUAL: tuple[Plot, Reader] = (Plot("residual", "", ("worst so far",), log=True), _residual)


def _speeds(env: DynEnv) -> list[tuple[Plot, Reader]]:
    """Speed against command."""
    if env.pace is None:
        return []

    def pace(env: DynEnv, moment: Moment) -> Sequence[float]:
        return env.pace or (np.nan, np.nan)

    found: list[tuple[Plot, Reader]] = [(Plot("speed", "m/s", ("speed", "command")), pace)]
    if isinstance(env, LeggedRobot):
        for name in SPEEDS[1:]:
            unit = "rad/s" if name == "turning" else "m/s"
            found.append((Plot(name, unit, ("speed", "command")), _speed(name)))
    return found


def _speed(name: str) -> Reader:
    def read(env: DynEnv, moment: Moment) -> Sequence[float]:
        task = env.worlds.task_states[0]
        return float(task[f"{name}_speed"]), float(task[name])

    return read


def _torques(env: DynEnv) -> list[tuple[Plot, Reader]]:
    """The motors' torques."""
    model: Any = env.model
    if "torques" not in (env.worlds.info_rows.dtype.names or ()):
        return []
    bodies = model.dofs["body"][model.actuated]
    lines = tuple(model.body_names[int(body)] for body in bodies)
    return [(Plot("torques", "N m", lines), lambda env, _: env.worlds.info_rows["torques"][0])]


def _others(env: DynEnv) -> list[tuple[Plot, Reader]]:
    names = [name for name in OTHERS if name in (env.worlds.info_rows.dtype.names or ())]
    return [(Plot(*OTHERS[name], (OTHERS[name][0],)), _info(name)) for name in names]


def _info(name: str) -> Reader:
    return lambda env, moment: [float(env.worlds.info_rows[name][0])]
