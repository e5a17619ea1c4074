"""The pieces of a picture in perspective: balls, rods, blocks and meshes, as kernels know them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.envs.render import palette
from dynenvs.envs.render.mesh import Mesh, hull_mesh, surface_mesh
from dynenvs.envs.render.scene import POINT_RADIUS, boxed, color_of, drawn_bodies
from dynenvs.memory.layout import Ints, Matrices, Matrix
from dynenvs.memory.records import REVOLUTE, record_type
from dynenvs.model.hulls import outline
from dynenvs.model.model import Model
from dynenvs.model.parts import Geom, rotation_to
from dynenvs.model.visuals import Visual, undrawn

Array = NDArray[Any]

BALL, ROD, BLOCK, MESH = range(4)
KINDS = {"sphere": BALL, "point": BALL, "capsule": ROD, "box": BLOCK}
KINDS |= dict.fromkeys(("convex", "cylinder", "ellipsoid", "cone"), MESH)
BEVEL = 0.30  # rounding of a box's edges, as a share of its smallest half edge
NOSE = 0.006  # of what is fixed in the world [m]

# One piece of the picture, world axes
PIECE = record_type(
    [
        ("kind", "i8"),
        ("body", "i8"),
        ("center", "f8", (3,)),
        ("R", "f8", (3, 3)),
        ("half", "f8", (3,)),  # the size of a `dynenvs.model.parts.Geom`; of the box around a mesh
        ("color", "f8", (3,)),
        ("bevel", "f8"),  # by which a block's edges look rounded [m]
        ("code", "i8"),  # number of its first face
        ("first", "i8"),  # of its triangles
        ("count", "i8"),
        ("hull_first", "i8"),  # of its points in `hulls`
        ("hull_count", "i8"),
        ("closed", "i8"),  # whether nobody sees its triangles from behind
    ]
)


class Pieces(NamedTuple):
    """All pieces.  Samples know them by their faces: one of a round piece, a block's six, a mesh's
    triangles."""

    records: Annotated[Array, PIECE]  # shape (n,)
    owners: Ints  # of each face, the number of its piece
    corners: Matrices  # of all triangles, in their pieces' axes, shape (t, 3, 3)
    normals: Matrices  # at these, unit, shape (t, 3, 3)
    hulls: Matrix  # points of the hulls around meshes, in their pieces' axes, shape (k, 3)


def collected(records: Array, meshes: Sequence[Mesh] = ()) -> Pieces:
    """Pieces with their faces numbered.

    Args:
        records: PIECE, shape (n,); those of kind MESH take the meshes in their order.
        meshes: in their pieces' axes.
    """
    rest, none = iter(meshes), np.zeros((0, 3, 3))
    code = first = hull = 0
    for piece in records:
        piece["code"] = code
        if piece["kind"] == MESH:
            mesh = next(rest)
            piece["first"], piece["count"], piece["closed"] = first, len(mesh.corners), mesh.closed
            piece["hull_first"], piece["hull_count"] = hull, len(mesh.hull)
            first, hull = first + len(mesh.corners), hull + len(mesh.hull)
        code += int(_faces(piece))
    owners = np.repeat(np.arange(len(records)), [_faces(piece) for piece in records])
    return Pieces(
        records,
        owners.astype(np.int64),
        np.concatenate([none, *(mesh.corners for mesh in meshes)]),
        np.concatenate([none, *(mesh.normals for mesh in meshes)]),
        np.concatenate([none[:, 0], *(mesh.hull for mesh in meshes)]),
    )


def _faces(piece: Any) -> int:
    return {BLOCK: 6, MESH: int(piece["count"])}.get(int(piece["kind"]), 1)


def pieces_of(model: Model, unit: float, shapes: str = "visual") -> Pieces:
    """Every geom that has a shape, and every hinge between two drawn bodies, in body axes [m].

    Args:
        model: what is drawn.
        unit: of length in the meshes [m].
        shapes: "visual": visual meshes, and the geoms that these do not stand for and that are not
            hidden; or "collision": all geoms and no visual mesh.
    """
    found, meshes = [], []
    visuals = model.visuals if shapes == "visual" else ()
    covered = undrawn(model.geoms, visuals) if shapes == "visual" else set()
    for geom in model.geoms:
        if geom.type in KINDS and geom.name not in covered:
            found.append(_piece(model, geom, unit))
            corners = outline(geom)
            if corners is not None:
                around = boxed(geom)
                shift = geom.rotation.T @ (geom.position - around.position)
                meshes.append(hull_mesh((corners + shift) / unit))
    for visual in visuals:
        piece, mesh = _seen(model, visual, unit)
        found.append(piece)
        meshes.append(mesh)
    bare = {geom.body for geom in model.geoms if geom.name not in covered}
    clad = {visual.body for visual in visuals} | (set(model.body_names) - bare)
    found += list(_hinges(model, clad))
    return collected(np.array([p.copy() for p in found], PIECE), meshes)


def _piece(model: Model, geom: Geom, unit: float) -> Any:
    piece = np.zeros(1, PIECE)[0]
    piece.kind, piece.body = KINDS[geom.type], model.body_id(geom.body)
    geom = boxed(geom)
    piece.center[:], piece.R[:], piece.half[:] = geom.position, geom.rotation, geom.size
    if geom.type == "point":
        piece.half[0] = POINT_RADIUS * unit
    piece.color[:] = geom.color or color_of(model, geom, int(piece.body))
    piece.bevel = BEVEL * float(geom.size.min()) if piece.body else NOSE * unit
    if piece.body == 0 and geom.color is None:
        piece.color[:] = palette.STONE
    return piece


def _seen(model: Model, visual: Visual, unit: float) -> tuple[Any, Mesh]:
    """A visual mesh, about the middle of its box."""
    piece = np.zeros(1, PIECE)[0]
    low, high = visual.points.min(axis=0), visual.points.max(axis=0)
    piece.kind, piece.body = MESH, model.body_id(visual.body)
    piece.center[:], piece.R[:], piece.half[:] = 0.5 * (low + high), np.eye(3), 0.5 * (high - low)
    piece.color[:] = visual.color
    return piece, surface_mesh((visual.points - piece.center) / unit, visual.triangles)


def _hinges(model: Model, clad: set[str]) -> Iterator[Any]:
    """A short dark rod along the axis of each hinge that carries a limb.

    clad: bodies whose hinges are seen as they look
    """
    drawn = drawn_bodies(model)
    for body in drawn:
        if model.body_names[body] in clad:
            continue
        record = model.bodies[body]
        limbs = [g for g in model.geoms if g.type == "capsule" and model.body_id(g.body) == body]
        if record.joint != REVOLUTE or not limbs or not _carried(model, body, drawn):
            continue
        piece = np.zeros(1, PIECE)[0]
        radius = float(limbs[0].size[0])
        piece.kind, piece.body = ROD, body
        piece.R[:] = rotation_to(np.array(record.axis))
        piece.half[:] = 0.62 * radius, 0.62 * radius, 0.0
        piece.color[:] = palette.JOINT
        yield piece


def _carried(model: Model, body: int, drawn: list[int]) -> bool:
    """Whether a drawn body stands above this one, massless joints between them or not."""
    above = int(model.bodies[body].parent)
    while above > 0 and above not in drawn:
        above = int(model.bodies[above].parent)
    return above > 0
