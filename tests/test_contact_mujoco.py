"""Contact geometry against MuJoCo's: same gaps, normals and places for random placements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from solids import Solid, pose, read, slots
from test_block_field import blocks, over
from test_box_blocks import columns
from test_contact_geometry import PAIRS, approach, random_solid
from trees import Array

mujoco: Any = pytest.importorskip("mujoco")


def theirs(a: Solid, b: Solid, margin: float) -> list[tuple[float, Array, Array]]:
    """(gap, place, normal from b to a) of MuJoCo's contacts within `margin`."""

    def body(name: str, solid: Solid) -> str:
        x, y, z, w = Rotation.from_matrix(solid.R).as_quat()
        numbers = " ".join(map(repr, map(float, solid.size)))
        place = " ".join(map(repr, map(float, solid.p)))
        return (
            f'<body name="{name}" pos="{place}" quat="{w} {x} {y} {z}"><freejoint/>'
            f'<geom type="{solid.kind}" size="{numbers}" margin="{margin}"/></body>'
        )

    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{body('a', a)}{body('b', b)}</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    found = []
    for contact in data.contact:
        normal = contact.frame[:3] * (-1.0 if contact.geom[0] == 0 else 1.0)
        found.append((float(contact.dist), contact.pos.copy(), normal))
    return found


@pytest.mark.parametrize("kinds", PAIRS)
@pytest.mark.thorough
def test_random_solids_touch_as_in_mujoco(kinds: tuple[str, str]) -> None:
    """1 um apart: the least gap within 10 nm, its normal and place too."""
    rng = np.random.default_rng(3)
    for _ in range(8):
        a, b = (random_solid(rng, kind) for kind in kinds)
        a = approach(a, b, rng)
        reference = min(theirs(a, b, 0.01), key=lambda contact: contact[0])
        ours = slots(a, b)
        k = int(ours.gaps.argmin())
        assert ours.gaps[k] == pytest.approx(reference[0], abs=1e-8)
        np.testing.assert_allclose(ours.normals[k], reference[2], atol=2e-3)
        np.testing.assert_allclose(ours.points[k], reference[1], atol=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_sole_on_a_step_touches_at_the_same_places(seed: int) -> None:
    """A box laid flat on another at a random heading and overhang: the same polygon."""
    rng = np.random.default_rng(seed)
    turn = Rotation.from_euler("z", rng.uniform(-3, 3)).as_matrix()
    shift = np.array([rng.uniform(0.1, 0.3), rng.uniform(-0.2, 0.2), 0.12 + 1e-4])
    a = Solid("box", (0.13, 0.05, 0.02), turn, shift)
    b = Solid("box", (0.2, 0.2, 0.1), np.eye(3), np.zeros(3))
    reference = theirs(a, b, 0.01)
    ours = slots(a, b)
    near = ours.gaps < 0.01
    for gap, _, normal in reference:
        assert gap == pytest.approx(1e-4, abs=1e-9)
        np.testing.assert_allclose(normal, (0, 0, 1), atol=1e-9)
    np.testing.assert_allclose(ours.gaps[near], 1e-4, atol=1e-12)
    np.testing.assert_allclose(ours.normals[near], np.tile((0, 0, 1), (near.sum(), 1)), atol=1e-12)
    places = {tuple(p[:2].round(4) + 0.0) for _, p, _ in reference}
    assert {tuple(p[:2].round(4) + 0.0) for p in ours.points[near]} == places


@pytest.mark.parametrize("seed", range(6))
def test_a_capsule_over_blocks_is_as_far_as_from_mujocos_boxes(seed: int) -> None:
    """Every block a box of MuJoCo's: the least of its distances, within its 1e-6 m."""
    rng = np.random.default_rng(seed)
    heights = blocks(seed)
    R = Rotation.from_rotvec(rng.normal(size=3) * 2.0).as_matrix()
    capsule = Solid("capsule", (0.03, 0.2), R, np.array([*rng.uniform(-0.5, 0.5, 2), 0.6]))
    for _ in range(30):  # let down to 1 cm at most
        gap = min(_away(capsule, column) for column in columns(heights))
        if gap < 0.01:
            break
        capsule = capsule._replace(p=capsule.p - np.array([0.0, 0.0, gap - 0.005]))
    found = read(over(heights, capsule), pose(R, capsule.p))
    assert found.least == pytest.approx(gap, abs=2e-6)


def _away(a: Solid, b: Solid) -> float:
    """Distance of two solids by MuJoCo [m], up to a metre."""
    worlds = []
    for solid in (a, b):
        x, y, z, w = Rotation.from_matrix(solid.R).as_quat()
        size, place = (" ".join(map(str, map(float, v))) for v in (solid.size, solid.p))
        worlds.append(
            f'<geom type="{solid.kind}" size="{size}" pos="{place}" quat="{w} {x} {y} {z}"/>'
        )
    model = mujoco.MjModel.from_xml_string(
        f"<mujoco><worldbody>{''.join(worlds)}</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return float(mujoco.mj_geomDistance(model, data, 0, 1, 1.0, None))
