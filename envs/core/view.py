"""From an environment to a picture: its state as a Frame, its model framed by a Renderer."""

from __future__ import annotations

from functools import partial
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from dynenvs.dynamics.crba import crba
from dynenvs.envs.core.task import Task
from dynenvs.envs.core.worlds import TaskWorlds
from dynenvs.envs.render import Frame, Hooks, Renderer
from dynenvs.envs.render.snapshot import poses_at, snapshot
from dynenvs.envs.render.window import Mode
from dynenvs.kinematics.poses import add_point_row, update_kinematics
from dynenvs.memory.layout import Floats, open_work
from dynenvs.model.model import Model
from dynenvs.model.validation import prepare

MARGIN_ON_FLOOR = 1.45  # height of the picture over that of the robot with straight legs
MARGIN_HANGING = 2.5  # height of the picture over the reach from the pivot
PUSH = 0.4  # of a key in the window: what a blow changes the whole robot's speed by [m/s]
WIDE = 0.8  # height of the picture over the breadth of a robot that lies low
LEAST_VIEW = 1.0  # height of the picture of a small robot and the ground around it [m]


class Shown(Protocol):
    """An environment of one world, as a picture of it needs it (`base.DynEnv`)."""

    task: Task
    worlds: TaskWorlds
    render_mode: str | None
    width: int
    height: int
    _renderer: Renderer | None

    @property
    def model(self) -> Model: ...
    @property
    def dt(self) -> float: ...
    @property
    def title(self) -> str: ...
    @property
    def focus(self) -> Floats: ...
    @property
    def pace(self) -> tuple[float, float] | None: ...
    @property
    def targets(self) -> Floats: ...
    def readings(self) -> dict[str, str]: ...


def draw(env: Shown) -> NDArray[np.uint8] | None:
    """The present state as a picture, shape (height, width, 3), or on the window (None)."""
    if env._renderer is None:
        env._renderer = open_renderer(env, cast(Mode, env.render_mode))
    picture: NDArray[np.uint8] | None = env._renderer.draw(frame(env))
    return picture


def open_renderer(env: Shown, mode: Mode, *, fps: float | None = None) -> Renderer:
    """A renderer for the environment's model and picture size.

    Args:
        env: whose model is drawn.
        mode: "rgb_array" or "human".
        fps: pictures a second that a window is paced to [1/s]; the control rate if None.

    Raises:
        RuntimeError: mode "human" without a display.
    """
    return Renderer(
        env.model,
        mode=mode,
        width=env.width,
        height=env.height,
        fps=1.0 / env.dt if fps is None else fps,
        title=env.title,
        view_height=_view_height(env.task.robot),
        hooks=Hooks(partial(push, env), getattr(env, "change_command", None)),
    )


def push(env: Shown, impulse: float | None = None, heading: float | None = None) -> None:
    """Strike the robot's first body at its centre of mass, level: v += M^-1 J^T p.

    Args:
        env: whose robot.
        impulse: [N s]; by default what gives its mass PUSH m/s.
        heading: of the blow, from the x axis to the left [rad]; at random if None.  Coordinates
            that cannot move that way do not.
    """
    model, row = env.model, env.worlds.states[0]
    body = next(i for i, record in enumerate(model.bodies) if record.mass > 0.0)
    if impulse is None:
        impulse = PUSH * float(model.bodies["mass"].sum())
    turn = np.random.default_rng().uniform(0, 2 * np.pi) if heading is None else heading
    blow = impulse * np.array([np.cos(turn), np.sin(turn), 0.0])
    w = prepare(model, row["q"])
    update_kinematics(w)
    pose, force = w.pose[body], np.zeros(model.nv)
    center = pose["R"] @ model.bodies[body].com + pose["p"]
    add_point_row(open_work(w, w), body, center, blow, 1.0, force)
    env.worlds.push(np.linalg.solve(crba(model, row["q"]), force)[None])


def frame(env: Shown) -> Frame:
    """The present state, as `Renderer.draw` wants it.

    Contact forces [N] are means over the last control step.
    """
    row = env.worlds.states[0]
    return snapshot(env.model, row["q"], row["memory"]["total"] / env.dt)._replace(
        focus=env.focus, readings=env.readings(), speed=env.pace, targets=env.targets
    )


def _view_height(model: Model) -> float:
    """Height of the picture that shows the whole robot with room around it [m].

    Taken from the neutral configuration (straight legs, arms hanging), so that it does not depend
    on when the first picture is drawn.
    """
    placed = poses_at(model, model.neutral())
    ends: list[tuple[float, float]] = [
        (0.0, 0.0)
    ]  # (height, distance) of what sticks out from the root's origin
    floor, span = False, 0.0
    for geom in model.geoms:
        body = model.body_id(geom.body)
        if body == 0:
            floor = floor or geom.type in ("half_space", "height_field", "block_field")
            continue
        pose = placed[body]
        long = geom.type in ("capsule", "cylinder", "cone")
        half = geom.size[1] * geom.rotation[:, 2] if long else np.zeros(3)
        pad = float(geom.size.max() if geom.type in ("box", "ellipsoid") else geom.size[0])
        for end in (geom.position - half, geom.position + half):
            x, y, z = pose["R"] @ end + pose["p"]
            span = max(span, 2.0 * (float(np.hypot(x, y)) + pad))
            reach = float(np.hypot(x, z)) + pad
            ends.append((float(z) + (pad if z > 0 else -pad), reach))
    heights = [height for height, _ in ends]
    if floor:
        return max(MARGIN_ON_FLOOR * (max(heights) - min(heights)), WIDE * span, LEAST_VIEW)
    return MARGIN_HANGING * max(reach for _, reach in ends)
