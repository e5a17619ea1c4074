"""Off policy on walkers: a policy that holds a pose, a buffer of answers, mirrored samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("stable_baselines3")

import torch
from stable_baselines3 import SAC

from dynenvs.agents.evaluation.rollout import make_batch
from dynenvs.agents.learn import checkpoint
from dynenvs.agents.learn.network import policy_options, set_moments
from dynenvs.agents.learn.off_policy import Buffer, Law, ReachingPolicy, reaching
from dynenvs.agents.learn.settings import load_settings
from dynenvs.agents.learn.train import train
from dynenvs.agents.policy_file import extract, load_model
from dynenvs.agents.sb3 import make_sb3_vec_env
from dynenvs.envs.core.mirror import mirror_of

pytestmark = pytest.mark.usefixtures("short_runs")

TROT, CHAIN = "dynenvs/PlanarQuadruped-v0", "dynenvs/ChainPendulum-v0"
SMALL = {
    "n_envs": 4,
    "n_timesteps": 400,
    "learning_starts": 0,
    "buffer_size": 1000,
    "batch_size": 32,
    "hold_pose": 1.0,
    "symmetric": True,
    "use_sde": False,
    "policy_kwargs": {"net_arch": [8], "log_std_init": -1.0},
}


def held(**options: Any) -> Any:
    """A new model whose policy holds the pose, and the law's arguments."""
    venv = make_sb3_vec_env(TROT, 4, seed=0)
    law = reaching(make_batch(TROT, 1, 1).task)
    model = SAC(
        ReachingPolicy,
        venv,
        policy_kwargs={**policy_options([16]), "log_std_init": -1.0, **law},
        replay_buffer_class=Buffer,
        replay_buffer_kwargs={"law": law, **options},
        learning_starts=0,
        buffer_size=400,
        seed=2,
        device="cpu",
    )
    return model, law


@pytest.mark.parametrize("name", ["Quadruped", "PlanarQuadruped", "PlanarHumanoid"])
def test_walkers_stand_on_the_law(name: str) -> None:
    """Three seconds with answers of zero; the softer law of PPO lets the quadruped sink at once."""
    envs = make_batch(f"dynenvs/{name}-v0", 4, 1)
    law = Law(**reaching(envs.task))
    seen, _ = envs.reset(seed=0)
    for _ in range(200):
        torques = law(torch.as_tensor(seen), torch.zeros(4, len(law.offset)))
        seen, _, fell, *_ = envs.step(torques.numpy())
        assert not fell.any()


@pytest.mark.parametrize(("name", "joint"), [(TROT, "joint"), (CHAIN, "hinge")])
def test_an_answer_is_a_target(name: str, joint: str) -> None:
    """At rest in the pose that an answer asks for, the law gives no torque."""
    task = make_batch(name, 1, 1).task
    law = Law(**reaching(task))
    seen = np.zeros((1, *task.observation_space.shape))
    answers = np.linspace(-1.0, 1.0, len(law.offset))
    at = task.observation_slices
    seen[0, at[f"{joint} angles"]] = task.neutral() + answers * task.position_gains[2]
    torques = law(torch.as_tensor(seen), torch.as_tensor(answers)[None])
    np.testing.assert_allclose(torques, 0.0, atol=1e-6)
    more = law(torch.as_tensor(seen), torch.as_tensor(answers)[None] + 0.1)
    np.testing.assert_allclose(more[0], 0.1 * law.reach, atol=1e-5)
    assert law.reach.min() > 0.0
    seen[0, at[f"{joint} velocities"]] = 1.0
    assert (law(torch.as_tensor(seen), torch.as_tensor(answers)[None]) < -1e-3).all()


def test_the_worlds_see_torques_and_the_buffer_answers() -> None:
    """What is learned from is what the actor said; its first spread is that of the settings."""
    model, law = held()
    worlds, given = model.get_env().unwrapped, []
    step = worlds.step_async
    worlds.step_async = lambda actions: (given.append(actions.copy()), step(actions))[1]
    size = model.observation_space.shape[0]
    set_moments(model.policy, np.zeros(size), np.full(size, 1e3))  # a network that sees nothing
    model.learn(4 * 50)
    buffer, acts = model.replay_buffer, Law(**law)
    said = torch.as_tensor(buffer.actions[:50])
    assert said.abs().max() < 1.0001  # a tangens hyperbolicus
    assert 0.28 < said[:5].std() < 0.42  # 0.37, squashed
    torques = acts(torch.as_tensor(buffer.observations[:50]), said)
    np.testing.assert_allclose(torques, np.array(given), atol=1e-5)
    assert np.abs(given).max() > 1.0  # not cut: it could not be turned back


def test_who_acts_without_noise_keeps_the_limits() -> None:
    """The torques are the law's for the actor's mean, cut at the limits."""
    model, law = held()
    seen = np.random.default_rng(0).normal(size=(100, *model.observation_space.shape))
    acts = model.predict(seen, deterministic=True)[0]
    with torch.no_grad():
        answers = model.actor(torch.as_tensor(seen), deterministic=True)
        wanted = Law(**law)(torch.as_tensor(seen), answers).clamp(-1.0, 1.0)
    np.testing.assert_allclose(acts, wanted, atol=1e-6)
    assert np.abs(acts).max() == 1.0


def test_samples_count_as_their_images() -> None:
    """Half of them, with both observations and the answer; rewards and ends stay."""
    mirror = mirror_of(make_batch(TROT, 1, 1).task)
    model, _ = held(mirror=mirror)
    model.learn(4 * 50)
    buffer, rows = model.replay_buffer, np.arange(40)
    drawn = []
    for image in (mirror, None):
        np.random.seed(0)  # noqa: NPY002 (whose worlds the samples are of)
        buffer.mirror = image
        drawn.append(buffer._get_samples(rows))
    seen, plain = drawn
    turned = (seen.actions != plain.actions).any(dim=1).numpy()
    assert 10 < turned.sum() < 30
    for name, image in (
        ("observations", mirror.observation),
        ("actions", mirror.action),
        ("next_observations", mirror.observation),
    ):
        as_it_was = getattr(plain, name).numpy()
        wanted = np.where(turned[:, None], image.of(as_it_was), as_it_was)
        np.testing.assert_array_equal(getattr(seen, name), wanted.astype(as_it_was.dtype))
    torch.testing.assert_close(seen.rewards, plain.rewards, rtol=0.0, atol=0.0)


def test_a_walker_goes_on_as_it_was(tmp_path: Path) -> None:
    """Resumed, or begun from a zip, a policy keeps its law and its buffer the images."""
    chosen = load_settings("sac", TROT, SMALL)
    first, other = tmp_path / "first", tmp_path / "other"
    train("sac", TROT, chosen, first, seed=3, threads=1)
    assert type(SAC.load(first / "best.zip", device="cpu").policy) is ReachingPolicy
    train("sac", TROT, {**chosen, "n_timesteps": 600}, first, resume=True, threads=1)
    chosen["hold_pose"] = 0  # which the zip knows better
    train("sac", TROT, chosen, other, begin_from=first / "best.zip", threads=1)
    for folder in (first, other):
        assert extract(folder / "last.zip", checkpoint.BUFFER, tmp_path / "buffer")
        model: Any = load_model(folder / "last.zip", TROT)
        model.load_replay_buffer(tmp_path / "buffer")
        assert model.replay_buffer.law is not None
        assert model.replay_buffer.mirror is not None
        count = model.replay_buffer.pos
        assert np.abs(model.replay_buffer.actions[:count]).max() < 1.0001
        assert model.replay_buffer.actions[:count].std() > 0.05


def test_what_a_zip_does_not_do_is_refused(tmp_path: Path) -> None:
    """A policy from a file keeps its form: settings that ask for another one say so."""
    plain = {**SMALL, "hold_pose": 0, "symmetric": False}
    train("sac", TROT, load_settings("sac", TROT, plain), tmp_path / "one", threads=1)
    best = tmp_path / "one" / "best.zip"

    def refused(words: str, start: Path = best, **changes: Any) -> None:
        asked = load_settings("sac", TROT, {**plain, **changes})
        with pytest.raises(ValueError, match=words):
            train("sac", TROT, asked, tmp_path / "two", begin_from=start, threads=1)

    refused(r"best\.zip' was trained without hold_pose.*--set hold_pose=0", hold_pose=1.0)
    refused(r"trained without mirror images.*--set symmetric=false", symmetric=True)
    held()[0].save(tmp_path / "held.zip")
    refused(
        "holds its pose by another law than hold_pose=0.5", tmp_path / "held.zip", hold_pose=0.5
    )


def test_a_zip_of_stable_baselines_own_tells_its_algorithm(tmp_path: Path) -> None:
    """Without our note, though the policy's class is ours."""
    held()[0].save(tmp_path / "p.zip")
    assert type(load_model(tmp_path / "p.zip", TROT)) is SAC


def test_what_holds_no_pose_is_refused(tmp_path: Path) -> None:
    name = "dynenvs/DoublePendulum-v0"
    with pytest.raises(ValueError, match="hold_pose is for walkers"):
        train("sac", name, load_settings("sac", name, {**SMALL, "symmetric": False}), tmp_path)
    with pytest.raises(ValueError, match="holds a pose by itself"):
        reaching(make_batch(CHAIN, 1, 1, control="position").task)


@pytest.mark.parametrize("name", [TROT, CHAIN])
def test_a_softer_law_reaches_as_far(name: str) -> None:
    task = make_batch(name, 1, 1).task
    stiff, soft = (reaching(task, share) for share in (1.0, 0.25))
    share = soft["reach"] / stiff["reach"]
    assert np.all((share >= 0.25 - 1e-12) & (share <= 1.0))  # 1 where position_gains are the limit
    assert (share < 1.0).any()
    joint = "hinge" if name == CHAIN else "joint"
    for law in (stiff, soft):
        stiffness = -law["gains"][:, task.observation_slices[f"{joint} angles"]].diagonal()
        np.testing.assert_allclose(law["reach"] / stiffness, task.position_gains[2], rtol=1e-12)
    with pytest.raises(ValueError, match="hold_pose must be a number in"):
        reaching(task, 2.0)
