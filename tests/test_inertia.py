"""Mass, centre of mass and inertia that follow from geoms and densities."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from dynenvs.dynamics.crba import crba
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.model import Model
from dynenvs.model.parts import ModelError, free, revolute
from dynenvs.reference.augmented import fully_augmented

Array = NDArray[Any]
WATER = 1000.0


def body_of(add: Callable[[ModelBuilder], Any], **options: Any) -> Any:
    """Record BODY of a free body with the geoms that `add` adds to it."""
    builder = ModelBuilder().body("b", joint=free(), **options)
    add(builder)
    return builder.build().bodies[1]


# Closed forms


def test_a_ball() -> None:
    body = body_of(lambda b: b.sphere("s", "b", radius=0.1, position=(1, 2, 3)), density=WATER)
    mass = 4 / 3 * math.pi * 0.1**3 * WATER
    assert body.mass == pytest.approx(mass, rel=1e-14)
    np.testing.assert_array_equal(body.com, [1, 2, 3])
    np.testing.assert_allclose(body.inertia, 0.4 * mass * 0.1**2 * np.eye(3), rtol=1e-14)


def test_a_turned_box() -> None:
    R = Rotation.from_euler("xyz", [0.3, -0.5, 0.7]).as_matrix()
    body = body_of(lambda b: b.box("x", "b", half_size=(0.1, 0.2, 0.3), rotation=R, mass=5.0))
    x, y, z = 0.2, 0.4, 0.6  # edges
    moments = 5.0 / 12 * np.array([y * y + z * z, x * x + z * z, x * x + y * y])
    assert body.mass == 5.0
    np.testing.assert_allclose(body.inertia, R @ np.diag(moments) @ R.T, rtol=0, atol=1e-15)


def test_a_capsule_is_a_cylinder_with_two_half_balls() -> None:
    """Along x; half balls by hand: centroid 3/8 r above the flat face, 83/320 m r^2 there."""
    r, h = 0.1, 0.25
    body = body_of(
        lambda b: b.capsule("c", "b", start=(-h, 0, 0), end=(h, 0, 0), radius=r, density=WATER)
    )
    rod, half = math.pi * r**2 * 2 * h * WATER, 2 / 3 * math.pi * r**3 * WATER
    along = rod * r**2 / 2 + 2 * half * 0.4 * r**2
    across = rod * (r**2 / 4 + (2 * h) ** 2 / 12)
    across += 2 * half * (83 / 320 * r**2 + (h + 3 / 8 * r) ** 2)
    assert body.mass == pytest.approx(rod + 2 * half, rel=1e-14)
    np.testing.assert_allclose(body.inertia, np.diag([along, across, across]), atol=1e-14)


def test_a_dumbbell_adds_up_by_parallel_axes() -> None:
    """Two balls and a point at its end, which has mass and no size."""

    def add(builder: ModelBuilder) -> None:
        builder.sphere("left", "b", radius=0.1, position=(-1, 0, 0), mass=2.0)
        builder.sphere("right", "b", radius=0.1, position=(1, 0, 0), mass=1.0)
        builder.point("tip", "b", (2, 0, 0), mass=1.0)

    body = body_of(add)
    balls = 0.4 * 3.0 * 0.1**2
    across = 2.0 * 1.25**2 + 1.0 * 0.75**2 + 1.0 * 1.75**2 + balls
    assert body.mass == 4.0
    np.testing.assert_allclose(body.com, [0.25, 0, 0], atol=1e-16)
    np.testing.assert_allclose(body.inertia, np.diag([balls, across, across]), atol=1e-14)


# Against sums over many points and against MuJoCo


def random_parts(seed: int) -> list[dict[str, Any]]:
    """Two to five geoms that do not overlap, with densities: arguments of the builder's methods."""
    rng = np.random.default_rng(seed)
    parts: list[dict[str, Any]] = []
    for i in range(rng.integers(2, 6)):
        x, y, z = rng.uniform(-0.2, 0.2, 3)
        position, density = np.array([x + 0.8 * i, y, z]), rng.uniform(100, 8000)
        kind = ("sphere", "capsule", "box")[rng.integers(3)]
        part: dict[str, Any] = {"kind": kind, "density": density}
        if kind == "box":
            R = Rotation.random(random_state=rng).as_matrix()
            part |= {"half_size": rng.uniform(0.02, 0.2, 3), "position": position, "rotation": R}
        elif kind == "sphere":
            part |= {"radius": rng.uniform(0.02, 0.2), "position": position}
        else:
            half = Rotation.random(random_state=rng).apply([0, 0, rng.uniform(0.01, 0.2)])
            part |= {"radius": rng.uniform(0.02, 0.1)}
            part |= {"start": position - half, "end": position + half}
        parts.append(part)
    return parts


def composite(parts: list[dict[str, Any]]) -> Any:
    def add(builder: ModelBuilder) -> None:
        for i, part in enumerate(parts):
            options = {k: v for k, v in part.items() if k != "kind"}
            getattr(builder, part["kind"])(f"g{i}", "b", **options)

    return body_of(add)


def inside(part: dict[str, Any], points: Array) -> Array:
    """Which points lie in a geom."""
    if part["kind"] == "box":
        local = (points - part["position"]) @ part["rotation"]
        return np.asarray((np.abs(local) <= part["half_size"]).all(axis=-1))
    if part["kind"] == "sphere":
        return np.asarray(np.linalg.norm(points - part["position"], axis=-1) <= part["radius"])
    a, way = part["start"], part["end"] - part["start"]
    share = np.clip((points - a) @ way / (way @ way), 0, 1)
    away = np.linalg.norm(points - a - share[..., None] * way, axis=-1)
    return np.asarray(away <= part["radius"])


@pytest.mark.parametrize("seed", range(4))
def test_composites_agree_with_a_sum_over_small_cubes(seed: int) -> None:
    """Midpoints of 80 x 80 x 80 cubes around each geom: 1 % is the grid's own error."""
    parts = random_parts(seed)
    mass, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for part in parts:
        middle = part["position"] if "position" in part else (part["start"] + part["end"]) / 2
        reach, n = 0.4, 80
        ticks = reach * ((np.arange(n) + 0.5) / n * 2 - 1)
        cube = np.stack(np.meshgrid(ticks, ticks, ticks, indexing="ij"), -1).reshape(-1, 3)
        points = middle + cube[inside(part, middle + cube)]
        each = part["density"] * (2 * reach / n) ** 3
        mass += each * len(points)
        first += each * points.sum(axis=0)
        second += each * points.T @ points
    com = first / mass
    second -= mass * np.outer(com, com)
    inertia = np.trace(second) * np.eye(3) - second
    body = composite(parts)
    assert body.mass == pytest.approx(mass, rel=0.01)
    np.testing.assert_allclose(body.com, com, atol=0.01)
    np.testing.assert_allclose(body.inertia, inertia, atol=0.01 * np.abs(inertia).max())


@pytest.mark.parametrize("seed", range(6))
def test_composites_agree_with_mujoco(seed: int) -> None:
    mujoco = pytest.importorskip("mujoco")
    parts = random_parts(seed)
    spec = mujoco.MjSpec()
    theirs = spec.worldbody.add_body(name="b")
    theirs.add_freejoint()
    for part in parts:
        geom = theirs.add_geom(density=part["density"])
        if part["kind"] == "capsule":
            geom.type = mujoco.mjtGeom.mjGEOM_CAPSULE
            geom.fromto = [*part["start"], *part["end"]]
            geom.size = [part["radius"], 0, 0]
            continue
        geom.pos = part["position"]
        if part["kind"] == "box":
            geom.type = mujoco.mjtGeom.mjGEOM_BOX
            geom.size = part["half_size"]
            x, y, z, w = Rotation.from_matrix(part["rotation"]).as_quat()
            geom.quat = [w, x, y, z]
        else:
            geom.type, geom.size = mujoco.mjtGeom.mjGEOM_SPHERE, [part["radius"], 0, 0]
    model = spec.compile()
    w, x, y, z = model.body_iquat[1]
    R = Rotation.from_quat([x, y, z, w]).as_matrix()
    inertia = R @ np.diag(model.body_inertia[1]) @ R.T
    body = composite(parts)
    assert body.mass == pytest.approx(model.body_mass[1], rel=1e-12)
    np.testing.assert_allclose(body.com, model.body_ipos[1], atol=1e-12)
    np.testing.assert_allclose(body.inertia, inertia, atol=1e-11 * np.abs(inertia).max())


# Who counts


def test_a_geom_s_own_weight_counts_before_the_body_s_density() -> None:
    def add(builder: ModelBuilder) -> None:
        builder.sphere("heavy", "b", radius=0.1, density=7800.0)
        builder.sphere("light", "b", radius=0.1, collide=False)  # only seen: counts all the same
        builder.sphere("ghost", "b", radius=0.5, mass=0.0)
        builder.point("tip", "b", (0, 0, 0))

    volume = 4 / 3 * math.pi * 0.1**3
    assert body_of(add, density=WATER).mass == pytest.approx(volume * 8800.0, rel=1e-14)


def test_geoms_without_weight_leave_bodies_as_they_were() -> None:
    """Mass and inertia as given, or none: a link that only carries another."""
    given = {"mass": 2.0, "com": (0.1, 0, 0), "inertia": (0.1, 0.2, 0.15)}
    body = body_of(lambda b: b.sphere("s", "b", radius=1.0), **given)
    assert (body.mass, *body.com, *np.diag(body.inertia)) == (2.0, 0.1, 0, 0, 0.1, 0.2, 0.15)
    builder = ModelBuilder().body("arm", joint=revolute())
    builder.box("skin", "arm", half_size=(1, 1, 1))
    with pytest.raises(ModelError, match=r"'arm' moves no mass.*density"):
        builder.build()
    builder.body("tool", parent="arm", mass=1.0, com=(0.5, 0, 0))
    assert builder.build().bodies[1].mass == 0.0


def two_links(*, by_hand: bool) -> Model:
    """An arm of two boxes, the second a Denavit-Hartenberg link's."""
    builder = ModelBuilder().half_space("floor")
    for name, parent in (("upper", "world"), ("lower", "upper")):
        m, (a, b, c) = 3.0, (0.2, 0.05, 0.04)
        weight: dict[str, Any] = {}
        if by_hand:  # in the far frame
            moments = m / 3 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
            weight = {"mass": m, "com": (-a, 0, 0), "inertia": moments}
        builder.dh_link(name, parent=parent, a=0.4, joint=revolute(), **weight)
        options = {} if by_hand else {"mass": m}
        builder.box(f"{name} box", name, half_size=(a, b, c), position=(a, 0, 0), **options)
    return builder.build()


def test_links_by_denavit_and_hartenberg_have_weighty_geoms_too() -> None:
    """Geoms lie in the joint's frame, the numbers by hand in the far one: the same mass matrix."""
    q = [0.3, -0.7]
    M = crba(two_links(by_hand=False), q)
    np.testing.assert_allclose(M, crba(two_links(by_hand=True), q), rtol=1e-14)
    assert M[1, 1] == pytest.approx(3.0 / 3 * (0.2**2 + 0.05**2) + 3.0 * 0.2**2, rel=1e-14)


def test_bodies_taken_apart_weigh_the_same() -> None:
    """`dynenvs.reference.augmented` builds on the same parts."""
    builder = ModelBuilder().body("arm", joint=revolute(), density=WATER)
    builder.box("skin", "arm", half_size=(0.1, 0.1, 0.1), position=(0.1, 0, 0))
    model = fully_augmented(builder.build(), builder)
    assert model.bodies[1].mass == pytest.approx(8.0, rel=1e-14)


# Errors


def with_box(body: dict[str, Any], geom: dict[str, Any]) -> Callable[[], Any]:
    return lambda: body_of(lambda b: b.box("skin", "b", half_size=(1, 1, 1), **geom), **body)


BAD = {
    "mass twice": (
        with_box({"mass": 1.0}, {"mass": 1.0}),
        r"'b' has a mass.*geom 'skin' has a mass: give one",
    ),
    "inertia and density": (
        with_box({"inertia": (1, 1, 1), "mass": 1.0}, {"density": 1.0}),
        r"'b' has a mass.*geom 'skin' has a density: give one",
    ),
    "com and the body's density": (
        with_box({"com": (0, 0, 0), "density": 1.0}, {}),
        r"'b' has a mass, com or inertia.*the body has a density",
    ),
    "zero mass and density": (with_box({"mass": 0.0}, {"density": 1.0}), r"'b' has a mass"),
    "mass and density": (with_box({}, {"mass": 1.0, "density": 1.0}), r"'skin'.*not both"),
    "negative mass": (with_box({}, {"mass": -1.0}), r"'skin': mass must be finite and not neg"),
    "density not finite": (with_box({}, {"density": math.nan}), r"'skin': density must be finite"),
    "density no number": (with_box({}, {"density": "oak"}), r"geom 'skin': density.*'oak'"),
    "body's density": (with_box({"density": 0.0}, {}), r"'b': density must be positive"),
    "body's density no number": (with_box({"density": "oak"}, {}), r"body 'b': density.*'oak'"),
    "too heavy": (with_box({}, {"density": 1e12}), r"'b': mass must be zero or from"),
    "too dense": (with_box({}, {"density": 1e308}), r"'skin': density must be at most 1e\+12"),
    "no volume": (
        lambda: body_of(lambda b: b.point("tip", "b", (0, 0, 0)), density=1.0),
        r"'b': density needs a geom with a volume on the body; it has 'tip'",
    ),
    "no geom": (lambda: body_of(lambda b: b, density=1.0), r"'b': density needs.*no geom"),
    "weightless": (with_box({}, {"density": 0.0}), r"'b' moves no mass"),
    "world": (
        lambda: ModelBuilder().box("step", "world", half_size=(1, 1, 1), density=1.0),
        r"'step': the world's geoms have no density",
    ),
    "half space": (
        lambda: body_of(lambda b: b.half_space("slab", "b", mass=1.0)),
        r"'slab': a half_space has no mass; what has a volume can",
    ),
    "point": (
        lambda: body_of(lambda b: b.point("tip", "b", (0, 0, 0), density=1.0)),
        r"'tip': a point has no density",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_name_the_culprit(case: str) -> None:
    make, message = BAD[case]
    with pytest.raises(ModelError, match=message):
        make()
