"""GeomBuilder: the shapes of a model's bodies, by name; the part of `ModelBuilder` for them."""

from __future__ import annotations

from typing import Any, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from dynenvs.model.hulls import hull_corners
from dynenvs.model.parts import (
    GEOM_TYPES,
    WORLD,
    Geom,
    ModelError,
    Vector,
    check_new,
    check_size,
    coefficient,
    positive,
    real_numbers,
    rotation3,
    rotation_to,
    truth,
    unit3,
    vector3,
)

FIELDS = ("height_field", "block_field")
SIZES = {  # how many of the sizes are positive
    "sphere": 1,
    "capsule": 2,
    "box": 3,
    "cylinder": 2,
    "ellipsoid": 3,
    "cone": 2,
    "height_field": 2,
    "block_field": 2,
}
SOLIDS = ("sphere", "capsule", "box", "convex", "cylinder", "ellipsoid", "cone")  # have a volume


COEFFICIENTS = {  # of a geom that says nothing else
    "friction": 0.8,
    "restitution": 0.0,
    "torsional_friction": 0.0,
    "rolling_friction": 0.0,
}


class GeomOptions(TypedDict, total=False):
    """What every geom can be given; `GeomBuilder.sphere` says what it means."""

    friction: float
    restitution: float
    torsional_friction: float
    rolling_friction: float
    collide: bool
    color: tuple[int, int, int] | None
    mass: float | None
    density: float | None
    surface_velocity: Vector | None
    hidden: bool


class GeomBuilder:
    """Collects geoms and checks each of them."""

    def __init__(self) -> None:
        self._geoms: dict[str, Geom] = {}

    def point(self, name: str, body: str, position: Vector, **options: Unpack[GeomOptions]) -> Self:
        """Add a contact point fixed in a body at `position` [m]; options as for `sphere`."""
        return self._geom(name, body, "point", (0, 0, 0), position, None, **options)

    def sphere(
        self,
        name: str,
        body: str,
        *,
        radius: float,
        position: Vector = (0, 0, 0),
        **options: Unpack[GeomOptions],
    ) -> Self:
        """Add a sphere.

        Options of all geoms: `friction` (coefficient, 0.8), `restitution` (0.0), `collide`
        (True; False only draws it), `hidden` (False; True draws it only among collision shapes, or
        where nothing else of the bodies is drawn), `color` (r, g, b), and what the geom adds to its
        body, seen or touched or not: `mass` [kg] or `density` [kg/m^3] (see `ModelBuilder.body`).
        `surface_velocity`, shape (3,) [m/s]: how fast the surface runs along the geom, as the belt
        of a conveyor does, in the axes of its body (of the world for its own geoms).  At a contact
        the part of it along the contact's plane counts; `World.surface_velocity` changes it.
        `torsional_friction` and `rolling_friction` (0.0) [m]: what moments about a contact's normal
        and along its plane may be, over its normal force (of both geoms by the model's rule for
        `friction`).
        """
        radius = positive(radius, f"geom {name!r}: radius")
        return self._geom(name, body, "sphere", (radius, 0, 0), position, None, **options)

    def capsule(
        self,
        name: str,
        body: str,
        *,
        start: Vector,
        end: Vector,
        radius: float,
        **options: Unpack[GeomOptions],
    ) -> Self:
        """Add a capsule between the centres `start` and `end` of its caps [m]."""
        radius = positive(radius, f"geom {name!r}: radius")
        a, b = vector3(start, f"start of {name!r}"), vector3(end, f"end of {name!r}")
        length = float(np.linalg.norm(b - a))
        positive(length, f"geom {name!r}: length")
        rotation = rotation_to((b - a) / length)
        size = (radius, length / 2, 0)
        return self._geom(name, body, "capsule", size, (a + b) / 2, rotation, **options)

    def box(
        self,
        name: str,
        body: str,
        *,
        half_size: Vector,
        position: Vector = (0, 0, 0),
        rotation: Any = None,
        **options: Unpack[GeomOptions],
    ) -> Self:
        """Add a box with half edges `half_size` [m]."""
        size = vector3(half_size, f"half_size of {name!r}")
        positive(size.min(), f"geom {name!r}: half_size")
        return self._geom(name, body, "box", size, position, rotation, **options)

    def cylinder(
        self,
        name: str,
        body: str,
        *,
        radius: float,
        half_length: float,
        position: Vector = (0, 0, 0),
        rotation: Any = None,
        **options: Unpack[GeomOptions],
    ) -> Self:
        """Add a cylinder along the z axis of axes at `position` with `rotation`.

        It is truly round: a wheel rolls as on a circle.

        Args:
            name: unique among geoms.
            body: the body that carries it.
            radius: of the cylinder [m].
            half_length: from its middle to either end [m].
            position: of its middle, in the body's frame [m].
            rotation: of its axes in the body's frame, shape (3, 3).
            options: as for `sphere`.
        """
        size = self._round_size(name, radius, half_length)
        return self._geom(name, body, "cylinder", size, position, rotation, **options)

    def cone(
        self,
        name: str,
        body: str,
        *,
        radius: float,
        half_length: float,
        position: Vector = (0, 0, 0),
        rotation: Any = None,
        **options: Unpack[GeomOptions],
    ) -> Self:
        """Add a cone: its base of `radius` at z = -half_length, its apex at z = half_length [m].

        In axes at `position` with `rotation`, as for `cylinder`.  Its centre of mass is at
        z = -half_length / 2.
        """
        size = self._round_size(name, radius, half_length)
        return self._geom(name, body, "cone", size, position, rotation, **options)

    def ellipsoid(
        self,
        name: str,
        body: str,
        *,
        radii: Vector,
        position: Vector = (0, 0, 0),
        rotation: Any = None,
        **options: Unpack[GeomOptions],
    ) -> Self:
        """Add an ellipsoid with half axes `radii`, shape (3,) [m], in axes as for `cylinder`."""
        size = vector3(radii, f"radii of {name!r}")
        positive(size.min(), f"geom {name!r}: radii")
        return self._geom(name, body, "ellipsoid", size, position, rotation, **options)

    @staticmethod
    def _round_size(name: str, radius: float, half_length: float) -> tuple[float, float, float]:
        what = f"geom {name!r}"
        radius = positive(radius, f"{what}: radius")
        return radius, positive(half_length, f"{what}: half_length"), 0.0

    def convex(
        self,
        name: str,
        body: str,
        *,
        points: Any,
        position: Vector = (0, 0, 0),
        rotation: Any = None,
        **options: Unpack[GeomOptions],
    ) -> Self:
        """Add the convex hull of points [m], shape (n, 3), in axes at `position` with `rotation`.

        It meets all shapes (docs/contact.md says how exactly); what that costs grows with its
        corners.

        Raises:
            ModelError: the points are fewer than four, or lie in a plane.
        """
        corners = hull_corners(real_numbers(points), f"geom {name!r}")
        size = (float(np.linalg.norm(corners, axis=1).max()), 0.0, 0.0)
        return self._geom(
            name, body, "convex", size, position, rotation, corners=corners, **options
        )

    def half_space(
        self,
        name: str,
        body: str = WORLD,
        *,
        position: Vector = (0, 0, 0),
        normal: Vector = (0, 0, 1),
        **options: Unpack[GeomOptions],
    ) -> Self:
        """Add all that lies below a plane through `position` [m]; `normal` points out of it."""
        rotation = rotation_to(unit3(normal, f"normal of {name!r}"))
        return self._geom(name, body, "half_space", (0, 0, 0), position, rotation, **options)

    def height_field(
        self,
        name: str,
        body: str = WORLD,
        *,
        heights: Any,
        half_size: tuple[float, float],
        position: Vector = (0, 0, 0),
        **options: Unpack[GeomOptions],
    ) -> Self:
        """Add ground with hills: all that lies below a surface.

        Args:
            name: unique among geoms.
            body: the body that carries it.
            heights: of the surface at a regular grid, shape (nx, ny), both at least 2 [m]; smoothly
                interpolated (Catmull-Rom splines), constant beyond the border.
            half_size: the grid spans +-half_size in x and y [m].
            position: of the grid's middle at height zero [m].
            options: as for `sphere`.
        """
        return self._field(name, body, "height_field", heights, half_size, position, **options)

    def block_field(
        self,
        name: str,
        body: str = WORLD,
        *,
        heights: Any,
        half_size: tuple[float, float],
        position: Vector = (0, 0, 0),
        **options: Unpack[GeomOptions],
    ) -> Self:
        """Add ground with steps: upright blocks side by side, endlessly deep, with flat tops.

        Spheres, capsules and boxes touch it, with its edges and corners as sharp as they are.

        Args:
            name: unique among geoms.
            body: the body that carries it.
            heights: of the blocks' tops, shape (nx, ny), both at least 2 [m]; the outermost blocks
                go on without end.
            half_size: all blocks together span +-half_size in x and y [m].
            position: of their middle at height zero [m].
            options: as for `sphere`.
        """
        return self._field(name, body, "block_field", heights, half_size, position, **options)

    def _field(
        self,
        name: str,
        body: str,
        kind: str,
        heights: Any,
        half_size: tuple[float, float],
        position: Vector,
        **options: Unpack[GeomOptions],
    ) -> Self:
        grid = self._checked_heights(name, heights)
        x, y = _pair(half_size, name)
        return self._geom(name, body, kind, (x, y, 0), position, None, heights=grid, **options)

    @staticmethod
    def _checked_heights(name: str, heights: Any) -> NDArray[np.float64]:
        grid = real_numbers(heights)
        if grid.ndim != 2 or min(grid.shape) < 2 or not np.all(np.isfinite(grid)):
            raise ModelError(
                f"geom {name!r}: heights must be finite, of shape (nx, ny), both at least 2; got "
                f"shape {grid.shape}"
            )
        check_size(grid, f"geom {name!r}: heights")
        return grid

    def _geom(
        self,
        name: str,
        body: str,
        kind: str,
        size: Vector,
        position: Vector,
        rotation: Any,
        *,
        heights: Any = None,
        corners: NDArray[np.float64] | None = None,
        **options: Unpack[GeomOptions],
    ) -> Self:
        # Names and options, before any number
        check_new(name, self._geoms, "geom")
        for option in options:
            if option not in GeomOptions.__annotations__:
                known = ", ".join(GeomOptions.__annotations__)
                raise TypeError(f"geom {name!r}: unknown option {option!r}; choose from: {known}")
        mass, density = options.get("mass"), options.get("density")
        self._check_weight(name, body, kind, mass, density)
        if np.size(options.get("friction", 0.0)) == 3:
            raise ModelError(
                f"geom {name!r}: friction must be a number, got {options['friction']!r:.200}: "
                "MuJoCo's second and third are torsional_friction= and rolling_friction="
            )
        velocity = options.get("surface_velocity")
        if velocity is not None:
            velocity = vector3(velocity, f"geom {name!r}: surface_velocity")
        # Sizes are checked by the shapes' own methods
        self._geoms[name] = Geom(
            name,
            body,
            kind,
            vector3(size, f"size of {name!r}"),
            vector3(position, f"position of {name!r}"),
            rotation3(rotation, f"rotation of {name!r}"),
            collide=truth(options.get("collide", True), f"geom {name!r}: collide"),
            color=_color(options.get("color"), name),
            heights=heights,
            corners=corners,
            mass=None if mass is None else float(mass),
            density=None if density is None else float(density),
            surface_velocity=velocity,
            hidden=truth(options.get("hidden", False), f"geom {name!r}: hidden"),
            **{
                what: coefficient(options.get(what, usual), f"geom {name!r}: {what}")
                for what, usual in COEFFICIENTS.items()
            },
        )
        return self

    def _add_geom(self, geom: Geom) -> Self:
        """Add a geom of another model's description, checked as if it were new."""
        what = f"geom {geom.name!r}"
        if geom.type not in GEOM_TYPES:
            known = ", ".join(GEOM_TYPES)
            raise ModelError(f"{what}: unknown type {geom.type!r}; choose from: {known}")
        options = dict(vars(geom))
        name, body, kind = (options.pop(key) for key in ("name", "body", "type"))
        size, position, rotation = (options.pop(key) for key in ("size", "position", "rotation"))
        # Corners and heights are what makes these shapes
        if (kind == "convex") != (geom.corners is not None):
            raise ModelError(f"{what}: corners are for convex, and needed there")
        if kind == "convex":
            points = options.pop("corners")
            del options["heights"]
            return self.convex(
                name, body, points=points, position=position, rotation=rotation, **options
            )
        size = vector3(size, f"{what}: size")
        for i in range(SIZES.get(kind, 0)):
            positive(size[i], f"{what}: size[{i}]")
        if (kind in FIELDS) != (geom.heights is not None):
            raise ModelError(f"{what}: heights are for {' and '.join(FIELDS)}, and needed there")
        if kind in FIELDS:
            options["heights"] = self._checked_heights(name, geom.heights)
        return self._geom(name, body, kind, size, position, rotation, **options)

    @staticmethod
    def _check_weight(
        name: str, body: str, kind: str, mass: float | None, density: float | None
    ) -> None:
        """Raise a ModelError unless the geom can have such a mass or density."""
        # A mass needs a body that moves, and a volume, or a point
        for what, value in (("mass", mass), ("density", density)):
            if value is None:
                continue
            coefficient(value, f"geom {name!r}: {what}")
            if body == WORLD:
                raise ModelError(f"geom {name!r}: the world's geoms have no {what}; leave it out")
            if kind not in SOLIDS and not (kind == "point" and what == "mass"):
                choices = "what has a volume can have one"
                choices += " (a point: a mass)" if kind == "point" else ""
                raise ModelError(f"geom {name!r}: a {kind} has no {what}; {choices}")
        if mass is not None and density is not None:
            raise ModelError(f"geom {name!r}: give its mass or its density, not both")


def _color(color: Any, name: str) -> tuple[int, int, int] | None:
    """Red, green and blue from 0 to 255, or None."""
    if color is None:
        return None
    found = vector3(color, f"color of {name!r}")
    if found.min() < 0 or found.max() > 255:
        raise ModelError(f"geom {name!r}: color must be red, green, blue, 0 to 255: {color!r}")
    r, g, b = (int(value) for value in found)
    return r, g, b


def _pair(half_size: Any, name: str) -> tuple[float, float]:
    """Two positive numbers."""
    try:
        x, y = half_size
    except (TypeError, ValueError):
        raise ModelError(
            f"geom {name!r}: half_size must be two numbers [m], got {half_size!r}"
        ) from None
    what = f"geom {name!r}: half_size"
    return positive(x, what), positive(y, what)
