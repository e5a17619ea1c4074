"""Files, states and attributes that reached native code without a look at them."""

from __future__ import annotations

import collections
import threading
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

import dynenvs
from dynenvs import ModelBuilder, World, Worlds, free
from dynenvs.memory.records import HEADER
from studies.trust.case import Case, answer, boxes

QUADRUPED = "dynenvs/Quadruped-v0"


def spoilt_starts() -> str:
    """One changed number in a file of starts: how many contacts the world remembers."""
    envs: Any = gym.make_vec(QUADRUPED, num_envs=2).unwrapped
    envs.reset(seed=0)
    envs.save_starts("starts.npz")
    with np.load("starts.npz") as file:
        parts = {name: file[name].copy() for name in file.files}
    states = parts["world"].view(envs.task.model.state_dtype).reshape(-1)
    states["status"]["touched"], states["touched"][:, :4] = 4, 10**6
    np.savez("spoilt.npz", **parts)
    return answer(lambda: gym.make_vec(QUADRUPED, num_envs=2, starts="spoilt.npz"))


def other_pyramid() -> str:
    """A state of a model with 64 directions of friction, given to one with four."""
    many, few = World(boxes(directions=64)), World(boxes(directions=4))
    many.step()
    return answer(lambda: few.set_state(many.get_state()))


def wild_pyramid() -> str:
    """The number of a pyramid that no model has."""
    world = World(boxes())
    state = world.get_state()
    state["status"]["polygon"] = 10**9
    return answer(lambda: world.set_state(state))


def changed_threads() -> str:
    """More threads than there is memory for."""
    worlds: Any = Worlds(boxes(), 8)
    return answer(lambda: setattr(worlds, "threads", 16))


def changed_count() -> str:
    """More worlds than there are rows for."""
    worlds: Any = Worlds(boxes(), 8)
    return answer(lambda: setattr(worlds, "count", 10**6))


def changed_model() -> str:
    """A larger model for the memory of a smaller one."""
    world: Any = World(boxes())
    return answer(lambda: setattr(world, "model", boxes(60)))


def written_state() -> str:
    """How many contacts a world remembers, written into the array that tells it."""
    env: Any = gym.make(QUADRUPED).unwrapped
    env.reset(seed=0)

    def write() -> None:
        env.worlds.states["status"]["touched"][:] = 10**6
        env.step(np.zeros(env.model.nu, np.float32))

    return answer(write)


def written_task() -> str:
    """Whose foot each contact is of, written into the task's own array."""
    env: Any = gym.make(QUADRUPED).unwrapped
    env.reset(seed=0)

    def write() -> None:
        env.task.foot_of_feature[:] = 10**6
        env.step(np.zeros(env.model.nu, np.float32))

    return answer(write)


def four_threads() -> str:
    """One world, stepped by four threads at a time."""
    world = World(boxes(12))
    world.step()
    tally: collections.Counter[str] = collections.Counter()

    def go() -> None:
        for _ in range(500):
            tally[answer(world.step, "stepped")] += 1

    threads = [threading.Thread(target=go, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    if any(thread.is_alive() for thread in threads):
        return "a thread still steps after a minute"
    refused = sorted(told for told in tally if told != "stepped")
    return f"all return; the others: {refused[0] if refused else 'stepped, too'}"


def older_pickles() -> str:
    """Pickles of versions whose header had one field less, each field in turn."""
    from dynenvs.memory.origin import KEY, KINDS, layout_digest

    model, tally = boxes(), collections.Counter[str]()
    for k in range(len(HEADER.names or ())):
        names = [name for i, name in enumerate(HEADER.names or ()) if i != k]
        less = np.dtype([(name, HEADER[name]) for name in names], align=True)
        state = dict(model.__getstate__())
        state[KEY] = (dynenvs.__version__, layout_digest(list(KINDS), less))
        other = object.__new__(type(model))
        told = answer(lambda: other.__setstate__(state))  # noqa: B023
        tally["refused" if "another layout" in told else told] += 1
    return ", ".join(f"{count} {told}" for told, count in tally.items())


def nan_command() -> str:
    """A command that is not a number, in what a task remembers."""
    env: Any = gym.make(QUADRUPED).unwrapped
    env.reset(seed=0)
    state = env.get_state()
    state["task"]["forward"] = np.nan
    return answer(lambda: env.set_state(state))


def long_capsule() -> str:
    """A capsule of a hundred million kilometres over fine blocks."""
    begun = time.process_time()

    def build() -> None:
        builder = ModelBuilder()
        builder.block_field("floor", heights=np.zeros((3, 3)), half_size=(1e-3, 1e-3))
        builder.body("rod", joint=free(), mass=1.0, inertia=(1.0, 1.0, 1.0))
        builder.capsule("rod", "rod", start=(0, 0, 0), end=(0, 0, 1e11), radius=0.1)
        builder.build()

    told = answer(build)
    return told if time.process_time() - begun < 10.0 else f"after more than ten seconds {told}"


def many_contacts() -> str:
    """Room for more contacts than any machine has."""
    return answer(lambda: World(ModelBuilder(max_contacts=10**30).build()))


def deep_json() -> str:
    """A saved model of brackets."""
    deep = "[" * 200_000 + "]" * 200_000
    Path("deep.json").write_text(f'{{"format":"dynenvs model","version":4,"options":{deep}}}')
    return answer(lambda: dynenvs.load("deep.json"))


MEMORY = (
    Case("a file of starts with one changed number", "crash, or memory overwritten",
         "ValueError: .*touched", ("test_states_from_outside",), spoilt_starts),
    Case("a state with another pyramid's number", "memory beyond an array read, silently",
         "ValueError: .*polygon", ("test_states_from_outside",), other_pyramid),
    Case("a state with a number of no pyramid", "crash",
         "ValueError: .*polygon", ("test_states_from_outside",), wild_pyramid),
    Case("`worlds.threads = 16`", "crash, or memory overwritten",
         "AttributeError: ", ("test_guard",), changed_threads),
    Case("`worlds.count = 1000000`", "crash", "AttributeError: ", ("test_guard",), changed_count),
    Case("`world.model = other`", "crash", "AttributeError: ", ("test_guard",), changed_model),
    Case("a count written into `env.unwrapped.worlds.states`", "crash",
         "ValueError: .*read-only", ("test_states_from_outside",), written_state),
    Case("an index written into `env.unwrapped.task`", "crash",
         "ValueError: .*read-only", ("test_states_from_outside",), written_task),
    Case("one `World` stepped by four threads", "never returned, or lost steps silently",
         "all return; the others: RuntimeError: ", ("test_guard",), four_threads),
    Case("pickles of versions whose header had one field less",
         "of 120: 77 obscure errors, 36 accepted, 7 crashes",
         r"\d+ refused$", ("test_origin",), older_pickles),
    Case("a command in a task's record that is not a number", "observations that are NaN",
         "ValueError: ", ("test_states_from_outside",), nan_command),
    Case("a capsule of 1e11 m over fine blocks", "never returned",
         "ModelError: ", ("test_absurd_numbers",), long_capsule),
    Case("`max_contacts=10**30`", "OverflowError", "ModelError: ", ("test_absurd_numbers",),
         many_contacts),
    Case("a saved model of 200,000 brackets", "RecursionError",
         "ModelError: ", ("test_absurd_numbers",), deep_json),
)  # fmt: skip
