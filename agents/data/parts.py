"""An unfinished collection: a folder of parts, each with episodes that ended together.

Every part is written whole or not at all as soon as its episodes end, so that an interrupted
collection has lost no finished episode.  The folder is hidden: Minari does not list it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dynenvs.agents.files import write_json, written_whole
from dynenvs.agents.rollout import Run

PLAN = "plan.json"
JOINED = ("observations", "actions", "rewards")  # one episode after the other


class Parts:
    """The parts of one collection.

    Args:
        folder: where they lie; made if there is none.
        plan: what is collected; a folder that was begun with another plan is refused.

    Raises:
        ValueError: another plan's folder.
        OSError: it cannot be written.
    """

    def __init__(self, folder: Path, plan: dict[str, Any]) -> None:
        self.folder = folder
        file = folder / PLAN
        if file.is_file():
            begun = json.loads(file.read_text(encoding="utf-8"))
            other = [key for key in {**begun, **plan} if begun.get(key) != plan.get(key)]
            if other:
                words = ", ".join(f"{key} = {begun.get(key)!r}" for key in sorted(other))
                raise ValueError(
                    f"an unfinished collection of the same name has {words}: finish it with these "
                    f"settings, choose another name, or remove {str(folder)!r}"
                )
        else:
            write_json(file, plan)

    def add(self, runs: list[Run]) -> None:
        """Keep episodes that ended together; `Run.number` counts in the whole collection."""
        first = min(run.number for run in runs)
        arrays = {name: np.concatenate([getattr(run, name) for run in runs]) for name in JOINED}
        states = {
            f"state_{name}": np.stack([run.state[name] for run in runs]) for name in runs[0].state
        }
        arrays["index"] = np.array([run.number for run in runs])
        arrays["seed"] = np.array([run.seed for run in runs])
        arrays["steps"] = np.array([run.steps for run in runs])
        arrays["terminated"] = np.array([run.terminated for run in runs])
        arrays["end"] = np.array([run.end for run in runs])
        path = self.folder / f"part-{first:08d}-{runs[0].steps}.npz"
        with written_whole(path) as draft, draft.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays, **states)

    def places(self) -> dict[int, tuple[Path, int]]:
        """Where each finished episode is: its part, and its place there."""
        found = {}
        for path in sorted(self.folder.glob("part-*.npz")):
            with np.load(path) as part:
                for place, index in enumerate(part["index"].tolist()):
                    found[index] = path, place
        return found

    def episodes(self, count: int) -> Iterator[Run]:
        """The first `count` episodes in order; all of them must be there."""
        places = self.places()
        for index in range(count):
            path, place = places[index]
            yield _episode(_load(path), place)

    def remove(self) -> None:
        """Delete the folder: everything has gone into the dataset."""
        _load.cache_clear()
        for path in self.folder.iterdir():
            path.unlink()
        self.folder.rmdir()


@lru_cache(maxsize=8)
def _load(path: Path) -> dict[str, Any]:
    with np.load(path) as part:
        return dict(part)


def _episode(part: dict[str, Any], place: int) -> Run:
    steps = part["steps"]
    first, last = int(steps[:place].sum()), int(steps[: place + 1].sum())
    return Run(
        number=int(part["index"][place]),
        seed=int(part["seed"][place]),
        observations=part["observations"][first + place : last + place + 1],
        actions=part["actions"][first:last],
        rewards=part["rewards"][first:last],
        terminated=bool(part["terminated"][place]),
        end=str(part["end"][place]),
        state={
            name.removeprefix("state_"): rows[place]
            for name, rows in part.items()
            if name.startswith("state_")
        },
        speed_error=float("nan"),
    )
