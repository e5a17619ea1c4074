"""A page for each environment, from its docstring, its declared parts and the runs on record."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from folds import folded
from scores import scores

import dynenvs.agents
from dynenvs.agents.evaluation.episode import make
from dynenvs.agents.names import short_name
from dynenvs.registration import ENVIRONMENTS

FILM_WIDTH = "22rem"
STEPS = 300  # control steps of the episode that a page shows
TOLD = {  # what walkers are told there, as for `dynenvs view --command`
    "planar-humanoid": (0.8,),
    "planar-quadruped": (0.8,),
    "quadruped": (0.8, 0.0, 0.3),
    "humanoid": (0.6, 0.0, 0.1),
}
# A paragraph about what an option adds, and its table
OPTIONAL = re.compile(r"(?<=\n)\n((?:On terrain|With)(?:(?!\n\n)[^|])*?):\n\n((?:\|.*\n)+)")
FOLDED = ("Arguments",)  # sections of docstrings that begin closed: long tables
FILMS = {
    "dynenvs/Humanoid-v0": "humanoid.gif",
    "dynenvs/Quadruped-v0": "quadruped.gif",
    "dynenvs/ChainPendulum-v0": "chain-pendulum.gif",
    "dynenvs/DoublePendulum-v0": "double-pendulum.gif",
    "dynenvs/PlanarHumanoid-v0": "planar-humanoid.gif",
    "dynenvs/PlanarQuadruped-v0": "planar-quadruped.gif",
}


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", write_pages)
    app.connect("build-finished", write_episodes)
    return {"parallel_read_safe": True}


def write_pages(app: Any) -> None:
    """Write docs/environments/*.md, those that changed."""
    folder = Path(app.srcdir) / "environments"
    results = Path(app.srcdir).parent / "results"
    for env_id in ENVIRONMENTS:
        write(folder / f"{short_name(env_id)}.md", page(env_id, Path(app.srcdir), results))


def write_episodes(app: Any, error: Exception | None) -> None:
    """Record the expert of each environment for the viewer, unless the site has it already."""
    if error is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir) / "_static" / "episodes"
    folder.mkdir(parents=True, exist_ok=True)
    for env_id in ENVIRONMENTS:
        name = short_name(env_id)
        file = folder / f"{name}.html"
        if not file.is_file():
            told = TOLD.get(name)
            command = {"command": told if len(told) > 1 else told[0]} if told else {}
            dynenvs.view(name, steps=STEPS, **command).save(file)


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
        image = f"{{image}} ../{film}\n:alt: The expert at work\n:width: {FILM_WIDTH}"
        parts.append(f"```{image}\n```")
    name = short_name(env_id)
    parts += [
        "```python\nimport gymnasium as gym\nimport dynenvs\n\n"
        f'env = gym.make("{env_id}")\n'
        f'envs = gym.make_vec("{env_id}", num_envs=256)\n```',
        frame(name),
        folded_sections(rest.strip()),
        blocks(env),
        terms(env),
        scores(env_id, results),
        card(env, env_id),
    ]
    env.close()
    return "\n\n".join(part for part in parts if part) + "\n"


def folded_sections(text: str) -> str:
    """A docstring whose long sections are closed, and tables that only options bring about."""
    for title in FOLDED:
        head = f"## {title}\n"
        before, found, after = text.partition(head)
        if found:
            body, mark, rest = after.partition("\n## ")
            text = f"{before}{head}\n{folded('All of them', body.strip())}\n{mark}{rest}"
    return OPTIONAL.sub(lambda found: f"\n{folded(in_html(found[1]), found[2].strip())}\n", text)


def in_html(words: str) -> str:
    """A sentence of Markdown, for a fold's summary: code is all that it may hold."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", " ".join(words.split()))


def frame(name: str) -> str:
    """An episode to turn about, as `write_episodes` writes it."""
    source = f"../_static/episodes/{name}.html"
    told = f" --command {','.join(map(str, TOLD[name]))}" if name in TOLD else ""
    shown = (
        f'<iframe class="episode" src="{source}" title="{name}, an episode" loading="lazy" '
        "allowfullscreen></iframe>"
    )
    return (
        f"`dynenvs demo {name}` shows its expert, `dynenvs view {name}` makes "
        f'<a href="{source}">a page of an episode</a>.\n\n'
        + folded("The episode here", f"`dynenvs view {name} --steps {STEPS}{told}`\n\n{shown}")
    )


def blocks(env: Any) -> str:
    """Where each part of the observation is."""
    rows = ["| part | entries | unit | meaning |", "| --- | --- | --- | --- |"]
    for block in env.task.observation_blocks:
        place = env.task.observation_slices[block.name]
        span = f"{place.start}" if block.size == 1 else f"{place.start} to {place.stop - 1}"
        rows.append(f"| {block.name} | {span} | {block.unit} | {block.meaning} |")
    summary = "Parts of the observation, <code>env.unwrapped.observation_slices</code>"
    return "## Parts and terms\n\n" + folded(summary, "\n".join(rows))


def terms(env: Any) -> str:
    """What the reward is the sum of."""
    rows = ["| term | weight | for |", "| --- | ---: | --- |"]
    for term in env.task.reward_terms:
        rows.append(f"| `{term.name}` | {term.weight:g} | {term.meaning} |")
    summary = "Terms of the reward, for the option <code>reward_weights</code>"
    return folded(summary, "\n".join(rows))


def card(env: Any, env_id: str) -> str:
    """The dataset that the expert writes."""
    name = short_name(env_id)
    seen, acts = env.observation_space.shape[0], env.action_space.shape[0]
    more = f"""\
| column | shape, of an episode of T steps | meaning |
| --- | --- | --- |
| `observations` | (T + 1, {seen}), float64 | as above, the first one after the reset |
| `actions` | (T, {acts}), float32 | what acted, torques over limits |
| `rewards` | (T,), float64 | the sum of the terms |
| `terminations`, `truncations` | (T,), bool | the end, and the time limit |
| `infos/expert_action` | (T + 1, {acts}), float32 | the expert's own answers: what to imitate |
| `infos/...` | (T + 1, ...) | what `info` says, with `--infos` |

What acted is the expert's answer with some noise in nine of ten episodes, which shows clones the
way back from errors; a `README.md` beside the dataset says how much.

Each episode's metadata hold its seed and the simulator's whole state at its start: `dynenvs replay
{name}/expert-v0` steps it again and compares every bit. Licence: MIT, as of the code that makes
it."""
    return f"""## Dataset

`dynenvs collect {name} --episodes 100` writes the expert's episodes as the Minari dataset
`dynenvs/{name}/expert-v0` ([other agents, noise, terrain](../lab/learning.md#datasets)).

{folded("Columns, noise, licence", more)}"""
