"""The pages about the core are made from its code: what they say of a kernel is what it does."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

from dynenvs.agents.experts.humanoid.records import BipedView
from dynenvs.agents.experts.pendulum.chain_pendulum import ChainView
from dynenvs.agents.experts.pendulum.double_pendulum import PendulumView
from dynenvs.agents.experts.planar.records import WalkerView
from dynenvs.agents.experts.quadruped.records import TrotView
from dynenvs.envs.core.table import BatchView
from dynenvs.jit.handles import Array
from dynenvs.memory.layout import StateView, WorkView

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

import core_pages  # noqa: E402
import dataflow  # noqa: E402

CHECKED = """
from dynenvs.jit.compiled import inlined
from dynenvs.memory.layout import Floats, WorldView

@inlined
def double(x: Floats) -> None:
    \"\"\"Twice a vector.  In place.\"\"\"
    for k in range(x.shape[0]):
        x[k] *= 2.0

@inlined
def stage(w: WorldView, out: Floats) -> None:
    \"\"\"A stage.\"\"\"
    answer, z = w.answer[0], w.scene.slip
    answer.rows = 3
    for j in range(w.header[0].nv):
        out[j] = w.v[j] + z[j]
    double(w.v_new)
"""


@cache
def kernels() -> dict[tuple[str, str], Any]:
    return dataflow.read_kernels(ROOT / "dynenvs")


def test_effects_of_a_kernel_are_found(tmp_path: Path) -> None:
    """By hand: parts by other names, arrays of nested handles, and what a helper does."""
    folder = tmp_path / "dynenvs" / "simulation"
    folder.mkdir(parents=True)
    (folder / "made.py").write_text(CHECKED, encoding="utf-8")
    found = dataflow.read_kernels(tmp_path / "dynenvs")
    stage, double = (found["dynenvs.simulation.made", name] for name in ("stage", "double"))
    assert stage.arrays == {
        "answer": {"r", "w"}, "scene.slip": {"r"}, "header": {"r"}, "v": {"r"},
        "v_new": {"r", "w"},
    }  # fmt: skip
    assert stage.arguments == {"out": {"w"}}
    assert double.arguments == {"x": {"r", "w"}}
    assert double.summary == "Twice a vector"


def test_a_step_writes_what_it_leads_to() -> None:
    """The state's positions and velocities, in the stage that takes them over and before it."""
    step = kernels()["dynenvs.simulation.timestep", "_commit"]
    assert {"q", "v"} <= {name for name, effects in step.arrays.items() if "w" in effects}
    free = kernels()["dynenvs.simulation.free_motion", "free_motion"]
    written = {name for name, effects in free.arrays.items() if "w" in effects}
    assert {"v_free", "L"} <= written
    assert not {"q", "v", "v_new"} & written


def test_no_array_is_there_in_vain() -> None:
    """Each one of state and workspace is used somewhere."""
    used = {name for kernel in kernels().values() for name in kernel.arrays}
    declared = {
        entry.name
        for kind in (StateView, WorkView)
        for entry in vars(kind).values()
        if isinstance(entry, Array)
    }
    assert declared - used == set()


def test_the_page_has_the_arrays_of_tasks_and_experts() -> None:
    """All of a batch's and of each expert's own, from where they are declared."""
    page = core_pages.arrays_page(kernels())
    for kind in (BatchView, BipedView, WalkerView, TrotView, ChainView, PendulumView):
        part = page.split(f"## {kind.__name__}\n")[1].split("\n## ")[0]
        names = {entry.name for entry in vars(kind).values() if isinstance(entry, Array)}
        assert names == {line.split("`")[1] for line in part.splitlines() if line.startswith("| `")}


def test_the_page_leads_on_to_newtons_method() -> None:
    """By the calls that there are, each function with its file."""
    page = core_pages.step_page(core_pages.read_kernels(ROOT / "dynenvs"))
    way = page.index("## ")
    for name in ("`_solve_contact`", "`resolve_contacts`", "`solve_rows`", "`newton`"):
        assert name in page[:way]
    assert "`contact/solvers/newton.py`" in page[:way]
