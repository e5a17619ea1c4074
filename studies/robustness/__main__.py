"""How well the experts and the shipped policies bear disturbances.

`python -m studies.robustness humanoid quadruped --output docs/lab/robustness.md`: a table of
disturbances, and curves over the size of each.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from dynenvs.agents.console import open_console
from dynenvs.agents.evaluation.rollout import make_batch
from dynenvs.agents.files import shipped
from dynenvs.agents.names import environment_id, short_name
from dynenvs.registration import ENVIRONMENTS
from studies.bench.peers import MissingPeer, peer
from studies.robustness.cases import cases, curves
from studies.robustness.measure import Measured, measure
from studies.robustness.page import Study, table, write_page

CURVE_SEEDS = 50
NAME = "python -m studies.robustness"


def study(
    env_id: str,
    agents: Sequence[str],
    seeds: int,
    curve_seeds: int,
    report: Callable[[str], None] = lambda line: None,
) -> Study:
    """Measure all disturbances of an environment.

    Args:
        env_id: which.
        agents: as `actor` takes them; those that ship with the package, and the expert, if empty.
        seeds: episodes for each row.
        curve_seeds: episodes for each point of a curve; 0 for no curves.
        report: called with a line for each figure.

    Raises:
        ValueError: an agent that does not act in the undisturbed environment.
    """
    task = make_batch(env_id, 1).task
    chosen = tuple(agents) or ("expert", *shipped(env_id))

    def ask(agent: str, what: str, options: dict[str, object], count: int) -> Measured | None:
        found = measure(env_id, agent, options, count)
        words = "cannot" if found is None else f"{found.alive:.3f} alive, {found.returned:.1f}"
        report(f"{short_name(env_id)}, {agent}, {what}: {words}")
        return found

    base = {}
    for agent in chosen:
        found = ask(agent, "undisturbed", {}, seeds)
        if found is None:
            raise ValueError(f"{agent!r} does not act in {env_id}")
        base[agent] = found
    rows = [
        (case, {agent: ask(agent, case.name, case.options, seeds) for agent in chosen})
        for case in cases(task)
    ]
    lines = []
    for curve in curves(task) if curve_seeds > 0 else ():
        line = {
            agent: [
                ask(agent, f"{curve.name} {size:g}", curve.options(size), curve_seeds)
                for size in curve.sizes
            ]
            for agent in chosen
        }
        lines.append((curve, line))
    return Study(env_id, chosen, base, rows, lines)


def main(arguments: list[str] | None = None) -> None:
    """Measure how well agents bear disturbances; write tables and curves."""
    parser = argparse.ArgumentParser(prog=NAME, description=main.__doc__)
    parser.add_argument("envs", nargs="*", help="humanoid, planar-quadruped, or an id; all if none")
    parser.add_argument("--seeds", type=int, default=200, help="episodes for each row")
    parser.add_argument(
        "--curve-seeds",
        type=int,
        default=CURVE_SEEDS,
        help="episodes for each point of a curve; 0 for no curves",
    )
    parser.add_argument(
        "--agents", nargs="+", default=[], help="the expert and all shipped policies if not given"
    )
    parser.add_argument("--output", type=Path, help="page to write (Markdown), pictures beside it")
    options = parser.parse_args(arguments)
    console = open_console()
    try:
        if options.seeds < 1 or options.curve_seeds < 0:
            raise ValueError("--seeds must be 1 or more, --curve-seeds 0 or more")
        if options.output is None:
            options.curve_seeds = 0
        if options.curve_seeds > 0:
            peer("matplotlib.figure")  # tell of it before the work
        ids = [environment_id(name) for name in options.envs] or list(ENVIRONMENTS)
        done = []
        for env_id in ids:
            done.append(
                study(env_id, options.agents, options.seeds, options.curve_seeds, console.print)
            )
            if options.output is not None:
                command = f"{NAME} {' '.join(short_name(one) for one in ids)}"
                command += f" --agents {' '.join(options.agents)}" if options.agents else ""
                command += f" --seeds {options.seeds} --curve-seeds {options.curve_seeds}"
                write_page(options.output, done, command, options.seeds, options.curve_seeds)
    except (ValueError, OSError, MissingPeer) as error:
        parser.error(str(error))
    for one in done:
        console.print(f"{one.name}\n{table(one)}", markup=False)


if __name__ == "__main__":
    main()
