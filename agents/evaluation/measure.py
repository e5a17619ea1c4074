"""Measures episodes: gaits from the positions of the feet, whatever the solver says of itself.

Robots with a free base are measured in `legged_measure.py`, what a chain pendulum reaches in
`chain_measure.py`.

`python -m dynenvs.agents.evaluation.measure humanoid --seeds 100` prints the worst figures over
many seeds.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass

import numpy as np
from rich.progress import Progress
from rich.table import Table

from dynenvs.agents.console import open_console
from dynenvs.agents.evaluation.chain_measure import Press, measure_press, press_summary
from dynenvs.agents.evaluation.episode import Episode, make
from dynenvs.agents.evaluation.episodes import run_episodes
from dynenvs.agents.evaluation.feet import footwork
from dynenvs.agents.evaluation.legged_measure import Trot, measure_trot, trot_summary
from dynenvs.agents.evaluation.outcome import Outcome, Row, outcome_of, worst_of
from dynenvs.agents.evaluation.rollout import make_batch
from dynenvs.agents.experts.reference import reference_controller
from dynenvs.agents.names import environment_id, speeds_of
from dynenvs.envs.legged.shells import LeggedRobot
from dynenvs.envs.pendulum.chain_pendulum import ChainPendulumEnv
from dynenvs.envs.pendulum.double_pendulum import DoublePendulumEnv
from dynenvs.envs.planar.walker import PlanarWalker

SIDE_BY_SIDE = 50  # episodes in one batch
SETTLING = 2.0  # time from which on the mean speed is taken [s]
UPRIGHT = 0.1  # of either link from the vertical [rad]
ROWS = (
    Row("distance, m", "distance", "{:.2f}", sign=-1),
    Row("speed error, %", "speed_error", "{:.2f}", 100),
    Row("stance slip, mm", "slip", "{:.4f}", 1e3),
    Row("swing clearance, mm", "clearance", "{:.1f}", 1e3, -1),
    Row("swings", "swings", "{:.0f}", sign=-1),
    Row("single support, % of time", "single_support", "{:.1f}", 100, -1),
    Row("torque change p99, worst joint, %", "torque_change", "{:.2f}", 100),
    Row("torque change p99, pooled, %", "torque_change_pooled", "{:.2f}", 100),
)


@dataclass(frozen=True, kw_only=True)
class Gait(Outcome):
    """What one episode of a planar walker was like; its feet as `Footwork` says."""

    distance: float  # along the path, back and forth [m]
    mean_speed: float  # [m/s]
    speed: float  # mean after SETTLING [m/s]; NaN if the episode is not longer
    command: float  # [m/s]
    slip: float  # [m]
    clearance: float  # [m]
    swings: int
    single_support: float  # share of the time; of a quadruped, on one or two feet
    penetration: float  # [m]
    torque_change: float  # 99th percentile over effort limit, of the worst joint
    torque_change_pooled: float  # of all joints together

    @property
    def speed_error(self) -> float:
        """Of the mean speed, relative to the command."""
        return abs(self.speed - self.command) / abs(self.command)


@dataclass(frozen=True, kw_only=True)
class SwingUp(Outcome):
    """What one episode of the double pendulum was like."""

    upright_after: float  # time from which on both links stay within UPRIGHT [s]; NaN if never
    held: float  # how long they did, to the end of the episode [s]


def measure_gait(env: PlanarWalker, episode: Episode) -> Gait:
    """Measure a recorded episode of `env`."""
    feet = footwork(env.task, episode)
    change = np.abs(np.diff(episode.actions, axis=0)) if episode.steps > 1 else np.zeros((1, 1))
    x = np.concatenate([episode.start[:1], episode.q[:, 0]])
    settled = round(SETTLING / env.dt)
    walking = (episode.steps - settled) * env.dt
    single = (feet.standing >= 1) & (feet.standing <= len(env.task.legs) // 2)
    return Gait(
        **outcome_of(episode),
        distance=float(np.abs(np.diff(x)).sum()),
        mean_speed=float(x[-1] - x[0]) / (episode.steps * env.dt),
        speed=float(x[-1] - x[settled]) / walking if walking > 0 else math.nan,
        command=episode.command,
        slip=feet.slip,
        clearance=feet.clearance,
        swings=feet.swings,
        single_support=float(np.mean(single)),
        penetration=feet.penetration,
        torque_change=float(np.percentile(change, 99, axis=0).max()),
        torque_change_pooled=float(np.percentile(change, 99)),
    )


def measure_swing_up(env: DoublePendulumEnv, episode: Episode) -> SwingUp:
    """Measure a recorded episode of `env`."""
    links = np.cumsum(episode.q, axis=1) - np.pi
    tilt = np.abs(np.arctan2(np.sin(links), np.cos(links))).max(axis=1)
    outside = np.flatnonzero(tilt > UPRIGHT)
    after = int(outside[-1]) + 1 if len(outside) else 0
    held = (episode.steps - after) * env.dt
    return SwingUp(
        **outcome_of(episode),
        upright_after=after * env.dt if held > 0 else math.nan,
        held=held,
    )


def summary(gaits: list[Gait], dt: float) -> Table:
    """The worst figures over many episodes, one a seed; dt: control period [s]."""
    alive = sum(gait.end == "time limit" for gait in gaits)
    return worst_of(gaits, dt, ROWS, "reached the time limit", alive)


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
