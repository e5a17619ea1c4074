"""The examples run and do what they say."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import dynenvs  # noqa: F401 (registers the environments)

FOLDER = Path(__file__).parents[1] / "examples"


def example(name: str) -> Any:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_has_a_test() -> None:
    names = {path.stem for path in FOLDER.glob("*.py")}
    text = Path(__file__).read_text(encoding="utf-8")
    assert names
    assert all(f'example("{name}")' in text for name in names)


def test_settings_of_rl_zoo3() -> None:
    """Names that rl_zoo3 and PPO take, and environments that are there with these options."""
    yaml, sb3 = pytest.importorskip("yaml"), pytest.importorskip("stable_baselines3")
    text = (FOLDER / "rl_zoo3.yml").read_text(encoding="utf-8")
    own = {"env_kwargs", "n_envs", "n_timesteps", "normalize"}
    entries = yaml.safe_load(text)
    assert len(entries) == 3
    for env_id, settings in entries.items():
        env = gym.make(env_id, **settings["env_kwargs"])
        assert env.unwrapped.task.motors is not None  # type: ignore[attr-defined]
        assert settings.keys() - own <= inspect.signature(sb3.PPO).parameters.keys()
        assert settings["n_envs"] * settings["n_steps"] % settings["batch_size"] == 0
    assert "--eval-env-kwargs \"control:'position'\"" in text  # which rl_zoo3 does not take from it


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_examples_are_short(path: Path) -> None:
    """A screen each: under 60 lines."""
    assert len(path.read_text().splitlines()) < 60


def test_own_controller() -> None:
    """It stands to the end of the episode, and bobs by centimetres."""
    pytest.importorskip("stable_baselines3")
    assert example("own_controller").main() > 0.02


def test_compiled_loop() -> None:
    """A push of at most a metre a second leads a fifth of a metre in a fifth of a second."""
    assert 0.15 < example("compiled_loop").main() < 0.25


def test_custom_environment() -> None:
    """Gymnasium accepts it, and its controller stops the box at the mark."""
    from gymnasium.utils.env_checker import check_env

    module = example("custom_environment")
    assert module.main() > 0.8
    check_env(module.PushToMark(), skip_render_check=True)


@pytest.mark.thorough
def test_wrecking_ball(tmp_path: Path) -> None:
    """It goes through the wall, no problem is left without an answer, and there is a picture."""
    flown, told = example("wrecking_ball").main(0.8, str(tmp_path / "wall.png"))
    assert flown > 0.2
    assert told.failed == 0
    assert told.stages.kept.solved > 0  # it stood
    assert told.stages.path.solved > 0  # it broke
    assert (tmp_path / "wall.png").stat().st_size > 1000


def test_push_a_box(tmp_path: Path) -> None:
    """The box goes where the humanoid walks, certified; longer runs push it on (README)."""
    way, fell, info = example("push_a_box").main(200, str(tmp_path / "box.png"))
    assert way > 0.7
    assert not fell
    assert info["residual"] < 1e-9
    assert info["degraded"] == 0
    assert (tmp_path / "box.png").stat().st_size > 1000


def test_through_bricks(tmp_path: Path) -> None:
    """Robots trot on, and bricks do not stay where they were."""
    found = example("through_bricks").main(4, 150, str(tmp_path / "bricks.png"))
    assert found["through"] == 4
    assert found["way"] > 0.8
    assert found["moved"] > 0.005
    assert found["residual"] < 1e-9
    assert found["degraded"] == 0
    assert (tmp_path / "bricks.png").stat().st_size > 1000


@pytest.mark.thorough
def test_one_leg(tmp_path: Path) -> None:
    """It runs, and leaves a policy; few steps are too few to stay on one leg."""
    pytest.importorskip("stable_baselines3")
    assert example("one_leg").main(4096, str(tmp_path / "leg.zip")) < 3.0
    assert (tmp_path / "leg.zip").stat().st_size > 1000


@pytest.mark.thorough
def test_train_with_sb3() -> None:
    """It runs; few steps are too few, and the score says so."""
    pytest.importorskip("stable_baselines3")
    assert -0.1 < example("train_with_sb3").main(8192, 4096) < 0.5


@pytest.mark.slow
def test_train_with_sb3_reaches_the_expert() -> None:
    pytest.importorskip("stable_baselines3")
    assert example("train_with_sb3").main() > 0.8


@pytest.mark.thorough
def test_ppo_in_one_file() -> None:
    """It runs; few steps are too few, and the mean reward says so."""
    pytest.importorskip("torch")
    assert 0.0 < example("ppo_in_one_file").main(8192) < 0.5


@pytest.mark.slow
def test_ppo_in_one_file_reaches_the_expert() -> None:
    pytest.importorskip("torch")
    assert example("ppo_in_one_file").main() > 0.8  # a step; the expert's is 0.93


@pytest.mark.thorough
def test_train_your_robot(tmp_path: Path) -> None:
    """From Gymnasium's XML to a policy in a file; few steps change it, and teach it little."""
    pytest.importorskip("stable_baselines3")
    pytest.importorskip("mujoco")
    module = example("train_your_robot")
    before, after = module.main(8192, module.ANT, str(tmp_path / "ant"))
    assert before != after
    assert (tmp_path / "ant.zip").stat().st_size > 1000


@pytest.mark.slow
def test_train_your_robot_learns() -> None:
    pytest.importorskip("stable_baselines3")
    pytest.importorskip("mujoco")
    before, after = example("train_your_robot").main(500_000)
    assert after > before + 100.0


@pytest.mark.thorough
def test_clone_from_minari(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A short fit of few episodes swings up for a while; one step of descent is too few."""
    pytest.importorskip("minari")
    pytest.importorskip("torch")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    module = example("clone_from_minari")
    assert module.main("double-pendulum", 10, 400) > 0.1
    assert module.main("double-pendulum", 10, 1) < 0.1  # the dataset is found again


@pytest.mark.slow
def test_clone_from_minari_reaches_its_teacher(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("minari")
    pytest.importorskip("torch")
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    assert example("clone_from_minari").main() > 0.85


def test_starts_from_a_sketch(tmp_path: Path) -> None:
    """Episodes begin in mid-walk: the standing foot is level and still, its pelvis as commanded."""
    import gymnasium as gym

    from dynenvs.envs.robots.humanoid import SHANK, THIGH

    file = example("starts_from_a_sketch").main(str(tmp_path / "sketch.npz"), 50)
    envs: Any = gym.make_vec("dynenvs/Humanoid-v0", num_envs=40, starts=file)
    envs.reset(seed=3)
    states = envs.get_state()
    q, v, clock = states["world"]["q"], states["world"]["v"], states["task"]["phase"]
    assert np.ptp(clock) > 0.5
    assert v[:, 0] == pytest.approx(states["task"]["forward"])
    for leg, stands in ((7, clock < 0.49), (13, (clock > 0.5) & (clock < 0.99))):
        thigh, knee, ankle = q[stands, leg + 2 : leg + 5].T
        thigh_speed, knee_speed, _ = v[stands, leg + 1 : leg + 4].T
        assert thigh + knee + ankle == pytest.approx(0.0)
        shank, shank_speed = thigh + knee, thigh_speed + knee_speed  # backward, from hanging
        ahead = THIGH * np.cos(thigh) * thigh_speed + SHANK * np.cos(shank) * shank_speed
        assert v[stands, 0] - ahead == pytest.approx(0.0, abs=1e-3)


@pytest.mark.thorough
def test_add_to_the_expert_begins_as_the_expert() -> None:
    """Untrained, it adds nothing; after a few steps it still walks."""
    pytest.importorskip("stable_baselines3")
    module = example("add_to_the_expert")
    alone, both = module.main(0, 2)
    assert both == alone
    alone, both = module.main(8192, 2)
    assert both != alone
    assert both > 0.8 * alone


@pytest.mark.slow
def test_add_to_the_expert_passes_it() -> None:
    pytest.importorskip("stable_baselines3")
    alone, both = example("add_to_the_expert").main()
    assert both > alone


@pytest.mark.thorough
def test_ball_on_tray() -> None:
    """PPO learns to keep the ball on the tray; the batch is the same whoever shares it out."""
    pytest.importorskip("stable_baselines3")
    module = example("ball_on_tray")
    seen = []
    for threads in (1, 2):
        envs = module.BallOnTray(32, threads)
        found = [envs.reset(seed=3)[0]]
        actions = np.random.default_rng(4).uniform(-1, 1, (120, 32, 2))
        ended = 0
        for action in actions:
            observations, rewards, terminated, truncated, info = envs.step(action)
            found.append(observations)
            assert np.all((rewards >= 0.0) & (rewards <= 1.0))
            over = terminated | truncated
            ended += over.sum()
            assert over.any() == ("final_obs" in info)
        assert ended > 0
        assert envs.worlds.diagnostics["degraded"].sum() == 0
        seen.append(np.concatenate(found).tobytes())
    assert seen[0] == seen[1]
    assert example("train_on_tray").main(60_000) > 150.0


@pytest.mark.thorough
def test_train_with_rllib() -> None:
    """It trains on native batches, here and in a runner of its own.

    RLlib pins a Gymnasium of its own: CI runs this in a second environment.
    """
    pytest.importorskip("tree", reason="RLlib is not installed")
    pytest.importorskip("ray.rllib.algorithms.ppo", exc_type=ImportError)
    module = example("train_with_rllib")
    for runners in (0, 1):
        assert -0.1 < module.main("planar-humanoid", 8000, runners) < 0.2
