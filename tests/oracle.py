"""Poses in which two solids touch, made so that the answer is known, and how well it is found.

A point of either solid with a normal that it may have there (of a face, an edge, a rim, a side, an
apex) is put on the other one's, a known way apart: that is the distance, to rounding.  Whatever is
turned after that, or overlaps, is measured by planes: across any unit vector n the solids are
parted by the least n . p of A less the largest of B, and by no more than by the best n.  Tried are
n as made, the slots' normals, `coal`'s, and what Nelder's and Mead's search finds near these.

`python tests/oracle.py --poses 100000` prints the errors of all pairs.
"""

from __future__ import annotations

import argparse
import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation
from solids import add_free
from trees import Array

from dynenvs.contact.detection.detect import measure_gaps
from dynenvs.contact.detection.geometry.box_box import SMALL, WITHIN
from dynenvs.kinematics.poses import update_poses
from dynenvs.memory.layout import open_model, open_work
from dynenvs.memory.records import FAR
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.hulls import prism

KINDS = ("sphere", "capsule", "box", "hull", "cylinder", "cone", "ellipsoid")
POLYHEDRA = ("box", "hull")
PAIRS = [
    pair
    for pair in itertools.combinations_with_replacement(KINDS, 2)
    if pair != ("sphere", "sphere")
]
CUBE = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
# How far apart, relative to the smaller one's size
GAPS = (0.0, 1e-12, -1e-12, 1e-9, -1e-9, 1e-6, -1e-6, 1e-4, -1e-4, 1e-3, -1e-3)
SEEN = 0.015  # what is further apart need not be seen [m]
TOLERANCE = 2e-6  # relative to the smaller one's size: what leans by 1e-6 counts as flat
# Of boxes and hulls: what is so near an edge, or a corner, counts as on it
EDGY = 2.0 * WITHIN / SMALL
BEYOND = 0.05  # of a depth, of boxes and hulls: a corner just beyond the face that was chosen
UP = np.array([0.0, 0.0, 1.0])


def unit(v: Array) -> Array:
    """Of length one."""
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


class Feature(NamedTuple):
    """Where a solid may touch, in its own axes: outward normal, point, and a tangent."""

    normal: Array
    point: Array
    tangent: Array


class Solid:
    """A solid at a random size, by its support function and its features."""

    def __init__(self, kind: str, scale: float, rng: np.random.Generator) -> None:
        slender = 100.0 if rng.random() < 0.5 else 3.0
        self.kind, self.scale = kind, scale
        self.size = scale * slender ** rng.uniform(-1, 0, 3)
        if rng.random() < 0.2:
            self.size[:] = scale
        r, h, _ = self.size
        points = CUBE * self.size
        if kind == "hull":
            how = rng.integers(3)
            if how == 1:
                points = np.array(prism(r, h, int(rng.integers(3, 33))))
            elif how == 2:
                points = rng.normal(size=(14, 3)) * self.size / 2
            points = points - points.mean(axis=0)
        self.points = points[ConvexHull(points).vertices]
        self.faces: list[tuple[Array, Array]] = []  # normals, and which points lie there
        for *normal, level in ConvexHull(self.points).equations:
            if all(np.linalg.norm(normal - other) > 1e-9 for other, _ in self.faces):
                away = np.abs(self.points @ normal + level)
                self.faces.append((np.array(normal), np.flatnonzero(away < 1e-9 * scale)))

    def add(self, builder: ModelBuilder, body: str) -> None:
        """The solid as a body of its own."""
        add_free(builder, body, self.kind, self.size, self.points)

    def theirs(self, coal: Any) -> Any:
        """The same of coal's."""
        r, h, _ = (float(x) for x in self.size)
        if self.kind == "hull":
            corners = coal.StdVec_Vec3s()
            for point in self.points:
                corners.append(point)
            return coal.ConvexBase.convexHull(corners, True, "Qt")
        arguments: dict[str, tuple[float, ...]] = {
            "sphere": (r,),
            "box": tuple(2 * self.size),
            "ellipsoid": tuple(self.size),
        }
        return getattr(coal, self.kind.capitalize())(*arguments.get(self.kind, (r, 2 * h)))

    def outermost(self, d: Array) -> Array:
        """The points that are outermost along unit vectors d in its own axes, shape (..., 3)."""
        r, h, _ = self.size
        if self.kind in POLYHEDRA:
            return np.asarray(self.points[np.argmax(d @ self.points.T, axis=-1)])
        if self.kind == "sphere":
            return r * d
        if self.kind == "ellipsoid":
            return self.size**2 * d / np.linalg.norm(self.size * d, axis=-1, keepdims=True)
        up = d[..., 2:] > 0.0
        end = np.where(up, h, -h) * UP
        if self.kind == "capsule":
            return r * d + end
        across = np.hypot(d[..., :1], d[..., 1:2])
        rim = r * np.where(across > 0.0, d / np.where(across > 0.0, across, 1.0), 0.0) * (1 - UP)
        if self.kind == "cylinder":
            return np.asarray(rim + end)
        return np.where(2 * h * d[..., 2:] > r * across, h * UP, rim - h * UP)

    def feature(self, rng: np.random.Generator) -> Feature:
        """A random one, as often as not one that is special."""
        if self.kind in POLYHEDRA and rng.random() < 0.8:
            return self._of_polyhedron(rng)
        if self.kind not in (*POLYHEDRA, "sphere") and rng.random() < 0.8:
            return self._of_round(rng)
        normal = unit(rng.normal(size=3))
        return Feature(normal, self.outermost(normal), unit(np.cross(normal, rng.normal(size=3))))

    def _of_polyhedron(self, rng: np.random.Generator) -> Feature:
        """On a face, or on an edge, by a normal between those of its faces."""
        normal, on = self.faces[rng.integers(len(self.faces))]
        corners = self.points[on]
        if rng.random() < 0.5:
            weights = rng.dirichlet(np.ones(len(on)))
            if rng.random() < 0.3:
                weights = np.eye(len(on))[0]
            return Feature(normal, weights @ corners, unit(corners[0] - corners[1]))
        shared = [(n, np.intersect1d(on, others)) for n, others in self.faces]
        edges = [(n, self.points[both]) for n, both in shared if len(both) == 2]
        other, (start, end) = edges[rng.integers(len(edges))]
        between, along = rng.choice([0.5, rng.random()]), rng.choice([0, 1, 0.5, rng.random()])
        normal = unit(between * normal + (1 - between) * other)
        return Feature(normal, start + along * (end - start), unit(end - start))

    def _of_round(self, rng: np.random.Generator) -> Feature:
        """On a side, an end, a rim, at an apex or the end of an axis."""
        r, h, _ = self.size
        angle = rng.uniform(0, 7)
        radial = np.array([math.cos(angle), math.sin(angle), 0.0])
        rim, at = np.cross(UP, radial), rng.choice([-1, 0, 1, rng.uniform(-1, 1)])
        if self.kind == "ellipsoid":
            normal = rng.choice([-1.0, 1.0]) * np.eye(3)[rng.integers(3)]
            return Feature(normal, self.outermost(normal), rim if normal[2] else UP)
        side, end, apex = radial, rng.choice([-1.0, 1.0]) * UP, h * UP
        if self.kind == "cone":
            side, end = unit(2 * h * radial + r * UP), -UP
        low, high = r * radial - h * UP, r * radial + h * UP
        if self.kind == "cone":
            high = apex
        how = rng.integers(1 if self.kind == "capsule" else 4)
        if how == 0:
            return Feature(side, 0.5 * (low + high) + 0.5 * at * (high - low), unit(high - low))
        if how == 1:
            return Feature(end, abs(at) * r * radial + h * end, rim)
        between = rng.choice([0.5, rng.random(), 10.0 ** rng.uniform(-7, -1)])
        if how == 2 and self.kind == "cone":
            return Feature(unit(between * side + (1 - between) * UP), apex, rim)
        return Feature(unit(between * side + (1 - between) * end), r * radial + h * end, rim)


class Poses(NamedTuple):
    """Of A and B, one a row; `normal` from B to A, and how far they are apart along it."""

    q: Array
    Ra: Array
    Rb: Array
    pa: Array
    pb: Array
    normal: Array
    gap: Array


def turned_a_little(rng: np.random.Generator) -> Array:
    """A rotation by nothing, by rounding, or by up to a hundredth."""
    angle = rng.choice([0.0, 0.0, 10.0 ** rng.uniform(-16, -6), 10.0 ** rng.uniform(-6, -2)])
    return Rotation.from_rotvec(angle * unit(rng.normal(size=3))).as_matrix()


def frame(normal: Array, tangent: Array) -> Array:
    """Axes: the normal, the tangent, and what is across both."""
    tangent = unit(tangent - (tangent @ normal) * normal)
    return np.column_stack([normal, tangent, np.cross(normal, tangent)])


def touching(a: Solid, b: Solid, rng: np.random.Generator, count: int) -> Poses:
    """Poses in which a feature of A is on one of B: aligned, crossed, or turned at random."""
    rows, small = [], min(a.scale, b.scale)
    for _ in range(count):
        one, other = a.feature(rng), b.feature(rng)
        Rb = np.eye(3) if rng.random() < 0.2 else Rotation.random(random_state=rng).as_matrix()
        spin = rng.choice([0, 0, np.pi / 2, np.pi, rng.uniform(0, 7), 10.0 ** rng.uniform(-12, -2)])
        normal, sine, cosine = Rb @ other.normal, math.sin(spin), math.cos(spin)
        there = frame(normal, Rb @ other.tangent)
        tangent = cosine * there[:, 1] + sine * there[:, 2]
        Ra = frame(-normal, tangent) @ frame(one.normal, one.tangent).T
        turns = Rotation.from_matrix([turned_a_little(rng) @ Ra, Rb])
        quaternions, (Ra, Rb) = turns.as_quat(scalar_first=True), turns.as_matrix()
        gap, pb = small * rng.choice(GAPS), b.scale * rng.choice([0, 1]) * rng.normal(size=3)
        pa = pb + Rb @ other.point + gap * normal - Ra @ one.point
        q = np.concatenate([pa, quaternions[0], pb, quaternions[1]])
        rows.append((q, Ra, Rb, pa, pb, normal, gap))
    return Poses(*map(np.array, zip(*rows, strict=True)))


def parted(a: Solid, b: Solid, poses: Poses, n: Array) -> Array:
    """By how much planes across n part A from B, one a row; -inf where n is none [m]."""
    is_none = ~(np.linalg.norm(n, axis=-1) > 0.5)
    n = unit(np.where(is_none[:, None], UP, n))
    own = a.outermost(np.einsum("kji,kj->ki", poses.Ra, -n))
    other = b.outermost(np.einsum("kji,kj->ki", poses.Rb, n))
    way = poses.pa - poses.pb + np.einsum("kij,kj->ki", poses.Ra, own)
    way = way - np.einsum("kij,kj->ki", poses.Rb, other)
    return np.where(is_none, -np.inf, (n * way).sum(axis=-1))


def best_near(a: Solid, b: Solid, pose: Poses, starts: list[Array]) -> tuple[float, Array]:
    """What the best direction near one of these parts them by at one pose, and which it is [m]."""
    best, found = -np.inf, UP
    for start in starts:
        n, value = start, float(parted(a, b, pose, start[None])[0])
        for step in (1e-2, 1e-4, 1e-6, 1e-8):
            across = np.linalg.svd(n[None])[2][1:]
            options = {"xatol": 1e-15, "fatol": 0.0, "maxiter": 200}
            options["initial_simplex"] = step * np.array([[0, 0], [1, 0], [0, 1]])
            search = minimize(
                lambda x, n=n, across=across: -parted(a, b, pose, (n + x @ across)[None])[0],
                np.zeros(2),
                method="Nelder-Mead",
                options=options,
            )
            if -search.fun > value:
                value, n = -float(search.fun), unit(n + search.x @ across)
        if value > best:
            best, found = value, n
    return best, found


class Found(NamedTuple):
    """What was found at some poses, one a row, lengths relative to the smaller solid's size."""

    gap: Array  # the least one of the slots, or infinity
    truth: Array
    made: Array
    normal: Array  # how far the best is from that of a slot as near as the nearest
    seen: Array  # whether they are so near each other that they must be seen
    tolerance: Array  # of its gap


def try_pair(
    kinds: tuple[str, str], rng: np.random.Generator, count: int, coal: Any = None
) -> Found:
    """A pair of random solids in `count` poses."""
    scale, ratio = 10.0 ** rng.uniform(-4, 3), 10.0 ** rng.choice([0, rng.uniform(-4, 0)])
    scales = [scale, max(scale * ratio, 1e-4)]
    rng.shuffle(scales)
    a, b = (Solid(kind, size, rng) for kind, size in zip(kinds, scales, strict=True))
    poses, small = touching(a, b, rng, count), min(scales)
    tolerance = np.full(count, EDGY if {*kinds} <= {*POLYHEDRA} else TOLERANCE)
    level = tolerance[0] * small
    slots = read_all(a, b, poses)
    ways = np.zeros((max(map(len, slots)), count, 3))
    gap = np.full(count, np.inf)
    for i, found in enumerate(slots):
        if found:
            ways[: len(found), i] = [n for _, n in found]
            gap[i] = min(x for x, _ in found)
    directions = [*ways, poses.normal]
    if coal is not None:
        directions.append(_theirs(a, b, poses, coal))
    parts = np.array([parted(a, b, poses, n) for n in directions])
    truth, best = parts.max(axis=0), np.array(directions)[parts.argmax(axis=0), range(count)]
    made, seen = poses.gap / small, truth < SEEN
    first = Found(gap / small, truth / small, made, gap, seen, tolerance)
    for i in np.flatnonzero(missed(first) | made_up(first)):  # or our planes are not the best
        starts = [n[i] for n in directions if np.linalg.norm(n[i]) > 0.5]
        pose = Poses(*(x[i : i + 1] for x in poses))
        again = best_near(a, b, pose, starts)
        truth[i], best[i] = max((truth[i], best[i]), again, key=lambda x: x[0])
    turn = np.array(
        [
            min((np.linalg.norm(n - best[i]) for x, n in found if x < gap[i] + level), default=2.0)
            for i, found in enumerate(slots)
        ]
    )
    return Found(gap / small, truth / small, made, turn, seen, tolerance)


def read_all(a: Solid, b: Solid, poses: Poses) -> list[list[tuple[float, Array]]]:
    """Gaps and normals of the slots at each pose."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    a.add(builder, "a")
    b.add(builder, "b")
    model = builder.build()
    m = open_model(model.packed)
    w = open_work(m, model.workspace())
    count, out = int(model.header.ns), []
    for q in poses.q:
        update_poses(m, q, w.pose)
        measure_gaps(w)
        gaps = w.gaps[len(w.gaps) - count :]
        alive = np.flatnonzero(gaps < FAR)
        normals = w.spots[:count]["normal"][alive]
        out.append(list(zip(gaps[alive].tolist(), normals.copy(), strict=True)))
    return out


def _theirs(a: Solid, b: Solid, poses: Poses, coal: Any) -> Array:
    """The normals that coal finds, from B to A."""
    one, other = a.theirs(coal), b.theirs(coal)
    out = np.zeros_like(poses.normal)
    for i in range(len(out)):
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        request.gjk_tolerance = request.epa_tolerance = 1e-10
        here = coal.Transform3s(poses.Ra[i], poses.pa[i])
        there = coal.Transform3s(poses.Rb[i], poses.pb[i])
        coal.distance(one, here, other, there, request, result)
        normal = -np.array(result.normal)
        out[i] = normal if np.isfinite(normal).all() else 0.0
    return out


def missed(found: Found) -> Array:
    """Poses whose overlap no slot tells."""
    deep = found.truth < -found.tolerance
    known = found.truth + found.tolerance
    beyond = np.where(found.tolerance == EDGY, BEYOND * np.minimum(found.truth, 0.0), 0.0)
    return found.seen & deep & ~(found.gap < known - beyond)


def made_up(found: Found) -> Array:
    """Poses in which a slot tells an overlap that there is none, or three times as deep.

    What overlaps may leave by the way that it was made, where another one is shorter.
    """
    deep = np.minimum(np.minimum(found.truth, found.made), 0.0)
    return found.seen & (found.gap < 3.0 * deep - 2.0 * found.tolerance)


def main() -> None:
    """Print a table of all pairs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--poses", type=int, default=10_000, help="of each pair")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    coal = __import__("coal")
    print("| pair | poses | error of the gap | of the normal (99 %) | missed | made up |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for kinds in PAIRS:
        rng = np.random.default_rng([arguments.seed, *map(ord, "".join(kinds))])
        each = [try_pair(kinds, rng, 100, coal) for _ in range(arguments.poses // 100)]
        found = Found(*(np.concatenate(x) for x in zip(*each, strict=True)))
        # In each other by so little that there is one way out, and so much that it is known which
        near = found.seen & (found.made > -1e-5) & (found.truth > -1e-5) & (found.truth < 0.0)
        near &= ~(missed(found) | made_up(found))
        error = np.abs(found.gap - found.truth)[near].max()
        near &= found.truth < -5e-7
        print(
            f"| {'-'.join(kinds)} | {len(found.gap)} | {error:.1e} | "
            f"{np.quantile(found.normal[near], 0.99):.1e} | {missed(found).sum()} | "
            f"{made_up(found).sum()} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
