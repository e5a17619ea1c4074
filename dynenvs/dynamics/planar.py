"""The two passes of `motion.py` for models that move in the x-z plane: a third of the work.

Where every axis is along y and every slide in the plane, velocities have three components: turn
rate, x and z.  Only masses, centres (x, z) and moments about y matter, whatever the bodies' depth:
the same algorithms (Featherstone 2008, tables 5.1 and 6.2) in planar vectors.
"""

from __future__ import annotations

from dynenvs.jit.compiled import kernel
from dynenvs.kinematics.rotation import rotate
from dynenvs.memory.layout import Floats, Records, StateView
from dynenvs.memory.records import REVOLUTE


@kernel
def planar_passes(
    w: StateView,
    poses: Records,
    works: Records,
    axes: Floats,
    v: Floats,
    dt: float,
    M: Floats,
    bias: Floats,
) -> None:
    """What `motion.motion_passes` does; composite inertias are planar (mc; hc x, z; Ic yy)."""
    bodies, dofs, world, g = w.bodies, w.dofs, works[0], w.header[0].gravity
    for k in range(6):
        world.v[k] = world.a[k] = 0.0
    world.a[3], world.a[5] = -g[0], -g[2]
    # Pass 1: velocities, bias accelerations and body forces, base to tips
    for i in range(1, bodies.shape[0]):
        body, work, pose = bodies[i], works[i], poses[i]
        # The parent's motion: turn rate about y, velocity in the plane
        up, origin = works[body.parent], poses[body.root].p
        turn, vx, vz = up.v[1], up.v[3], up.v[5]
        spin, ax, az = up.a[1], up.a[3], up.a[5]
        if body.nv > 0:
            # Its own joint adds to it
            j, rate = body.v_at, v[body.v_at]
            axis = axes[j]
            axis[0] = axis[1] = axis[2] = axis[4] = 0.0
            if body.joint == REVOLUTE:
                axis[1] = body.sign
                axis[3] = -(pose.p[2] - origin[2]) * axis[1]
                axis[5] = (pose.p[0] - origin[0]) * axis[1]
                ax -= vz * axis[1] * rate
                az += vx * axis[1] * rate
            else:
                axis[3], _, axis[5] = rotate(pose.R, body.axis)
            # The product of turn rate and the joint's own velocity
            ax += turn * axis[5] * rate
            az -= turn * axis[3] * rate
            turn += axis[1] * rate
            vx, vz = vx + axis[3] * rate, vz + axis[5] * rate
        work.v[0] = work.v[2] = work.v[4] = 0.0
        work.v[1], work.v[3], work.v[5] = turn, vx, vz
        work.a[1], work.a[3], work.a[5] = spin, ax, az
        # Inertia and force at the tree's origin, as far as the plane sees them
        mass = body.mass * w.mass_scale[i]
        fy, fx, fz = 0.0, 0.0, 0.0
        hx, hz, moment, kinetic = 0.0, 0.0, 0.0, 0.0
        e = w.wrench[i]
        pushed = e[1] != 0.0 or e[3] != 0.0 or e[5] != 0.0
        if mass > 0.0 or pushed:
            R, c = pose.R, body.com
            x = R[0, 0] * c[0] + R[0, 1] * c[1] + R[0, 2] * c[2] + pose.p[0] - origin[0]
            z = R[2, 0] * c[0] + R[2, 1] * c[1] + R[2, 2] * c[2] + pose.p[2] - origin[2]
            hx, hz = mass * x, mass * z
            moment = w.mass_scale[i] * body.plane_moment + hx * x + hz * z
            # f = I a + v x* I v
            px, pz = mass * vx + hz * turn, mass * vz - hx * turn
            kinetic = 0.5 * (turn * (moment * turn + hz * vx - hx * vz) + vx * px + vz * pz)
            fx = mass * ax + hz * spin + turn * pz
            fz = mass * az - hx * spin - turn * px
            fy = moment * spin + hz * ax - hx * az + vz * px - vx * pz
            fx, fz = fx - e[3], fz - e[5]
            fy -= e[1] + z * e[3] - x * e[5]
        work.kinetic = kinetic
        work.mc, work.hc[0], work.hc[2], work.Ic[1, 1] = mass, hx, hz, moment
        work.f[1], work.f[3], work.f[5] = fy, fx, fz
    # Pass 2: forces and composite inertias, tips to base
    for i in range(bodies.shape[0] - 1, 0, -1):
        body, work = bodies[i], works[i]
        mass, hx, hz, moment = work.mc, work.hc[0], work.hc[2], work.Ic[1, 1]
        fy, fx, fz = work.f[1], work.f[3], work.f[5]
        # The row of M^ and the bias of its one coordinate
        if body.nv > 0:
            j = body.v_at
            dof = dofs[j]
            sy, sx, sz = axes[j, 1], axes[j, 3], axes[j, 5]
            bias[j] = sy * fy + sx * fx + sz * fz + dof.damping * v[j]
            iy = moment * sy + hz * sx - hx * sz
            ix, iz = mass * sx + hz * sy, mass * sz - hx * sy
            for k in range(j):
                M[j, k] = 0.0
            M[j, j] = sy * iy + sx * ix + sz * iz + dof.armature + dt * dof.damping
            k = dof.parent
            while k >= 0:
                M[j, k] = axes[k, 1] * iy + axes[k, 3] * ix + axes[k, 5] * iz
                k = dofs[k].parent
        # One origin a tree: sums without transformation
        if body.parent > 0:
            up = works[body.parent]
            up.mc += mass
            up.hc[0] += hx
            up.hc[2] += hz
            up.Ic[1, 1] += moment
            up.f[1] += fy
            up.f[3] += fx
            up.f[5] += fz
