"""Forward dynamics without contact: against Pinocchio on the same tree, and against chain length.

Before anything is timed, both must give the same accelerations.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import numpy as np

from dynenvs.dynamics.aba import aba, aba_passes
from dynenvs.jit.compiled import entry
from dynenvs.kinematics.poses import update_kinematics, update_poses
from dynenvs.memory.layout import Bytes, Floats, Matrix, open_world
from dynenvs.model.model import Model
from dynenvs.simulation.free_motion import free_motion
from studies.bench.mirrors import (
    chain,
    humanoid,
    pinocchio_q,
    random_states,
    to_pinocchio,
)
from studies.bench.peers import peer
from studies.bench.race import Case, Maker, Race, Row, Settings, System

STATES = 256  # random ones, gone through again and again
LENGTHS = (1, 2, 5, 10, 20, 50, 100)
TIMESTEP = 0.001  # of the free motion [s]
BY = ("Pinocchio", "dynenvs")
AGREEMENT = 1e-9  # relative to the largest acceleration


def cases(settings: Settings) -> list[Case]:
    """The humanoid tree."""
    tree = humanoid()
    makers: list[tuple[str, Maker]] = [
        ("Pinocchio aba, batch call", partial(_pinocchio, tree)),
        ("dynenvs aba, compiled loop", partial(_compiled, tree)),
        ("dynenvs mass matrix and LTDL, compiled loop", partial(_free, tree)),
        ("Pinocchio aba, from Python", partial(_pinocchio_call, tree)),
        ("dynenvs aba, from Python", partial(_call, tree)),
    ]
    notes = [
        "The same random states and forces; accelerations agreed to 1e-9 before the race. "
        "Pinocchio's batch call is `abaInParallel` on one thread. The mass matrix with sparse LTDL "
        "is what dynenvs' own step uses. `dynenvs.aba` from Python checks its arguments and makes "
        "its workspace anew; the ratio is to Pinocchio's call from Python."
    ]
    title = f"Forward dynamics, humanoid tree of {tree.nv} velocities"
    theirs = "Pinocchio aba, from Python"
    against = {theirs: theirs, "dynenvs aba, from Python": theirs}
    return [Race("dynamics", title, "evaluation", makers, notes, unit="us", against=against)]


def chain_cases(settings: Settings) -> list[Case]:
    """Chains of many lengths."""
    lengths = (1, 10, 40) if settings.quick else LENGTHS
    makers: list[tuple[str, Maker]] = []
    for n in lengths:
        makers.append((f"{_links(n)}, Pinocchio", partial(_pinocchio, chain(n))))
        makers.append((f"{_links(n)}, dynenvs", partial(_compiled, chain(n))))
    notes = [
        "Compiled loop and `abaInParallel` on one thread, as above; hinges about y and x. Ratio: "
        "to Pinocchio at the same length."
    ]
    title = "Forward dynamics of a chain by number of links"
    return [
        Race(
            "links",
            title,
            "evaluation",
            makers,
            notes,
            unit="us",
            x=("links", "by"),
            conclude=_linear,
            against={f"{_links(n)}, {by}": f"{_links(n)}, Pinocchio" for n in lengths for by in BY},
        )
    ]


def _links(n: int) -> str:
    return f"{n} link{'s' if n > 1 else ''}"


def _linear(rows: list[Row]) -> list[str]:
    """How well a straight line fits the times."""
    sentences = []
    for by in dict.fromkeys(row.facts["by"] for row in rows):
        mine = [row for row in rows if row.facts["by"] == by]
        n = np.array([row.facts["links"] for row in mine], float)
        t = np.array([1e6 / row.median for row in mine])
        # Relative errors count alike, or the longest chain alone would decide
        slope, offset = np.polyfit(n, t, 1, w=1 / t)
        off = np.abs(offset + slope * n - t) / t
        sentences.append(
            f"{by}: {offset:.2f} us + {slope:.3f} us a link; the line is off by at most "
            f"{100 * off.max():.0f} %."
        )
    return [" ".join(sentences)]


@entry
def _run_aba(
    packed: Bytes, rows: Annotated[Bytes, 2], buffer: Bytes, tau: Matrix, a: Matrix, count: int
) -> None:
    """Forward dynamics by the articulated-body algorithm, state after state."""
    for k in range(count):
        i = k % tau.shape[0]
        w = open_world(packed, rows[i], buffer)
        update_kinematics(w)
        aba_passes(w, tau[i], 0.0, a[i])


@entry
def _run_free(
    packed: Bytes, rows: Annotated[Bytes, 2], buffer: Bytes, tau: Matrix, a: Matrix, count: int
) -> None:
    """The same by mass matrix and sparse factors, as the time step does it."""
    for k in range(count):
        i = k % tau.shape[0]
        w = open_world(packed, rows[i], buffer)
        update_poses(w, w.q, w.pose)
        free_motion(w, tau[i], TIMESTEP)
        for j in range(a.shape[1]):
            a[i, j] = (w.v_free[j] - w.v[j]) / TIMESTEP


def _loop(model: Model, kernel_: Any, tolerance: float) -> System:
    q, v, tau = random_states(model, STATES)
    rows = model.states(STATES)
    rows["q"], rows["v"] = q, v
    a = np.zeros_like(v)
    buffer = model.workspace()
    memory = rows.view(np.uint8).reshape(STATES, -1)

    def run(count: int) -> None:
        kernel_(model.packed, memory, buffer, tau, a, count)

    run(STATES)
    _agree(model, a, tolerance)
    return System(run, facts=_facts(model, "dynenvs"))


def _compiled(model: Model) -> System:
    return _loop(model, _run_aba, AGREEMENT)


def _free(model: Model) -> System:
    return _loop(model, _run_free, 1e3 * AGREEMENT)  # a difference of velocities over 1 ms


def _facts(model: Model, by: str) -> dict[str, Any]:
    return {"links": len(model.body_names) - 1, "by": by}


def _agree(model: Model, a: Floats, tolerance: float) -> None:
    """Accelerations of the random states against `aba`'s; raises if they differ."""
    q, v, tau = random_states(model, STATES)
    for i in range(0, STATES, STATES // 8):
        expected = aba(model, q[i], v[i], tau[i])
        if np.abs(a[i] - expected).max() > tolerance * max(1.0, np.abs(expected).max()):
            raise AssertionError(f"accelerations differ: {a[i]} and {expected}")


def _pinocchio(model: Model) -> System:
    """All states in one call, on one thread."""
    pin = peer("pinocchio")
    if not hasattr(pin, "abaInParallel"):
        return _pinocchio_call(model)
    q, v, tau = random_states(model, STATES)
    pool = pin.ModelPool(to_pinocchio(model), 1)
    theirs = [np.asfortranarray(x.T) for x in (pinocchio_q(model, q), v, tau, np.zeros_like(v))]

    def run(count: int) -> None:
        for _ in range(count):
            pin.abaInParallel(1, pool, *theirs)

    run(1)
    _agree(model, theirs[3].T, AGREEMENT)
    return System(run, STATES, facts=_facts(model, "Pinocchio"))


def _pinocchio_call(model: Model) -> System:
    """State by state, from Python."""
    pin = peer("pinocchio")
    q, v, tau = random_states(model, STATES)
    q, theirs = pinocchio_q(model, q), to_pinocchio(model)
    data = theirs.createData()

    def run(count: int) -> None:
        for k in range(count):
            i = k % STATES
            pin.aba(theirs, data, q[i], v[i], tau[i])

    return System(run, facts=_facts(model, "Pinocchio"))


def _call(model: Model) -> System:
    """State by state, from Python."""
    q, v, tau = random_states(model, STATES)

    def run(count: int) -> None:
        for k in range(count):
            i = k % STATES
            aba(model, q[i], v[i], tau[i])

    return System(run, facts=_facts(model, "dynenvs"))
