"""`dynenvs export-policy`: a trained policy as an ONNX file that needs neither torch nor dynenvs.

The graph takes the environment's own observations, float32, shape (n, obs): the scaling of
`network.py` is inside.  It returns the deterministic actions in [-1, 1], shape (n, nu).  A card in
the file's metadata and in a Markdown page beside it says what each number is.
"""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch

from dynenvs.agents.columns import (
    action_meaning,
    joint_lines,
    joints_of,
    observation_columns,
    observation_lines,
)
from dynenvs.agents.evaluation.rollout import make_batch
from dynenvs.agents.learn.export_tensors import find_policy
from dynenvs.agents.policy_file import load_model
from dynenvs.envs.core.task import Task
from dynenvs.files import written_whole

SAME = 1e-6  # difference of an action from stable-baselines3's that is mere rounding
WORLDS, STEPS = 16, 50  # in which the file is compared
INPUT, OUTPUT, CARD = "observation", "action", "dynenvs"


class Actor(torch.nn.Module):
    """What a policy does without drawing: observations to actions in [-1, 1].

    Args:
        policy: PPO's or SAC's, with a PD law around it or none.
    """

    def __init__(self, policy: Any) -> None:
        super().__init__()
        self.policy = policy
        self.plain = hasattr(self.policy, "action_net")  # PPO; SAC has an actor
        self.pd_law = getattr(policy, "pd_law", None)  # of off_policy.py

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        """Actions, shape (n, nu)."""
        if self.plain:
            policy = self.policy
            features = policy.pi_features_extractor(observation)
            mean = policy.action_net(policy.mlp_extractor.forward_actor(features))
        else:
            actor = self.policy.actor
            features = actor.features_extractor(observation)
            mean = actor.mu(actor.latent_pi(features) if hasattr(actor, "latent_pi") else features)
        action = torch.tanh(mean) if self.policy.squash_output else mean
        if self.pd_law is not None:
            action = self.pd_law(observation, action)
        return torch.clamp(action, -1.0, 1.0)


def export_policy(
    what: str, target: Path | None = None, env_id: str | None = None, **options: Any
) -> tuple[Path, float]:
    """Write a policy as an ONNX file, with a card inside and beside it.

    Args:
        what: zip of a policy, or the name of one that ships for `env_id`, as "ppo".
        target: the file; in this folder, by the zip's name, if None.
        env_id: where it acts; what its zip says if None.
        options: of the environment; what its zip says if none are given.

    Returns:
        The file, and the largest difference of its actions from stable-baselines3's, which are
        compared before the file appears.

    Raises:
        FileNotFoundError: no such zip.
        ValueError: no policy, one of another environment, or nothing that says of which.
        RuntimeError: the file's actions are not the policy's.
        OSError: it cannot be written.
    """
    found = find_policy(what, env_id, options)
    words = card(found.env_id, found.task, found.note, found.options)
    target = target or Path(f"{found.path.stem}.onnx")
    with written_whole(target) as draft:
        _write(Actor(found.model.policy), draft, found.task, words)
        difference = _compare(found.path, draft, found.env_id, found.options)
    with written_whole(target.with_suffix(".md")) as draft:
        draft.write_text(as_page(words, target.name), encoding="utf-8")
    return target, difference


def _write(actor: Actor, target: Path, task: Task, words: dict[str, Any]) -> None:
    """Write the graph and its card."""
    example = torch.zeros(2, task.observation_space.shape[0])
    with _quiet():
        program = torch.onnx.export(
            actor.eval(),
            (example,),
            input_names=[INPUT],
            output_names=[OUTPUT],
            dynamic_shapes=({0: torch.export.Dim("n")},),
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    graph = program.model_proto
    onnx.helper.set_model_props(graph, {CARD: json.dumps(words)})
    onnx.checker.check_model(graph)
    onnx.save_model(graph, target)


@contextmanager
def _quiet() -> Iterator[None]:
    """torch's exporter warns of torchvision and of its own insides, which is nobody's concern."""
    loud = logging.getLogger("torch.onnx")
    before = loud.level
    loud.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        loud.setLevel(before)


def _compare(source: Path, file: Path, place: str, options: dict[str, Any]) -> float:
    """Largest difference of the file's actions from the model's, over what the model comes to see.

    Both are rounded to float32, by more in steep networks.  So the judge is the same network in
    float64: the file's actions may miss those by SAME, or by twice as much as the model's own do.

    Raises:
        RuntimeError: they miss them by more.
    """
    session = onnxruntime.InferenceSession(file.read_bytes(), providers=["CPUExecutionProvider"])
    envs = make_batch(place, WORLDS, **options)
    model, other = (load_model(source, place, task=envs.task) for _ in range(2))
    rounded, exact = Actor(model.policy).eval(), Actor(other.policy).double().eval()
    seen, _ = envs.reset(seed=0)
    difference = rounding = missed = 0.0
    for _ in range(STEPS):
        single = seen.astype(np.float32)
        wanted = model.predict(single, deterministic=True)[0]
        found = session.run([OUTPUT], {INPUT: single})[0]
        with torch.no_grad():
            input_ = torch.as_tensor(single)
            right = exact(input_.double())
            error = (rounded(input_) - right).abs().max()
        difference = max(difference, float(np.abs(found - wanted).max()))
        rounding = max(rounding, float(error))
        missed = max(missed, float(np.abs(found - right.numpy()).max()))
        seen = envs.step(wanted)[0]
    envs.close()
    if not missed <= max(SAME, 2.0 * rounding):
        raise RuntimeError(
            f"the ONNX file's actions are rounded by {missed:.1e}, the policy's own by "
            f"{rounding:.1e}: it was not kept"
        )
    return difference


def card(env_id: str, task: Task, note: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """What one has to know to run a policy: observation, action, limits [SI], period [s]."""
    joints, efforts = joints_of(task)
    return {
        "environment": env_id,
        "options": options,
        "algorithm": note.get("algorithm"),
        "made_with": {"dynenvs": note.get("dynenvs"), "steps": note.get("steps")},
        "control_period": task.dt,
        "input": {"name": INPUT, "dtype": "float32", "blocks": observation_columns(task)},
        "output": {
            "name": OUTPUT,
            "dtype": "float32",
            "meaning": action_meaning(task),
            "joints": joints,
            "effort_limits": efforts,
        },
    }


def as_page(words: dict[str, Any], file: str) -> str:
    """The card as a Markdown page."""
    lines = [
        f"# {file}",
        "",
        f"A policy for `{words['environment']}`"
        + (f" with options `{json.dumps(words['options'])}`" if words["options"] else "")
        + f", trained by {words['algorithm']}; it acts every {1e3 * words['control_period']:g} ms.",
        "",
        f"Input `{INPUT}`, float32, shape (n, {sum(b['size'] for b in words['input']['blocks'])}):",
        "the environment's own numbers; they are scaled inside.",
        "",
        *observation_lines(words["input"]["blocks"]),
    ]
    joints = words["output"]["joints"]
    lines += [
        "",
        f"Output `{OUTPUT}`, float32, shape (n, {len(joints)}): {words['output']['meaning']}.",
        "",
        *joint_lines(joints, words["output"]["effort_limits"]),
    ]
    return "\n".join([*lines, ""])
