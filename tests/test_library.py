"""The compiled core: made of kernels, loaded without numba, refused where it does not belong."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from dynenvs.jit import build, library
from dynenvs.jit.compiled import Kernel, Unit, units

# What a small library holds: a solver, forward dynamics, and a kernel that others reach by its cell
SOME = (
    "dynenvs.dynamics.aba._aba",
    "dynenvs.lcp.proof.careful_w",
    "dynenvs.lcp.proof.proven_residual",
    "dynenvs.lcp.fallback.solve_by_fallback",
    "dynenvs.lcp.solve.solve",
    "dynenvs.simulation.batch.take_controls",
)
SOLVE = """
import sys
import numpy as np
import dynenvs
from dynenvs.envs.robots import planar_humanoid
A = np.array([[2.0, -1.0], [0.5, 3.0]])
print(dynenvs.solve_lcp(A, np.array([-1.0, -0.3])).z.tobytes().hex())
model = planar_humanoid.build()
q = np.linspace(0.1, 0.9, model.nq)
print(dynenvs.aba(model, q, q, q).tobytes().hex())
print(sorted({"numba", "llvmlite"} & set(sys.modules)))
"""


def run(code: str, package: Path | None = None, **environment: str) -> tuple[list[str], str]:
    """What a fresh interpreter prints, and says on stderr; of another package if one is named."""
    given = {name: value for name, value in os.environ.items() if name != "DYNENVS_CORE"}
    given |= environment
    if package is not None:
        given["PYTHONPATH"] = str(package.parent)
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=sys.prefix,  # not in the checkout, which would come first on the path
        env=given, capture_output=True, text=True, timeout=1800, check=False,
    )  # fmt: skip
    return done.stdout.splitlines(), done.stderr


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, with a library of some kernels."""
    home = tmp_path_factory.mktemp("copy")
    copy = home / "dynenvs"
    shutil.copytree(
        Path(library.__file__).parents[1], copy, ignore=shutil.ignore_patterns("lib", "__pycache__")
    )
    code = f"from dynenvs.jit import build; build.build(build.library.place(), 1, {SOME!r})"
    out, err = run(code, copy)
    assert "6 kernels" in err, (out, err)
    return copy


@pytest.mark.thorough
def test_the_library_gives_the_compilers_bits_without_it(package: Path) -> None:
    expected, _ = run(SOLVE, package, DYNENVS_CORE="jit")
    found, err = run(SOLVE, package)
    assert err == ""
    assert found == [*expected[:2], "[]"]
    assert expected[2] != "[]"


@pytest.mark.thorough
def test_two_builds_of_the_same_sources_are_equal_byte_for_byte(package: Path) -> None:
    """By one process and by two, in another folder, with sets in another order."""
    other = package.parent / "again" / library.place().name
    code = f"""
if __name__ == "__main__":
    from pathlib import Path
    from dynenvs.jit import build
    build.build(Path({str(other)!r}), 2, {SOME!r})
"""
    _, err = run(code, package, PYTHONHASHSEED="5")
    assert "6 kernels" in err
    for name in (other.name, f"{other.stem}.h"):
        assert (package / "lib" / name).read_bytes() == (other.parent / name).read_bytes()


def paths_in(path: Path) -> list[bytes]:
    """Names of Python's files with their folders, and this environment's folder, in a file."""
    content = path.read_bytes()
    found = re.findall(rb"[\w.+/-]*/[\w.+-]+\.py\b", content)
    return [*found, *(p for p in (sys.prefix.encode(), numba.__path__[0].encode()) if p in content)]


@pytest.mark.thorough
def test_no_folder_of_the_builders_machine_stands_in_it(package: Path, tmp_path: Path) -> None:
    """Two builds in two environments are equal byte for byte only then."""
    other = tmp_path / "with_a_path"
    other.write_bytes(b"\0x" + numba.__file__.encode() + b"\0")
    assert paths_in(other)  # what is looked for is found
    assert paths_in(package / "lib" / library.place().name) == []


@pytest.mark.skipif(not library.place().is_file(), reason="this checkout has no compiled core")
def test_no_folder_stands_in_the_whole_library() -> None:
    """In CI it is the wheel's, made in an environment of its own."""
    assert paths_in(library.place()) == []


@pytest.mark.thorough
def test_it_asks_its_host_for_memory_alone(package: Path) -> None:
    """No mathematical function of another library, nothing of Python or numba."""
    if shutil.which("nm") is None:
        pytest.skip("no nm here")
    path = package / "lib" / library.place().name
    listed = subprocess.run(
        ["nm", "-D", "-u", str(path)], capture_output=True, text=True, check=True
    )
    names = {line.split()[-1].partition("@")[0] for line in listed.stdout.splitlines()}
    memory = {"malloc", "free", "memset", "memcpy", "memmove"}
    assert {name for name in names if not name.startswith(("_", "__"))} <= memory


@pytest.mark.thorough
def test_one_that_does_not_belong_to_the_sources_is_told_and_left_alone(package: Path) -> None:
    file = package / "version.py"
    before = file.read_text()
    file.write_text(before + "# edited\n")
    try:
        found, err = run(SOLVE, package)
        assert "was made of other sources (dynenvs compile makes it of these)" in err
        assert found[0] != ""
        _, err = run("import dynenvs.lcp", package, DYNENVS_CORE="library")
        assert "was made of other sources" in err.splitlines()[-1]
    finally:
        file.write_text(before)


@pytest.mark.thorough
def test_one_that_is_no_library_is_told(package: Path) -> None:
    path = package / "lib" / library.place().name
    kept = path.read_bytes()
    try:
        for content in (b"", b"not a library", kept[: len(kept) // 2]):
            path.write_bytes(content)
            _, err = run("import dynenvs.lcp", package, DYNENVS_CORE="library")
            assert "is damaged" in err.splitlines()[-1]
    finally:
        path.write_bytes(kept)


def test_a_core_that_cannot_be_is_one_line(tmp_path: Path) -> None:
    copy = tmp_path / "dynenvs"
    shutil.copytree(
        Path(library.__file__).parents[1], copy, ignore=shutil.ignore_patterns("lib", "__pycache__")
    )
    _, err = run("import dynenvs.lcp", copy, DYNENVS_CORE="fast")
    assert "DYNENVS_CORE is 'fast': it may be 'library', 'jit', or not be set" in err
    _, err = run("import dynenvs.lcp", copy, DYNENVS_CORE="library")
    assert "there is no compiled core at" in err.splitlines()[-1]
    blocked = "import sys; sys.modules['numba'] = None\nimport dynenvs.lcp"
    _, err = run(blocked, copy)
    assert 'and numba is not installed: pip install "dynenvs[jit]"' in err.splitlines()[-1]


def test_importing_needs_no_compiler() -> None:
    """In a checkout, too: numba comes when something is to be compiled."""
    code = "import sys, dynenvs; import dynenvs.simulation.worlds; print('numba' in sys.modules)"
    assert run(code)[0] == ["False"]


def test_the_whole_library_holds_every_kernel_of_the_package() -> None:
    """Where there is one, as in CI: a module that was left out would be compiled by each user."""
    if library.fault():
        pytest.skip(library.fault())
    build.import_all()
    assert {name for name, unit in units.items() if unit.is_ours} == set(library.table())
    assert all(unit.is_linked for unit in units.values() if unit.is_ours)


def test_doctor_says_where_the_core_comes_from() -> None:
    code = (
        "from dynenvs.agents.machine import diagnosis; import json; print(json.dumps(diagnosis()))"
    )
    told = json.loads(run(code, DYNENVS_CORE="jit")[0][0])
    assert told["core"].startswith("jit: compiled here, kept in ")
    assert told["because"]


def test_kernels_are_what_they_were() -> None:
    """Names, documentation, and pickles by name."""
    import pickle

    from dynenvs.lcp.solve import solve

    assert isinstance(solve, Unit)
    assert isinstance(solve, Kernel)
    assert solve.__doc__ == solve.py_func.__doc__
    assert pickle.loads(pickle.dumps(solve)) is solve
    assert repr(solve) == "<entry dynenvs.lcp.solve.solve>"


OWN = """
import numpy as np
from dynenvs import World
from dynenvs.envs.robots import planar_humanoid
from dynenvs.jit.compiled import entry, units
from dynenvs.memory.layout import Floats, WorldView
from dynenvs.simulation.timestep import step_unit

@entry
def fall(w: WorldView, dt: float, heights: Floats) -> int:
    for k in range(heights.shape[0]):
        if step_unit(w, w.tau, dt) != 0:
            return k
        heights[k] = w.q[1]
    return heights.shape[0]

worlds = [World(planar_humanoid.build(), timestep=0.005) for _ in range(2)]
for world in worlds:
    world.q[1] = 1.2
heights, expected = np.zeros(60), []
print(fall(worlds[0]._handle, 0.005, heights))
for _ in heights:
    worlds[1].step()
    expected.append(worlds[1].q[1])
print((heights == expected).all(), units["dynenvs.simulation.timestep.step_unit"].is_linked)
"""


@pytest.mark.thorough
def test_a_kernel_of_ones_own_reaches_the_librarys(tmp_path: Path) -> None:
    """It alone is compiled: the cache holds nothing, and the bits are those of `World.step`."""
    if library.fault():
        pytest.skip(library.fault())
    out, err = run(OWN, DYNENVS_CORE="library", DYNENVS_CACHE_DIR=str(tmp_path))
    assert (out, err) == (["60", "True True"], "")
    assert not list(tmp_path.rglob("*.nbc"))
