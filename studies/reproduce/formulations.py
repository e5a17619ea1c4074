"""Two ways to write the same contact problem as an LCP w = A z + b >= 0, z >= 0, w'z = 0.

Stewart and Trinkle sort by kind: all normal impulses, all friction impulses, all slips, with the
mass matrix and the Jacobians of all contacts.  Jain's minimal coordinates sort by contact, with the
operational-space compliance alone (Jain et al. 2012, eq. 28; see docs/theory.md, The LCP).
One is a permutation of the other.  The step solves its own, leaner form of this problem
(`rows.py`); these are references, written out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynenvs.memory.layout import Floats


def stewart_trinkle(
    mass: ArrayLike, normals: ArrayLike, directions: ArrayLike, friction: ArrayLike, v: ArrayLike
) -> tuple[Floats, Floats]:
    """(A, b) sorted by kind, z = (p_n, p_d, sigma).

    Args:
        mass: mass matrix M, shape (nv, nv).
        normals: N, the normal rows of the contacts' Jacobian, shape (nc, nv).
        directions: B, the rows of all friction directions, contact by contact, (nc nd, nv).
        friction: coefficients mu, shape (nc,).
        v: velocity without contact impulses [rad/s, m/s], shape (nv,).

    Raises:
        ValueError: shapes that do not fit each other.
    """
    N, B, mu = (np.asarray(x, dtype=np.float64) for x in (normals, directions, friction))
    velocity = np.asarray(v, dtype=np.float64)
    nc, nd = _counts(mu, len(B))
    if N.shape != (nc, len(velocity)) or B.shape[1:] != N.shape[1:]:
        raise ValueError(f"N {N.shape} and B {B.shape} must have {nc} rows and a multiple of it")
    E = np.kron(np.eye(nc), np.ones((nd, 1)))
    J = np.vstack([N, B])
    size = nc * (2 + nd)
    A, b = np.zeros((size, size)), np.zeros(size)
    moved = nc * (1 + nd)
    A[:moved, :moved] = J @ np.linalg.solve(np.asarray(mass, dtype=np.float64), J.T)
    A[nc:moved, moved:] = E
    A[moved:, :nc] = np.diag(mu)
    A[moved:, nc:moved] = -E.T
    b[:moved] = J @ velocity
    return A, b


def minimal_coordinates(
    compliance: ArrayLike, frames: ArrayLike, friction: ArrayLike, velocities: ArrayLike
) -> tuple[Floats, Floats]:
    """(A, b) sorted by contact, z = (beta, sigma): each beta = (p_n, p_d).

    Args:
        compliance: Lambda between the contacts' nodes, world axes, shape (3 nc, 3 nc).
        frames: D, unit vectors of each contact: the normal, then the directions; (nc, 1 + nd, 3).
        friction: coefficients mu, shape (nc,).
        velocities: of the nodes without contact impulses, world axes [m/s], shape (nc, 3).

    Raises:
        ValueError: shapes that do not fit each other.
    """
    Lambda, D, mu = (np.asarray(x, dtype=np.float64) for x in (compliance, frames, friction))
    V = np.asarray(velocities, dtype=np.float64)
    nc = len(mu)
    if D.ndim != 3 or D.shape[::2] != (nc, 3) or V.shape != (nc, 3):
        raise ValueError(f"frames {D.shape} and velocities {V.shape} are not of {nc} contacts")
    if Lambda.shape != (3 * nc, 3 * nc):
        raise ValueError(f"compliance must have shape {(3 * nc, 3 * nc)}, got {Lambda.shape}")
    each = D.shape[1]
    rows = np.zeros((nc * each, 3 * nc))
    cone = np.zeros((nc, nc * each))
    for i in range(nc):
        rows[i * each : (i + 1) * each, 3 * i : 3 * i + 3] = D[i]
        cone[i, i * each : (i + 1) * each] = [mu[i], *[-1.0] * (each - 1)]
    moved = nc * each
    size = moved + nc
    A, b = np.zeros((size, size)), np.zeros(size)
    A[:moved, :moved] = rows @ Lambda @ rows.T
    A[:moved, moved:] = (cone < 0.0).T
    A[moved:, :moved] = cone
    b[:moved] = rows @ V.ravel()
    return A, b


def by_kind(contacts: int, directions: int) -> NDArray[np.int64]:
    """Where Stewart and Trinkle's variables stand among the minimal coordinates' ones.

    With i this permutation, `A[np.ix_(i, i)]` and `b[i]` of one are A and b of the other.
    """
    each = 1 + directions
    first = each * np.arange(contacts)
    along = (first[:, None] + np.arange(1, each)).ravel()
    return np.concatenate([first, along, each * contacts + np.arange(contacts)])


def _counts(friction: Floats, rows: int) -> tuple[int, int]:
    """Number of contacts, and of directions of each."""
    nc = len(friction)
    if friction.ndim != 1 or nc == 0 or rows % nc:
        raise ValueError(f"{rows} direction rows do not belong to {friction.shape} coefficients")
    return nc, rows // nc
