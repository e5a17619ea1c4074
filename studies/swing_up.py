"""Plans the swing-ups with one motor.

`python -m studies.swing_up` does it in a few minutes.

Control-limited iterative LQR (Tassa, Mansard & Todorov, Control-limited differential dynamic
programming, ICRA 2014; with one motor the box problem is a clamp) from random torques, towards
the end cost of the upright regulator, raised in three rounds.  Plans use 85 % of the effort limit;
the rest is for corrections.  A plan whose tube also works with a four times coarser physics step
(an error of the model) is written to `agents/experts/pendulum/swing_up.json`, as torques: the
trajectory follows from the model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dynenvs.agents.experts.pendulum import double_pendulum
from dynenvs.agents.experts.pendulum.double_pendulum import PendulumController
from dynenvs.agents.experts.pendulum.swing_up import PERIOD, UPRIGHT, Plant, hold
from dynenvs.envs.pendulum.double_pendulum import DoublePendulumEnv
from dynenvs.envs.robots import pendulum as robot
from dynenvs.memory.layout import Floats

LENGTH = 4.4  # of a plan [s]; least times are 3.18 s (shoulder) and 3.22 s (elbow)
EFFORT = 0.85  # share of the limit that a plan may use
# Seeds of the random torques, from one known to give a plan: most do with the shoulder's motor,
# about one in thirty with the elbow's.
SEEDS = {"shoulder": range(100), "elbow": range(1067, 1267)}
HOPELESS = 2e5  # cost-to-go of the first round's end state that is not worth going on from
ROUNDS = ((0.01, 60), (0.1, 60), (1.0, 150))  # share of the end cost, most iterations
END_COST = 0.1  # of the regulator's cost-to-go
TORQUE_COST = 0.02  # [1/(N m)^2]
NEAR = 3.0  # cost-to-go of an end state that is good enough
DIGITS = 5  # of the torques [N m]
TRIAL_STEP, TRIALS = 0.004, 5  # physics step [s] and episodes that a plan must pass


class Plan(NamedTuple):
    """A trajectory and its cost."""

    x: Floats  # states, shape (n + 1, 4)
    u: Floats  # torques [N m], shape (n,)
    cost: float


class Problem(NamedTuple):
    """What a plan is measured by."""

    plant: Plant
    goal: Floats  # end state, shape (4,)
    end: Floats  # quadratic end cost, shape (4, 4)
    limit: float  # of the torque [N m]

    def measure(self, x: Floats, u: Floats) -> Plan:
        error = x[-1] - self.goal
        cost = 0.5 * error @ self.end @ error + 0.5 * TORQUE_COST * u @ u
        return Plan(x, u, float(cost))

    def follow(self, old: Plan, u: Floats, gains: Floats) -> Plan:
        """The trajectory of torques u with feedback on the distance to an older one."""
        x, applied = np.zeros_like(old.x), np.zeros_like(u)
        for k in range(len(u)):
            torque = u[k] + gains[k] @ (x[k] - old.x[k])
            applied[k] = np.clip(torque, -self.limit, self.limit)
            x[k + 1] = self.plant.advance(x[k], applied[k])
        return self.measure(x, applied)


def backward(
    problem: Problem, plan: Plan, slopes: list[tuple[Floats, Floats]], damping: float
) -> tuple[Floats, Floats]:
    """Changes of the torques and feedback gains: the Riccati pass with clamped torques."""
    change, gains = np.zeros(len(plan.u)), np.zeros((len(plan.u), 4))
    V, S = problem.end @ (plan.x[-1] - problem.goal), problem.end
    for k in reversed(range(len(plan.u))):
        A, B = slopes[k]
        b = B[:, 0]
        Qu = TORQUE_COST * plan.u[k] + b @ V
        Quu = TORQUE_COST + b @ S @ b
        Qux = b @ S @ A
        free = -Qu / (Quu + damping)
        change[k] = np.clip(free, -problem.limit - plan.u[k], problem.limit - plan.u[k])
        if change[k] == free:
            gains[k] = -Qux / (Quu + damping)
        K, d = gains[k], change[k]
        V = A.T @ V + K * Qu + Qux * d + K * Quu * d
        S = A.T @ S @ A + np.outer(K, Qux) + np.outer(Qux, K) + Quu * np.outer(K, K)
        S = 0.5 * (S + S.T)
    return change, gains


def improve(problem: Problem, u: Floats, iterations: int) -> Plan:
    """Iterate until nothing improves."""
    nothing = np.zeros((len(u), 4))
    plan = problem.follow(Plan(np.zeros((len(u) + 1, 4)), u, np.inf), u, nothing)
    slopes: list[tuple[Floats, Floats]] = []
    damping = 1e-3
    for _ in range(iterations):
        slopes = slopes or [problem.plant.linearise(plan.x[k], plan.u[k]) for k in range(len(u))]
        change, gains = backward(problem, plan, slopes, damping)
        for halving in range(10):
            trial = problem.follow(plan, plan.u + 0.5**halving * change, gains)
            if trial.cost < plan.cost:
                break
        else:
            damping *= 5.0
            if damping > 1e6:
                break
            continue
        gain, plan = plan.cost - trial.cost, trial
        damping, slopes = max(damping / 3.0, 1e-6), []
        if gain < 1e-5 * plan.cost:
            break
    return plan


def passes(joint: str, u: Floats) -> bool:
    """Whether a plan's tube leads upright, and stays there, in every trial."""
    env = DoublePendulumEnv(
        actuated=joint, timestep=TRIAL_STEP, frame_skip=round(PERIOD / TRIAL_STEP)
    )
    expert = PendulumController(env, plan=np.round(u, DIGITS))
    for seed in range(TRIALS):
        observation, _ = env.reset(seed=seed)
        reward = 0.0
        for _ in range(2 * len(u)):
            observation, reward, *_ = env.step(expert.predict(observation)[0])
        if reward < 0.95:
            return False
    return True


def attempt(joint: str, seed: int) -> Plan | None:
    """A plan for the pendulum with its motor at `joint`, or None if it misses or fails a trial."""
    plant = Plant(robot.build((joint,)))
    rng = np.random.default_rng(seed)
    limit = EFFORT * robot.EFFORTS[robot.JOINTS.index(joint)]
    time = PERIOD * np.arange(round(LENGTH / PERIOD))
    frequency, phase = rng.uniform(0.5, 1.2), rng.uniform(0.0, 2.0 * np.pi)  # [Hz, rad]
    swing = np.sin(2.0 * np.pi * frequency * time + phase)
    u = limit * (rng.uniform(0.1, 1.0) * swing + 0.1 * rng.normal(size=len(time)))
    u = np.clip(u, -limit, limit)
    goal = UPRIGHT.copy()
    goal[1] += 2.0 * np.pi * rng.choice([0, 0, -1, 1])  # the elbow may turn once round
    cost_to_go = hold(plant).cost
    for share, iterations in ROUNDS:
        plan = improve(Problem(plant, goal, share * END_COST * cost_to_go, limit), u, iterations)
        u, error = plan.u, plan.x[-1] - goal
        miss = float(error @ cost_to_go @ error)
        print(f"{joint}, seed {seed}: cost {plan.cost:.3f}, end {miss:.2f}", flush=True)
        if miss > HOPELESS:
            return None
    return plan if miss < NEAR and passes(joint, u) else None


def search(joint: str) -> Plan:
    """The plan of the first seed that gives one.

    Raises:
        RuntimeError: none does.
    """
    for seed in SEEDS[joint]:
        plan = attempt(joint, seed)
        if plan is not None:
            return plan
    raise RuntimeError(f"no swing-up found for {joint} with the seeds {SEEDS[joint]}")


def write(plans: dict[str, Plan], path: Path) -> None:
    """The table, as JSON."""
    torques = {joint: [round(float(u), DIGITS) for u in plan.u] for joint, plan in plans.items()}
    path.write_text(f"{json.dumps(torques)}\n")


if __name__ == "__main__":
    found = {joint: search(joint) for joint in robot.JOINTS}
    write(found, Path(double_pendulum.__file__).with_name("swing_up.json"))
