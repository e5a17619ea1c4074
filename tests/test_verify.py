"""`python -m studies verify`: its scenes hold, its table, JSON and page say what was measured."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import partial
from math import pi
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from studies.bench.peers import MissingPeer
from studies.verify import (
    bouncing,
    conveyor,
    corners,
    families,
    groove,
    impacts,
    isotropy,
    moments,
    piles,
    pinched,
    precision,
    rolling,
    sliding,
    solvers,
)
from studies.verify.ours import Ours
from studies.verify.report import Row, markdown, screen, show
from studies.verify.scene import (
    Hinge,
    Make,
    Pin,
    Plane,
    Reading,
    Scene,
    Solid,
    about,
    ball,
    box,
    capsule,
    energy,
    lowest,
    momentum,
    opened,
)


@pytest.mark.parametrize("cone", ["pyramid", "exact"])
@pytest.mark.parametrize(
    "family",
    [
        sliding,
        isotropy,
        rolling,
        impacts,
        bouncing,
        piles,
        groove,
        pinched,
        corners,
        conveyor,
        moments,
    ],
)
def test_scenes_meet_their_bars(
    family: families.Family, cone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every judged reading of the quick families, with 100 random impacts and 30 drops."""
    monkeypatch.setattr(bouncing, "IMPACTS", 100)
    monkeypatch.setattr(corners, "DROPS", 30)
    found = list(family.readings(partial(Ours, cone=cone)))
    assert found
    for reading in found:
        if reading.bar is not None and (cone == "exact" or not reading.exact):
            assert reading.error <= reading.bar, reading


@pytest.mark.slow
@pytest.mark.parametrize("family", list(families.FAMILIES))
def test_all_families_meet_their_bars(family: str) -> None:
    """The long ones too."""
    for name in ("dynenvs", "dynenvs, exact cone", *families.OF_BOUNCING):
        for reading in families.FAMILIES[family](families.SYSTEMS[name]):
            judged = reading.bar is not None and ("exact" in name or not reading.exact)
            assert not judged or reading.error <= (reading.bar or 0.0), (name, reading)


def mixed() -> Scene:
    """A free box, a free sphere, and two hinged bodies, none of which touch."""
    upper = Hinge(None, (0.0, 1.0, 0.0), (0.0, 0.0, 3.0), (0.0, 0.0, -0.5), angle=0.4, rate=1.0)
    lower = Hinge(2, (1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 0.1, -0.3), angle=-0.3, rate=2.0)
    solids = (
        box(2.0, (0.1, 0.2, 0.3), position=(2.0, 0.0, 5.0), spin=(1.0, 2.0, 3.0)),
        ball(1.0, 0.1, position=(-2.0, 0.0, 5.0), velocity=(0.5, 0.6, 0.7)),
        Solid(1.0, (0.1, 0.2, 0.3), hinge=upper),
        Solid(0.5, (0.3, 0.1, 0.2), hinge=lower),
    )
    return Scene(solids, 1e-4)


@pytest.mark.parametrize("name", ["MuJoCo", "DART"])
def test_simulators_read_the_same_scene_alike(name: str) -> None:
    """At the start to roundoff, after 10 ms to the order of a step."""
    scene = mixed()
    try:
        theirs = families.SYSTEMS[name](scene)
    except MissingPeer as error:
        pytest.skip(str(error))
    ours = Ours(scene)
    for atol in (1e-12, 1e-4):
        for a, b in zip(ours.read(), theirs.read(), strict=True):
            np.testing.assert_allclose(a, b, atol=atol)
        ours.step(100)
        theirs.step(100)


def test_mujoco_has_belts() -> None:
    """Its `surfacevel` takes a box along, to within the softness of its contacts."""
    pytest.importorskip("mujoco")
    found = {r.quantity: r for r in conveyor.readings(families.SYSTEMS["MuJoCo"])}
    assert found["slid / exact [1]"].error < 0.01
    assert found["speed off the belt's as it rides [m/s]"].error < 1e-3


@pytest.mark.parametrize("name", ["MuJoCo", "DART", "dynenvs"])
def test_pins_hold_in_every_simulator(name: str) -> None:
    """A rod pinned to a hinged one: the points stay together, and a missing pin would show."""
    y, down = (0.0, 1.0, 0.0), (0.0, 0.0, -0.2)
    rod = Solid(1.0, (0.02, 0.02, 0.02))
    solids = tuple(
        rod._replace(hinge=Hinge(None, y, (x, 0.0, 1.0), down, angle=angle))
        for x, angle in ((-0.2, -pi / 6), (0.2, pi / 6))
    )
    pins = (Pin(0, 1, down, down),)
    scene = Scene(solids, 1e-3, floor=False, pins=pins, gravity=(5.0, 0.0, -5.0))
    try:
        simulation = families.SYSTEMS[name](scene)
        free = families.SYSTEMS[name](scene._replace(pins=()))
    except MissingPeer as error:
        pytest.skip(str(error))
    assert opened(scene, simulation.read()) < 1e-12
    simulation.step(300)
    free.step(300)
    assert opened(scene, simulation.read()) < 5e-3
    assert opened(scene, free.read()) > 0.05


def test_a_polar_figure_of_all_headings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulators that are not installed are left out."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(isotropy, "HEADINGS", np.arange(0.0, 360.0, 90.0))
    path = tmp_path / "a.png"
    isotropy.plot(path, {"dynenvs": Ours, "Other": _absent}, {"dynenvs": "red"})
    assert path.stat().st_size > 10_000


def test_readings_of_a_state() -> None:
    """Energy, momentum and the lowest corner by hand."""
    scene = Scene((box(2.0, (0.1, 0.2, 0.3), position=(1.0, 0.0, 2.0), velocity=(0, 3.0, 0)),), 1.0)
    state = Ours(scene).read()
    assert energy(scene, state) == pytest.approx(0.5 * 2.0 * 9.0 + 2.0 * 9.81 * 2.0, rel=1e-15)
    np.testing.assert_allclose(momentum(scene, state), [-12.0, 0.0, 6.0, 0.0, 6.0, 0.0])
    assert lowest(state, 0, (0.1, 0.2, 0.3)) == pytest.approx(1.7)


def _made_up(make: Make) -> Iterator[Reading]:
    make(Scene((ball(1.0, 0.1, position=(0.0, 0.0, 9.0)),), 1e-3)).step(5)
    yield Reading("a scene", "good [m]", 1.0, 1.0 + 1e-12, 1e-9)
    yield Reading("a scene", "bad [m]", 0.0, 0.5, 1e-9)
    yield Reading("a scene", "cone's [m]", 0.0, 0.5, 1e-9, exact=True)
    yield Reading("a scene", "lost [m]", 0.0, math.inf)


def _absent(scene: Scene) -> None:
    raise MissingPeer("`pip install it` first")


def test_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One miss is counted, one lost reading is null, the absent simulator is named."""
    monkeypatch.setattr(families, "FAMILIES", {"made-up": _made_up})
    systems = {"dynenvs": Ours, "Other": _absent}
    monkeypatch.setattr(families, "SYSTEMS", systems)
    monkeypatch.setattr(families, "COLORS", ("red", "blue"))
    console = Console(record=True, width=120)
    page = tmp_path / "page.md"
    rows, scores = families.verify("made-up", console, out=tmp_path, page=page)
    assert families.missed(rows) == 1
    assert scores == []
    found = json.loads((tmp_path / "verify.json").read_text())
    assert [row["errors"]["dynenvs"] for row in found["rows"]][1:] == [0.5, 0.5, None]
    assert found["skipped"] == ["Other, made-up: `pip install it` first"]
    text = page.read_text()
    assert "| a scene | bad [m] | 0 | 1.0e-09 | **5.0e-01** |" in text
    assert "| a scene | good [m] | 1 | 1.0e-09 | 1.0e-12 |" in text
    assert "Skipped: Other" in text
    assert text.count("*time a step [us]*") == 1
    assert 0.0 < found["rows"][0]["costs"]["dynenvs"] < 1.0
    assert "lost" in console.export_text()


def test_bars_of_the_exact_cone_judge_it_alone() -> None:
    """The pyramid is shown beside it."""
    row = Row("f", "s", "q", 0.0, 1e-3, True, {}, {"dynenvs": 1.0, "dynenvs, exact cone": 1.0}, {})
    assert not row.fails("dynenvs")
    assert row.fails("dynenvs, exact cone")
    assert row._replace(exact=False).fails("dynenvs")


def test_the_page_says_who_keeps_how_many_bars_and_at_what_cost() -> None:
    """Also of those that lack a scene's last quantity; whoever ran nothing has a dash."""
    ours, other = {"dynenvs": 2e-6, "Third": 1.0}, {"dynenvs": 2e-6, "Other": 3e-6}
    rows = [
        Row("f", "s", "q", 0.0, 1e-3, False, {}, {"dynenvs": 0.0, "Other": 1.0}, other),
        Row("f", "s", "r", 0.0, 1e-3, False, {}, {"dynenvs": 1e-4}, {"dynenvs": 2e-6}),
        Row("g", "t", "q", 0.0, None, False, {}, {"dynenvs": 0.0, "Third": 0.0}, ours),
    ]
    page = markdown(rows, [], families.describe() | {"minutes": 1.5}, {})
    assert "| f | 2 of 2, 2 us | 0 of 1, 3 us | - |" in page
    assert "| g | 0 of 0, 2 us | - | 0 of 0, 1,000,000 us |" in page
    assert page.count("|  | *time a step [us]* |  |  | 2 | 3 |  |") == 1


def test_the_first_screen_names_the_error_nearest_to_its_bar() -> None:
    """By hand: 2 of 4 is nearer than 1 of 9; the other one keeps one bar of two."""
    rows = [
        Row("rest", "s", "near", 0.0, 4.0, False, {}, {"dynenvs": 2.0, "Other": 3.0}, {}),
        Row("piles", "t", "far", 0.0, 9.0, False, {}, {"dynenvs": 1.0, "Other": 10.0}, {}),
    ]
    (line,) = [line for line in screen(rows).splitlines() if "equilibrium" in line]
    assert line.endswith("| 2 of 2 | 2.0e+00 of 4.0e+00: near | Other 1 of 2 |")


def test_unknown_scenes_are_named(tmp_path: Path) -> None:
    """The error lists what there is."""
    with pytest.raises(ValueError, match="unknown scene 'x'; choose from: rest, sliding"):
        families.verify("x", Console(quiet=True), out=tmp_path)


def test_capsules_planes_and_turned_solids_are_the_same_everywhere() -> None:
    """A turned capsule and a turned box above slopes: read alike at first and after 10 ms."""
    turn = about((0.6, 0.0, 0.8), 0.7)
    solids = (
        capsule(1.0, 0.1, 0.2, position=(0.0, 0.0, 3.0), turned=turn, spin=(1.0, 2.0, 3.0)),
        box(1.0, (0.1, 0.2, 0.3), position=(1.0, 0.0, 3.0), turned=turn)._replace(
            velocity=(1.0, 2.0, 3.0), spin=(3.0, -2.0, 1.0)
        ),
    )
    planes = (Plane((0.0, 0.0, 0.5), (0.6, 0.0, 0.8)),)
    for scene, names in (
        (Scene(solids, 1e-4, False, planes=planes), ("MuJoCo", "Pinocchio ADMM")),
        (Scene(solids[1:], 1e-4, False, planes=planes), ("DART",)),
    ):
        for name in names:
            try:
                theirs = families.SYSTEMS[name](scene)
            except MissingPeer:
                continue
            ours = Ours(scene)
            for atol in (1e-12, 1e-4):
                for a, b in zip(ours.read(), theirs.read(), strict=True):
                    np.testing.assert_allclose(a, b, atol=atol)
                ours.step(100)
                theirs.step(100)


@pytest.mark.parametrize("name", ["dynenvs", "MuJoCo", "DART"])
def test_what_lies_on_planes_touches_them_everywhere(name: str) -> None:
    """A ball in a groove stays at its height; without the planes it would fall by 5 cm."""
    try:
        simulation = families.SYSTEMS[name](
            groove.grooved(ball(1.0, 0.1, position=(0.0, 0.0, 0.1 * 2**0.5)), 0.0)
        )
    except MissingPeer as error:
        pytest.skip(str(error))
    simulation.step(100)
    assert simulation.read().position[0, 2] == pytest.approx(0.1 * 2**0.5, abs=1e-3)


def test_a_homogeneous_capsule_s_inertia() -> None:
    """By summing over thin discs."""
    found = capsule(2.0, 0.1, 0.3).inertia
    z = (np.arange(200_000) + 0.5) / 200_000 * 0.8 - 0.4
    r2 = 0.01 - np.maximum(0.0, np.abs(z) - 0.3) ** 2
    weight = 2.0 * r2 / r2.sum()
    across, along = (weight * (r2 / 4 + z**2)).sum(), (weight * r2 / 2).sum()
    np.testing.assert_allclose(found, (across, across, along), rtol=1e-6)


def test_points_of_work_and_precision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors shrink with the step, a solver that is missing has no points, and all are drawn."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(precision, "LENGTHS", (4e-3, 2e-3))
    systems = {"dynenvs": partial(Ours, cone="exact"), "Other": _absent}
    console = Console(quiet=True)
    found = precision.points(systems, console)
    assert {point.system for point in found} == {"dynenvs"}
    assert {p.panel for p in found} == {*precision.BY_LENGTH, *precision.BY_TOLERANCE}
    coarse, fine = (p for p in found if p.panel.startswith("tripod"))
    assert coarse.setting == 2 * fine.setting
    assert fine.error < 0.7 * coarse.error
    assert all(0.0 < point.seconds < 10.0 for point in found)
    path = tmp_path / "a.png"
    precision.plot(path, found, {"dynenvs": "red"})
    assert path.stat().st_size > 10_000


def rows_of(count: int) -> list[Row]:
    """Readings of ten simulators, as long as they come."""
    errors = {name: 1.0 / (1 + k) for k, name in enumerate(families.SYSTEMS)}
    costs = dict.fromkeys(errors, 1e-4)
    name = "a box that slides over a seam, {}"
    return [
        Row("f", name.format(k), "thrown up [m]", 1.0, 1e-9, False, errors, errors, costs)
        for k in range(count)
    ]


@pytest.mark.parametrize("width", [80, 240])
def test_tables_fit_the_console(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Every name and figure is whole, on one line: in a table, or in a list if that is narrow."""
    show(rows_of(2), ["a simulator: it is not there"], Console(width=width))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    for k, name in enumerate(families.SYSTEMS):
        figure = f"{1.0 / (1 + k):.1e}"
        if width == 80:
            assert any(f"{name} {figure}" in line for line in lines)
        else:
            assert any(figure in line for line in lines)
    text = "\n".join(lines)
    assert "thrown up [m]" in text
    assert "time a step" in text
    if width == 80:
        assert "dynenvs 1.0e+00 (misses)" in text


@pytest.mark.parametrize("width", [80, 240])
def test_the_solvers_table_fits_the_console(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    """No name of a family of problems is broken, and every solver has its figures."""
    names = [f"the solver by method {k}" for k in range(7)]
    family = "recorded: PlanarQuadruped-v0, random actions"
    found = [
        solvers.Score(family, name, 12, 11, 0, 2e-12, 3e-6, 1e-3, 9, required=False)
        for name in names
    ]
    solvers.show(found, ["QuantEcon's Lemke: it is not there"], Console(width=width))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert sum(family in line for line in lines) == 1
    if width == 80:
        assert all(any(f"{name} 11/12, 2e-12, 3 us" in line for line in lines) for name in names)


def test_what_was_found_is_kept_when_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C amid a family: the readings so far are in the file."""

    def readings(make: Make) -> Iterator[Reading]:
        yield Reading("block", "way [m]", 1.0, 1.5, 1e-9)
        raise KeyboardInterrupt

    monkeypatch.setitem(families.FAMILIES, "sliding", readings)
    with pytest.raises(KeyboardInterrupt):
        families.verify("sliding", Console(width=80), out=tmp_path)
    found = json.loads((tmp_path / "verify.json").read_text())
    assert [row["measured"] for row in found["rows"]] == [{"dynenvs": 1.5}]
    assert "stopped: 1 readings are in" in capsys.readouterr().out
