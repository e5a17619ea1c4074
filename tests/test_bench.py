"""`python -m studies bench`: the statistics, what it says of missing peers, its files, and that the
mechanisms that it races are the same in all systems."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from rich.console import Console

from dynenvs.agents.experts.reference import reference_controller
from dynenvs.jit.compiled import Call
from dynenvs.memory.layout import open_work
from dynenvs.registration import ENVIRONMENTS
from dynenvs.simulation.world import World
from studies import __main__ as studies
from studies.bench import (
    batch,
    dynamics,
    families,
    lcp,
    mirrors,
    pendulum,
    race,
    report,
    shell,
    solves,
    steps,
)
from studies.bench.peers import MissingPeer, peer
from studies.bench.race import Race, Result, Settings, System

QUICK = Settings(repeats=3, seconds=0.01, quick=True)


class Clock:
    """Calls that take a time of their own; each turn of a system takes the next of its times."""

    def __init__(self, times: dict[str, list[float]]) -> None:
        self.times, self.order = times, list[str]()
        self.closed = list[str]()

    def maker(self, name: str) -> Callable[[], System]:
        def run(count: int) -> None:
            self.order.append(name)

        return lambda: System(run, 2, 0.5, {"integrator": name}, lambda: self.closed.append(name))

    def timed(self, run: Callable[[int], None], count: int) -> tuple[float, float]:
        run(count)
        name = self.order[-1]
        spent = count * self.times[name][(self.order.count(name) - 1) % len(self.times[name])]
        return spent, 0.5 * spent


def absent() -> System:
    peer("dynenvs_peer_that_nobody_has")
    raise AssertionError


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> tuple[Clock, Result]:
    """Two systems, one twice as fast, and one that is not there."""
    clock = Clock({"slow": [4e-3, 2e-3, 4e-3], "fast": [2e-3, 1e-3, 2e-3]})
    monkeypatch.setattr(race, "timed", clock.timed)
    monkeypatch.setattr(race, "calibrate", lambda run, seconds: 10)
    makers = [("slow", clock.maker("slow")), ("gone", absent), ("fast", clock.maker("fast"))]
    case = Race("single", "A race", "step", makers, ["A note."], conclude=lambda rows: ["The end."])
    return clock, case.measure(QUICK, lambda what: None)


def test_medians_spread_and_ratios(fake: tuple[Clock, Result]) -> None:
    """Rates are of operations; ratios are taken turn by turn, so a slow machine cancels out."""
    _, result = fake
    slow, fast = result.rows
    assert slow.samples == pytest.approx([500.0, 1000.0, 500.0])
    assert slow.median == pytest.approx(500.0)
    assert slow.spread == pytest.approx(0.5)
    assert fast.ratios == pytest.approx([2.0, 2.0, 2.0])
    assert slow.ratio == 1.0
    assert fast.summary()["simulated_seconds_per_second"] == pytest.approx(500.0)
    assert fast.cores == pytest.approx([0.5] * 3)


def test_systems_take_turns_and_are_closed(fake: tuple[Clock, Result]) -> None:
    clock, _ = fake
    assert clock.order == ["slow", "fast", "fast", "slow", "slow", "fast"]
    assert clock.closed == ["slow", "fast"]


def test_a_missing_system_is_named_with_the_cure(fake: tuple[Clock, Result]) -> None:
    _, result = fake
    assert len(result.skipped) == 1
    assert result.skipped[0].startswith("gone: `pip install dynenvs_peer_that_nobody_has` first")
    text = report.markdown([result], families.describe(), QUICK, None)
    assert f"Skipped: {result.skipped[0]}" in text
    for word in ("## A race", "A note.", "The end.", "| fast | fast | 1,000 |", "numba"):
        assert word in text


def test_a_named_system_is_what_another_is_compared_with() -> None:
    systems = {name: System(lambda count: None) for name in "abc"}
    rows = race.take_turns(systems, QUICK, lambda what: None, {"c": "b", "b": "gone"})
    a, b, c = (row.samples for row in rows)
    assert rows[1].ratios == [mine / theirs for mine, theirs in zip(b, a, strict=True)]
    assert rows[2].ratios == [mine / theirs for mine, theirs in zip(c, b, strict=True)]


def test_quartiles() -> None:
    assert race.quartiles([3.0]) == (3.0, 3.0)
    assert race.quartiles([1.0, 2.0, 3.0, 4.0, 5.0]) == (2.0, 4.0)


def test_calibration_finds_the_length_of_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race, "timed", lambda run, count: (1e-4 * count, 0.0))
    assert race.calibrate(lambda count: None, 0.2) == 2000


def test_json_is_written_whole_or_not_at_all(fake: tuple[Clock, Result], tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    report.write_json(path, report.document([fake[1]], families.describe(), QUICK))
    found = json.loads(path.read_text())
    assert found["cases"][0]["rows"][1]["ratio"] == pytest.approx(2.0)
    assert found["machine"]["versions"]["numba"] != "absent"
    before = path.read_bytes()
    with pytest.raises(TypeError):
        report.write_json(path, {"not JSON": object()})
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["bench.json"]


def test_its_files_are_as_private_as_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        report.write_json(tmp_path / "bench.json", {})
        assert stat.S_IMODE((tmp_path / "bench.json").stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_bench_writes_its_files(
    monkeypatch: pytest.MonkeyPatch, fake: tuple[Clock, Result], tmp_path: Path
) -> None:
    class Fake:
        family, title = "single", "A race"

        def measure(self, settings: Settings, tick: Any) -> Result:
            tick("on it")
            return fake[1]

    monkeypatch.setitem(families.FAMILIES, "single", lambda settings: [Fake()])
    page, console = tmp_path / "docs" / "page.md", Console(record=True, width=150)
    families.bench(["single"], QUICK, console, out=tmp_path / "out", page=page)
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["bench.json"]
    assert page.read_text().startswith("# Lab notes: speed")
    assert "skipped gone" in console.export_text()


def test_the_plot_draws_what_has_sizes(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from studies.bench.plot import plot

    rows = [
        race.Row(f"{n}", [n, 2.0 * n], [1.0] * 2, None, {"worlds": n, "threads": 1}, [1.0] * 2)
        for n in (1, 4, 16)
    ]
    result = Result("batch", "Sizes", "step", rows, [], [], x=("worlds", "threads"))
    assert plot(tmp_path / "picture.png", [result])
    assert (tmp_path / "picture.png").stat().st_size > 1000
    result.x = None
    assert not plot(tmp_path / "none.png", [result])
    assert not (tmp_path / "none.png").exists()


def test_a_quick_run_is_small() -> None:
    """Within a minute on two cores: some hundred systems of a few tenths of a second each, and two
    environments that must be compiled."""
    cases: list[Any] = [case for make in families.FAMILIES.values() for case in make(QUICK)]
    names = [name for case in cases for name, _ in getattr(case, "makers", [])]
    assert len(names) <= 100
    words = " ".join([*names, *(case.title for case in cases)])
    assert {env_id for env_id in ENVIRONMENTS if env_id in words} == set(race.FEW)


def test_chosen_cases() -> None:
    assert families.chosen(None) == list(families.FAMILIES)
    assert families.chosen("lcp, single,lcp") == ["lcp", "single"]
    for names in ("boat", ","):
        with pytest.raises(ValueError, match="choose from: single, peers"):
            families.chosen(names)


# What is raced is the same everywhere


@pytest.mark.thorough
def test_pinocchio_s_tree_is_ours() -> None:
    """The makers themselves refuse to race trees whose accelerations differ."""
    pytest.importorskip("pinocchio")
    for model in (mirrors.humanoid(), mirrors.chain(7)):
        dynamics._pinocchio(model)
        dynamics._compiled(model)
        dynamics._free(model)
    assert mirrors.humanoid().nv == 32
    with pytest.raises(AssertionError, match="accelerations differ"):
        dynamics._agree(model, np.ones((dynamics.STATES, model.nv)), 1e-9)


def test_mujoco_s_chain_and_walker_are_ours() -> None:
    """A hundred steps of the chain, and of the walker in the air, with equal torques."""
    mujoco = pytest.importorskip("mujoco")
    walker = steps.planar_humanoid.build()
    start = steps._standing(walker)
    start[1] += 1.0
    for model, q in ((mirrors.chain(10), steps._bent(mirrors.chain(10))), (walker, start)):
        theirs = mirrors.to_mujoco(model, 1e-3, "Euler")
        data = mujoco.MjData(theirs)
        world = World(model, timestep=1e-3)
        world.reset(q)
        tau = np.random.default_rng(0).normal(size=model.nu)
        data.qpos[:], data.qfrc_applied[model.actuated] = q, tau
        world.step(tau, 100)
        mujoco.mj_step(theirs, data, 100)
        np.testing.assert_allclose(world.q, data.qpos, atol=1e-8)


@pytest.mark.parametrize("maker", ["_mujoco", "_dart"])
def test_the_pendulums_swing_alike_until_they_touch(
    maker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0.3 s of free swing; integrators of first order differ by their error."""
    pytest.importorskip({"_mujoco": "mujoco", "_dart": "dartpy"}[maker])
    found = []

    def system(seconds: float, begin: Any, advance: Any, q: Any, about: str) -> System:
        begin()
        advance(300)
        found.append(np.array(q()))
        return System(lambda count: None)

    monkeypatch.setattr(pendulum, "_system", system)
    getattr(pendulum, maker)(4, 1.0, *([False] if maker == "_dart" else []))
    world = World(pendulum.build(4), timestep=1e-3)
    world.step(steps=300)
    np.testing.assert_allclose(found[0], world.q, atol=0.02)


def test_depth_of_a_pendulum() -> None:
    """Stretched out it touches nothing; hanging, its lowest ball is 0.5 m and its radius deep."""
    assert pendulum.depth(np.zeros(3)) == 0.0
    assert pendulum.depth(np.array([np.pi / 2, 0.0, 0.0])) == pytest.approx(0.5 + 0.2)
    assert pendulum.depth(np.array([np.pi, 0.0, 0.0])) == pytest.approx(0.9 + 0.2)


@pytest.mark.parametrize("contacts", [1, 4, 6])
@pytest.mark.thorough
def test_stacks_are_contact_problems(contacts: int) -> None:
    """All solved, cold and warm; a wrong answer does not count."""
    for warm in (False, True):
        assert lcp._ours(contacts, warm).facts["solved"] == "50 of 50"
    problems = lcp.stacks(contacts)
    assert lcp.right(problems, np.zeros_like(problems.b)) < lcp.PROBLEMS
    assert lcp.right(problems, np.full_like(problems.b, np.nan)) == 0


@pytest.mark.parametrize(("pure", "busy"), [(1.9, False), (1.0, True)])
def test_a_second_thread_s_worth(pure: float, busy: bool) -> None:
    """Turn by turn against the pure loop's gain; where that has none, nothing follows."""

    def row(name: str, samples: list[float]) -> race.Row:
        return race.Row(name, samples, [1.0] * 3, None, {}, [1.0] * 3)

    alone = [1.0, 2.0, 1.0]
    rows = [
        row("pure loop, 1 thread", alone),
        row("pure loop, 2 threads", [pure * x for x in alone]),
        row("256 worlds, 1 thread", alone),
        row("256 worlds, 2 threads", [0.95 * pure * x for x in alone]),
    ]
    (sentence,) = batch._worth((256,), rows)
    assert f"pure loop x {pure:.2f}." in sentence
    assert f"256 worlds: x {0.95 * pure:.2f}, 0.95 of the pure loop's." in sentence
    assert (batch.BUSY in sentence) == busy


def test_ratios_in_simulated_seconds() -> None:
    """A peer's control period counts."""

    def row(name: str, ratio: float, period: float) -> race.Row:
        return race.Row(name, [1.0], [ratio], period, {}, [1.0])

    peer_ = row("Walker2d-v5, EnvPool, random actions, 1 thread", 1.0, 0.008)
    (sentence,) = batch._simulated([peer_, row("ours", 20.0, 0.01)])
    assert sentence.endswith("ours 25.0.")
    assert batch._simulated([row("ours", 20.0, 0.01)]) == []


@pytest.mark.slow
def test_recorded_actions_are_the_expert_s() -> None:
    """Replayed from the same seeds they lead to the same bits."""
    name = solves.WALKERS[0]
    actions = batch._recorded(name, 3)
    envs: Any = gym.make_vec(name, num_envs=3)
    expert = reference_controller(envs)
    observations, _ = envs.reset(seed=0)
    for action in actions[:50]:
        np.testing.assert_array_equal(expert.predict(observations)[0], action)
        observations, *_ = envs.step(action)
    envs.close()


def test_variants_race_with_their_options() -> None:
    """More contacts, hence more features, than the environment by itself; and an expert for it."""
    (name,) = batch.VARIANTS
    env_id, _ = batch.VARIANTS[name]
    plain, variant = batch._make(env_id, 2, 1), batch._make(name, 2, 1)
    features = [len(envs.unwrapped.task.model.candidates) for envs in (plain, variant)]
    assert features[0] < features[1]
    assert np.isfinite(batch._recorded(name, 2)).all()


@pytest.mark.slow
def test_recorded_problems_are_solved_again() -> None:
    """The same impulses from the same memory, for the walker and the free robot."""
    for model, dt, problems in (
        solves._walker(solves.WALKERS[0], False, 10),
        solves._robot(30.0, 10),
    ):
        row, buffer = problems[0].row.copy(), model.workspace()
        w = open_work(model.packed, buffer)
        for problem in problems:
            args = (model.packed, problem.row, problem.buffer, row, buffer)
            assert solves._again(*args, problem.contacts, problem.rows, dt, True) == 0
            stated = open_work(model.packed, problem.buffer)
            np.testing.assert_array_equal(
                w.impulse_row[: problem.rows], stated.impulse_row[: problem.rows]
            )


def test_a_peer_that_does_not_import_is_missing() -> None:
    with pytest.raises(MissingPeer, match="`pip install pin` first"):
        peer("pinocchio.nothing_of_the_kind")


@pytest.mark.slow
@pytest.mark.parametrize(
    "names", ["single", "threads,steps,scenes,dynamics,links,compliance,lcp,solves,pendulum,memory"]
)
def test_the_command(names: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All that is installed runs, and leaves its files."""
    monkeypatch.setattr("sys.argv", ["studies", "bench", "--quick", "--cases", names])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit_:
        studies.main()
    assert not exit_.value.code
    found = json.loads((tmp_path / "studies-bench" / "bench.json").read_text())
    assert {case["family"] for case in found["cases"]} <= set(names.split(","))
    assert all(case["rows"] for case in found["cases"])


@pytest.mark.parametrize("width", [80, 240])
def test_tables_fit_the_console(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Every figure is whole, on one line with its name: in a table, or in a list."""
    rule = "semi-implicit Euler, with a name for which a line ends too soon"
    facts = {"robot": "a humanoid with many joints", "integrator": rule}
    rows = [
        race.Row(f"a system with a long name {k}", [1e4 + k], [1.0 + k], 0.01, facts, [1.0])
        for k in range(2)
    ]
    report.show(Result("steps", "Steps of one world", "step", rows, [], []), Console(width=width))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    for text in ("a system with a long name 1", rule, "10,001", "2.00"):
        assert any(text in line for line in lines), text


def test_the_compiled_share_of_a_batch() -> None:
    """Some of the time is compiled code's, and not all of it; calls are as before afterwards."""
    before = Call.__call__
    system = shell._vector("dynenvs/DoublePendulum-v0")
    assert 1 < float(system.facts["compiled"].removesuffix(" %")) < 100
    assert Call.__call__ is before
    wall, _ = system.aside() if system.aside else (0.0, 0.0)
    assert wall <= time.perf_counter()  # what this thread had of its processor is taken off
