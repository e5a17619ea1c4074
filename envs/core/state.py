"""What worlds are at the moment, by names: positions, bodies, contact forces, commands.

`env.unwrapped.world` and `envs.unwrapped.world` give it to users, and `own_task.py` to the
functions of their own tasks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.dynamics.jacobians import Frames
from dynenvs.memory.layout import Floats
from dynenvs.model.model import Model
from dynenvs.model.mujoco_words import STATE, KnowsMujoco
from dynenvs.simulation.readings import (
    Body,
    Joint,
    contact_sources,
    frames_of,
    impulses_of,
    joint_of,
)


class Arrays(NamedTuple):
    """A batch's own arrays, with one entry a world."""

    model: Model
    states: NDArray[Any]  # physical states, dtype `model.state_dtype`
    info: NDArray[Any]  # what `info` says
    actions: Floats  # of the last step, shape (n, nu)
    rewards: Floats  # of the last step, by the environment's own task, shape (n,)
    dt: float  # control period [s]
    legs: tuple[str, ...]  # whose feet have contact forces


class State(KnowsMujoco):
    """What worlds are at the moment, by names; it follows them, and cannot be written into.

    Arrays have one row a world.  Those of a single environment's `world` have none, except in the
    function of a task of one's own, which sees a batch of one there.

    Args:
        source: gives the arrays as they are now: a batch may move them.
        single: whether it is one world, whose arrays have no row.
    """

    _mujoco_words = STATE

    def __init__(self, source: Callable[[], Arrays], single: bool) -> None:
        self._source, self._single = source, single
        self._seen: tuple[Floats, Floats] | None = None  # where the frames were worked out
        self._frames: Frames
        self._work: tuple[Model, NDArray[np.uint8]] | None = None  # scratch memory

    @property
    def _arrays(self) -> Arrays:
        return self._source()

    @property
    def model(self) -> Model:
        """Robot and ground: names of bodies (`body_names`) and joints (`joint_names`)."""
        return self._arrays.model

    def __repr__(self) -> str:
        m, n = self.model, len(self._arrays.states)
        count = "one world" if self._single else f"{n} worlds"
        words = "q, v, time, actions, reward, command, foot_forces, info(name)"
        named = "body(name), joint(name), contact_force(body)"
        return f"<State of {count}: {m.nq} positions, {m.nv} velocities; {words}, {named}>"

    def _give(self, array: NDArray[Any]) -> Any:
        """What a user gets of an array of all worlds."""
        view = array[0] if self._single else array[...]
        if isinstance(view, np.ndarray):
            view.flags.writeable = False
        return view

    @property
    def q(self) -> Floats:
        """Positions, shape (n, nq)."""
        found: Floats = self._give(self._arrays.states["q"])
        return found

    @property
    def v(self) -> Floats:
        """Velocities, shape (n, nv)."""
        found: Floats = self._give(self._arrays.states["v"])
        return found

    @property
    def time(self) -> Any:
        """Time since the episode began [s], shape (n,)."""
        return self._give(self._arrays.states["status"]["time"])

    @property
    def actions(self) -> Floats:
        """What acted in the last control step, clipped to [-1, 1], shape (n, nu).

        Torques over their limits: with `control="torque"` and without noise or delay, the actions
        given; of motors that hold positions, the mean of what they gave.
        """
        found: Floats = self._give(np.clip(self._arrays.actions, -1.0, 1.0))
        return found

    @property
    def reward(self) -> Any:
        """What the environment's own task gave for the last step, shape (n,)."""
        return self._give(self._arrays.rewards)

    @property
    def command(self) -> Any:
        """What a walker is commanded: three speeds, shape (n, 3), in the plane one, shape (n,).

        Raises:
            AttributeError: the environment has no commands.
        """
        return self.info("command")

    @property
    def foot_forces(self) -> dict[str, Floats]:
        """Mean contact force on each foot over the control step, by leg [N], shape (n, 3) each.

        Raises:
            AttributeError: the environment tells of no feet.
        """
        forces = self._info("contact_forces")
        return {leg: self._give(forces[:, i]) for i, leg in enumerate(self._arrays.legs)}

    def info(self, name: str) -> Any:
        """An entry of `info`, shape (n, ...).

        Raises:
            AttributeError: the environment has none of that name.
        """
        return self._give(self._info(name))

    def _info(self, name: str) -> NDArray[Any]:
        names = self._arrays.info.dtype.names or ()
        if name not in names:
            raise AttributeError(
                f"this environment's info has no {name!r}: it has {', '.join(names)}"
            )
        found: NDArray[Any] = self._arrays.info[name]
        return found

    def body(self, name: str) -> Body:
        """A body by its name, one of `model.body_names`.

        Raises:
            KeyError: there is none of that name.
        """
        i, frames = self.model.body_id(name), self._poses()
        parts = frames.positions, frames.rotations, frames.linear, frames.angular
        return Body(*(self._give(part[:, i]) for part in parts))

    def contact_force(self, body: str) -> Floats:
        """What all contacts give a body, mean over the control step [N], shape (n, 3).

        Raises:
            KeyError: there is no body of that name.
        """
        states, model = self._arrays.states, self.model
        found = impulses_of(model, states, contact_sources(model))
        force: Floats = self._give(found[:, model.body_id(body)] / self._arrays.dt)
        return force

    def joint(self, name: str) -> Joint:
        """A joint by its name, one of `model.joint_names`.

        Raises:
            KeyError: there is none of that name.
        """
        states = self._arrays.states
        parts = joint_of(self.model, states["q"], states["v"], name)
        return Joint(*map(self._give, parts))

    def _poses(self) -> Frames:
        """Of all bodies; worked out again where the worlds have moved."""
        states = self._arrays.states
        q, v = states["q"], states["v"]
        if self._seen is not None and (q == self._seen[0]).all() and (v == self._seen[1]).all():
            return self._frames
        if self._work is None or self._work[0] is not self.model:
            self._work = self.model, self.model.workspace()
        found = frames_of(self.model, states, self._work[1])
        self._frames, self._seen = found, (q.copy(), v.copy())
        return found
