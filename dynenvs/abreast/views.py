"""Room for what is worked out in lanes: part of a workspace."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dynenvs.compiled import inlined
from dynenvs.layout import Bytes, Floats, ModelView
from dynenvs.simd import WIDTH
from dynenvs.views import vector


class AbreastView(NamedTuple):
    """Arrays of lanes; the shapes tell their entries."""

    q: Floats  # (nq,)
    v: Floats  # (nv,)
    x: Floats  # velocity without contacts, (nv,)
    bias: Floats  # (nv,)
    M: Floats  # mass matrix, then its factors; off the ways to the root nothing stands, (nv, nv)
    S: Floats  # joint axes, (nv, 6)
    scale: Floats  # of the bodies' masses, (nb,)
    R: Floats  # (nb, 9)
    p: Floats  # (nb, 3)
    frame: Floats  # of free joints, (nb, 9)
    V: Floats  # spatial velocities, (nb, 6)
    a: Floats  # bias accelerations, (nb, 6)
    f: Floats  # forces, (nb, 6)
    mass: Floats  # composite inertias: mass, (nb,)
    h: Floats  # mass times centre of mass, (nb, 3)
    I: Floats  # xx, xy, xz, yy, yz, zz, (nb, 6)


@inlined
def open_abreast(m: ModelView, buffer: Bytes) -> AbreastView:
    """The view of a workspace's `lanes`."""
    h = m.header[0]
    nb, nq, nv, at = h.nb, h.nq, h.nv, h.lanes_at
    c, d = 8 * WIDTH * nv, 8 * WIDTH * nb  # bytes of a number for each coordinate, each body
    bodies = at + 8 * WIDTH * nq + (9 + nv) * c
    n, k = WIDTH * nv, WIDTH * nb
    return AbreastView(
        vector(buffer, at + (9 + nv) * c, WIDTH * nq, np.float64),
        vector(buffer, at, n, np.float64),
        vector(buffer, at + c, n, np.float64),
        vector(buffer, at + 2 * c, n, np.float64),
        vector(buffer, at + 9 * c, n * nv, np.float64),
        vector(buffer, at + 3 * c, 6 * n, np.float64),
        vector(buffer, bodies, k, np.float64),
        vector(buffer, bodies + d, 9 * k, np.float64),
        vector(buffer, bodies + 10 * d, 3 * k, np.float64),
        vector(buffer, bodies + 13 * d, 9 * k, np.float64),
        vector(buffer, bodies + 22 * d, 6 * k, np.float64),
        vector(buffer, bodies + 28 * d, 6 * k, np.float64),
        vector(buffer, bodies + 34 * d, 6 * k, np.float64),
        vector(buffer, bodies + 40 * d, k, np.float64),
        vector(buffer, bodies + 41 * d, 3 * k, np.float64),
        vector(buffer, bodies + 44 * d, 6 * k, np.float64),
    )
