"""Motion in contact coordinates q = (s1, t1, s2, t2, psi) (Pai, Ascher and Kry 2000, section 6).

Body 1 slides on body 2, which stands still; psi turns one contact frame against the other.  With
the corrections to the printed equations that docs/theory.md, Contact coordinates explains:

    H = [H1, -diag(R_psi, R_psi) H2, +H_psi],  H_psi = (0, 0, -1, 0, 0, 0)^T        (12)
    phi_1 = -Ad H qd = H~ qd: velocity of body 1, its own frame
    H~^T M H~ qdd = H~^T (f_ext + [phi]^T M phi - M dH~/dt qd)                      (14)
    wrench f = M dphi/dt - [phi]^T M phi - f_ext: purely normal

dH~/dt is exact: H~ is evaluated at q + i eps qd, whose imaginary part is its derivative.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dynenvs.memory.layout import Floats
from dynenvs.model.parts import check_mass, inertia_matrix, vector3
from dynenvs.reference.surfaces.parametric import Array, Jet, Surface

STEP = 1e-30  # of complex differentiation: no cancellation, so as small as one likes


class Pose(NamedTuple):
    """Body 1 in body 2's frame."""

    rotation: Array  # shape (3, 3)
    position: Array  # of body 1's origin [m], shape (3,)


class SlidingContact:
    """A rigid body that slides on a fixed one without friction, touching at one point.

    A `System` for the integrators: positions and velocities have shape (5,).

    Args:
        moving: surface of body 1, in its frame.
        fixed: surface of body 2, in the world's frame.
        mass: of body 1 [kg].
        com: its centre of mass, body frame [m], shape (3,).
        inertia: about the centre of mass, body axes [kg m^2], shape (3,) or (3, 3).
        gravity: [m/s^2], world axes, shape (3,).
    """

    def __init__(
        self,
        moving: Surface,
        fixed: Surface,
        *,
        mass: float,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike = (0.0, 0.0, 0.0),
        gravity: ArrayLike = (0.0, 0.0, -9.81),
    ) -> None:
        self.moving, self.fixed = moving, fixed
        self.mass = mass
        self.com = vector3(np.asarray(com, dtype=float), "com")
        self.inertia = inertia_matrix(inertia, "moving")
        self.gravity = vector3(np.asarray(gravity, dtype=float), "gravity")
        check_mass("moving", mass, self.inertia)
        # Inertia about the body's origin, (angular; linear)
        c = _cross(self.com)
        self.M = np.zeros((6, 6))
        self.M[:3, :3] = self.inertia + mass * c @ c.T
        self.M[:3, 3:] = mass * c
        self.M[3:, :3] = mass * c.T
        self.M[3:, 3:] = mass * np.eye(3)

    # Kinematics

    def pose(self, q: Array) -> Pose:
        """Of body 1: 2E2c (1cE2c)^-1 (1E1c)^-1, where 1cE2c is its own inverse."""
        one, two = self.moving.jet(q[:2]), self.fixed.jet(q[2:4])
        R = frame(two) @ turn(q[4]) @ frame(one).T
        return Pose(R, two.c - R @ one.c)

    def subspace(self, q: Array) -> Array:
        """H~, shape (6, 5): body 1's velocity (angular; linear) in its own frame is H~ qd."""
        one, two = self.moving.jet(q[:2]), self.fixed.jet(q[2:4])
        R, psi = frame(one), turn(q[4])
        # Rates of both surfaces' contact frames, and of the angle between them
        H = np.zeros((6, 5), dtype=np.result_type(q, float))
        H[:, :2] = contact_rates(one)
        rates = contact_rates(two)
        H[:3, 2:4], H[3:, 2:4] = -psi @ rates[:3], -psi @ rates[3:]
        H[2, 4] = -1.0
        # Moved from the contact point to body 1's origin
        out = np.empty_like(H)
        out[:3] = -R @ H[:3]
        out[3:] = -(_cross(one.c) @ R @ H[:3] + R @ H[3:])
        return out

    def subspace_rate(self, q: Floats, v: Floats) -> Floats:
        """dH~/dt along the motion, shape (6, 5)."""
        rate: Floats = self.subspace(q + 1j * STEP * v).imag / STEP
        return rate

    def twist(self, q: Floats, v: Floats) -> Floats:
        """Body 1's velocity (angular; linear) in its own frame, shape (6,)."""
        found: Floats = self.subspace(q) @ v
        return found

    def center(self, q: Floats) -> Floats:
        """Body 1's centre of mass in the world [m], shape (3,)."""
        pose = self.pose(q)
        found: Floats = pose.position + pose.rotation @ self.com
        return found

    # Dynamics

    def _motion(self, q: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
        """H~, M (dphi/dt at qdd = 0) - [phi]^T M phi - f_ext, and qdd."""
        H = self.subspace(q)
        # What gravity and the velocity products ask of the motion
        phi = H @ v
        force = self.pose(q).rotation.T @ (self.mass * self.gravity)
        external = np.concatenate([cross(self.com, force), force])
        rest = self.M @ (self.subspace_rate(q, v) @ v) - bracket(phi).T @ self.M @ phi - external
        return H, rest, np.linalg.solve(H.T @ self.M @ H, -(H.T @ rest))

    def acceleration(self, time: float, q: Floats, v: Floats) -> Floats:
        """qdd, shape (5,), eq. (14)."""
        return self._motion(q, v)[2]

    def wrench(self, q: Floats, v: Floats) -> Floats:
        """Of the contact on body 1, contact frame 1: (moment [N m]; force [N]), shape (6,).

        Its normal force is minus the last entry: the frame's z points out of body 1.
        """
        H, rest, a = self._motion(q, v)
        # Moved into the contact frame, about the contact point
        f = self.M @ (H @ a) + rest
        one = self.moving.jet(q[:2])
        R = frame(one)
        return np.concatenate([R.T @ (f[:3] - cross(one.c, f[3:])), R.T @ f[3:]])

    def pressure(self, q: Floats, v: Floats) -> float:
        """Normal force that pushes the bodies apart [N]; where it is negative they part."""
        return -float(self.wrench(q, v)[5])

    def energy(self, q: Floats, v: Floats) -> float:
        """Kinetic plus potential energy [J], zero at the world's origin."""
        phi = self.twist(q, v)
        return float(phi @ self.M @ phi / 2 - self.mass * self.gravity @ self.center(q))

    def stiffness(self, q: Floats) -> float:
        """Smallest over largest singular value of H~: zero where the surfaces lie flat on each
        other (equal curvatures of opposite sense), or a chart is singular."""
        sigma = np.linalg.svd(self.subspace(q), compute_uv=False)
        return float(sigma[-1] / sigma[0])

    # What integrators ask for beside accelerations

    def rate(self, q: Floats, v: Floats) -> Floats:
        """qd = v."""
        return v

    def plus(self, q: Floats, step: Floats) -> Floats:
        """q + step."""
        return q + step

    def normalised(self, q: Floats) -> Floats:
        """q itself."""
        return q


def frame(jet: Jet) -> Array:
    """R = (x, y, z) with x along c_s, z outward, y = z x x, shape (3, 3)."""
    x = jet.s / _norm(jet.s)
    n = cross(jet.s, jet.t)
    z = n / _norm(n)
    return np.column_stack([x, cross(z, x), z])


def turn(psi: Any) -> Array:
    """1cE2c's rotation R_psi: involutory, it turns z over; shape (3, 3)."""
    c, s = np.cos(psi), np.sin(psi)
    return np.array([[c, -s, 0.0], [-s, -c, 0.0], [0.0, 0.0, -1.0]])


def contact_rates(jet: Jet) -> Array:
    """H_i = [vee(R^T R,s) vee(R^T R,t); R^T c,s R^T c,t], contact frame, shape (6, 2)."""
    R = frame(jet)
    columns = []
    for along, ds, dt in ((jet.s, jet.ss, jet.st), (jet.t, jet.st, jet.tt)):
        W = R.T @ _frame_rate(jet, R, ds, dt)
        columns.append(np.concatenate([[W[2, 1], W[0, 2], W[1, 0]], R.T @ along]))
    return np.column_stack(columns)


def _frame_rate(jet: Jet, R: Array, ds: Array, dt: Array) -> Array:
    """dR for changes ds, dt of c_s and c_t, shape (3, 3)."""
    x, z = R[:, 0], R[:, 2]
    dx = (ds - x * (x @ ds)) / _norm(jet.s)
    dn = cross(ds, jet.t) + cross(jet.s, dt)
    dz = (dn - z * (z @ dn)) / _norm(cross(jet.s, jet.t))
    return np.column_stack([dx, cross(dz, x) + cross(z, dx), dz])


def bracket(phi: Array) -> Array:
    """[phi] = [[w x, 0], [v x, w x]], shape (6, 6)."""
    out = np.zeros((6, 6))
    out[:3, :3] = out[3:, 3:] = _cross(phi[:3])
    out[3:, :3] = _cross(phi[3:])
    return out


def cross(a: Array, b: Array) -> Array:
    """a x b, shape (3,); NumPy's own takes ten times as long for one pair."""
    (ax, ay, az), (bx, by, bz) = a, b
    return np.array([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx])


def _norm(vector: Array) -> Any:
    return np.sqrt(vector @ vector)  # analytic, unlike the absolute value


def _cross(vector: Array) -> Array:
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
