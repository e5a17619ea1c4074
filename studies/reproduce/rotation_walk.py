"""Bhargava, figures 1 and 5: the walk by inverse dynamics, and its torques replayed blindly."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dynenvs.agents.evaluation.acting import Acting
from dynenvs.agents.evaluation.episode import make
from dynenvs.agents.experts.common.controller import Policy
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.view import frame, open_renderer
from dynenvs.memory.layout import Floats
from studies.reproduce.experiment import Check, Experiment, Outcome, Table, Tick

ENV, SEED, COMMAND = "dynenvs/PlanarHumanoid-v0", 0, 1.0  # [m/s]
POSES, BETWEEN, SETTLED = 8, 0.14, 2.0  # pictures, time between them, time before the first [s]
HEADER = 48  # readings at the top of each picture, cut off [px]
SECONDS = 8.0
HIP = 2  # index into q of the joint that is perturbed: the left hip
SIZES = (0.0, 1e-6, 1e-3)  # of the perturbation [rad]


class Replay(NamedTuple):
    """A run of the humanoid."""

    q: Floats  # after each control step, shape (steps, nq)
    actions: Floats  # shape (steps, nu)
    fell: float  # when [s]; NaN if it did not


def run(
    env: DynEnv, policy: Policy | None, actions: Floats | None, offset: float, steps: int
) -> Replay:
    """One episode by a policy (closed loop) or by given actions (open loop), its start moved."""
    observation, _ = env.reset(seed=SEED, options={"command": COMMAND})
    state = env.get_state()
    state["world"]["q"][0, HIP] += offset
    env.set_state(state)
    q, done = [], []
    acting = None if policy is None else Acting(policy)
    for k in range(steps):
        if actions is not None:
            action = actions[min(k, len(actions) - 1)].astype(np.float32)
        else:
            assert acting is not None
            action = acting.act(observation)
        observation, _, terminated, _, _ = env.step(action)
        q.append(env.worlds.states[0]["q"].copy())
        done.append(action)
        if terminated:
            return Replay(np.array(q), np.array(done, dtype=float), (k + 1) * env.dt)
    return Replay(np.array(q), np.array(done, dtype=float), np.nan)


def figure_1(tick: Tick) -> Outcome:
    """Poses over a stride."""
    env = make(ENV, command=COMMAND, width=240, height=320)
    acting = Acting(reference_controller(env))
    renderer = open_renderer(env, "rgb_array")
    observation, _ = env.reset(seed=SEED)
    moments = {round((SETTLED + k * BETWEEN) / env.dt) for k in range(POSES)}
    pictures: list[Any] = []
    step, residual, fell = 0, 0.0, False
    while len(pictures) < POSES and not fell:
        observation, _, fell, _, info = env.step(acting.act(observation))
        residual = max(residual, float(info["residual"]))
        step += 1
        tick(step / max(moments))
        if step in moments:
            pictures.append(np.asarray(renderer.draw(frame(env)))[HEADER:])
    renderer.close()
    env.close()
    return Outcome(
        [
            Check("it walks", "yes", "fell" if fell else "yes", "without a fall", not fell),
            Check(
                "worst residual of the contact problems",
                "Lemke fails at times",
                f"{residual:.0e}",
                "1e-9",
                residual <= 1e-9,
            ),
        ],
        {},
        picture=np.concatenate(pictures, axis=1) if pictures else None,
    )


def figure_5(tick: Tick) -> Outcome:
    """Torques of the walk, replayed from the same and from slightly other starts."""
    env = make(ENV, command=COMMAND)
    steps = round(SECONDS / env.dt)
    policy = reference_controller(env)
    learnt = run(env, policy, None, 0.0, steps)
    opened, closed = {}, {}
    for i, size in enumerate(SIZES):
        opened[size] = run(env, None, learnt.actions, size, steps)
        closed[size] = run(env, policy, None, size, steps)
        tick((i + 1) / len(SIZES))
    dt = env.dt
    env.close()
    same = len(opened[0.0].q) == len(learnt.q) and bool(np.all(opened[0.0].q == learnt.q))
    shared = {
        s: np.abs(r.q[: len(learnt.q)] - learnt.q[: len(r.q)])[:, HIP:].max(1)
        for s, r in opened.items()
    }
    checks = [
        Check(
            "replayed from the same state",
            "falls by accumulated errors",
            "same bits" if same else "differs",
            "same bits",
            same,
        ),
        *(
            Check(
                f"replayed with the hip {size:.0e} rad off",
                "falls",
                _fate(opened[size]),
                "falls",
                bool(np.isfinite(opened[size].fell)),
            )
            for size in SIZES[1:]
        ),
        *(
            Check(
                f"closed loop, the hip {size:.0e} rad off",
                "not tried",
                _fate(closed[size]),
                "does not fall",
                bool(np.isnan(closed[size].fell)),
            )
            for size in SIZES[1:]
        ),
    ]
    rows = [[f"{size:.0e}", _fate(opened[size]), _fate(closed[size])] for size in SIZES]
    return Outcome(
        checks,
        {"falls": Table(["offset [rad]", "open loop", "closed loop"], rows)},
        lambda figure: _draw(figure, dt, opened, closed, shared),
        (8.5, 3.8),
    )


def _fate(replay: Replay) -> str:
    return "walks on" if np.isnan(replay.fell) else f"falls at {replay.fell:.2f} s"


def _draw(
    figure: Any,
    dt: float,
    opened: dict[float, Replay],
    closed: dict[float, Replay],
    shared: dict[float, Floats],
) -> None:
    left, right = figure.subplots(1, 2)
    for (size, replay), color in zip(
        opened.items(), ("#4a5463", "#e0a458", "#c8553d"), strict=True
    ):
        t = dt * np.arange(1, len(replay.q) + 1)
        label = "same start" if size == 0.0 else f"hip {size:.0e} rad off"
        left.plot(t, replay.q[:, 1], color=color, label=f"open loop, {label}")
        if size:
            gap = np.maximum(shared[size], 1e-12)
            right.semilogy(dt * np.arange(1, len(gap) + 1), gap, color=color, label=label)
    worst = closed[SIZES[-1]]
    left.plot(
        dt * np.arange(1, len(worst.q) + 1), worst.q[:, 1], "k:", label="closed loop, 1e-3 off"
    )
    left.set_ylabel("height of the hip, from its zero [m]")
    right.set_ylabel("largest difference of a joint [rad]")
    for panel in (left, right):
        panel.set_xlabel("time [s]")
        panel.legend(fontsize="x-small")


EXPERIMENTS = (
    Experiment(
        "rotation-1",
        "Bhargava, figure 1: poses of the walk",
        "The humanoid of the report (six actuated hinges, two unactuated slides) walks by "
        "contact-consistent inverse dynamics. Its sizes, masses, gait and steps are not given; "
        "those of `PlanarHumanoid-v0` stand in, at 1 m/s.",
        figure_1,
    ),
    Experiment(
        "rotation-5",
        "Bhargava, figure 5: torques replayed open loop",
        "The torques of eight seconds of that walk are recorded and replayed: from the same state "
        "(here the same bits; in the report, errors that accumulated between inverse and forward "
        "simulation already sufficed for a fall), and with one hip moved by a millionth "
        "and a thousandth of a radian. The expert, which sees what happens, starts from the same "
        "moved states.",
        figure_5,
    ),
)
