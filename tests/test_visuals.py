"""Visual meshes: decimated, carried over from files, saved, drawn instead of what touches."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from pictures import GREEN, RED, SIZE, where
from scipy.spatial import ConvexHull

import dynenvs
from dynenvs.envs.legged.any_legged import AnyLeggedTask
from dynenvs.model.builder import ModelBuilder
from dynenvs.model.decimation import Surface, clustered, decimated, together
from dynenvs.model.hulls import directions
from dynenvs.model.importing.losses import NotCarriedOver
from dynenvs.model.model import Model
from dynenvs.model.parts import ModelError, free
from dynenvs.simulation.world import World
from dynenvs.viewer.encoding import decode
from dynenvs.viewer.shapes import parts_of

CUBE = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


def closed(points: np.ndarray) -> Surface:
    """The hull of points, its triangles counter-clockwise from outside."""
    hull = ConvexHull(points)
    triangles = hull.simplices.astype(np.int64)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0.0
    triangles[inward] = triangles[inward][:, ::-1]
    return points, triangles


def volume(surface: Surface) -> float:
    """By the divergence theorem."""
    a, b, c = (surface[0][surface[1][:, k]] for k in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)


def grid_cube(count: int) -> Surface:
    """The cube of half edge 1, each face of count x count squares."""
    faces, ticks = [], np.linspace(-1.0, 1.0, count + 1)
    i, j = (k.ravel() for k in np.meshgrid(range(count), range(count), indexing="ij"))
    at = i * (count + 1) + j
    net = np.concatenate(
        [
            np.stack([at, at + count + 1, at + 1], 1),
            np.stack([at + count + 1, at + count + 2, at + 1], 1),
        ]
    )
    x, y = np.meshgrid(ticks, ticks, indexing="ij")
    for axis in range(3):
        for side in (1.0, -1.0):
            points = np.roll(np.stack([x, y, np.ones_like(x)], 2).reshape(-1, 3), axis + 1, axis=1)
            # The lower faces are the upper ones mirrored through the middle: that turns their sense
            faces.append((points * side, net if side > 0.0 else net[:, ::-1]))
    return together(faces)


def test_a_fine_ball_stays_a_ball() -> None:
    """Of 4,000 points, by volume and by the distance of its points from the sphere."""
    ball = closed(directions(4000))
    (found,) = decimated([ball], 600)
    assert 250 < len(found[1]) <= 600
    assert volume(found) == pytest.approx(4.0 * np.pi / 3.0, rel=0.03)
    assert np.abs(np.linalg.norm(found[0], axis=1) - 1.0).max() < 0.02


def test_a_fine_cube_keeps_its_corners_and_edges() -> None:
    """Where planes meet, the point of a cell lies on all of them: nothing is rounded."""
    cube = grid_cube(24)
    assert volume(cube) == pytest.approx(8.0)
    found = clustered(*cube, 0.5)
    assert len(found[1]) < 0.1 * len(cube[1])
    assert volume(found) == pytest.approx(8.0, rel=1e-9)
    for corner in CUBE:
        assert np.linalg.norm(found[0] - corner, axis=1).min() < 1e-9


def test_small_surfaces_are_left_as_they_are() -> None:
    cube = closed(CUBE)
    assert decimated([cube, cube], 24)[1] is cube
    assert sum(len(triangles) for _, triangles in decimated([cube, cube], 23)) <= 23


MJCF = """
<mujoco>
  <asset>
    <mesh name="shell" vertex="{vertex}"/>
    <material name="paint" rgba="0 0.8 0 1"/>
  </asset>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body name="base" pos="0 0 1">
      <freejoint/>
      <geom name="core" type="box" size="0.1 0.1 0.1" group="3" rgba="1 0 0 1"/>
      <geom name="seen too" type="sphere" size="0.05" pos="0 0 0.5"/>
      <geom name="skin" type="mesh" mesh="shell" material="paint" contype="0" conaffinity="0"
            pos="0.3 0 0" quat="0.7071067811865476 0 0 0.7071067811865476"/>
      <geom name="helper" type="mesh" mesh="shell" contype="0" conaffinity="0" group="4"/>
      <body name="foot" pos="0 0 -0.4">
        <geom name="sole" type="sphere" size="0.02" group="3"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
SLAB = CUBE * [0.3, 0.2, 0.1]


def robot() -> Model:
    pytest.importorskip("mujoco")
    text = MJCF.format(vertex=" ".join(str(x) for x in SLAB.ravel()))
    return dynenvs.load(text)


def test_visuals_of_mjcf_are_where_the_file_says() -> None:
    """By hand: a slab turned by 90 degrees about z; geoms of hidden groups are not seen.

    What touches is covered on the body itself and on those welded to it.
    """
    (skin,) = robot().visuals
    assert (skin.name, skin.body, skin.color) == ("skin", "base", (0, 204, 0))
    assert skin.instead_of == ("core", "sole")
    wanted = CUBE * [0.2, 0.3, 0.1] + [0.3, 0.0, 0.0]
    np.testing.assert_allclose(
        np.array(sorted(skin.points.tolist())), sorted(wanted.tolist()), atol=1e-5
    )
    assert volume((skin.points, skin.triangles)) == pytest.approx(8 * 0.006, rel=1e-3)


URDF = """
<robot name="r"><link name="base">
  <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><origin xyz="0 0 0.5"/><geometry><mesh filename="{mesh}"/></geometry>
    <material name="m"><color rgba="0 0 1 1"/></material></visual>
  <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision>
</link></robot>
"""


def test_visuals_of_urdf_and_such_as_are_missing(tmp_path: Path) -> None:
    """A visual moves nothing: where its mesh is missing the robot loads without it."""
    pytest.importorskip("mujoco")
    points, triangles = closed(SLAB)
    lines = [f"v {x} {y} {z}" for x, y, z in points]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in triangles]
    (tmp_path / "slab.obj").write_text("\n".join(lines))
    file = tmp_path / "r.urdf"
    file.write_text(URDF.format(mesh="slab.obj"))
    model = dynenvs.load(file, floating=True)
    (seen,) = model.visuals
    assert seen.color == (0, 0, 255)
    assert seen.instead_of == (model.geoms[0].name,)
    np.testing.assert_allclose(seen.points.mean(axis=0), [0.0, 0.0, 0.5], atol=1e-5)
    for slashes in ("//", "///"):
        file.write_text(URDF.format(mesh=f"package:{slashes}{tmp_path.name}/slab.obj"))
        assert len(dynenvs.load(file, floating=True).visuals) == 1
    for missing in ("none.obj", "package://nobody/none.obj", "none.dae"):
        file.write_text(URDF.format(mesh=missing))
        bare = dynenvs.load(file, floating=True)
        assert not bare.visuals
        assert (bare.packed == model.packed).all()


def test_visuals_are_saved_with_the_model(tmp_path: Path) -> None:
    model = robot()
    dynenvs.save(model, tmp_path / "r.json")
    again = dynenvs.load(tmp_path / "r.json")
    (old,), (new,) = model.visuals, again.visuals
    np.testing.assert_array_equal(new.points, old.points)
    np.testing.assert_array_equal(new.triangles, old.triangles)
    assert (new.name, new.body, new.color, new.instead_of) == (
        old.name,
        old.body,
        old.color,
        old.instead_of,
    )
    assert (again.packed == model.packed).all()


def clad_world() -> World:
    """A red ball that touches, within a green box that is seen."""
    points, triangles = closed(0.3 * CUBE)
    builder = ModelBuilder()
    builder.body("b", joint=free(), mass=1.0, inertia=(0.1,) * 3)
    builder.sphere("ball", "b", radius=0.2, color=(200, 40, 40))
    green = {"color": (40, 200, 40), "instead_of": ("ball",)}
    builder.visual("box", "b", points=points, triangles=triangles, **green)
    return World(builder.build())


def test_visuals_are_drawn_instead_of_what_touches_or_not() -> None:
    """The box's picture is that of a solid of its size; on request the ball is seen."""
    world = clad_world()
    camera = {"look_at": (0, 0, 0), "distance": 3.0, "azimuth": 0.3, **SIZE}
    seen = dynenvs.render(world, **camera)
    assert where(seen, GREEN).sum() > 500
    assert not where(seen, RED).any()
    other = dynenvs.render(world, shapes="collision", **camera)
    assert where(other, RED).sum() > 200
    assert not where(other, GREEN).any()
    with pytest.raises(ValueError, match=re.escape("unknown shapes 'both'")):
        dynenvs.render(world, shapes="both", **camera)


@pytest.mark.thorough
def test_walkers_wear_their_visuals() -> None:
    """The environment's model has the robot's surfaces beside its ground."""
    pytest.importorskip("mujoco")
    file = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / "ant.xml"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCarriedOver)
        builder = ModelBuilder.of(dynenvs.load(file).description)
    points, triangles = closed(0.3 * CUBE)
    builder.visual("shell", "torso", points=points, triangles=triangles)
    (shell,) = AnyLeggedTask(source=builder.build()).level.visuals
    assert (shell.name, shell.body) == ("shell", "torso")


def test_the_page_has_both() -> None:
    model = clad_world().model
    ball, box = parts_of(model, 1.0, (np.zeros(2), np.zeros(2)))
    assert ball["covered"]
    assert box["type"] == "mesh"
    surface = decode(box["corners"]), decode(box["faces"])
    assert volume(surface) == pytest.approx(8 * 0.3**3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"body": "c"}, "visual 'v': unknown body 'c'; known: b, world"),
        ({"instead_of": ("x",)}, "visual 'v': instead_of: unknown geom 'x'"),
        ({"triangles": [[0, 1, 8]]}, "triangles must be whole numbers from 0 to 7, got 8"),
        ({"triangles": [[0, 1, 1.5]]}, "triangles must be whole numbers from 0 to 7, got 1.5"),
        ({"points": [[0, 0, np.nan]]}, "points must be finite numbers of shape (n, 3)"),
        ({"color": (0, 0, 300)}, "color must be three numbers from 0 to 255"),
    ],
)
def test_faults_are_told(options: dict[str, object], words: str) -> None:
    points, triangles = closed(CUBE)
    builder = ModelBuilder()
    builder.body("b", joint=free(), mass=1.0, inertia=(0.1,) * 3)
    given = {"body": "b", "points": points, "triangles": triangles, **options}
    with pytest.raises(ModelError, match=re.escape(words)):
        builder.visual("v", **given).build()
