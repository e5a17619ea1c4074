"""The environments' entries in Gymnasium's registry."""

from __future__ import annotations

from gymnasium.envs.registration import register, registry

EPISODE_STEPS = 1000  # control steps after which an episode is truncated by default

# id: (classes, for one world and "Env" replaced by "VectorEnv" for many;
#      what the expert earns: solved from there)
ENVIRONMENTS = {
    "dynenvs/DoublePendulum-v0": ("pendulum.double_pendulum:DoublePendulum", 850.0),
    "dynenvs/ChainPendulum-v0": ("pendulum.chain_pendulum:ChainPendulum", 750.0),
    "dynenvs/PlanarHumanoid-v0": ("planar.planar_humanoid:PlanarHumanoid", 800.0),
    "dynenvs/PlanarQuadruped-v0": ("planar.planar_quadruped:PlanarQuadruped", 900.0),
    "dynenvs/Quadruped-v0": ("legged.quadruped:Quadruped", 900.0),
    "dynenvs/Humanoid-v0": ("legged.humanoid:Humanoid", 600.0),
}

# Any robot from its file: `source` says which
LEGGED = {"dynenvs/Legged-v0": ("legged.any_legged:AnyLegged", EPISODE_STEPS)}

# Gymnasium's MuJoCo tasks on hard contact, without experts: classes, and control steps an episode
MUJOCO = {
    "dynenvs/MujocoAnt-v5": ("mujoco.ant:Ant", 1000),
    "dynenvs/MujocoHalfCheetah-v5": ("mujoco.half_cheetah:HalfCheetah", 1000),
    "dynenvs/MujocoHopper-v5": ("mujoco.hopper:Hopper", 1000),
    "dynenvs/MujocoHumanoid-v5": ("mujoco.humanoid:Humanoid", 1000),
    "dynenvs/MujocoHumanoidStandup-v5": ("mujoco.humanoid_standup:HumanoidStandup", 1000),
    "dynenvs/MujocoInvertedDoublePendulum-v5": (
        "mujoco.inverted_double_pendulum:InvertedDoublePendulum",
        1000,
    ),
    "dynenvs/MujocoInvertedPendulum-v5": ("mujoco.inverted_pendulum:InvertedPendulum", 1000),
    "dynenvs/MujocoPusher-v5": ("mujoco.pusher:Pusher", 100),
    "dynenvs/MujocoReacher-v5": ("mujoco.reacher:Reacher", 50),
    "dynenvs/MujocoWalker2d-v5": ("mujoco.walker2d:Walker2d", 1000),
}


def register_environments() -> None:
    """Register every environment once, with the limit of its episodes.

    `gym.make` keeps that limit, or the one that it is given, with its own TimeLimit wrapper; the
    vector environments get it from `gym.make_vec` and count for themselves.
    """
    own = {name: (place, score, EPISODE_STEPS) for name, (place, score) in ENVIRONMENTS.items()}
    others = {name: (place, None, limit) for name, (place, limit) in {**MUJOCO, **LEGGED}.items()}
    for name, (place, threshold, limit) in {**own, **others}.items():
        if name not in registry:
            register(
                id=name,
                entry_point=f"dynenvs.envs.{place}Env",
                vector_entry_point=f"dynenvs.envs.{place}VectorEnv",
                reward_threshold=threshold,
                max_episode_steps=limit,
            )
