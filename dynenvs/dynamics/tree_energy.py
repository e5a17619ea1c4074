"""Kinetic energy of each tree, and all of a world's, at velocities of any origin."""

from __future__ import annotations

from dynenvs.dynamics.springs import spring_energy
from dynenvs.jit.compiled import inlined, kernel
from dynenvs.kinematics.rotation import rotate
from dynenvs.kinematics.triples import (
    cross,
    dot,
    entries,
    into_body,
    plus,
    put_entries,
    scaled,
    subtract,
)
from dynenvs.memory.layout import Floats, Records, WorkView, WorldView
from dynenvs.memory.records import FREE, PRISMATIC, REVOLUTE, SCREW


@inlined
def clear_trees(w: WorkView) -> None:
    """Forget the energies of trees, `w.whirl`."""
    for t in range(w.header[0].ntrees):
        for k in range(3):
            w.whirl[t, k] = 0.0


@kernel
def energy_at(w: WorldView, poses: Records, q: Floats, v: Floats) -> float:
    """Energy [J] of all trees and springs, and in `w.answer.kinetic` the kinetic one.

    poses: of the positions q, shape (nq,); v: velocities, shape (nv,)
    """
    answer, g = w.answer[0], w.header[0].gravity
    clear_trees(w)
    add_kinetic(w, poses, v, 0)
    answer.kinetic = 0.0
    # All trees, in their order: the same bits on every machine
    for t in range(w.header[0].ntrees):
        answer.kinetic += w.whirl[t, 0]
    energy = float(answer.kinetic)
    # Potential energy of the centres of mass
    for i in range(1, w.header[0].nb):
        pose, body = poses[i], w.bodies[i]
        place = plus(entries(pose.p, 0), 1.0, rotate(pose.R, body.com))
        energy -= body.mass * w.mass_scale[i] * dot(entries(g, 0), place)
    if w.header[0].sprung:
        energy += spring_energy(w, q)
    return energy


@kernel
def add_kinetic(w: WorldView, poses: Records, v: Floats, index: int) -> None:
    """Add the kinetic energy of each tree, rotors included, to `w.whirl[:, index]`.

    Velocities of bodies' origins (angular; linear) stand in `w.body.pA` meanwhile.
    """
    trees = w.whirl
    for l in range(6):
        w.body[0].pA[l] = 0.0
    for i in range(1, w.header[0].nb):
        # With the parent: its turn carries the body's origin along
        body, pose, up = w.bodies[i], poses[i], w.body[w.bodies[i].parent].pA
        turn = entries(up, 0)
        arm = subtract(entries(pose.p, 0), entries(poses[body.parent].p, 0))
        slide = plus(entries(up, 3), 1.0, cross(turn, arm))
        # Then by the joint's own motion
        at = body.v_at
        if body.joint == REVOLUTE:
            turn = plus(turn, v[at], rotate(pose.R, body.axis))
        elif body.joint == PRISMATIC:
            slide = plus(slide, v[at], rotate(pose.R, body.axis))
        elif body.joint == SCREW:
            axis = scaled(v[at], rotate(pose.R, body.axis))
            turn, slide = plus(turn, 1.0, axis), plus(slide, body.pitch, axis)
        elif body.nv > 1:
            if body.joint == FREE:
                slide = plus(slide, 1.0, rotate(pose.frame, entries(v, at)))
                at += 3
            turn = plus(turn, 1.0, rotate(pose.R, entries(v, at)))
        put_entries(w.body[i].pA, 0, turn)
        put_entries(w.body[i].pA, 3, slide)
        # The energy of its centre's motion and of its turn; what is held counts nothing
        if body.tree >= 0:
            speed = plus(slide, 1.0, cross(turn, rotate(pose.R, body.com)))
            own = into_body(pose.R, turn)
            twice = body.mass * dot(speed, speed) + dot(own, rotate(body.inertia, own))
            trees[body.tree, index] += 0.5 * w.mass_scale[i] * twice
    # Rotors turn with their joints alone
    for j in range(w.header[0].nv):
        if w.dofs[j].tree >= 0:
            trees[w.dofs[j].tree, index] += 0.5 * w.dofs[j].armature * v[j] * v[j]
