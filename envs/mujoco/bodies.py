"""What MuJoCo tells of each body, taken about the robot's centre of mass: one compiled pass.

MuJoCo documentation, mjData: `cinert`, `cvel` and `cfrc_ext`, in world axes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dynenvs.jit.compiled import entry, inlined
from dynenvs.jit.views import unowned, vector
from dynenvs.kinematics.poses import center_from_origin, update_poses, update_velocities
from dynenvs.kinematics.triples import (
    Three,
    add,
    cross,
    dot,
    entries,
    into_body,
    put_entries,
    scaled,
    subtract,
)
from dynenvs.memory.layout import (
    Bytes,
    Floats,
    Ints,
    Matrices,
    Matrix,
    WorkView,
    open_model,
    open_world,
)
from dynenvs.simulation.batch import add_wrenches
from dynenvs.simulation.progress import APART, claim, leave


class Bodies(NamedTuple):
    """Of each world, then of each of n bodies of the file; world axes."""

    origins: Matrices  # of all nb bodies of the model [m], shape (count, nb, 3)
    rotations: Matrices  # of the same, row by row, shape (count, nb, 9)
    centers: Matrix  # centre of mass of the robot [m], shape (count, 3)
    offsets: Matrices  # from there to each body's own [m], shape (count, n, 3)
    inertias: Matrices  # (xx, yy, zz, xy, xz, yz), mass times place, mass; shape (count, n, 10)
    velocities: Matrices  # angular and linear velocity, shape (count, n, 6)
    forces: Matrices  # moment and force of contacts, shape (count, n, 6)
    wrenches: Matrices  # scratch, shape (count, nb, 6)


def new_bodies(count: int, nb: int, n: int) -> Bodies:
    """Room for them."""
    shapes = (nb, 3), (nb, 9), (3,), (n, 3), (n, 10), (n, 6), (n, 6), (nb, 6)
    return Bodies(*(np.zeros((count, *shape)) for shape in shapes))


@entry(seconds=3.0)
def read_bodies(
    packed: Bytes,
    rows: Bytes,
    buffers: Bytes,
    links: Ints,
    mask: Bytes,
    out: Bodies,
    timestep: float,
    whole: bool,
    progress: Ints,
    thread: int,
) -> None:
    """Fill in what belongs to the worlds of the mask, as far as no other thread has.

    links: the n bodies, of those of the model
    timestep: over which contacts gave what they gave last [s]
    whole: whether more than poses is wanted
    """
    packed, rows, buffers = unowned(packed), unowned(rows), unowned(buffers)
    links, mask, out = unowned(links), unowned(mask), unowned(out)
    h = open_model(packed).header[0]
    buffer = vector(buffers, thread * (h.workspace_bytes + APART), h.workspace_bytes, np.uint8)
    k = claim(progress, thread, mask.shape[0])
    while k < mask.shape[0]:
        if mask[k] != 0:
            row = vector(rows, k * h.state_bytes, h.state_bytes, np.uint8)
            w, wrenches = open_world(packed, row, buffer), out.wrenches[k]
            w.answer[0].poses_valid = 0
            update_poses(w, w.q, w.pose)
            for i in range(h.nb):
                put_entries(out.origins[k, i], 0, entries(w.pose[i].p, 0))
                for r in range(9):
                    out.rotations[k, i, r] = w.pose[i].R[r // 3, r % 3]
                for r in range(6):
                    wrenches[i, r] = 0.0
            if whole:
                update_velocities(w, w.v)
                if h.nc > 0:
                    add_wrenches(w, wrenches)
                _write(w, links, out, k, timestep)
        k = claim(progress, thread, mask.shape[0])
    leave(progress, thread)


@inlined
def _write(w: WorkView, links: Ints, out: Bodies, k: int, timestep: float) -> None:
    """What is told of world k, whose poses, velocities and wrenches are known."""
    total, middle = 0.0, (0.0, 0.0, 0.0)
    for i in range(links.shape[0]):
        body = links[i]
        mass = w.bodies[body].mass
        c = add(center_from_origin(w, body), entries(w.pose[w.bodies[body].root].p, 0))
        put_entries(out.offsets[k, i], 0, c)
        total, middle = total + mass, add(middle, scaled(mass, c))
    middle = (middle[0] / total, middle[1] / total, middle[2] / total)
    put_entries(out.centers[k], 0, middle)
    for i in range(links.shape[0]):
        body = links[i]
        c = subtract(entries(out.offsets[k, i], 0), middle)
        put_entries(out.offsets[k, i], 0, c)
        _write_inertia(w, body, c, out.inertias[k, i])
        turn, slide = entries(w.body[body].v, 0), entries(w.body[body].v, 3)
        arm = subtract(middle, entries(w.pose[w.bodies[body].root].p, 0))
        put_entries(out.velocities[k, i], 0, turn)
        put_entries(out.velocities[k, i], 3, add(slide, cross(turn, arm)))
        given, force = out.wrenches[k, body], out.forces[k, i]
        for r in range(6):
            force[r] = given[r] / timestep
        moment = add(entries(force, 0), cross(c, entries(force, 3)))
        put_entries(force, 0, moment)


@inlined
def _write_inertia(w: WorkView, body: int, c: Three, out: Floats) -> None:
    """R I R^T + m (|c|^2 1 - c c^T) in MuJoCo's order, m c, m."""
    R, B, mass = w.pose[body].R, w.bodies[body].inertia, w.bodies[body].mass
    x, y, z = entries(R[0], 0), entries(R[1], 0), entries(R[2], 0)
    Bx, By, Bz = into_body(B, x), into_body(B, y), into_body(B, z)
    first = scaled(mass, c)
    out[0] = dot(Bx, x) + first[1] * c[1] + first[2] * c[2]
    out[1] = dot(By, y) + first[0] * c[0] + first[2] * c[2]
    out[2] = dot(Bz, z) + first[0] * c[0] + first[1] * c[1]
    out[3] = dot(Bx, y) - first[0] * c[1]
    out[4] = dot(Bx, z) - first[0] * c[2]
    out[5] = dot(By, z) - first[1] * c[2]
    put_entries(out, 6, first)
    out[9] = mass
