"""Faces and edges of convex hulls, packed in one row of numbers for kernels.

A polyhedron's numbers (`dynenvs.contact.detection.geometry.polyhedron` reads them): how many
corners V, faces F, edges E and loop entries L it has; corners (3 V); faces' outward normals (3 F)
and levels n . p (F); where each face's loop begins and the last one ends (F + 1); the loops,
corners in counter-clockwise order as seen from outside, the outermost first (L); for each edge its
two corners, the face in whose loop it leads from the first to the second, and the other face (4 E).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.memory.records import BLOCK_FIELD, BOX
from dynenvs.model.parts import Geom, ModelError

Floats = NDArray[np.float64]

FLAT = 1e-6  # triangles' planes that differ by less, relative to the size, are one face
CUBE = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


class Polyhedron(NamedTuple):
    """Corners, faces and edges of a convex solid."""

    corners: Floats  # shape (V, 3) [m]
    normals: Floats  # of the faces, outward, shape (F, 3)
    levels: Floats  # n . p of the faces [m], shape (F,)
    loops: list[list[int]]  # corners on the way round each face
    edges: list[tuple[int, int, int, int]]  # corner, corner, face, other face

    @property
    def sides(self) -> int:
        """Of the face that has most."""
        return max(map(len, self.loops))

    def packed(self) -> Floats:
        """All of it as one row of numbers, see above."""
        # Counts first, then all numbers in the order of the docstring above
        firsts = np.cumsum([0, *map(len, self.loops)])
        counts = [len(self.corners), len(self.normals), len(self.edges), int(firsts[-1])]
        parts = [counts, self.corners, self.normals, self.levels, firsts]
        parts += [list(itertools.chain(*self.loops)), self.edges]
        return np.concatenate([np.ravel(np.asarray(part, dtype=np.float64)) for part in parts])


def polyhedron(corners: Floats, what: str) -> Polyhedron:
    """The hull of its corners; triangles that lie in one plane are one face.

    Args:
        corners: of a convex hull, shape (V, 3) [m].
        what: it is, for messages.

    Raises:
        ModelError: no closed surface comes out.
    """
    from scipy.spatial import ConvexHull

    hull = ConvexHull(corners)
    size = float(np.ptp(corners, axis=0).max())
    # Planes are distinguished coarsely, then finely, until the surface closes
    for flat in (FLAT, 1e-12):
        found = _assemble(corners, hull, flat * size)
        if _is_closed(found):
            return found
    found = _triangulated(corners, hull)  # nearly flat faces overlap or miss each other
    if _is_closed(found):
        return found
    raise ModelError(f"{what}: its surface does not close; give it fewer points")


def _is_closed(found: Polyhedron) -> bool:
    """By Euler's formula."""
    return len(found.corners) - len(found.edges) + len(found.normals) == 2


def _triangulated(corners: Floats, hull: object) -> Polyhedron:
    """Faces that are Qhull's own triangles; corners that none of these has are left out."""
    simplices = hull.simplices  # type: ignore[attr-defined]
    normals: Floats = hull.equations[:, :3]  # type: ignore[attr-defined]
    kept, triangles = np.unique(simplices, return_inverse=True)
    points, loops = corners[kept], []
    # Each triangle turned so that it is counter-clockwise from outside
    for (a, b, c), n in zip(triangles.reshape(-1, 3).tolist(), normals, strict=True):
        outward = np.cross(points[b] - points[a], points[c] - points[a]) @ n > 0.0
        loop = [a, b, c] if outward else [a, c, b]
        first = int(np.argmax(points[loop] @ n))
        loops.append(loop[first:] + loop[:first])
    levels = np.array(
        [float((points[loop] @ n).max()) for loop, n in zip(loops, normals, strict=True)]
    )
    return Polyhedron(points, normals.copy(), levels, loops, _edges(loops))


def _assemble(corners: Floats, hull: object, flat: float) -> Polyhedron:
    """Faces out of Qhull's triangles: those with the same corners in their planes, to `flat`."""
    planes: Floats = hull.equations  # type: ignore[attr-defined]
    # Corners in each triangle's plane; of planes with the same ones, the one with most
    away = corners @ planes[:, :3].T + planes[:, 3]
    members = {tuple(np.flatnonzero(row > -flat).tolist()): k for k, row in enumerate(away.T)}
    largest = [own for own in members if not any(set(own) < set(other) for other in members)]
    normals, levels, loops = [], [], []
    for own in largest:
        n = planes[members[own], :3]
        normals.append(n)
        levels.append(float((corners[list(own)] @ n).max()))
        loops.append(_ordered(corners, own, n))
    edges = _edges(loops)
    return Polyhedron(corners, np.array(normals), np.array(levels), loops, edges)


def _ordered(corners: Floats, own: Sequence[int], normal: Floats) -> list[int]:
    """The corners of a face on the way round its normal, the outermost one first."""
    points = corners[list(own)]
    middle = points.mean(axis=0)
    # Angles about the face's middle
    u = points[0] - middle
    u -= (u @ normal) * normal
    v = np.cross(normal, u)
    order = np.argsort(np.arctan2((points - middle) @ v, (points - middle) @ u))
    round_ = [own[k] for k in order]
    first = int(np.argmax(corners[round_] @ normal))
    return round_[first:] + round_[:first]


def _edges(loops: list[list[int]]) -> list[tuple[int, int, int, int]]:
    """All edges that two faces share."""
    # The face on either side of each edge, by the direction in which its loop goes along it
    side = {
        (a, b): f
        for f, loop in enumerate(loops)
        for a, b in zip(loop, loop[1:] + loop[:1], strict=True)
    }
    return [(a, b, f, side[b, a]) for (a, b), f in side.items() if a < b and (b, a) in side]


def polyhedra(geoms: Sequence[Geom]) -> list[Polyhedron | None]:
    """Of each geom: its polyhedron if it is a convex solid, a cube of half edge one for boxes and
    blocks of fields, None for others."""
    return [_of(geom) for geom in geoms]


def _of(geom: Geom) -> Polyhedron | None:
    if geom.kind in (BOX, BLOCK_FIELD):
        return polyhedron_of(CUBE.tobytes(), "cube")
    if geom.corners is None:
        return None
    return polyhedron_of(geom.corners.tobytes(), f"geom {geom.name!r}")


@lru_cache(maxsize=1024)
def polyhedron_of(corners: bytes, what: str) -> Polyhedron:
    """`polyhedron`, once for the same corners: models are built more than once."""
    return polyhedron(np.frombuffer(corners).reshape(-1, 3), what)


def inner_radius(geom: Geom) -> float:
    """Of the ball about a convex solid's origin that is in it; zero if there is none [m]."""
    shape = _of(geom)
    assert shape is not None
    return max(0.0, float(shape.levels.min()))
