"""C programs: the header follows from the declarations, and a humanoid steps without Python."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dynenvs
from dynenvs.envs.robots import humanoid
from dynenvs.jit import build, library
from dynenvs.jit.compiled import Entry, units
from dynenvs.jit.kinds import format_of
from dynenvs.memory.c_header import c_header
from dynenvs.memory.layout import open_world
from dynenvs.memory.origin import this
from dynenvs.simulation.packed import HEAD, sum_of
from dynenvs.simulation.world import World

SOURCE = Path(__file__).parents[1] / "examples" / "c" / "humanoid.c"
STEPS = 1000


def compiler() -> list[str]:
    """A C compiler that is here."""
    if shutil.which("cc"):
        return ["cc"]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    pytest.skip("no C compiler here")


def ran(*command: object) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, built beside the library."""
    if library.fault():
        pytest.skip(library.fault())
    path, core = tmp_path_factory.mktemp("c") / "humanoid", library.place()
    run_path = f"-Wl,-rpath,{core.parent}"
    done = ran(*compiler(), "-O2", f"-I{core.parent}", "-o", path, SOURCE, core, run_path)
    assert done.returncode == 0, done.stderr
    return path


@pytest.mark.thorough
def test_a_thousand_steps_in_c_have_the_bits_of_a_world(program: Path, tmp_path: Path) -> None:
    model = humanoid.build()
    dynenvs.save_packed(model, tmp_path / "humanoid.packed")
    done = ran(program, tmp_path / "humanoid.packed")
    assert (done.returncode, done.stderr) == (0, "")
    found = [[float.fromhex(word) for word in line.split()] for line in done.stdout.splitlines()]
    assert len(found) == STEPS
    world, tau = World(model, timestep=0.005), np.zeros(model.nv)
    for k, row in enumerate(found):
        tau[6:] = [8.0 * ((k // 50 + i) % 3 - 1) for i in range(6, model.nv)]
        world.step(tau[model.actuated])
        assert row == [*world.q, *world.v], f"step {k}"


@pytest.mark.thorough
def test_what_is_not_of_its_layout_is_refused_in_one_line(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "other.packed"
    dynenvs.save_packed(humanoid.build(), path)
    whole = path.read_bytes()
    other = whole.replace(this().layout.encode(), b"0123456789abcdef", 1)
    for content, words in (
        (other, "with another layout: make it anew with this one"),
        (whole[: len(whole) // 2], "is damaged"),
        (whole[:100], "is damaged"),
        (whole[:HEAD], "is damaged"),
        *((flipped(whole, at), "is damaged") for at in (HEAD, HEAD + 9, 5000, len(whole) - 1)),
        (b"not a model", "is no packed model"),
    ):
        path.write_bytes(content)
        done = ran(program, path)
        assert done.returncode != 0
        assert done.stdout == ""
        assert done.stderr.endswith(f"{words}\n")
        assert done.stderr.count("\n") == 1


def flipped(content: bytes, at: int) -> bytes:
    """The same with a bit that is another."""
    return content[:at] + bytes([content[at] ^ 64]) + content[at + 1 :]


def test_the_checksum_of_a_packed_file_sees_each_flip_and_each_swap(tmp_path: Path) -> None:
    dynenvs.save_packed(humanoid.build(), tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    body, told = content[HEAD:], int(content[:HEAD].split()[3], 16)
    assert sum_of(body) == told
    for at in range(0, len(body), 997):
        assert sum_of(flipped(body, at)) != told
    words = np.frombuffer(body, np.uint64).copy()
    i, k = np.flatnonzero(words)[:2]
    assert words[i] != words[k]
    words[[i, k]] = words[[k, i]]
    assert sum_of(words.tobytes()) != told


def test_the_example_is_short() -> None:
    assert len(SOURCE.read_text().splitlines()) < 70


def test_the_header_is_c_and_its_arguments_are_as_wide_as_pythons(tmp_path: Path) -> None:
    """Each struct has the words that `Call` packs; the example fits the header."""
    build.import_all()
    (tmp_path / "dynenvs.h").write_text(c_header())
    lines = ['#include "dynenvs.h"']
    for unit in units.values():
        if isinstance(unit, Entry) and unit.is_ours and (unit.kinds or unit.result):
            kinds = [*unit.kinds, *([unit.result] if unit.result else [])]
            size = 8 * (len(format_of(kinds)) - 1)
            name = unit.name.replace(".", "_")
            lines.append(f'_Static_assert(sizeof(struct {name}) == {size}, "{name}");')
    assert len(lines) > 50
    (tmp_path / "sizes.c").write_text("\n".join(lines) + "\n")
    for source in (tmp_path / "sizes.c", SOURCE):
        strict = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only")
        done = ran(*compiler(), *strict, f"-I{tmp_path}", source)
        assert done.returncode == 0, done.stderr


def test_a_packed_file_holds_what_a_world_begins_with(tmp_path: Path) -> None:
    model = humanoid.build()
    dynenvs.save_packed(model, tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    assert content[:HEAD].split()[:3] == [b"dynenvs", *(word.encode() for word in this())]
    packed, row = content[HEAD:][: len(model.packed)], content[HEAD + len(model.packed) :]
    assert packed == model.packed.tobytes()
    state = np.frombuffer(row, np.uint8)
    w, world = open_world(model.packed, state, model.workspace()), World(model)
    np.testing.assert_array_equal(w.q, world.q)
    np.testing.assert_array_equal(w.v, world.v)
    assert len(state) == model.state_dtype.itemsize
