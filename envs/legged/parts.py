"""What is seen of and by a robot with a free base: the parts of its observation, in their order.

Each part is declared (`blocks`) beside the kernel that writes it.  Directions and the base's
velocities are in its own axes; the world's heading is not seen.
"""

from __future__ import annotations

import math
from typing import Any

from dynenvs.envs.core.blocks import (
    ANGLE_NOISE,
    HEIGHT_NOISE,
    RATE_NOISE,
    SCAN_NOISE,
    SPEED_NOISE,
    TURN_NOISE,
    UPWARD_NOISE,
    Block,
    block,
    symmetric,
)
from dynenvs.envs.core.feet import foot_contacts, gait_phase, write_loads, write_phase
from dynenvs.envs.core.loop import TaskWorld
from dynenvs.envs.core.records import Part
from dynenvs.envs.legged.ground import FLAT, ground_below, scan
from dynenvs.envs.legged.object_placing import observe_objects
from dynenvs.envs.legged.records import OWN_OPTIONS, PLACE, ROOT, TURN
from dynenvs.jit.compiled import inlined
from dynenvs.jit.views import vector
from dynenvs.memory.layout import Floats, Records

HEIGHT_BOUND = 2.0  # [m]
SPEED_BOUND, TURN_BOUND = 15.0, 60.0  # of the base [m/s], [rad/s]
OBJECT_BOUND = 20.0  # of a loose object's place from the base, as it is seen [m]


@inlined
def own_options(w: TaskWorld) -> Records:
    """The task's options, as units take them: without the weights of the reward's terms."""
    return vector(w.options, 0, 1, OWN_OPTIONS)


def _height(task: Any) -> list[Block]:
    above = f"of {task.middle} above the ground"
    return [block("height", 0, HEIGHT_BOUND, "m", above, noise=HEIGHT_NOISE)]


@inlined
def write_height(w: TaskWorld, out: Floats, at: int) -> int:
    """Of the base above the ground below it."""
    below = ground_below(w.world, own_options(w))
    out[at] = min(max(w.world.q[2] - below, 0.0), w.options[0].height_bound)
    return at + 1


def _upward(task: Any) -> list[Block]:
    axes = f"in the {task.base}'s axes"
    return [symmetric("upward direction", 1, "-", axes, 3, noise=UPWARD_NOISE)]


@inlined
def write_upward(w: TaskWorld, out: Floats, at: int) -> int:
    """The last row of the rotation matrix: the world's z axis in the base's axes."""
    e, x, y, z = w.world.q[3], w.world.q[4], w.world.q[5], w.world.q[6]
    c0, c1, c2 = 2.0 * (x * z - e * y), 2.0 * (y * z + e * x), 1.0 - 2.0 * (x * x + y * y)
    out[at] = min(max(c0, -1.0), 1.0)
    out[at + 1] = min(max(c1, -1.0), 1.0)
    out[at + 2] = min(max(c2, -1.0), 1.0)
    return at + 3


def _angles(task: Any) -> list[Block]:
    lower, upper = task.model.lower[task.joints], task.model.upper[task.joints]
    order = "in the order of the action"
    return [block("joint angles", lower, upper, "rad", order, noise=ANGLE_NOISE)]


@inlined
def write_angles(w: TaskWorld, out: Floats, at: int) -> int:
    """Within their stops: a joint may stand a rounding error behind one."""
    nu = w.action.shape[0]
    for i in range(nu):
        dof = w.world.dofs[ROOT + i]
        out[at + i] = min(max(w.world.q[TURN + i], dof.lower), dof.upper)
    return at + nu


def _velocity(task: Any) -> list[Block]:
    what = f"of {task.middle}"
    return [symmetric("velocity", SPEED_BOUND, "m/s", what, 3, noise=SPEED_NOISE)]


@inlined
def write_velocity(w: TaskWorld, out: Floats, at: int) -> int:
    """Of the base, in its own axes."""
    world, bound = w.world, w.options[0].speed_bound
    e, x, y, z = world.q[3], world.q[4], world.q[5], world.q[6]
    # Rows of the rotation matrix are the world's axes in the base's
    a0, a1, a2 = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - e * z), 2.0 * (x * z + e * y)
    b0, b1, b2 = 2.0 * (x * y + e * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - e * x)
    c0, c1, c2 = 2.0 * (x * z - e * y), 2.0 * (y * z + e * x), 1.0 - 2.0 * (x * x + y * y)
    vx, vy, vz = world.v[0], world.v[1], world.v[2]
    out[at] = a0 * vx + b0 * vy + c0 * vz
    out[at + 1] = a1 * vx + b1 * vy + c1 * vz
    out[at + 2] = a2 * vx + b2 * vy + c2 * vz
    for k in range(PLACE):
        out[at + k] = min(max(out[at + k], -bound), bound)
    return at + PLACE


def _turning(task: Any) -> list[Block]:
    what = f"of the {task.base}"
    return [symmetric("angular velocity", TURN_BOUND, "rad/s", what, 3, noise=TURN_NOISE)]


@inlined
def write_turning(w: TaskWorld, out: Floats, at: int) -> int:
    """Of the base, in its own axes, in which the model has it."""
    bound = w.options[0].turn_bound
    for k in range(PLACE):
        out[at + k] = min(max(w.world.v[PLACE + k], -bound), bound)
    return at + PLACE


def _rates(task: Any) -> list[Block]:
    bound, nu = task.joint_bound, task.model.nu
    return [symmetric("joint velocities", bound, "rad/s", "as the angles", nu, noise=RATE_NOISE)]


@inlined
def write_rates(w: TaskWorld, out: Floats, at: int) -> int:
    """Of the joints."""
    nu, bound = w.action.shape[0], w.options[0].joint_bound
    for i in range(nu):
        out[at + i] = min(max(w.world.v[ROOT + i], -bound), bound)
    return at + nu


def _command(task: Any) -> list[Block]:
    low, high = task.command_bounds()
    return [block("command", low, high, "m/s, m/s, rad/s", "forward, left, turning")]


@inlined
def write_command(w: TaskWorld, out: Floats, at: int) -> int:
    """The commanded speeds."""
    t = w.task[0]
    out[at], out[at + 1], out[at + 2] = t.forward, t.sideways, t.turning
    return at + 3


def _scan(task: Any) -> list[Block]:
    """Where the ground is uneven."""
    if task.terrain == "flat":
        return []
    what = "of the ground against the base, row by row from behind"
    points = math.prod(task.scan)
    return [symmetric("height scan", HEIGHT_BOUND, "m", what, points, noise=SCAN_NOISE)]


@inlined
def write_scan(w: TaskWorld, out: Floats, at: int) -> int:
    """Where the ground is uneven."""
    o = w.options[0]
    if o.terrain == FLAT:
        return at
    scan(w.world, own_options(w), out, at)
    return int(at + o.scan_x * o.scan_y)


def _objects(task: Any) -> list[Block]:
    """Of each loose object, where they are to be seen."""
    blocks = []
    for k in range(len(task.loose) if task.observe_objects else 0):
        name = f"object {k}"
        far, speed, turn = OBJECT_BOUND, SPEED_BOUND, TURN_BOUND
        middle, axes = "of its middle", "directions of its x axis and its y axis"
        turning = "of the object"
        blocks += [
            symmetric(f"{name} place", far, "m", f"{middle} from the base", 3, noise=SCAN_NOISE),
            symmetric(f"{name} axes", 1, "-", axes, 6, noise=UPWARD_NOISE),
            symmetric(f"{name} velocity", speed, "m/s", middle, 3, noise=SPEED_NOISE),
            symmetric(f"{name} angular velocity", turn, "rad/s", turning, 3, noise=TURN_NOISE),
        ]
    return blocks


@inlined
def write_seen_objects(w: TaskWorld, out: Floats, at: int) -> int:
    """Of the loose objects, where they are to be seen."""
    if w.options[0].sees_objects == 0:
        return at
    return int(observe_objects(w.world, own_options(w), w.constants[3], out, at))


PARTS = (
    Part(_height, write_height),
    Part(_upward, write_upward),
    Part(_angles, write_angles),
    Part(_velocity, write_velocity),
    Part(_turning, write_turning),
    Part(_rates, write_rates),
    Part(gait_phase, write_phase),
    Part(_command, write_command),
    Part(foot_contacts, write_loads),
    Part(_scan, write_scan),
    Part(_objects, write_seen_objects),
)
