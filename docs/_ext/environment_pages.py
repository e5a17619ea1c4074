"""A page for each environment, from its docstring, its declared parts and the runs on record."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

from dynenvs.agents.evaluation.episode import make, short_name
from dynenvs.registration import ENVIRONMENTS

FILMS = {
    "dynenvs/Humanoid-v0": "humanoid.gif",
    "dynenvs/Quadruped-v0": "quadruped.gif",
    "dynenvs/ChainPendulum-v0": "chain-pendulum.gif",
    "dynenvs/DoublePendulum-v0": "double-pendulum.gif",
    "dynenvs/PlanarHumanoid-v0": "planar-humanoid.gif",
    "dynenvs/PlanarQuadruped-v0": "planar-quadruped.gif",
}
KINDS = {
    "clone": "cloned from a dataset",
    "dagger": "cloned by DAgger",
    "dagger-ppo": "cloned, then PPO",
    "ppo": "PPO",
    "sac": "SAC",
    "td3": "TD3",
}


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}


def write_pages(app: Any) -> None:
    """Write docs/environments/*.md, those that changed."""
    folder = Path(app.srcdir) / "environments"
    results = Path(app.srcdir).parent / "results"
    for env_id in ENVIRONMENTS:
        write(folder / f"{short_name(env_id)}.md", page(env_id, Path(app.srcdir), results))


def write(path: Path, text: str) -> None:
    """Write a file unless it says so already: Sphinx reads anew what changed."""
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def page(env_id: str, docs: Path, results: Path) -> str:
    """The page of an environment."""
    env: Any = make(env_id)
    words = inspect.getdoc(type(env)) or ""
    first, _, rest = words.partition("\n")
    film = FILMS[env_id]
    parts = [f"# {env_id}", first]
    if (docs / film).is_file():
        parts.append(f"![The expert at work](../{film})")
    name = short_name(env_id)
    parts += [
        "```python\nimport gymnasium as gym\nimport dynenvs\n\n"
        f'env = gym.make("{env_id}")\n'
        f'envs = gym.make_vec("{env_id}", num_envs=256)\n```',
        f"`dynenvs demo {name}` shows its expert, `dynenvs view {name}` in the browser.",
        rest.strip(),
        blocks(env),
        terms(env),
        scores(env_id, results),
    ]
    env.close()
    return "\n\n".join(part for part in parts if part) + "\n"


def blocks(env: Any) -> str:
    """Where each part of the observation is."""
    rows = ["## Parts of the observation", ""]
    rows += ["`env.unwrapped.observation_slices`, as the environment declares them:", ""]
    rows += ["| part | entries | unit | meaning |", "| --- | --- | --- | --- |"]
    for block in env.task.observation_blocks:
        place = env.task.observation_slices[block.name]
        span = f"{place.start}" if block.size == 1 else f"{place.start} to {place.stop - 1}"
        rows.append(f"| {block.name} | {span} | {block.unit} | {block.meaning} |")
    return "\n".join(rows)


def terms(env: Any) -> str:
    """What the reward is the sum of."""
    rows = ["## Terms of the reward", "", "| term | weight | for |", "| --- | ---: | --- |"]
    for term in env.task.reward_terms:
        rows.append(f"| `{term.name}` | {term.weight:g} | {term.meaning} |")
    return "\n".join(rows)


def scores(env_id: str, results: Path) -> str:
    """Final scores of all runs on record: 0 is standing still, 1 is the expert."""
    stem = env_id.removeprefix("dynenvs/").rsplit("-v", 1)[0]
    found: dict[str, list[float]] = {}
    for path in sorted(results.glob(f"{stem}_*.json")):
        log = json.loads(path.read_text(encoding="utf-8"))
        kind = path.stem.removeprefix(f"{stem}_").rstrip("0123456789").rstrip("_")
        if kind in KINDS and "final" in log:
            found.setdefault(kind, []).append(log["final"]["score"])
    if not found:
        return ""
    rows = [
        "## Agents",
        "",
        "Scores between standing still (0) and the expert (1), over episodes by which no policy",
    ]
    rows += ["was chosen; [results](../results.md) has all figures and curves.", ""]
    rows += ["| agent | runs | score |", "| --- | ---: | ---: |"]
    for kind, values in found.items():
        spread = (
            f"{min(values):.2f} to {max(values):.2f}" if len(values) > 1 else f"{values[0]:.2f}"
        )
        rows.append(f"| {KINDS[kind]} | {len(values)} | {spread} |")
    return "\n".join(rows)
