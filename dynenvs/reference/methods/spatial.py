"""Spatial vectors in body frames, as matrices (Featherstone 2008, chapter 2).

Motion vectors are (angular; linear), force vectors (moment; force).  The kernels of
`dynenvs.kinematics.spatial` work in world axes on preallocated memory; here clarity and any number
type come first (docs/theory.md, Spatial vectors).
"""

from __future__ import annotations

from dynenvs.reference.methods.scalars import Array, Scalars


def cross_matrix(u: Array, scalars: Scalars) -> Array:
    """[u x], shape (3, 3), of u, shape (3,)."""
    out = scalars.zeros(3, 3)
    out[0, 1], out[0, 2], out[1, 2] = -u[2], u[1], -u[0]
    out[1, 0], out[2, 0], out[2, 1] = u[2], -u[1], u[0]
    return out


def motion_transform(R: Array, p: Array, scalars: Scalars) -> Array:
    """X = [[R^T, 0], [-R^T p x, R^T]]: motion vectors from a frame to the one at (R, p) in it."""
    X = scalars.zeros(6, 6)
    X[:3, :3] = X[3:, 3:] = R.T
    X[3:, :3] = -(R.T @ cross_matrix(p, scalars))
    return X


def lift_inertia(A: Array, R: Array, p: Array, scalars: Scalars) -> Array:
    """X^T A X of a symmetric A = [[J, H], [H^T, M]], by blocks and halves, shape (6, 6).

    With primes for blocks turned into the parent's axes, K = H' + p x M':
    [[J' + p x H'^T - K p x, K], [K^T, M']] (Featherstone 2008, section 7.2.2).
    """
    J, H, M = turned(A[:3, :3], R), R @ A[:3, 3:] @ R.T, turned(A[3:, 3:], R)
    across = cross_matrix(p, scalars)
    K = H + across @ M
    out = scalars.zeros(6, 6)
    for i in range(3):
        for j in range(i, 3):
            out[i, j] = out[j, i] = J[i, j] + across[i] @ H[j] - K[i] @ across[:, j]
    out[:3, 3:], out[3:, :3], out[3:, 3:] = K, K.T, M
    return out


def turned(A: Array, R: Array) -> Array:
    """R A R^T of a symmetric A, shape (3, 3): one half is computed."""
    half = R @ A
    out = half.copy()
    for i in range(3):
        for j in range(i, 3):
            out[i, j] = out[j, i] = half[i] @ R[j]
    return out


def motion_cross(v: Array, scalars: Scalars) -> Array:
    """v x = [[w x, 0], [v x, w x]], shape (6, 6); v x* of forces is its negative transpose."""
    out = scalars.zeros(6, 6)
    out[:3, :3] = out[3:, 3:] = cross_matrix(v[:3], scalars)
    out[3:, :3] = cross_matrix(v[3:], scalars)
    return out


def rigid_inertia(mass: float, com: Array, inertia: Array, scalars: Scalars) -> Array:
    """[[I_C + m c x c x^T, m c x], [m c x^T, m 1]], shape (6, 6); `inertia` about the centre."""
    out = scalars.zeros(6, 6)
    m, c = scalars.number(mass), cross_matrix(scalars.array(com), scalars)
    out[:3, :3] = scalars.array(inertia) + m * (c @ c.T)
    out[:3, 3:] = m * c
    out[3:, :3] = m * c.T
    for k in range(3, 6):
        out[k, k] = m
    return out
