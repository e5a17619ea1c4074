"""Measures episodes: gaits from the positions of the feet, whatever the solver says of itself.

What a chain pendulum reaches is measured in `chain_measure.py`.

`python -m dynenvs.agents.evaluation.measure humanoid --seeds 100` prints the worst figures over
many seeds.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.progress import Progress
from rich.table import Table

from dynenvs.agents.console import open_console
from dynenvs.agents.evaluation.chain_measure import Press, measure_press, press_summary
from dynenvs.agents.evaluation.episode import Episode, make, run_episode
from dynenvs.agents.evaluation.episodes import make_batch, run_episodes
from dynenvs.agents.evaluation.footsteps import stances, worst_row
from dynenvs.agents.evaluation.legged_measure import Trot, measure_trot, trot_summary
from dynenvs.agents.experts.common.controller import Policy
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.agents.names import environment_id, speeds_of
from dynenvs.contact.detection.detect import feature_gap
from dynenvs.envs.legged.shells import LeggedRobot
from dynenvs.envs.pendulum.chain_pendulum import ChainPendulumEnv
from dynenvs.envs.pendulum.double_pendulum import DoublePendulumEnv
from dynenvs.envs.planar.walker import PlanarWalker
from dynenvs.jit.compiled import entry
from dynenvs.kinematics.poses import update_poses
from dynenvs.kinematics.rotation import rotate
from dynenvs.memory.layout import Floats, Matrix, WorkView, open_work
from dynenvs.simd.elementary import atan2

SIDE_BY_SIDE = 50  # episodes in one batch
SETTLING = 2.0  # time from which on the mean speed is taken [s]
UPRIGHT = 0.1  # of either link from the vertical [rad]

Flags = NDArray[np.bool_]


class Gait(NamedTuple):
    """What one episode of a walker was like."""

    steps: int  # control steps alive
    end: str  # why it ended
    fell: bool
    distance: float  # along the path, back and forth [m]
    mean_speed: float  # [m/s]
    speed: float  # mean after SETTLING [m/s]; NaN if the episode is not longer
    command: float  # [m/s]
    slip: float  # largest of a standing foot from touchdown to lift-off [m]; NaN without a stance
    clearance: float  # least, over the swings, of a swing's greatest height [m]; NaN without one
    swings: int  # from lift-off to touchdown
    single_support: float  # share of the time; of a quadruped, on one or two feet
    penetration: float  # deepest of any contact feature, at the end of a control step [m]
    degraded: int
    failed: int
    residual: float
    torque_change: float  # 99th percentile over effort limit, of the worst joint
    torque_change_pooled: float  # of all joints together
    returned: float  # sum of rewards
    simulating: float  # wall-clock time in `env.step` [s]

    @property
    def speed_error(self) -> float:
        """Of the mean speed, relative to the command."""
        return abs(self.speed - self.command) / abs(self.command)


class Feet(NamedTuple):
    """Where the contact features were at the end of each control step."""

    x: Floats  # of the feature's centre [m], shape (steps, nf)
    gap: Floats  # [m], shape (steps, nf)
    turned: Floats  # angle of the feature's body about +y, continuous [rad], shape (steps, nf)
    loaded: Flags  # shape (steps, nf)


class SwingUp(NamedTuple):
    """What one episode of the double pendulum was like."""

    steps: int
    end: str
    upright_after: float  # time from which on both links stay within UPRIGHT [s]; NaN if never
    held: float  # how long they did, to the end of the episode [s]
    degraded: int
    failed: int
    returned: float
    simulating: float  # wall-clock time in `env.step` [s]


@entry
def _trace(w: WorkView, q: Matrix, x: Matrix, gap: Matrix, turned: Matrix) -> None:
    """Place, gap and direction of every feature for a series of positions, shape (steps, nq)."""
    for k in range(q.shape[0]):
        update_poses(w, q[k], w.pose)
        for f in range(w.header[0].nf):
            feature = w.features[f]
            pose = w.pose[feature.body_a]
            cx, _, _ = rotate(pose.R, feature.center)
            x[k, f] = cx + pose.p[0]
            gap[k, f] = feature_gap(feature, w.pose)
            turned[k, f] = atan2(pose.R[0, 2], pose.R[0, 0])


def trace_feet(env: PlanarWalker, episode: Episode) -> Feet:
    """Where the contact features were; kinematics only."""
    shape = (episode.steps, len(env.model.features))
    x, gap, turned = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    _trace(open_work(env.model.packed, env.model.workspace()), episode.q, x, gap, turned)
    return Feet(x, gap, np.unwrap(turned, axis=0), episode.impulses[:, :, 2] > 0.0)


def measure_gait(env: PlanarWalker, episode: Episode) -> Gait:
    """Measure a recorded episode of `env`."""
    feet = trace_feet(env, episode)
    legs = [np.flatnonzero(env.task.foot_of_feature == leg) for leg in range(len(env.task.legs))]
    radius = env.model.features["radius"]
    slips, heights = [], []
    for features in legs:
        loaded = np.asarray(feet.loaded[:, features].any(axis=1))
        found = list(stances(loaded, feet.gap[:, features].min(axis=1)))
        slips += [_slip(feet, features, radius, *stance) for stance in found]
        for (_, lift_off), (touchdown, _) in pairwise(found):
            air = feet.gap[lift_off + 1 : touchdown, features]
            heights.append(float(air.min(axis=1).max()))
    standing = np.sum([feet.loaded[:, features].any(axis=1) for features in legs], axis=0)
    change = np.abs(np.diff(episode.actions, axis=0)) if episode.steps > 1 else np.zeros((1, 1))
    x = np.concatenate([episode.start[:1], episode.q[:, 0]])
    settled = round(SETTLING / env.dt)
    walking = (episode.steps - settled) * env.dt
    return Gait(
        steps=episode.steps,
        end=episode.end,
        fell=episode.fell,
        distance=float(np.abs(np.diff(x)).sum()),
        mean_speed=float(x[-1] - x[0]) / (episode.steps * env.dt),
        speed=float(x[-1] - x[settled]) / walking if walking > 0 else math.nan,
        command=episode.command,
        slip=max(slips, default=math.nan),
        clearance=min(heights, default=math.nan),
        swings=len(heights),
        single_support=float(np.mean((standing >= 1) & (standing <= len(legs) // 2))),
        penetration=max(0.0, -float(feet.gap.min(initial=0.0))),
        degraded=episode.degraded,
        failed=episode.failed,
        residual=episode.residual,
        torque_change=float(np.percentile(change, 99, axis=0).max()),
        torque_change_pooled=float(np.percentile(change, 99)),
        returned=float(episode.rewards.sum()),
        simulating=episode.simulating,
    )


def _slip(feet: Feet, features: NDArray[np.intp], radius: Floats, first: int, last: int) -> float:
    """How far the foot's contact points moved along the ground while they carried load [m].

    A sphere that rolls without slipping moves by its radius times the angle that it turns; that
    is taken off.  Of each point, the greatest distance from where it first carried load.
    """
    worst = 0.0
    for f in features:
        steps = first + np.flatnonzero(feet.loaded[first : last + 1, f])
        if len(steps) > 1:
            moved = feet.x[steps, f] - radius[f] * feet.turned[steps, f]
            worst = max(worst, float(np.abs(moved - moved[0]).max()))
    return worst


def measure_swing_up(env: DoublePendulumEnv, episode: Episode) -> SwingUp:
    """Measure a recorded episode of `env`."""
    links = np.cumsum(episode.q, axis=1) - np.pi
    tilt = np.abs(np.arctan2(np.sin(links), np.cos(links))).max(axis=1)
    outside = np.flatnonzero(tilt > UPRIGHT)
    after = int(outside[-1]) + 1 if len(outside) else 0
    held = (episode.steps - after) * env.dt
    return SwingUp(
        steps=episode.steps,
        end=episode.end,
        upright_after=after * env.dt if held > 0 else math.nan,
        held=held,
        degraded=episode.degraded,
        failed=episode.failed,
        returned=float(episode.rewards.sum()),
        simulating=episode.simulating,
    )


def walk(env: PlanarWalker, policy: Policy, *, seed: int, command: float | None = None) -> Gait:
    """Run one episode and measure it."""
    return measure_gait(env, run_episode(env, policy, seed=seed, command=command))


def walks(
    env: PlanarWalker, policy: Policy, seeds: range, *, command: float | None = None
) -> Iterator[Gait]:
    """Measured episodes, one a seed."""
    for seed in seeds:
        yield walk(env, policy, seed=seed, command=command)


def summary(gaits: list[Gait], dt: float) -> Table:
    """The worst figures over many episodes, each with the seed it came from.

    Args:
        gaits: one a seed, counted from 0.
        dt: control period [s].
    """
    table = Table("reading", "worst", "seed", "mean")

    row = partial(worst_row, table)
    alive = sum(gait.end == "time limit" for gait in gaits)
    table.add_row("reached the time limit", f"{alive} of {len(gaits)}", "", "")
    row("steps", [g.steps for g in gaits], "{:.0f}", sign=-1)
    row("distance, m", [g.distance for g in gaits], "{:.2f}", sign=-1)
    row("speed error, %", [g.speed_error for g in gaits], "{:.2f}", 100)
    row("stance slip, mm", [g.slip for g in gaits], "{:.4f}", 1e3)
    row("swing clearance, mm", [g.clearance for g in gaits], "{:.1f}", 1e3, -1)
    row("swings", [g.swings for g in gaits], "{:.0f}", sign=-1)
    row("single support, % of time", [g.single_support for g in gaits], "{:.1f}", 100, -1)
    row("torque change p99, worst joint, %", [g.torque_change for g in gaits], "{:.2f}", 100)
    row("torque change p99, pooled, %", [g.torque_change_pooled for g in gaits], "{:.2f}", 100)
    row("penetration, m", [g.penetration for g in gaits], "{:.1e}")
    row("LCP residual", [g.residual for g in gaits], "{:.1e}")
    row("degraded solves", [g.degraded for g in gaits], "{:.0f}")
    row("failed solves", [g.failed for g in gaits], "{:.0f}")
    row("return", [g.returned for g in gaits], "{:.1f}", sign=-1)
    row("simulated s per s", [g.steps * dt / g.simulating for g in gaits], "{:.0f}", sign=-1)
    return table


def _measured(
    env: PlanarWalker | LeggedRobot | ChainPendulumEnv, episode: Episode
) -> Gait | Trot | Press:
    if isinstance(env, LeggedRobot):
        return measure_trot(env, episode)
    if isinstance(env, ChainPendulumEnv):
        return measure_press(env, episode)
    return measure_gait(env, episode)


def main(arguments: list[str] | None = None) -> None:
    """Measure the expert over many seeds and print the worst figures."""
    name = "python -m dynenvs.agents.evaluation.measure"
    parser = argparse.ArgumentParser(prog=name, description=main.__doc__)
    choices = "humanoid, quadruped, planar-humanoid, planar-quadruped, chain-pendulum, or an id"
    parser.add_argument("env", help=choices)
    parser.add_argument("--seeds", type=int, default=100, help="episodes, seeded 0, 1, ...")
    parser.add_argument(
        "--command", type=speeds_of, help="speed in m/s, or three speeds with commas; else drawn"
    )
    parser.add_argument(
        "--push", type=float, default=0.0, help="impulses on the base every three seconds [N s]"
    )
    parser.add_argument("--terrain", help="flat, slope, rough or stairs, of legged robots")
    parser.add_argument("--free-pitch", action="store_true", help="trunks of planar robots pitch")
    parser.add_argument("--links", type=int, help="of a chain pendulum")
    options = parser.parse_args(arguments)
    gaits: list[Gait | Trot | Press] = []
    try:
        chosen = {
            "push_impulse": options.push,
            "terrain": options.terrain,
            "free_pitch": options.free_pitch,
        }
        chosen = {name: value for name, value in chosen.items() if value}
        if options.links is not None:
            chosen["links"] = options.links
        env_id = environment_id(options.env)
        env = make(env_id, **chosen)
        if not isinstance(env, PlanarWalker | LeggedRobot | ChainPendulumEnv):
            raise ValueError(f"{options.env} does not walk; choose a walker")
        with Progress(transient=True) as progress:
            task = progress.add_task("episodes", total=options.seeds)
            for first in range(0, options.seeds, SIDE_BY_SIDE):
                count = min(SIDE_BY_SIDE, options.seeds - first)
                batch = make_batch(env_id, count, **chosen)
                policy = reference_controller(batch)
                for episode in run_episodes(batch, policy, seed=first, command=options.command):
                    gaits.append(_measured(env, episode))
                    progress.advance(task)
    except ValueError as error:
        parser.error(str(error))
    if gaits:
        tables = {LeggedRobot: trot_summary, ChainPendulumEnv: press_summary, PlanarWalker: summary}
        table = next(table for kind, table in tables.items() if isinstance(env, kind))
        open_console().print(table(gaits, env.dt))  # type: ignore[operator]


if __name__ == "__main__":
    main()
