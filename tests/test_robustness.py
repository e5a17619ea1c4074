"""The study of disturbances, and what loops pass on to recurrent policies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from batches import make_batch
from PIL import Image
from rollouts import every_env, make

from dynenvs.agents.evaluation.acting import Acting
from dynenvs.agents.evaluation.episode import run_episode
from dynenvs.agents.evaluation.episodes import run_episodes
from dynenvs.agents.evaluation.rollout import rollout
from studies.robustness.__main__ import main
from studies.robustness.cases import cases, curves, weight
from studies.robustness.measure import Measured, measure
from studies.robustness.page import Study, table, write_page

PENDULUM = "dynenvs/DoublePendulum-v0"


class Counter:
    """A recurrent policy whose state is how many observations each episode has had."""

    def __init__(self) -> None:
        self.counts: list[list[int]] = []

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: Any = 1
    ) -> tuple[Any, Any]:
        """Actions zero."""
        batch = np.atleast_2d(observation)
        state = np.zeros(len(batch), int) if state is None else state
        state = np.where(episode_start, 0, state) + 1
        self.counts.append(state.tolist())
        return np.zeros((*np.shape(observation)[:-1], 2), np.float32), state


def test_state_and_starts_of_episodes_are_passed_on() -> None:
    """In mode "NextStep" the last observation is looked at, too, before the next first one."""
    envs, policy = make_batch(PENDULUM, 2, max_episode_steps=3), Counter()
    acting = Acting(policy, 2)
    observations, _ = envs.reset(seed=0)
    for _ in range(9):
        observations, _, fell, over, _ = envs.step(acting.act(observations))
        acting.note(fell | over)
    assert [count[0] for count in policy.counts] == [1, 2, 3, 4, 1, 2, 3, 4, 1]
    assert all(one == other for one, other in policy.counts)


def test_all_ways_to_run_episodes_pass_the_state_on() -> None:
    options = {"max_episode_steps": 4}
    single, batch, many = Counter(), Counter(), Counter()
    run_episode(make(PENDULUM, **options), single, seed=0)
    list(run_episodes(make_batch(PENDULUM, 2, **options), batch, seed=0))
    list(rollout(make_batch(PENDULUM, 2, **options), many, [0, 1]))
    assert single.counts == [[k] for k in (1, 2, 3, 4)]
    assert batch.counts == many.counts == [[k, k] for k in (1, 2, 3, 4)]


@every_env
def test_cases_and_curves_are_options_of_the_task(name: str) -> None:
    """Every one is taken, and by growing sizes; payloads are of the whole robot."""
    task = make(name).task
    rows, lines = cases(task), curves(task)
    made = [type(task)(**case.options) for case in rows]
    made += [type(task)(**line.options(size)) for line in lines for size in line.sizes]
    assert len(made) > 20
    assert all(0.9 <= case.alive <= 1.0 for case in rows)
    if "Quadruped" in name:
        assert weight(task) == pytest.approx(12.7, abs=0.3)
        assert rows[-1].options["payload_range"][1] == pytest.approx(0.1 * weight(task))


def test_measured_by_hand() -> None:
    """Limp pendulums last; the returns are those of a plain loop over the same seeds."""
    found = measure(PENDULUM, "standing", {"max_episode_steps": 5}, 3)
    total = 0.0
    for seed in range(1_000_000, 1_000_003):
        env = make(PENDULUM)
        env.reset(seed=seed)
        total += sum(env.step(np.zeros(2, np.float32))[1] for _ in range(5))
    assert found is not None
    assert found.alive == 1.0
    assert found.returned == pytest.approx(total / 3, rel=0.5)
    assert measure(PENDULUM, "expert", {"control": "position"}, 2) is None


def test_the_page_has_tables_and_curves(tmp_path: Path) -> None:
    task = make("dynenvs/Quadruped-v0").task
    rows: Any = [(case, {"expert": Measured(0.5, 45.0), "ppo": None}) for case in cases(task)]
    lines: Any = [
        (line, {"expert": [Measured(0.9, 80.0)] * len(line.sizes), "ppo": [None] * len(line.sizes)})
        for line in curves(task)
    ]
    base = {"expert": Measured(1.0, 90.0), "ppo": Measured(1.0, 80.0)}
    study = Study("dynenvs/Quadruped-v0", ("expert", "ppo"), base, rows, lines)
    assert "| none | | | 100 % | 90.0 | 100 % | 80.0 |\n" in table(study)
    assert "scale 1 | 95 % | 80 % | *50.0 %* | *50.0 %* | - | - |\n" in table(study)
    assert "pushes of 15 N s every 3 s | 98 % |  | *50.0 %* | 50.0 % | - | - |\n" in table(study)
    page = tmp_path / "robustness.md"
    write_page(page, [study], "this command", 7, 3)
    text = page.read_text(encoding="utf-8")
    assert "Written by `this command`" in text
    assert "(robustness/Quadruped.png)" in text
    picture = np.asarray(Image.open(tmp_path / "robustness" / "Quadruped.png").convert("RGB"))
    assert (picture == [200, 85, 61]).all(axis=2).sum() > 200  # the expert's lines


def test_the_command_refuses_what_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, words in ((["nobody"], "unknown environment"), (["--seeds", "0"], "1 or more")):
        with pytest.raises(SystemExit):
            main(arguments)
        assert words in capsys.readouterr().err
