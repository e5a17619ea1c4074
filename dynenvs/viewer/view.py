"""`dynenvs.view`: whatever can be shown in the browser, as a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dynenvs.agents.names import default_agent, environment_id, is_dataset
from dynenvs.envs.checks import MOST_SEED, whole
from dynenvs.envs.core.base import DynEnv
from dynenvs.registration import MUJOCO
from dynenvs.simulation.world import World
from dynenvs.viewer.episode import open_env, record_dataset, record_episode
from dynenvs.viewer.page import Page
from dynenvs.viewer.recording import Recorder, Recording
from dynenvs.viewer.task_episode import record_task

MOST_STEPS = 1_000_000


def view(
    what: Any,
    *,
    agent: str | None = None,
    seed: int = 0,
    steps: int | None = None,
    episode: int = 0,
    plots: Sequence[str] | None = None,
    title: str | None = None,
    **options: Any,
) -> Page:
    """An episode as a page for the browser: one HTML file that needs no network.

    In a notebook it shows itself; `save` writes it.  It plays, is scrubbed, seen from all sides,
    with contact forces, friction cones, centre of mass, footsteps, and plots below.

    Args:
        what: an environment's id or short name ("humanoid"), or a robot's file ("go2.xml"): the
            agent acts for one episode.  An environment of dynenvs that `gymnasium.make` gave: the
            same, without its wrappers.  A dataset's name ("humanoid/expert-v0"): one of its
            episodes.  A `Recorder`: what it recorded.  A `World`: as it is now.
        agent: what acts: "expert", "random", "standing", a policy that ships with the package, or
            a file (zip, safetensors); the expert if None, random where there is none.
        seed: of the start and the drawn command.
        steps: control steps; one whole episode if None.
        episode: which one of a dataset.
        plots: names of the readings that are plotted at first, such as "reward", "speed",
            "torques", "residual"; the page can show all others, too.
        title: of the page; the environment's name if None.
        options: of the environment: `command`, `terrain`, ...

    Raises:
        TypeError: `what` is nothing that can be shown.
        ValueError: no such environment, agent, plot or option; a value out of its range.
        FileNotFoundError: no such file or dataset.

    Example::

        dynenvs.view("humanoid", command=(0.7, 0.0, 0.15)).save("humanoid.html")
    """
    seed = whole(seed, "seed", 0, MOST_SEED)
    if steps is not None:
        steps = whole(steps, "steps", 1, MOST_STEPS)
    if isinstance(what, str):
        recording = _named(what, agent, seed, steps, episode, plots, options)
    elif options:
        raise ValueError(f"options need an environment's name: {', '.join(options)}")
    else:
        recording = _given(what, agent or "expert", seed, steps, plots)
    recording.title = recording.title if title is None else title
    return Page(recording.document())


def _named(
    name: str,
    agent: str | None,
    seed: int,
    steps: int | None,
    episode: int,
    plots: Sequence[str] | None,
    options: dict[str, Any],
) -> Recording:
    if is_dataset(name):
        if options:
            raise ValueError(f"a dataset has its own options: {', '.join(options)} cannot be given")
        return record_dataset(name, whole(episode, "episode", 0, MOST_STEPS), plots)
    env_id = environment_id(name)
    agent = agent or default_agent(env_id)
    if env_id in MUJOCO:
        return record_task(env_id, agent, seed, steps, plots, options)
    env, policy = open_env(env_id, agent, seed, steps, options)
    try:
        return record_episode(env, policy, seed=seed, steps=steps, plots=plots)
    finally:
        env.close()


def _given(
    what: Any, agent: str, seed: int, steps: int | None, plots: Sequence[str] | None
) -> Recording:
    if isinstance(what, Recording):
        return what
    if isinstance(what, Recorder):
        return what.recording(plots)
    if isinstance(what, World):
        recorder = Recorder(what)
        recorder.record()
        return recorder.recording(plots)
    env = getattr(what, "unwrapped", None)
    if not isinstance(env, DynEnv):
        raise TypeError(
            "what must be the name of an environment or dataset, an environment of dynenvs, a "
            f"Recorder or a World, got {type(what).__name__}"
        )
    from dynenvs.agents.evaluation.actors import Chance, actor

    spec = getattr(what, "spec", None) or env.spec
    if spec is None:
        raise ValueError("the environment has no id: make it with gymnasium.make")
    policy = actor(agent, env, spec.id) or Chance(env.action_space, range(seed, seed + 1))
    limit = steps or spec.max_episode_steps
    return record_episode(env, policy, seed=seed, steps=limit, plots=plots)
