"""Experts: what they work out is declared once, and a stage's signature says what it is about."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import dynenvs.agents.experts
from dynenvs.agents.experts.humanoid.records import LEGS, open_biped
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.jit.handles import Array, arrays_of
from dynenvs.memory.layout import Bytes, open_model

ROOT = Path(dynenvs.agents.experts.__file__).parent
# The file with the loop over observations, and the class of all constants
LEGGED = {
    "humanoid": ("walk", "Biped"),
    "planar": ("walk", "Walker"),
    "quadruped": ("trot", "Trot"),
}
IDS = [
    "dynenvs/Humanoid-v0",
    "dynenvs/Quadruped-v0",
    "dynenvs/PlanarHumanoid-v0",
    "dynenvs/PlanarQuadruped-v0",
    "dynenvs/ChainPendulum-v0",
    "dynenvs/DoublePendulum-v0",
]


def kernels(folder: str, file: str = "*") -> Iterator[tuple[str, ast.FunctionDef]]:
    for path in sorted((ROOT / folder).glob(f"{file}.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.decorator_list:
                yield path.stem, node


def split(block: Bytes) -> tuple[Bytes, Bytes]:
    """A thread's model, and the room for what its expert declares."""
    sizes = open_model(block).header[0]
    room = block[sizes.model_bytes + sizes.state_bytes + sizes.workspace_bytes :]
    return block[: sizes.model_bytes], room


@pytest.mark.parametrize("robot", LEGGED)
def test_a_stage_takes_its_part_of_the_constants(robot: str) -> None:
    """All constants go no further than the file of the loop; nothing of a stage is of any type."""
    loop, whole = LEGGED[robot]
    found = 0
    for file, node in kernels(robot):
        for argument in node.args.args:
            if argument.arg == "g":
                found += 1
                kind = ast.unparse(argument.annotation or ast.Constant("nothing"))
                assert kind != "Any", f"{file}.{node.name}"
                assert kind != whole or file == loop, f"{file}.{node.name}"
    assert found > 20


@pytest.mark.parametrize("robot", LEGGED)
def test_the_state_is_read_once_a_call(robot: str) -> None:
    loop, _ = LEGGED[robot]
    calls = [
        call.func.id
        for _, node in kernels(robot, loop)
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    ]
    assert sum(calls.count(name) for name in ("read_state", "read_observation")) == 1


@pytest.mark.parametrize("name", IDS)
def test_a_thread_has_room_for_all_that_an_expert_declares(name: str) -> None:
    """One array after the other in the block's room, none in another one."""
    env = gym.make(name)
    expert = reference_controller(env)
    assert expert.view is not None
    model, room = split(expert._memory[0])
    header, spans = open_model(model).header[0], []
    for entry in arrays_of([expert.view], "room"):
        start, size = int(header["places"][entry.number]), entry.size(header)
        assert size > 0, entry.name
        spans.append((start, start + size))
    for (_, end), (start, _) in zip(sorted(spans), sorted(spans)[1:], strict=False):
        assert end <= start
    assert max(end for _, end in spans) <= len(room)
    own = [entry for entry in vars(expert.view).values() if isinstance(entry, Array)]
    assert len(spans) == len(own)
    env.close()


def test_a_handle_opens_an_experts_arrays() -> None:
    """What is written by one handle is read by the next; nothing else of the block changes."""
    env = gym.make("dynenvs/Humanoid-v0")
    block = reference_controller(env)._memory[0].copy()
    before = block.copy()
    model, room = split(block)
    own = open_biped(model, room)
    own.legs[LEGS - 1].point[2] = 3.0
    own.a[:] = 2.0
    assert open_biped(model, room).legs[LEGS - 1].point[2] == 3.0
    assert np.count_nonzero(before != block) <= 8 * (1 + len(own.a))
    assert np.array_equal(before[: len(block) - len(room)], block[: len(block) - len(room)])
    with pytest.raises(AttributeError, match=r"BipedView has no 'leg'; it has a, .*legs"):
        own.leg  # noqa: B018
    env.close()
