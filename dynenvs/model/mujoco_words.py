"""MuJoCo's words for what has another name here, so that an error can say which.

docs/from-mujoco.md explains each of them (`tests/test_from_mujoco.py`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., None])

DATA = {  # of mjData, and what worlds have instead
    "qpos": "q",
    "qvel": "v",
    "ctrl": "step(control=...)",
    "qfrc_applied": "step(tau)",
    "qfrc_actuator": "tau",
    "xfrc_applied": "wrenches",
    "xpos": "body(name).position",
    "xmat": "body(name).rotation",
    "cvel": "body(name).velocity",
    "contact": "contacts",
    "ncon": "contacts",
    "cfrc_ext": "contact_wrenches",
    "warning": "diagnostics",
    "solver_niter": "diagnostics",
    "data": "q, v, time",
}
STATE = {**DATA, "ctrl": "actions", "cfrc_ext": "contact_force(body)"}  # of a task's `world`
MODEL = {  # of mjModel
    "qpos0": "keyframes",
    "key_qpos": "keyframes",
    "opt": "timestep",
    "nbody": "body_names",
    "body": "body_id(name)",
    "geom": "geom_id(name)",
    "body_mass": "bodies",
    "site": "sites",
    "site_pos": "sites",
    "jnt_qposadr": "position_index(joint)",
    "jnt_dofadr": "velocity_index(joint)",
}
SHELL = {"data": "world", "sim": "world", "physics": "world"}  # of tasks
PAGE = "docs/from-mujoco.md"


class KnowsMujoco:
    """An object that is asked for one of MuJoCo's words, and says what it is called here."""

    _mujoco_words: ClassVar[Mapping[str, str]]  # what there is instead, by MuJoCo's words

    if not TYPE_CHECKING:  # mypy would take every name for an attribute

        def __getattr__(self, name: str) -> Any:
            """Raise an AttributeError; a property that raised one keeps its own message."""
            try:
                return object.__getattribute__(self, name)
            except AttributeError:
                here = self._mujoco_words.get(name, "")
                if re.split(r"\W", here)[0] not in dir(self):
                    raise
                words = f"what MuJoCo calls {name} is {here} here ({PAGE})"
                message = f"{type(self).__name__} has no {name!r}; {words}"
                raise AttributeError(message, name=name, obj=self) from None


def of_one_state(method: Method) -> Method:
    """A method `set_state(state)` that says what to do instead of `set_state(qpos, qvel)`.

    Gymnasium's MuJoCo environments take positions and velocities; a state here is more than that:
    the warm start, the task's clock and its random numbers.
    """

    @functools.wraps(method)
    def set_state(self: Any, *given: Any, **named: Any) -> None:
        if len(given) == 2 or named.keys() & {"qpos", "qvel"}:
            raise TypeError(
                "set_state takes a state of get_state(), not qpos and qvel: write them into one, "
                'state = env.get_state(); state["world"]["q"][:] = qpos; '
                'state["world"]["v"][:] = qvel; env.set_state(state) (docs/own-task.md)'
            )
        method(self, *given, **named)

    return cast(Method, set_state)
