"""One episode of an agent, shown in a window or filmed, and the table that closes it."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table

from dynenvs.agents.evaluation.actors import Chance, actor
from dynenvs.agents.evaluation.chain_measure import measure_press
from dynenvs.agents.evaluation.episode import Episode, make, run_episode, step_limit
from dynenvs.agents.evaluation.film import FILM_SIZE, FRAME_TIME, Film
from dynenvs.agents.evaluation.legged_measure import measure_trot
from dynenvs.agents.evaluation.measure import measure_gait, measure_swing_up
from dynenvs.agents.experts.common.controller import Policy
from dynenvs.envs.core.base import DynEnv
from dynenvs.envs.core.view import frame, open_renderer
from dynenvs.envs.legged.shells import LeggedRobot
from dynenvs.envs.pendulum.chain_pendulum import ChainPendulumEnv
from dynenvs.envs.pendulum.double_pendulum import DoublePendulumEnv
from dynenvs.envs.planar.walker import PlanarWalker
from dynenvs.envs.render import Renderer
from dynenvs.registration import MUJOCO

WARM_UP = 100  # control steps that are walked before the episode begins


def play(
    env_id: str,
    *,
    agent: str = "expert",
    seed: int,
    command: float | tuple[float, ...] | None,
    steps: int | None,
    file: Path | None,
    console: Console,
    **options: Any,
) -> None:
    """Run an agent for one episode before somebody's eyes.

    Args:
        env_id: which environment.
        agent: as `actors.actor` takes it.
        seed: of the start and the drawn command.
        command: commanded speed [m/s], or speeds; drawn if None.
        steps: control steps; as many as the environment is registered with if None.
        file: GIF to write; None opens a window.
        console: where progress and the closing table go.
        options: of the environment.

    Raises:
        ValueError: an option that it does not have; a command out of range, or for an environment
            without one; no such agent.
        RuntimeError: no window could be opened.
    """
    if steps is not None:
        options["max_episode_steps"] = steps
    if command is not None:
        options["command"] = command
    if env_id in MUJOCO:
        from dynenvs.agents.evaluation.mujoco import play_task

        play_task(env_id, agent, seed, file, console, **options)
        return
    env = make(env_id, **options, **(FILM_SIZE if file else {}))
    step_limit(env)  # an episode that never ends is refused before a window opens
    policy = actor(agent, env, env_id) or Chance(env.action_space, range(seed, seed + 1))
    every = max(1, round(FRAME_TIME / env.dt))  # control steps a picture
    renderer = open_renderer(env, "rgb_array" if file else "human", fps=1.0 / (every * env.dt))
    try:
        episode, film = _show(env, policy, renderer, every, seed, console)
    finally:
        renderer.close()
    if file:
        film.write(file, episode.steps * env.dt)
        console.print(f"wrote {file} ({file.stat().st_size / 1e6:.1f} MB)", highlight=False)
    console.print(report(env, env_id, episode))


def _show(
    env: DynEnv,
    policy: Policy,
    renderer: Renderer,
    every: int,
    seed: int,
    console: Console,
) -> tuple[Episode, Film]:
    """Run the episode; returns it and its film (without pictures if a window shows it)."""
    film = Film()
    # Load or compile the machine code now, the rarely needed too: it is not the episode's time
    run_episode(env, policy, seed=seed, max_steps=WARM_UP)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(env.title, total=step_limit(env))

        def after_step(step: int) -> bool:
            if step % every == 0:
                picture = renderer.draw(frame(env))
                if picture is not None:
                    film.add(picture, step * env.dt)
            if step % 10 == 0:
                progress.update(task, completed=step)
            return not renderer.closed

        episode = run_episode(env, policy, seed=seed, after_step=after_step)
        progress.update(task, total=episode.steps, completed=episode.steps)
    return episode, film


def report(env: DynEnv, env_id: str, episode: Episode) -> Table:
    """What the episode was like, as a table."""
    table = Table("reading", "value", title=env_id)
    table.add_row("simulated", f"{episode.steps * env.dt:.2f} s, {episode.end}")
    if isinstance(env, PlanarWalker):
        gait = measure_gait(env, episode)
        # Too short an episode has no settled speed: then the mean of all of it
        settled = math.isfinite(gait.speed)
        speed = gait.speed if settled else gait.mean_speed
        table.add_row("distance along the path", f"{gait.distance:.2f} m")
        table.add_row(
            "mean speed after 2 s" if settled else "mean speed",
            f"{speed:.3f} m/s, command {gait.command:.3f} m/s",
        )
        table.add_row("falls", str(int(gait.fell)))
        table.add_row("worst penetration", f"{gait.penetration:.1e} m")
        table.add_row("worst stance slip", f"{1e3 * gait.slip:.4f} mm")
    elif isinstance(env, LeggedRobot):
        trot = measure_trot(env, episode)
        told = ", ".join(f"{speed:.2f}" for speed in episode.command)
        table.add_row("distance along the path", f"{trot.distance:.2f} m")
        table.add_row("command (forward, sideways m/s, turning rad/s)", told)
        if math.isfinite(trot.speed_error):
            table.add_row("mean speed after 2 s, error", f"{trot.speed_error:.3f} m/s")
        table.add_row("falls", str(int(trot.fell)))
        table.add_row("worst penetration", f"{trot.penetration:.1e} m")
        table.add_row("worst stance slip", f"{1e3 * trot.slip:.4f} mm")
    elif isinstance(env, DoublePendulumEnv):
        swing = measure_swing_up(env, episode)
        upright = math.isfinite(swing.upright_after)
        table.add_row("upright after", f"{swing.upright_after:.2f} s" if upright else "not yet")
        table.add_row("held for", f"{swing.held:.2f} s")
    elif isinstance(env, ChainPendulumEnv):
        press = measure_press(env, episode)
        there = math.isfinite(press.after)
        table.add_row("at target, pressing, after", f"{press.after:.2f} s" if there else "not yet")
        table.add_row("held for", f"{press.held:.2f} s")
        table.add_row(
            "distance, pressure", f"{1e3 * press.distance:.1f} mm, {press.pressure:.1f} N"
        )
        table.add_row("worst penetration", f"{press.penetration:.1e} m")
    table.add_row("worst LCP residual", f"{episode.residual:.1e}")
    table.add_row("degraded, failed solves", f"{episode.degraded}, {episode.failed}")
    table.add_row("return", f"{episode.rewards.sum():.1f} in {episode.steps} steps")
    with suppress(ZeroDivisionError):
        rate = episode.steps / episode.simulating
        table.add_row("steps per second, median", f"{rate:,.0f} ({rate * env.dt:.0f} s a second)")
    return table


def writable(file: Path) -> Path:
    """`file` if a GIF can be written there: better to know before the show than after it.

    Raises:
        ValueError: it cannot.
    """
    if file.suffix.lower() != ".gif":
        raise ValueError(f"the film is a GIF: {str(file)!r} must end in .gif")
    folder = file.absolute().parent
    if not folder.is_dir():
        raise ValueError(f"there is no folder {str(folder)!r}")
    if file.is_dir() or not os.access(folder, os.W_OK):
        raise ValueError(f"cannot write {str(file)!r}; choose another place with --output")
    return file
