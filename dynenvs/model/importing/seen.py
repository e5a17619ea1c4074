"""Visual meshes of a compiled model: what of it is seen and touches nothing, with few triangles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynenvs.model.annotations import WIDEST
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.decimation import Surface, decimated, together
from dynenvs.model.hulls import ellipsoid, outward_triangles, prism
from dynenvs.model.importing.bodies import Bodies
from dynenvs.model.importing.compiled import Source, names, rotation
from dynenvs.model.importing.shapes import (
    CLEAR,
    CYLINDER,
    ELLIPSOID,
    MESH,
    SHOWN,
    Shapes,
    color_of_geom,
    geoms_that_touch,
    rgba_of,
)
from dynenvs.model.parts import ModelError

MOST_TRIANGLES = 2000  # of a body ...
MOST_IN_ALL = 20_000  # ... and of a file
CORNERS = 64  # of a cylinder or an ellipsoid
DIGITS = 5  # points are kept to a hundredth of a millimetre
TURNS, GOES = 0, 1  # cameras, as in mjtCamLight: fixed in a body, or in axes of the world with it
SURFACES = (ELLIPSOID, CYLINDER, MESH)  # what is drawn as such where it touches nothing


def add_visuals(
    builder: ModelBuilder, source: Source, bodies: Bodies, shapes: Shapes, looks: Any
) -> None:
    """Add the surfaces of what is seen alone; they stand for the shapes that only touch.

    Args:
        builder: that the shapes are in already.
        source: the compiled file.
        bodies, shapes: what became of its bodies and geoms.
        looks: mujoco.MjModel that has all that is to be seen, with the bodies of `source`; or None.
    """
    if looks is None:
        return
    # Bodies are found by name: `looks` may have others besides
    known = {name: b for b, name in enumerate(names(source.m, "body", source.m.nbody))}
    covered = _covered(source, shapes)
    called = names(looks, "geom", looks.ngeom)
    body_names = names(looks, "body", looks.nbody)
    seen = _seen(looks)
    those = np.unique(looks.geom_bodyid[seen])
    # All bodies share the triangles that a file may have
    most = min(MOST_TRIANGLES, MOST_IN_ALL // max(len(those), 1))
    for theirs in those:
        b = known.get(body_names[theirs])
        if b is None:
            continue
        # One surface a colour
        own: dict[tuple[int, int, int], list[int]] = {}  # by colour
        for g in np.flatnonzero(seen & (looks.geom_bodyid == theirs)).tolist():
            own.setdefault(color_of_geom(looks, g), []).append(g)
        surfaces = [
            together([_surface(looks, g, bodies.offsets[b]) for g in geoms])
            for geoms in own.values()
        ]
        kept = decimated(surfaces, most)
        for (color, geoms), (points, triangles) in zip(own.items(), kept, strict=True):
            if len(triangles):
                builder.visual(
                    called[geoms[0]],
                    bodies.names[b],
                    points=np.round(points, DIGITS),
                    triangles=triangles,
                    color=color,
                    instead_of=covered.get(int(source.m.body_weldid[b]), ()),
                )


def add_eyes(builder: ModelBuilder, source: Source, bodies: Bodies) -> None:
    """Add the cameras that stand still or go with a body; others look at a target."""
    m = source.m
    for c, name in enumerate(names(m, "camera", m.ncam)):
        mode, b = int(m.cam_mode[c]), int(m.cam_bodyid[c])
        if mode == TURNS:
            place, turn = m.cam_pos[c] - bodies.offsets[b], rotation(m.cam_quat[c])
        elif mode == GOES:
            place, turn = m.cam_pos0[c], np.array(m.cam_mat0[c]).reshape(3, 3)
        else:
            continue
        field = min(float(np.radians(m.cam_fovy[c])), WIDEST)
        turns = mode == TURNS
        builder.eye(name, bodies.names[b], position=place, rotation=turn, field=field, turns=turns)


def _seen(mj_model: Any) -> NDArray[np.bool_]:
    """Which geoms have a surface to be seen, touch nothing and are no simple shape."""
    alpha = np.array([rgba_of(mj_model, g)[3] for g in range(mj_model.ngeom)])
    shown = (mj_model.geom_group < SHOWN) & (alpha > CLEAR) & np.isin(mj_model.geom_type, SURFACES)
    return np.asarray(shown & ~geoms_that_touch(mj_model))


def _covered(source: Source, shapes: Shapes) -> dict[int, tuple[str, ...]]:
    """Of rigid parts, by the first of their bodies, the geoms that visual meshes stand for.

    That is what is there to touch alone: in MJCF what is of a group that MuJoCo does not show, in
    URDF all.
    """
    m = source.m
    hidden = geoms_that_touch(m) & shapes.carried
    if not source.urdf:
        hidden &= m.geom_group >= SHOWN
    found: dict[int, tuple[str, ...]] = {}
    for g in np.flatnonzero(hidden):
        part = int(m.body_weldid[m.geom_bodyid[g]])
        found[part] = (*found.get(part, ()), shapes.names[g])
    return found


def _surface(mj_model: Any, geom: int, offset: Any) -> Surface:
    """Points, in the body's frame, and triangles of a geom."""
    if mj_model.geom_type[geom] == MESH:
        mesh = int(mj_model.geom_dataid[geom])
        at, count = int(mj_model.mesh_vertadr[mesh]), int(mj_model.mesh_vertnum[mesh])
        points = np.asarray(mj_model.mesh_vert[at : at + count], dtype=np.float64)
        at, count = int(mj_model.mesh_faceadr[mesh]), int(mj_model.mesh_facenum[mesh])
        triangles = np.asarray(mj_model.mesh_face[at : at + count], dtype=np.int64)
    else:
        points, triangles = _round(mj_model, geom)
    return points @ rotation(mj_model.geom_quat[geom]).T + mj_model.geom_pos[
        geom
    ] - offset, triangles


def _round(mj_model: Any, geom: int) -> Surface:
    """A cylinder or an ellipsoid in its own axes, none thinner than points are kept to."""
    from scipy.spatial import QhullError

    assert mj_model.geom_type[geom] in (CYLINDER, ELLIPSOID)
    size = np.maximum(mj_model.geom_size[geom], 10.0**-DIGITS)
    if mj_model.geom_type[geom] == ELLIPSOID:
        points, _ = ellipsoid(size, CORNERS)
    else:
        points = prism(float(size[0]), float(size[1]), CORNERS // 2)
    try:
        return points, outward_triangles(points)
    except QhullError:
        given = ", ".join(f"{value:g}" for value in size)
        raise ModelError(
            f"a cylinder or ellipsoid that is only seen has sizes {given} m: too different to draw"
        ) from None
