"""Four worlds abreast: the motion without contacts, handed to each world's own step.

What a step does until contacts come in takes the same way whatever the state: poses, equations of
motion, factors, one solve.  Four worlds go that way abreast, each in its lane of the vector
registers; contacts, which part the ways, follow world by world.  Poses and equations of motion are
those of the single world, compiled for lanes; factors and the solve do the same operations in the
same order.  So the bits are those of `timestep.free_motion`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dynenvs.dynamics.motion import motion_passes
from dynenvs.jit.compiled import apart, inlined
from dynenvs.kinematics.joints import place_body
from dynenvs.memory.layout import (
    Bytes,
    Floats,
    ModelView,
    Records,
    open_model,
    open_state,
    open_workspace,
)
from dynenvs.memory.records import (
    AT_COSINE,
    AT_P,
    AT_R,
    AT_SINE,
    AT_V,
    POSE_WORDS,
    REVOLUTE,
    WORK_WORDS,
)
from dynenvs.memory.views import matrix, vector, words
from dynenvs.simd.lanes import get, join, like, put, sine_cosine_lanes, split
from dynenvs.simd.vectors import WIDTH


class AbreastView(NamedTuple):
    """What `StateView` and `WorkspaceView` hold of one world: flat entries, shapes (n, WIDTH)."""

    poses: Floats  # nb times POSE_WORDS entries
    works: Floats  # nb times WORK_WORDS
    M: Floats  # mass matrix, then its factors, nv times nv
    S: Floats  # nv times 6
    v: Floats  # nv, as are the next two
    x: Floats  # velocity without contacts
    bias: Floats
    wrench: Floats  # nb times 6
    scale: Floats  # of the bodies' masses, nb
    q: Floats  # nq


@inlined
def open_abreast(m: ModelView, buffer: Bytes) -> AbreastView:
    """The view of a workspace's `lanes`; their size is `layout.lanes_bytes`."""
    h = m.header[0]
    nb, nv, entry = h.nb, h.nv, 8 * WIDTH
    poses = h.lanes_at
    works = poses + entry * POSE_WORDS * nb
    M = works + entry * WORK_WORDS * nb
    S = M + entry * nv * nv
    v = S + entry * 6 * nv
    wrench = v + entry * 3 * nv
    scale = wrench + entry * 6 * nb
    return AbreastView(
        matrix(buffer, poses, POSE_WORDS * nb, WIDTH, np.float64),
        matrix(buffer, works, WORK_WORDS * nb, WIDTH, np.float64),
        matrix(buffer, M, nv * nv, WIDTH, np.float64),
        matrix(buffer, S, 6 * nv, WIDTH, np.float64),
        matrix(buffer, v, nv, WIDTH, np.float64),
        matrix(buffer, v + entry * nv, nv, WIDTH, np.float64),
        matrix(buffer, v + 2 * entry * nv, nv, WIDTH, np.float64),
        matrix(buffer, wrench, 6 * nb, WIDTH, np.float64),
        matrix(buffer, scale, nb, WIDTH, np.float64),
        matrix(buffer, scale + entry * nb, h.nq, WIDTH, np.float64),
    )


@apart("int64(uint8[::1], uint8[::1], uint8[::1], int64, int64, float64)", "batch", seconds=9)
def free_abreast(
    packed: Bytes, rows: Bytes, buffers: Bytes, stride: int, count: int, dt: float
) -> int:
    """Poses, axes, velocities, factors and `v_free` of `count` worlds, into their workspaces.

    rows: of that many worlds, one after the other; buffers: a workspace for each, its torques in
    `tau`, `stride` bytes apart; needs `header.abreast`.
    Returns for which worlds it is done, bit by bit.
    """
    m = open_model(packed)
    h = m.header[0]
    w = open_abreast(m, vector(buffers, 0, h.workspace_bytes, np.uint8))
    last = count - 1  # lanes that are left over repeat it
    b, c, d = min(1, last), min(2, last), min(3, last)
    worlds = (
        open_state(m, vector(rows, 0, h.state_bytes, np.uint8)),
        open_state(m, vector(rows, b * h.state_bytes, h.state_bytes, np.uint8)),
        open_state(m, vector(rows, c * h.state_bytes, h.state_bytes, np.uint8)),
        open_state(m, vector(rows, d * h.state_bytes, h.state_bytes, np.uint8)),
    )
    rooms = (
        open_workspace(m, vector(buffers, 0, h.workspace_bytes, np.uint8)),
        open_workspace(m, vector(buffers, b * stride, h.workspace_bytes, np.uint8)),
        open_workspace(m, vector(buffers, c * stride, h.workspace_bytes, np.uint8)),
        open_workspace(m, vector(buffers, d * stride, h.workspace_bytes, np.uint8)),
    )
    s0, s1, s2, s3 = worlds
    nb, nv = h.nb, h.nv
    _gather(w.q, h.nq, s0.q, s1.q, s2.q, s3.q)
    _gather(w.v, nv, s0.v, s1.v, s2.v, s3.v)
    _gather(w.scale, nb, s0.mass_scale, s1.mass_scale, s2.mass_scale, s3.mass_scale)
    n = 6 * nb
    wrenches = words(s0.wrench, n), words(s1.wrench, n), words(s2.wrench, n), words(s3.wrench, n)
    _gather(w.wrench, n, *wrenches)
    _pose_all(m.bodies, w)
    motion_passes(
        m.header, m.bodies, m.dofs, w.v, w.wrench, w.scale, w.poses, w.works, w.S, dt, w.M, w.bias
    )
    done = _factorise(m.dofs, w.M)
    r0, r1, r2, r3 = rooms
    for j in range(h.nv):
        tau = join(r0.tau[j], r1.tau[j], r2.tau[j], r3.tau[j])
        put(w.x, j, dt * (tau - get(w.bias, j)))
    _solve(m.dofs, w.M, w.x)
    for j in range(h.nv):
        put(w.x, j, get(w.x, j) + get(w.v, j))
    _hand_over(m, w, r0, r1, r2, r3)
    return done & ((1 << count) - 1)


@inlined
def _gather(out: Floats, n: int, a: Floats, b: Floats, c: Floats, d: Floats) -> None:
    for i in range(n):
        put(out, i, join(a[i], b[i], c[i], d[i]))


@inlined
def _pose_all(bodies: Records, w: AbreastView) -> None:
    """`kinematics.update_poses`, for bodies whose axes are not all parallel."""
    for k in range(3):
        put(w.poses, AT_P + k, like(w.poses, 0.0))
        for c in range(3):
            put(w.poses, AT_R + 3 * k + c, like(w.poses, 1.0 if k == c else 0.0))
    for i in range(1, bodies.shape[0]):
        body, own = bodies[i], POSE_WORDS * i
        if body.joint == REVOLUTE:
            sine, cosine = sine_cosine_lanes(get(w.q, body.q_at))
            put(w.poses, own + AT_SINE, sine)
            put(w.poses, own + AT_COSINE, cosine)
        place_body(body, i, w.q, w.poses)


@inlined
def _factorise(dofs: Records, M: Floats) -> int:
    """`factor.factor_in_place`; returns in which worlds M was positive definite, bit by bit."""
    nv, done = dofs.shape[0], (1 << WIDTH) - 1
    for k in range(nv - 1, -1, -1):
        row = nv * k
        pivot = get(M, row + k)
        a, b, c, d = split(pivot)
        if not (a > 0.0 and b > 0.0 and c > 0.0 and d > 0.0):  # catches NaN too
            positive = (1 if a > 0.0 else 0) + (2 if b > 0.0 else 0)
            done &= positive + (4 if c > 0.0 else 0) + (8 if d > 0.0 else 0)
        inverse = 1.0 / pivot
        put(M, row + k, inverse)
        i = dofs[k].parent
        while i >= 0:
            ratio = get(M, row + i) * inverse
            j = i
            while j >= 0:
                put(M, nv * i + j, get(M, nv * i + j) - ratio * get(M, row + j))
                j = dofs[j].parent
            put(M, row + i, ratio)
            i = dofs[i].parent
    return done


@inlined
def _solve(dofs: Records, L: Floats, x: Floats) -> None:
    """`factor.solve_factors`."""
    nv = dofs.shape[0]
    for i in range(nv - 1, -1, -1):
        own = get(x, i)
        j = dofs[i].parent
        while j >= 0:
            put(x, j, get(x, j) - get(L, nv * i + j) * own)
            j = dofs[j].parent
    for i in range(nv):
        total = get(x, i) * get(L, nv * i + i)
        j = dofs[i].parent
        while j >= 0:
            total = total - get(L, nv * i + j) * get(x, j)
            j = dofs[j].parent
        put(x, i, total)


@inlined
def _hand_over(m: ModelView, w: AbreastView, r0: Any, r1: Any, r2: Any, r3: Any) -> None:
    """What the rest of a step reads, to each world's workspace."""
    h = m.header[0]
    nv = h.nv
    for answer in (r0.answer[0], r1.answer[0], r2.answer[0], r3.answer[0]):
        answer.recursive = 0
    for i in range(h.nb):
        for k in range(9):
            a, b, c, d = split(get(w.poses, POSE_WORDS * i + AT_R + k))
            x, y = k // 3, k % 3
            r0.pose[i].R[x, y], r1.pose[i].R[x, y] = a, b
            r2.pose[i].R[x, y], r3.pose[i].R[x, y] = c, d
        for k in range(3):
            a, b, c, d = split(get(w.poses, POSE_WORDS * i + AT_P + k))
            r0.pose[i].p[k], r1.pose[i].p[k], r2.pose[i].p[k], r3.pose[i].p[k] = a, b, c, d
        for k in range(6):
            a, b, c, d = split(get(w.works, WORK_WORDS * i + AT_V + k))
            r0.body[i].v[k], r1.body[i].v[k], r2.body[i].v[k], r3.body[i].v[k] = a, b, c, d
    for i in range(nv):
        for k in range(6):
            a, b, c, d = split(get(w.S, 6 * i + k))
            r0.S[i, k], r1.S[i, k], r2.S[i, k], r3.S[i, k] = a, b, c, d
        a, b, c, d = split(get(w.x, i))
        r0.v_free[i], r1.v_free[i], r2.v_free[i], r3.v_free[i] = a, b, c, d
        j = i
        while j >= 0:
            a, b, c, d = split(get(w.M, nv * i + j))
            r0.L[i, j], r1.L[i, j], r2.L[i, j], r3.L[i, j] = a, b, c, d
            j = m.dofs[j].parent
