"""What a large dataset costs on a cluster: `python -m studies.scaling docs/scaling.md`.

Measured here: steps a second of one process, of Ray workers, and of the driver that writes what
they send; bytes that travel and bytes that stay.  Worked out from these: 10^9 transitions on 64
cores.
"""

from __future__ import annotations

import argparse
import logging
import os
import pickle
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from dynenvs.agents.console import open_console, working
from dynenvs.agents.machine import describe, load
from dynenvs.agents.names import environment_id, short_name
from dynenvs.files import written_whole
from dynenvs.simulation.threads import available_threads
from studies.bench.peers import MissingPeer, peer

TRANSITIONS, CORES = 10**9, 64  # of the reckoning
ENVIRONMENTS = ("planar-humanoid", "quadruped", "humanoid")
HEAD = """\
# Scaling

Written by `{command}` on {machine}, whose load was
{load:.1f} when it began.

[`dynenvs collect ENV --ray ADDRESS`](lab/learning.md#on-several-machines-with-ray) spreads episodes
over a cluster: tasks of 25 episodes run on its processors, their results travel to the driver, and
the driver alone writes the dataset. So three things may set the pace: the workers' processors, the
driver's one processor, and its network.

## Measured

Episodes of the expert with the standard noise. A worker is a processor that Ray is given; all run
on this one machine, beside the driver. Rates are those of the {episodes} episodes by which a long
collection is longer than a short one, so that no beginning counts.

{table}

![Steps a second over workers](scaling/workers.png)

"alone" is one process without Ray; "driver" is what the driver could take if workers were
infinitely quick: steps over its own processor time, with the dataset written. Workers that
outnumber the machine's {cores} cores add nothing here.

## Worked out: {transitions:,} transitions on {many} cores

{reckoning}

The workers' time is transitions over {many} times the rate of one process alone, the driver's is
transitions over its own rate. The whole takes the longer of the two; the network is the bytes that
travel over that time. These are sums, not a run on {many} cores: workers there have clocks, caches
and memory of their own machines, which nobody has measured here.

{verdict}
"""


class Piece(NamedTuple):
    """What was measured of an environment."""

    env: str  # short name
    alone: float  # steps a second of one process
    workers: tuple[float, ...]  # the same of 1, 2, ... Ray workers
    driver: float  # steps over the driver's own processor time [1/s]
    sent: float  # bytes that travel, a step
    kept: float  # bytes of the dataset, a step


@contextmanager
def _elsewhere() -> Iterator[None]:
    """Let datasets lie in a folder that goes away."""
    before = os.environ.get("MINARI_DATASETS_PATH")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MINARI_DATASETS_PATH"] = folder
        try:
            yield
        finally:
            del os.environ["MINARI_DATASETS_PATH"]
            if before is not None:
                os.environ["MINARI_DATASETS_PATH"] = before


def measure(env_id: str, episodes: int, most: int) -> Piece:
    """Collect with 1 to `most` Ray workers of this machine, and once without.

    Raises:
        ModuleNotFoundError: no Ray.
    """
    import ray

    from dynenvs.agents.data.collect_on_ray import EPISODES, Share, run_share
    from dynenvs.agents.data.plan import Plan
    from dynenvs.agents.data.teaching import standard_noise

    plan = Plan(env_id, {}, "expert", standard_noise(env_id, "expert"), 0, False)
    share = Share(plan._asdict(), "expert", list(range(EPISODES)))
    run_share(share)  # compiled, and in the caches
    start = time.perf_counter()
    runs = run_share(share)
    alone = sum(run.steps for run in runs) / (time.perf_counter() - start)
    sent = len(pickle.dumps(runs, protocol=5)) / sum(run.steps for run in runs)
    rates = []
    for workers in range(1, most + 1):
        ray.init(
            num_cpus=workers,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
        try:
            _collect(env_id, EPISODES * 2 * workers)  # workers start and load what is compiled
            few = _collect(env_id, EPISODES * 2 * workers)
            many = _collect(env_id, EPISODES * 2 * workers + episodes)
        finally:
            ray.shutdown()
        rates.append((many.steps - few.steps) / (many.seconds - few.seconds))
    driver = (many.steps - few.steps) / (many.processor - few.processor)
    return Piece(short_name(env_id), alone, tuple(rates), driver, sent, many.size / many.steps)


class Collection(NamedTuple):
    """What a collection took until its last episode was there, and what the driver took for it."""

    steps: int
    seconds: float
    processor: float  # of the driver, with the dataset [s]
    size: int  # of the dataset [bytes]


def _collect(env_id: str, episodes: int) -> Collection:
    """Collect on the cluster that this process is connected to."""
    from dynenvs.agents.data.collect import collect

    ends: list[float] = []
    with _elsewhere():
        start, used = time.perf_counter(), time.process_time()
        done = collect(
            env_id,
            episodes,
            cluster="local",
            threads=1,
            report=lambda *_: ends.append(time.perf_counter() - start),
        )
        used = time.process_time() - used
    return Collection(done.steps, ends[-1], used, done.size)


def write_page(
    page: Path, pieces: Sequence[Piece], episodes: int, before: float, command: str
) -> None:
    """Write the page and its picture.

    before: the machine's load when measuring began

    Raises:
        MissingPeer: no matplotlib.
    """
    machine = describe()
    _plot(page.parent / page.stem / "workers.png", pieces)
    text = HEAD.format(
        command=command,
        machine=f"{machine['processor']}, {machine['cores']} cores, {machine['date'][:10]}",
        load=before,
        episodes=episodes,
        table=_table(pieces),
        cores=machine["cores"],
        transitions=TRANSITIONS,
        many=CORES,
        reckoning=_reckoning(pieces),
        verdict=_verdict(pieces),
    )
    with written_whole(page) as file:
        file.write_text(text, encoding="utf-8")


def _table(pieces: Sequence[Piece]) -> str:
    most = max(len(piece.workers) for piece in pieces)
    heads = ["", "alone", *(f"{k + 1} worker{'s' * (k > 0)}" for k in range(most))]
    heads += ["driver", "bytes sent a step", "bytes kept a step"]
    rows = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for piece in pieces:
        rates = (piece.alone, *piece.workers, piece.driver)
        cells = [f"{rate:,.0f}" for rate in rates]
        rows.append([piece.env, *cells, f"{piece.sent:,.0f}", f"{piece.kept:,.0f}"])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _reckoning(pieces: Sequence[Piece]) -> str:
    heads = ["", "workers", "driver", "the whole", "network", "travels", "dataset"]
    rows = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for piece in pieces:
        workers, driver = _hours(piece)
        whole = max(workers, driver)
        network = TRANSITIONS * piece.sent / (3600.0 * whole) / 1e6
        volumes = (TRANSITIONS * size / 1e9 for size in (piece.sent, piece.kept))
        hours = (f"{one:.2f} h" for one in (workers, driver, whole))
        rows.append([piece.env, *hours, f"{network:.0f} MB/s", *(f"{v:,.0f} GB" for v in volumes)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _hours(piece: Piece) -> tuple[float, float]:
    """Of the workers and of the driver for all transitions."""
    return TRANSITIONS / (3600.0 * CORES * piece.alone), TRANSITIONS / (3600.0 * piece.driver)


def _verdict(pieces: Sequence[Piece]) -> str:
    """From how many cores on the driver sets the pace."""
    words = [f"{piece.env} {piece.driver / piece.alone:.0f}" for piece in pieces]
    return (
        f"The driver keeps up with so many cores: {', '.join(words)}. With\n"
        "more of them several commands with seeds of their own (`--seed`, `--name`) write several\n"
        "datasets side by side, which Minari's `combine_datasets` joins."
    )


def _plot(path: Path, pieces: Sequence[Piece]) -> None:
    """Steps a second over workers, and what they would be without loss (PNG)."""
    figure = peer("matplotlib.figure").Figure(figsize=(5.4, 3.4), layout="constrained")
    axes = figure.subplots()
    cores = available_threads()
    for number, piece in enumerate(pieces):
        x = range(1, len(piece.workers) + 1)
        axes.plot(x, piece.workers, f"C{number}o-", label=piece.env)
        axes.plot(x, [min(k, cores) * piece.alone for k in x], f"C{number}:")
    axes.set(xlabel="Ray workers on one machine", ylabel="steps a second", ylim=(0, None))
    axes.set_xticks(range(1, 1 + max(len(piece.workers) for piece in pieces)))
    axes.set_title(f"dotted: the rate alone times workers, at most {cores} cores", fontsize="small")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    with written_whole(path) as file:
        figure.savefig(file, dpi=110)


def main(arguments: list[str] | None = None) -> None:
    """Measure what collecting on a cluster costs, and write a page of it."""
    name = "python -m studies.scaling"
    parser = argparse.ArgumentParser(prog=name, description=main.__doc__)
    parser.add_argument("page", type=Path, help="Markdown file; a picture goes into a folder")
    parser.add_argument("--envs", nargs="+", default=list(ENVIRONMENTS), help="short names or ids")
    parser.add_argument("--episodes", type=int, default=400, help="for each figure")
    parser.add_argument("--workers", type=int, default=0, help="at most; all cores and two if 0")
    options = parser.parse_args(arguments)
    console = open_console()
    most = options.workers or available_threads() + 2
    command = f"{name} {shlex.join(sys.argv[1:] if arguments is None else arguments)}"
    before = load() or 0.0
    try:
        pieces = []
        for env in options.envs:
            with working(console, env):
                pieces.append(measure(environment_id(env), options.episodes, most))
        write_page(options.page, pieces, options.episodes, before, command)
    except (ValueError, ModuleNotFoundError, MissingPeer) as error:
        parser.error(str(error))
    console.print(_table(pieces), highlight=False)


if __name__ == "__main__":
    main()
