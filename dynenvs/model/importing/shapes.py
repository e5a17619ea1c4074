"""Geoms and sites of a compiled model, and which geoms may touch which.

MuJoCo's rules are applied pair by pair (contype and conaffinity, parents and children, <exclude>,
<pair>), and given to the builder where its own rule would differ.  Friction is the larger of two
coefficients, as in MuJoCo; a pair for which MuJoCo has another (of a higher priority, of its own,
or none, by condim 1) is given its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynenvs.memory.layout import Floats
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.hulls import fewer_corners, hull_corners
from dynenvs.model.importing.bodies import HINGE, SLIDE, Bodies, unusual
from dynenvs.model.importing.compiled import (
    Source,
    any_of,
    disabled,
    mujoco_package,
    names,
    overrides,
    rotation,
)
from dynenvs.model.importing.losses import Losses
from dynenvs.model.labels import geom_label

PLANE, FIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = range(8)
MOST_CORNERS = 64  # of the hull of a mesh
FIRST = [0, 2, 3]  # of MuJoCo's five coefficients, those that count: the others are second ones
OVERLAP = 1e-4  # shapes that only touch are not modelled one through the other [m]
SAME = "friction is the same along all directions, with the first"
LEAST_SHARE = 1e-3  # of the larger coefficient of friction that the other one has at least
SHOWN = 3  # MuJoCo shows geoms of lower groups by default
CLEAR = 0.05  # what is less opaque is not drawn
PAIRS_AT_ONCE = 1_000_000
LEVEL = 1e-12  # an upright height field's rotation differs by less from none

Pairs = tuple[NDArray[np.intp], NDArray[np.intp]]  # numbers of the one geom, and of the other


class Shapes(NamedTuple):
    """What became of the geoms."""

    names: list[str]
    labels: list[str]  # the same in messages
    carried: NDArray[np.bool_]  # whether the model has it, shape (ngeom,)
    missed: Floats  # how far it reaches out of what the model has of it [m], shape (ngeom,)


def add_shapes(
    builder: ModelBuilder, source: Source, bodies: Bodies, losses: Losses, moments: bool
) -> Shapes:
    """Add all geoms that have a counterpart, and all sites.

    moments: whether torsional and rolling friction are wanted
    """
    m = source.m
    called = names(m, "geom", m.ngeom)
    owners = [bodies.names[b] for b in m.geom_bodyid]
    labels = list(map(geom_label, called, owners))
    shapes = Shapes(called, labels, np.zeros(m.ngeom, dtype=bool), np.zeros(m.ngeom))
    touching = geoms_that_touch(m)
    own = _frictions(coefficients(m), m.geom_condim, moments)
    for g in range(m.ngeom):
        b = int(m.geom_bodyid[g])
        # A geom has a coefficient for each kind of friction; those of pairs come later
        slides, spins, rolls = own[g].tolist()
        options = {
            "friction": slides,
            "torsional_friction": spins,
            "rolling_friction": rolls,
            "collide": bool(touching[g]),
            "color": color_of_geom(m, g),
            "surface_velocity": _surface_velocity(m, g),
            "hidden": not source.urdf and is_hidden(m, g),
        }
        place = m.geom_pos[g] - bodies.offsets[b]
        name, body = shapes.names[g], bodies.names[b]
        # Meshes that touch become convex hulls of few corners
        if touching[g] and m.geom_type[g] == MESH:
            points, shapes.missed[g] = _corners(m, g, name)
            turn = rotation(m.geom_quat[g])
            builder.convex(name, body, points=points, position=place, rotation=turn, **options)
            shapes.carried[g] = True
        else:
            # Round ones that touch nothing are drawn as surfaces (`seen.py`)
            unseen = m.geom_type[g] in (CYLINDER, ELLIPSOID) and not touching[g]
            shapes.carried[g] = not unseen and _add(builder, m, g, name, body, place, options)
    # Sites are marks on bodies: they touch nothing
    for s, name in enumerate(names(m, "site", m.nsite)):
        b = int(m.site_bodyid[s])
        place, turn = m.site_pos[s] - bodies.offsets[b], rotation(m.site_quat[s])
        builder.site(name, bodies.names[b], position=place, rotation=turn)
    # What cannot be carried over, and which pairs touch, by MuJoCo's rules
    _note_losses(m, shapes, touching, losses, moments)
    overlapping = _overlapping(source, shapes, losses) if source.urdf else set()
    _add_pairs(builder, m, shapes, touching, moments, overlapping)
    return shapes


def _add(
    builder: ModelBuilder,
    mj_model: Any,
    geom: int,
    name: str,
    body: str,
    place: Floats,
    options: dict[str, Any],
) -> bool:
    """Add one geom; whether there is such a shape."""
    # A shape of ours for each of MuJoCo's that has one
    kind, size = int(mj_model.geom_type[geom]), np.array(mj_model.geom_size[geom])
    turn = rotation(mj_model.geom_quat[geom])
    if kind == PLANE:
        builder.half_space(name, body, position=place, normal=turn[:, 2], **options)
    elif kind == SPHERE:
        builder.sphere(name, body, radius=float(size[0]), position=place, **options)
    elif kind == CAPSULE:
        half = size[1] * turn[:, 2]
        ends = {"start": place - half, "end": place + half}
        builder.capsule(name, body, radius=float(size[0]), **ends, **options)
    elif kind == BOX:
        builder.box(name, body, half_size=size, position=place, rotation=turn, **options)
    elif kind == ELLIPSOID:
        builder.ellipsoid(name, body, radii=size, position=place, rotation=turn, **options)
    elif kind == CYLINDER:
        radius, half_length = float(size[0]), float(size[1])
        options |= {"position": place, "rotation": turn}
        builder.cylinder(name, body, radius=radius, half_length=half_length, **options)
    elif kind == FIELD and np.allclose(turn, np.eye(3), rtol=0.0, atol=LEVEL):
        # Heights are stored from 0 to 1, row by row along y
        field = int(mj_model.geom_dataid[geom])
        x, y, top, _ = mj_model.hfield_size[field].tolist()
        rows, columns = int(mj_model.hfield_nrow[field]), int(mj_model.hfield_ncol[field])
        at = int(mj_model.hfield_adr[field])
        data = mj_model.hfield_data[at : at + rows * columns].reshape(rows, columns)
        heights = top * np.asarray(data, dtype=np.float64).T
        builder.height_field(
            name, body, heights=heights, half_size=(x, y), position=place, **options
        )
    else:
        return False
    return True


def _corners(mj_model: Any, geom: int, name: str) -> tuple[Floats, float]:
    """Corners of the hull of a mesh in its own axes, and what they leave out [m]."""
    mesh = int(mj_model.geom_dataid[geom])
    at, count = int(mj_model.mesh_vertadr[mesh]), int(mj_model.mesh_vertnum[mesh])
    # All points of the mesh; its hull has few of them for corners
    points = np.asarray(mj_model.mesh_vert[at : at + count], dtype=np.float64)
    return fewer_corners(hull_corners(points, f"geom {name!r}"), MOST_CORNERS)


def is_hidden(mj_model: Any, geom: int) -> bool:
    """Whether MuJoCo hides a geom by default: for its group, or because it is clear."""
    opaque = float(rgba_of(mj_model, geom)[3])
    ground = mj_model.geom_type[geom] in (PLANE, FIELD)
    return not ground and bool(mj_model.geom_group[geom] >= SHOWN or opaque <= CLEAR)


def _surface_velocity(mj_model: Any, geom: int) -> Floats | None:
    """How fast a geom's surface runs along it, in its body's axes [m/s]; None where it does not."""
    along = mj_model.geom_surfacevel[geom, :3]
    return rotation(mj_model.geom_quat[geom]) @ along if along.any() else None


def rgba_of(mj_model: Any, geom: int) -> Any:
    """Colour and opacity: of the geom's material if it has one."""
    material = int(mj_model.geom_matid[geom])
    return mj_model.geom_rgba[geom] if material < 0 else mj_model.mat_rgba[material]


def color_of_geom(mj_model: Any, geom: int) -> tuple[int, int, int]:
    """Red, green and blue, from 0 to 255."""
    rgba = rgba_of(mj_model, geom)
    r, g, b = (round(255 * float(min(max(x, 0.0), 1.0))) for x in rgba[:3])
    return r, g, b


def geoms_that_touch(mj_model: Any) -> NDArray[np.bool_]:
    """Which geoms may touch anything."""
    if disabled(mj_model, "contact"):
        return np.zeros(mj_model.ngeom, dtype=bool)
    # By bits, or named in a pair
    touching = np.asarray((mj_model.geom_contype != 0) | (mj_model.geom_conaffinity != 0))
    touching[mj_model.pair_geom1] = touching[mj_model.pair_geom2] = True
    return touching


# Pairs


def _add_pairs(
    builder: ModelBuilder,
    mj_model: Any,
    shapes: Shapes,
    touching: NDArray[np.bool_],
    moments: bool,
    overlapping: set[tuple[int, int]],
) -> None:
    """Give the builder all pairs for which its own rule would differ.

    overlapping: pairs that pass through each other
    """
    chosen = np.flatnonzero(shapes.carried & touching)
    for pairs in _in_parts(mj_model, chosen):
        _add_some(builder, mj_model, shapes, pairs, moments, overlapping)


def _in_parts(mj_model: Any, chosen: NDArray[np.intp]) -> Iterator[Pairs]:
    """All pairs of these geoms, in order, a million at a time: more do not fit in memory.

    Those of which both are of the same part touch only where a <pair> says so.
    """
    weld = mj_model.body_weldid[mj_model.geom_bodyid]
    at = 0
    while at < len(chosen) - 1:
        rows = np.arange(at, min(at + 1 + PAIRS_AT_ONCE // len(chosen), len(chosen)))
        counts = len(chosen) - 1 - rows
        one = np.repeat(rows, counts)
        other = np.arange(len(one)) - np.repeat(np.cumsum(counts) - counts, counts) + one + 1
        first, second = chosen[one], chosen[other]
        wanted = np.full(len(one), mj_model.npair > 0) | (weld[first] != weld[second])
        yield first[wanted], second[wanted]
        at += len(rows)


def _add_some(
    builder: ModelBuilder,
    mj_model: Any,
    shapes: Shapes,
    pairs: Pairs,
    moments: bool,
    overlapping: set[tuple[int, int]],
) -> None:
    """The same for some pairs."""
    first, second = pairs
    # What MuJoCo would let touch, and by which friction
    theirs, friction = _rules(mj_model, first, second, moments)
    grounds = np.isin(mj_model.geom_type, (PLANE, FIELD))
    theirs &= ~(grounds[first] & grounds[second])
    numbers = list(zip(first.tolist(), second.tolist(), strict=True))
    theirs &= ~np.array([pair in overlapping for pair in numbers], dtype=bool)
    # What we would: parts of different trees, by the larger coefficient
    tree = mj_model.body_treeid[mj_model.geom_bodyid]
    ours = tree[first] != tree[second]
    own = _frictions(coefficients(mj_model), mj_model.geom_condim, moments)
    usual = np.maximum(own[first], own[second])
    other = (friction != usual).any(axis=1)
    two = _two_coefficients(mj_model)
    grained = np.array([pair in two for pair in numbers], dtype=bool)
    # Only pairs in which both differ need be named
    for k in np.flatnonzero((theirs != ours) | (theirs & (other | grained))):
        a, b = shapes.names[first[k]], shapes.names[second[k]]
        if not theirs[k]:
            builder.exclude(a, b)
        elif grained[k]:
            spins, rolls = friction[k, 1:].tolist()
            pair = int(first[k]), int(second[k])
            direction, frame = _direction(mj_model, shapes, pair)
            builder.pair(a, b, friction=two[pair], torsional_friction=spins,
                         rolling_friction=rolls, direction=direction, frame=frame)  # fmt: skip
        else:
            said = friction[k].tolist() if other[k] else (None, None, None)
            slides, spins, rolls = said
            builder.pair(a, b, friction=slides, torsional_friction=spins, rolling_friction=rolls)


def _two_coefficients(mj_model: Any) -> dict[tuple[int, int], tuple[float, float]]:
    """Both coefficients of friction of the <pair>s that have two, by the numbers of their geoms."""
    found: dict[tuple[int, int], tuple[float, float]] = {}
    # Of an override, which would be for all contacts, only the first one is kept
    if overrides(mj_model):
        return found
    for p, five in enumerate(mj_model.pair_friction):
        if _slides_two_ways(five[None], mj_model.pair_dim[p])[0]:
            low, high = sorted((int(mj_model.pair_geom1[p]), int(mj_model.pair_geom2[p])))
            least = LEAST_SHARE * max(five[0], five[1])
            found[low, high] = max(float(five[0]), least), max(float(five[1]), least)
    return found


def _direction(
    mj_model: Any, shapes: Shapes, pair: tuple[int, int]
) -> tuple[tuple[float, float, float], str]:
    """Direction of the first coefficient, and its frame.

    As MuJoCo's collisions have them: those of planes and capsules, and `mju_makeFrame`.
    """
    kinds = [int(mj_model.geom_type[g]) for g in pair]
    if sorted(kinds) == [PLANE, CAPSULE]:
        capsule = pair[kinds.index(CAPSULE)]
        x, y, z = rotation(mj_model.geom_quat[capsule])[:, 2].tolist()
        return (x, y, z), shapes.names[capsule]
    return (0.0, 1.0, 0.0), "world"


def _overlapping(source: Source, shapes: Shapes, losses: Losses) -> set[tuple[int, int]]:
    """Pairs of a URDF's shapes that overlap in its pose at zero, joints within their limits.

    MJCF excludes pairs by itself.  A URDF cannot say that shells which are modelled one through the
    other do not push each other apart, and common tools leave such pairs out (MoveIt's setup
    assistant, as "colliding by default").
    """
    mujoco, m = mujoco_package(), source.m
    data = mujoco.MjData(m)
    for j in np.flatnonzero((m.jnt_limited != 0) & np.isin(m.jnt_type, (HINGE, SLIDE))):
        at = m.jnt_qposadr[j]
        data.qpos[at] = min(max(data.qpos[at], m.jnt_range[j, 0]), m.jnt_range[j, 1])
    # MuJoCo's own contacts in the pose at zero say what overlaps
    mujoco.mj_forward(m, data)
    deep = data.contact.geom[data.contact.dist < -OVERLAP]
    found = {(int(min(pair)), int(max(pair))) for pair in deep}
    called = [f"{shapes.labels[a]} and {shapes.labels[b]}" for a, b in sorted(found)]
    losses.add(
        "contact between shapes that overlap where all joints are at zero",
        called,
        "they pass through each other",
    )
    return found


def coefficients(mj_model: Any) -> Floats:
    """Sliding, torsional and rolling friction of every geom, whatever its condim, (ngeom, 3)."""
    if overrides(mj_model):
        return np.tile(np.asarray(mj_model.opt.o_friction)[FIRST], (mj_model.ngeom, 1))
    return np.array(mj_model.geom_friction)


def _of_pairs(mj_model: Any) -> Floats:
    """The five coefficients of every <pair>, shape (npair, 5)."""
    if overrides(mj_model):
        return np.tile(mj_model.opt.o_friction, (mj_model.npair, 1))
    return np.array(mj_model.pair_friction)


def _frictions(given: Any, dims: Any, moments: bool) -> Floats:
    """Sliding [-], torsional and rolling friction [m] that count by condim, shape (..., 3)."""
    counts = np.asarray(dims)[..., None] > np.array([1, 3, 5])
    counts &= np.array([True, moments, moments])
    return np.where(counts, np.asarray(given)[..., :3], 0.0)


def _rules(
    mj_model: Any, first: NDArray[np.intp], second: NDArray[np.intp], moments: bool
) -> tuple[NDArray[np.bool_], Floats]:
    """Whether MuJoCo lets two geoms touch, shape (pairs,), and with which frictions, (pairs, 3).

    (MuJoCo documentation, Computation, "Collision detection"; Modeling, "Contact parameters".)
    """
    bits = (mj_model.geom_contype[first] & mj_model.geom_conaffinity[second]) | (
        mj_model.geom_contype[second] & mj_model.geom_conaffinity[first]
    )
    a, b = mj_model.geom_bodyid[first], mj_model.geom_bodyid[second]
    weld = mj_model.body_weldid
    wa, wb = weld[a], weld[b]
    touch = (bits != 0) & (wa != wb)
    if not disabled(mj_model, "filterparent"):
        up = weld[mj_model.body_parentid[weld]]
        touch &= ~((wa != 0) & (wb != 0) & ((up[a] == wb) | (up[b] == wa)))
    low, high = np.minimum(a, b).astype(np.int64), np.maximum(a, b).astype(np.int64)
    excluded = np.asarray(mj_model.exclude_signature, dtype=np.int64)
    touch &= ~np.isin((low << 16) + high, excluded) & ~np.isin((high << 16) + low, excluded)
    dims, own = mj_model.geom_condim, coefficients(mj_model)
    before, after = mj_model.geom_priority[first], mj_model.geom_priority[second]
    dim = np.maximum(dims[first], dims[second])
    friction = np.maximum(own[first], own[second])
    for wins, one in ((before > after, first), (after > before, second)):
        dim = np.where(wins, dims[one], dim)
        friction = np.where(wins[:, None], own[one], friction)
    friction = _frictions(friction, dim, moments)
    for p, five in enumerate(_of_pairs(mj_model)):
        both = sorted((int(mj_model.pair_geom1[p]), int(mj_model.pair_geom2[p])))
        here = (first == both[0]) & (second == both[1])
        touch |= here
        friction[here] = _frictions(five[FIRST], mj_model.pair_dim[p], moments)
    return touch, friction


# What is left out


def _note_losses(
    mj_model: Any, shapes: Shapes, touching: NDArray[np.bool_], losses: Losses, moments: bool
) -> None:
    def where(flags: Any) -> list[str]:
        return [shapes.labels[g] for g in np.flatnonzero(flags)]

    fields = mj_model.geom_type == FIELD
    lost = touching & ~shapes.carried
    losses.add("turned height field geoms", where(lost & fields), "they touch nothing")
    losses.add("geoms of this shape", where(lost & ~fields), "they touch nothing")
    most = 1000.0 * float(shapes.missed.max(initial=0.0))
    change = f"they have {MOST_CORNERS} corners; up to {most:.2g} mm are missing"
    losses.add("all corners of meshes", where(shapes.missed > 0.0), change)
    losses.add(
        "triangles of height fields",
        where(shapes.carried & fields),
        "ground is smooth and goes on beyond its border",
    )
    active = touching & shapes.carried
    losses.add(
        "torsional and rolling friction of geoms",
        where(active & (mj_model.geom_condim > 3) & (not moments)),
        "they slide with friction, and spin and roll without",
    )
    losses.add("adhesion of geoms", where(active & (mj_model.geom_adhesion != 0)), "they are dry")
    losses.add(
        "turning surfaces of geoms",
        where(active & any_of(mj_model.geom_surfacevel[:, 3:])),
        "they run straight on, or not at all",
    )
    if overrides(mj_model):
        _note_override(mj_model, losses, bool(active.any()))
    else:
        margins = (mj_model.geom_margin != 0) | (mj_model.geom_gap != 0)
        losses.add("margins of geoms", where(active & margins), "contact begins at touch")
        soft = unusual(mj_model.geom_solref, mj_model.geom_solimp)
        losses.add("solref and solimp of geoms", where(active & soft), "contact is rigid")
    _note_pairs(mj_model, shapes, losses, moments)


def _note_override(mj_model: Any, losses: Losses, any_touch: bool) -> None:
    """What is left out of the parameters that the file's <option> gives to all contacts."""
    five = np.asarray(mj_model.opt.o_friction)
    for name, lost, change in (
        ("o_margin", mj_model.opt.o_margin != 0, "contact begins at touch"),
        (
            "o_solref",
            unusual(mj_model.opt.o_solref[None], mj_model.opt.o_solimp[None])[0],
            "contact is rigid",
        ),
        ("o_friction's second coefficients", _two_ways(five[None])[0], SAME),
    ):
        losses.add("the override's", [name] if lost and any_touch else [], change)


def _note_pairs(mj_model: Any, shapes: Shapes, losses: Losses, moments: bool) -> None:
    """What is left out of each <pair>'s own parameters."""
    geoms = zip(mj_model.pair_geom1.tolist(), mj_model.pair_geom2.tolist(), strict=True)
    called = [f"{shapes.labels[a]} and {shapes.labels[b]}" for a, b in geoms]

    def where(flags: Any) -> list[str]:
        both = shapes.carried[mj_model.pair_geom1] & shapes.carried[mj_model.pair_geom2]
        return [called[p] for p in np.flatnonzero(flags & both)]

    losses.add("adhesion of pairs", where(mj_model.pair_adhesion != 0), "they are dry")
    losses.add(
        "torsional and rolling friction of pairs",
        where((mj_model.pair_dim > 3) & (not moments)),
        "they slide with friction, and spin and roll without",
    )
    if overrides(mj_model):
        return
    margins = (mj_model.pair_margin != 0) | (mj_model.pair_gap != 0)
    losses.add("margins of pairs", where(margins), "contact begins at touch")
    soft = unusual(mj_model.pair_solref, mj_model.pair_solimp) | any_of(
        mj_model.pair_solreffriction
    )
    losses.add("solref and solimp of pairs", where(soft), "contact is rigid")
    five, dims = mj_model.pair_friction, mj_model.pair_dim
    losses.add(
        "second coefficients of rolling friction of pairs",
        where(_rolls_two_ways(five, dims) & moments),
        "they roll alike along all directions, with the first",
    )
    slides = five[:, :2]
    losses.add(
        f"coefficients of friction of pairs, less than {LEAST_SHARE:g} of the other",
        where(_slides_two_ways(five, dims) & (slides.min(1) < LEAST_SHARE * slides.max(1))),
        "they are as large as that",
    )


def _slides_two_ways(five: Floats, dims: Any = 6) -> NDArray[np.bool_]:
    """Whether friction along a contact's two directions has two numbers."""
    return np.asarray((five[:, 0] != five[:, 1]) & (np.asarray(dims) > 1))


def _rolls_two_ways(five: Floats, dims: Any = 6) -> NDArray[np.bool_]:
    """Whether rolling about these directions has two numbers."""
    return np.asarray((five[:, 3] != five[:, 4]) & (np.asarray(dims) > 5))


def _two_ways(five: Floats) -> NDArray[np.bool_]:
    """Whether one of them has."""
    return np.asarray(_slides_two_ways(five) | _rolls_two_ways(five))
