"""`dynenvs export-policy --hub`: a folder as the Hugging Face Hub takes it, policy and card.

Nothing is sent: `hf upload NAME FOLDER`, of huggingface_hub, does that.
"""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import gymnasium as gym

from dynenvs.agents.columns import (
    action_meaning,
    joint_lines,
    joints_of,
    observation_columns,
    observation_lines,
)
from dynenvs.agents.learn.export_tensors import export_tensors
from dynenvs.agents.learn.train import finish
from dynenvs.agents.names import own_environment
from dynenvs.agents.policy_card import read_card
from dynenvs.agents.policy_file import read_note
from dynenvs.envs.core.task import Task
from dynenvs.files import written_whole

FILE, PAGE = "policy.safetensors", "README.md"
TAGS = ["reinforcement-learning", "robotics", "gymnasium", "stable-baselines3", "dynenvs"]


def export_to_hub(what: str, folder: Path, env_id: str | None = None, **options: Any) -> Path:
    """Write a policy and its model card; the card's scores are measured here.

    Args:
        what, env_id, options: as of `export_tensors`.
        folder: where, by whose name the card calls the policy; made if missing.

    Returns:
        The folder.

    Raises:
        FileNotFoundError, RuntimeError, OSError: as of `export_tensors`.
        ValueError: as there; one of Gymnasium's MuJoCo tasks, whose card nobody could fill.
    """
    if env_id is None and Path(what).is_file():
        env_id = read_note(Path(what)).get("env_id")
        options = options or read_note(Path(what)).get("options", {})
    if env_id is not None:
        own_environment(
            env_id, "export-policy --hub", "does not say what each number is, as the card has to"
        )
    policy = export_tensors(what, folder / FILE, env_id, **options)
    words = read_card(policy)
    env: Any = gym.make(words["env_id"], **words["options"]).unwrapped
    scores = finish(words["env_id"], policy, **words["options"])
    with written_whole(folder / PAGE) as draft:
        draft.write_text(page(folder.resolve().name, words, env.task, scores), encoding="utf-8")
    return folder


def page(name: str, words: dict[str, Any], task: Task, scores: dict[str, Any]) -> str:
    """The model card: front matter as huggingface_hub's `ModelCard` reads it, then Markdown.

    Args:
        name: of the policy.
        words: its file's card.
        task: of the environment, with the policy's options.
        scores: as `finish` gives them.
    """
    id_, options = words["env_id"], words["options"]
    where = f" with options `{json.dumps(options)}`" if options else ""
    return "\n".join(
        [
            *_front_matter(name, id_, scores["mean_return"]),
            f"# {html.escape(' '.join(name.split()))}",
            "",
            f"A policy for `{id_}`{where}, by {words['algorithm'].upper()} in {words['steps']:,} "
            f"steps of dynenvs {words['dynenvs']}; it acts every {1e3 * task.dt:g} ms.",
            "",
            f"Mean return {scores['mean_return']:.1f}; score {scores['score']:.3f}, where 0 is "
            f"standing still and 1 the expert; {scores['falls']:.0f} falls in 100 episodes.",
            "",
            "```python",
            *_loading(id_, options),
            "```",
            "",
            "The file holds no code.",
            "",
            "## Observation",
            "",
            *observation_lines(observation_columns(task)),
            "",
            f"## Action: {action_meaning(task)}",
            "",
            *joint_lines(*joints_of(task)),
            "",
        ]
    )


def _front_matter(name: str, env_id: str, mean_return: float) -> list[str]:
    """YAML between two lines of dashes; JSON is YAML, whatever stands in the names."""
    place = {"name": env_id, "type": env_id}
    metric = {"type": "mean_reward", "value": round(mean_return, 2)}
    task = {"type": "reinforcement-learning"}
    results = [{"task": task, "dataset": place, "metrics": [metric]}]
    matter = {
        "library_name": "dynenvs",
        "pipeline_tag": "reinforcement-learning",
        "tags": [*TAGS, env_id],
        "model-index": [{"name": name, "results": results}],
    }
    return ["---", *(f"{key}: {json.dumps(value)}" for key, value in matter.items()), "---"]


def _loading(env_id: str, options: dict[str, Any]) -> list[str]:
    given = "".join(f", {key}={value!r}" for key, value in options.items())
    return [
        "import gymnasium as gym",
        "import dynenvs",
        "from dynenvs.agents import load_policy",
        "from huggingface_hub import hf_hub_download",
        "",
        f'env = gym.make("{env_id}"{given})',
        f'model = load_policy(hf_hub_download("your-name/this-policy", "{FILE}"))',
        "observation, info = env.reset(seed=0)",
        "action, _ = model.predict(observation, deterministic=True)",
    ]
