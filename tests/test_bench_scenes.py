"""`python -m studies bench --cases scenes`: the scenes are what they say, the same in both
systems, and what is read off them is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dynenvs.memory.layout import Floats
from dynenvs.simulation.world import SimulationError
from studies.bench import families, loose, report, scenes
from studies.bench.loose import PUSH, Ours, Scene, Theirs
from studies.bench.peers import peer
from studies.bench.race import Result, Settings

QUICK = Settings(repeats=3, seconds=0.01, quick=True)
FALLS, RESTS = 4, 5  # where the heap is among the scenes


def test_the_scenes_have_their_sizes_and_nothing_overlaps_at_the_start() -> None:
    counts = [(scene.name.partition(",")[0], len(scene.places)) for scene in scenes.scenes(False)]
    assert counts == [
        ("wall of 20 bricks", 20),
        ("wall of 50 bricks", 50),
        ("40 towers of 5", 200),
        ("10 dominoes fall", 10),
        ("heap of 100", 100),
        ("heap of 100", 100),
        ("50 boxes far apart", 50),
    ]
    for scene in scenes.scenes(False):
        assert Ours(scene).overlap() < 1e-12
    heap = scenes.scenes(False)[FALLS]
    apart = np.linalg.norm(heap.places[:, None] - heap.places[None], axis=2)
    reach = float(np.linalg.norm(heap.half))
    assert apart[np.triu_indices(100, 1)].min() > 2 * reach
    assert heap.places[:, 2].min() > reach
    np.testing.assert_allclose(np.linalg.norm(heap.turned, axis=1), 1.0, rtol=1e-15)


def test_mujoco_s_boxes_are_ours() -> None:
    """Mass, inertia, size, friction, start; and the same free fall."""
    pytest.importorskip("mujoco")
    scene = scenes.scenes(True)[FALLS]
    ours, theirs = Ours(scene), Theirs(scene)
    bodies, model = ours._world.model.bodies[1:], theirs._model
    np.testing.assert_allclose(model.body_mass[1:], bodies["mass"], rtol=1e-14)
    inertia = np.sort(np.diagonal(bodies["inertia"], axis1=1, axis2=2))
    np.testing.assert_allclose(np.sort(model.body_inertia[1:]), inertia, rtol=1e-13)
    np.testing.assert_array_equal(model.geom_size[1:], np.tile(scene.half, (5, 1)))
    np.testing.assert_array_equal(model.geom_friction[:, 0], 0.6)
    assert ours._world.friction.min() == pytest.approx(0.6, rel=1e-15)
    assert ours._world.friction.max() == pytest.approx(0.6, rel=1e-15)
    np.testing.assert_allclose(theirs._data.qpos, ours._world.q, rtol=1e-15)
    for system in (ours, theirs):
        system.step(20)
    np.testing.assert_allclose(theirs.places(), ours.places(), atol=1e-13)


def test_the_first_domino_is_pushed_in_both() -> None:
    """By the same twist: 20 steps later, above the floor, it stands and turns alike in both."""
    pytest.importorskip("mujoco")
    scene = next(scene for scene in scenes.scenes(True) if scene.pushed)
    lifted = scene._replace(places=scene.places + np.array((0.0, 0.0, 1.0)))
    ours, theirs = Ours(lifted), Theirs(lifted)
    np.testing.assert_array_equal(theirs._data.qvel[:6], PUSH)
    for system in (ours, theirs):
        system.step(20)
    np.testing.assert_allclose(theirs._data.qpos, ours._world.q, atol=1e-6)
    assert ours._world.q[3:7] @ ours._world.q[10:14] < 0.9999


def test_reading_a_scene_does_not_change_it() -> None:
    """The same bits whether its counters are cleared and its contacts measured or not."""
    scene = scenes.scenes(True)[RESTS]
    read, alone = Ours(scene), Ours(scene)
    for _ in range(10):
        read.step(20)
        alone.step(20)
        read.overlap()
        read.facts()
        read.begin()
        assert read.facts() == {"residual": "0e+00", "degraded": 0}
    np.testing.assert_array_equal(read._world.q, alone._world.q)
    np.testing.assert_array_equal(read._world.v, alone._world.v)
    assert alone._world.diagnostics.residual > 0.0


class Fake:
    """Boxes that creep by 2 mm and rise by 4 mm in each step; the worst overlap is in mid-scene."""

    def __init__(self, scene: Scene) -> None:
        self.at, self.begun = 0, -1

    def step(self, count: int) -> None:
        self.at += count

    def places(self) -> Floats:
        return np.array([[0.0, 0.0, 0.0], [1.2e-3 * self.at, 1.6e-3 * self.at, 4e-3 * self.at]])

    def overlap(self) -> float:
        return 3e-3 if self.at == 20 else 1e-3

    def begin(self) -> None:
        self.begun = self.at

    def facts(self) -> dict[str, Any]:
        return {"residual": str(self.begun)}


class Other(Fake):
    """Twice as quick, for it has a core of its own."""


class Fails(Fake):
    """It comes through its first turn."""

    def step(self, count: int) -> None:
        super().step(count)
        if self.at > 20:
            raise SimulationError("no solution of the step at t = 1 s (timestep 1 s, q = [1 2 3])")


class Missing(Fake):
    """Its package is not there."""

    def __init__(self, scene: Scene) -> None:
        peer("dynenvs_peer_that_nobody_has")


def measured(monkeypatch: pytest.MonkeyPatch, **systems: Any) -> Result:
    """What the case says of one scene: 10 untimed steps, 30 timed ones."""
    scene = scenes.scenes(True)[0]._replace(name="wall", before=10, steps=30, since=5)
    monkeypatch.setattr(scenes, "scenes", lambda quick: [scene])
    monkeypatch.setattr(scenes, "SYSTEMS", systems)

    def timed(step: Callable[[int], None], count: int) -> tuple[float, float]:
        """Steps 1, 11, 21 and so on take 9 ms, others 3; the first system has half a core."""
        step(count)
        at = step.__self__.at  # type: ignore[attr-defined]
        seconds = 9e-3 if at % 10 == 1 else 3e-3
        return seconds * (1 + (type(step.__self__) is Fake)), seconds  # type: ignore[attr-defined]

    monkeypatch.setattr(scenes, "timed", timed)
    return scenes.Scenes().measure(QUICK, lambda what: None)


def test_what_is_read_off_a_scene(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = measured(monkeypatch, slow=Fake, fast=Other).rows
    assert (first.name, second.name) == ("wall, slow", "wall, fast")
    assert len(first.samples) == 30
    assert first.median == pytest.approx(1 / 6e-3)
    assert second.ratios == pytest.approx([2.0] * 30)
    assert first.cores == pytest.approx([0.5] * 30)
    assert first.facts == {
        "first ms": "9",
        "p95 ms": "18",
        "max/median": "3",
        "residual": "5",
        "crept m": "7e-02",  # 35 steps of 2 mm
        "sank m": "1e-01",
        "overlap m": "3e-03",
    }


def test_the_table_is_in_milliseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    result = measured(monkeypatch, slow=Fake, fast=Other)
    head, row = report.columns(result), report.cells(result, result.rows[1])
    assert row[head.index("ms a step")] == "3"
    assert "## Scenes" in report.markdown([result], families.describe(), QUICK, None)


def test_a_system_that_fails_or_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the positions of all boxes; the others go on."""
    result = measured(monkeypatch, gone=Missing, bad=Fails, good=Other)
    assert [row.name for row in result.rows] == ["wall, good"]
    gone, bad = result.skipped
    assert gone.startswith("wall, gone: `pip install dynenvs_peer_that_nobody_has` first")
    assert bad == "wall, bad: no solution of the step at t = 1 s"
    nothing = measured(monkeypatch, gone=Missing)
    assert not nothing.rows
    assert len(nothing.skipped) == 1


def test_mujoco_s_warnings_are_not_passed_over() -> None:
    pytest.importorskip("mujoco")
    theirs = Theirs(scenes.scenes(True)[0])
    theirs._data.qvel[0] = np.nan
    theirs.step(1)
    with pytest.raises(SimulationError, match="a warning of MuJoCo's"):
        theirs.overlap()


@pytest.mark.thorough
def test_small_scenes_run_and_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them; dynenvs' boxes stay where they are, as exactly as docs/contact.md says."""
    quick = {name: scenes.SYSTEMS[name] for name in ("MuJoCo", "dynenvs", "dynenvs, exact cone")}
    monkeypatch.setattr(scenes, "SYSTEMS", quick)
    result = families.FAMILIES["scenes"](QUICK)[0].measure(QUICK, lambda what: None)
    ours = [row for row in result.rows if row.name.endswith("dynenvs")]
    assert len(ours) == len(scenes.scenes(True))
    for row in ours:
        assert float(row.facts["residual"]) < 1e-9
        assert row.facts["degraded"] == 0
        assert float(row.facts["crept m"] or 0.0) < 1e-9
        assert float(row.facts["sank m"] or 0.0) < 1e-9
    assert sum(bool(row.facts["crept m"]) for row in ours) == len(ours) - 2


def test_pinocchio_s_time_is_its_own_and_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row's times are Pinocchio's own; a solver that takes too long is named with its time."""
    pin: Any = pytest.importorskip("pinocchio")
    if not hasattr(pin, "ADMMConstraintSolver"):
        pytest.skip("contact solvers came with pin 4")
    scene = scenes.scenes(True)[0]._replace(before=1, steps=4)
    system = {"ADMM": scenes.SYSTEMS["Pinocchio ADMM"]}
    monkeypatch.setattr(scenes, "SYSTEMS", system)
    skipped: list[str] = []
    (row,) = scenes._race(scene, 2, skipped, lambda what: None)
    assert not skipped
    assert row.cores == [1.0] * 4
    assert float(row.facts["residual"]) < 1e-4
    monkeypatch.setattr(loose, "PATIENCE", 0.0)
    assert scenes._race(scene, 2, skipped, lambda what: None) == []
    assert "stopped after 1 steps of" in skipped[0]
