"""Contact problems recorded from the environments: `python -m studies.verify.recorded`.

Each environment that has contact, with random actions and with its expert: problems spread over an
episode, and those that Newton's method, the step's main solver, did not settle.  What is kept is
the rows' matrix G and right-hand side; the LCP is made of them here as `contact/friction_lcp.py`
makes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from dynenvs.agents.evaluation.acting import Acting
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.files import written_whole
from dynenvs.memory.layout import Floats, Ints, open_model, open_work
from dynenvs.registration import ENVIRONMENTS
from studies.bench.solves import stated
from studies.verify.lcp_problems import Problem

FILE = Path(__file__).with_name("recorded.npz")
SEED = 0  # of resets and actions
STEPS = 300  # control steps looked at
KEPT = 12  # problems of an environment and an actor, half of them hard if there are so many
WITHOUT = 40  # control steps without a contact after which an environment has none


def recorded() -> dict[str, list[Problem]]:
    """The problems of the file, by environment and actor."""
    with np.load(FILE) as file:
        data = {name: file[name] for name in file.files}
    names = [str(name) for name in data["names"]]
    found: dict[str, list[Problem]] = {name: [] for name in names}
    entry = row = contact = 0
    for kind, rows, contacts, count, floor in zip(
        data["kind"], data["rows"], data["contacts"], data["directions"], data["floor"], strict=True
    ):
        G = np.zeros((rows, rows))
        size = rows * (rows + 1) // 2
        G[np.tril_indices(rows)] = data["G"][entry : entry + size]
        G += np.tril(G, -1).T
        tangents = data["tangents"][contact : contact + contacts]
        friction = data["friction"][contact : contact + contacts]
        bias = data["bias"][row : row + rows]
        found[names[kind]].append(from_rows(G, bias, tangents, friction, int(count), float(floor)))
        entry, row, contact = entry + size, row + rows, contact + contacts
    return found


def from_rows(
    G: Floats, bias: Floats, tangents: Ints, friction: Floats, count: int, floor: float
) -> Problem:
    """The LCP of rows: each contact's normal, then its tangents; joint limits after all contacts.

    G: shape (rows, rows); bias: shape (rows,); tangents, friction: shape (contacts,)
    count: directions of a friction pyramid; floor: g dt [m/s]
    Variables that nothing moves are left out.
    """
    columns: list[Floats] = []  # of the map from impulses of variables to those of rows
    labels, slips, own = [], [], []  # `own`: of each contact, what bounds and what is bounded
    unit = np.eye(len(bias))
    row = 0
    for label, (k, mu) in enumerate(zip(tangents, friction, strict=True)):
        if G[row, row] > 0.0:
            normal = len(columns)
            columns.append(unit[row])
            labels.append(label)
            angles = np.pi * np.arange(count) * (1.0 if k == 1 else 2.0 / count)
            ways = [np.cos(a) * unit[row + 1] for a in angles] if k == 1 else []
            if k == 2:
                ways = [np.cos(a) * unit[row + 1] + np.sin(a) * unit[row + 2] for a in angles]
            ways = [way for way in ways if way @ G @ way > 1e-14 * G[row, row]]
            bounded = list(range(len(columns), len(columns) + len(ways)))
            columns += ways
            labels += [label] * len(ways)
            if ways:
                slips.append(len(columns))
                own.append((mu, normal, bounded))
                columns.append(np.zeros(len(bias)))
                labels.append(label)
        row += 1 + int(k)
    for limit in range(row, len(bias)):
        if G[limit, limit] > 0.0:
            columns.append(unit[limit])
            labels.append(len(tangents) + limit - row)
    B = np.array(columns).reshape(-1, len(bias))
    A, b = B @ G @ B.T, B @ bias
    for slip, (mu, normal, bounded) in zip(slips, own, strict=True):
        A[bounded, slip], A[slip, normal], A[slip, bounded] = 1.0, mu, -1.0
    return Problem(A, b, np.array(labels, dtype=np.int64), floor)


def record() -> None:
    """Record anew and write the file."""
    words = "kind rows contacts directions floor G bias tangents friction"
    parts: dict[str, list[Any]] = {name: [] for name in words.split()}
    names = []
    for env_id in ENVIRONMENTS:
        for expert in (False, True):
            problems = list(_chosen(env_id, expert))
            print(env_id, "expert" if expert else "random", len(problems), flush=True)
            if problems:
                names.append(f"{env_id.split('/')[-1]}, {'expert' if expert else 'random actions'}")
            for rows in problems:
                rows["kind"] = len(names) - 1
                for name, value in rows.items():
                    parts[name].append(value)
    joined: dict[str, Any] = {
        name: np.concatenate(values) if np.ndim(values[0]) else np.array(values)
        for name, values in parts.items()
    }
    with written_whole(FILE) as file:
        np.savez_compressed(file, names=np.array(names), **joined)


def _chosen(env_id: str, expert: bool) -> Iterator[dict[str, Any]]:
    """Some problems of an episode: hard ones, and others spread over it."""
    env: Any = gym.make(env_id)
    inner = env.unwrapped
    model, dt = inner.task.model, inner.task.timestep
    controller = reference_controller(env) if expert else None
    env.action_space.seed(SEED)
    observation, _ = env.reset(seed=SEED)
    acting = Acting(controller) if controller else None
    found: list[tuple[bool, dict[str, Any]]] = []
    for step in range(STEPS):
        if step == WITHOUT and not found:
            break
        action = acting.act(observation) if acting else env.action_space.sample()
        tau = np.zeros(model.nv)
        tau[model.actuated] = action * model.effort_limit[model.actuated]
        problem = stated(model, inner.worlds.states.view(np.uint8), tau, dt)
        if problem and problem.pressing > 0:
            found.append((problem.by_newton, _rows(model, problem, dt)))
        observation, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            observation, _ = env.reset()
            acting = Acting(controller) if controller else None
    env.close()
    hard = [rows for easy, rows in found if not easy]
    others = [rows for easy, rows in found if easy]
    for some in (hard[: KEPT // 2], others):
        room = KEPT - min(len(hard), KEPT // 2) if some is others else KEPT
        yield from some[:: max(1, len(some) // room)][:room]


def _rows(model: Any, problem: Any, dt: float) -> dict[str, Any]:
    """What the file keeps of a problem."""
    m = open_model(model.packed)
    w = open_work(m, problem.buffer)
    contacts = w.contacts[: problem.contacts]
    G = w.G[: problem.rows, : problem.rows]
    return {
        "rows": problem.rows,
        "contacts": problem.contacts,
        "directions": int(m.header[0]["directions"]),
        "floor": dt * float(np.linalg.norm(m.header[0]["gravity"])),
        "G": G[np.tril_indices(problem.rows)].copy(),
        "bias": w.bias_row[: problem.rows].copy(),
        "tangents": contacts["tangents"].astype(np.int64),
        "friction": contacts["friction"].astype(float),
    }


if __name__ == "__main__":
    record()
