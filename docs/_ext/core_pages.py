"""Pages about the core, written from its code: every array, and what one step does with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dataflow import READ, WRITTEN, Kernel, called, read_kernels
from environment_pages import write

from dynenvs.agents.experts.reference import EXPERTS
from dynenvs.envs.core.table import BatchView
from dynenvs.jit.handles import Array, Handle
from dynenvs.memory.layout import (
    BroadView,
    FilmView,
    LoopView,
    ModelView,
    StateView,
    WatchView,
    WorkView,
)
from dynenvs.memory.sparse_view import SparseView

ROOMS: dict[type[Handle], str] = {
    ModelView: "w",
    StateView: "w",
    WorkView: "w",
    BroadView: "w.broad",
    LoopView: "w.closure",
    FilmView: "w.film",
    SparseView: "w.scene",
    WatchView: "w.watch",
}
MOST = 12  # functions that are named one by one


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True}


def write_pages(app: Any) -> None:
    """Write the reference's two pages, if they have changed."""
    folder = Path(app.srcdir) / "reference"
    kernels = read_kernels(Path(app.srcdir).parent / "dynenvs")
    write(folder / "arrays.md", arrays_page(kernels))
    write(folder / "step.md", step_page(kernels))


def arrays_page(kernels: dict[tuple[str, str], Kernel]) -> str:
    """A table of arrays for each class of handles."""
    writers: dict[str, list[str]] = {}
    for kernel in kernels.values():
        for name, effects in _own(kernel, kernels).items():
            if WRITTEN in effects:
                writers.setdefault(name, []).append(f"`{kernel.node.name}`")
    lines = [
        "# Arrays of a world",
        "",
        "What kernels see of a world: `w.NAME` of a handle; at the end the arrays of a batch of "
        "worlds of a task, and those of each expert. Written by the site's build from the "
        "declarations and from the kernels. Counts: nb bodies, nq positions, "
        "nv velocities, nf contact features, nk contact candidates, nc contacts at most, nr "
        "constraint rows, nl variables of the LCP, ne rows of closed loops.",
        "",
    ]
    for kind, prefix in ROOMS.items():
        lines += [f"## {kind.__name__}", "", f"`{prefix}`: {_summary(kind)}", ""]
        lines += ["| array | type | shape | what | written by |", "|---|---|---|---|---|"]
        for entry in vars(kind).values():
            if isinstance(entry, Array):
                full = entry.name if prefix == "w" else f"{prefix[2:]}.{entry.name}"
                shape = ", ".join(entry.shape) + (f" (if {entry.when})" if entry.when else "")
                by = _few(writers.get(full, []))
                lines.append(
                    f"| `{entry.name}` | {_type_name(entry)} | {shape} | {entry.what} | {by} |"
                )
        lines.append("")
    experts = [make.view for make in EXPERTS.values() if isinstance(make, type) and make.view]
    for kind in (BatchView, *dict.fromkeys(experts)):
        lines += [f"## {kind.__name__}", "", f"{kind.__module__}: {_summary(kind)}", ""]
        lines += ["| array | type | shape | what |", "|---|---|---|---|"]
        for entry in vars(kind).values():
            if isinstance(entry, Array):
                cells = f"`{entry.name}`", _type_name(entry), ", ".join(entry.shape)
                lines.append(f"| {' | '.join(cells)} | {_lower(entry.what)} |")
        lines.append("")
    return "\n".join(lines)


def step_page(kernels: dict[tuple[str, str], Kernel]) -> str:
    """The stages of a step, with what each reads and writes."""
    step = kernels["dynenvs.simulation.timestep", "step_unit"]
    lines = [
        "# Follow one step",
        "",
        "What `World.step` does, by Euler's rule and the midpoint rule, in the order of the code: "
        "`dynenvs/simulation/timestep.py`. Written by the site's build from the code. Arrays are "
        "those of {doc}`arrays`; only those of state and workspace are named, those of loops, "
        "broad phase and islands as `closure`, `broad`, `scene`.",
        "",
        "```text",
        "World.step              checks what it is given; raises where a step fails",
        "  step_anew             sums of impulses begin anew (simulation/readings.py)",
        "  step(w, tau, dt)      keeps the state, if there may be too little room",
        "    step_unit           parts of the step; mostly one is all of it",
    ]
    stages = [one for one in called(step, kernels) if one.module == step.module]
    stages = [one for one in stages if len(_own_arrays(one)) > 1]
    for one in stages:
        lines.append(f"      {one.node.name:<18}{_short(one.summary)}")
    lines += ["```", ""]
    lines += ["From there to Newton's method, of what one robot touches:", ""]
    lines += ["| function | in | what |", "|---|---|---|"]
    solving = kernels[step.module, "_solve_centered"]
    for one in way_to(kernels["dynenvs.contact.solvers.newton", "newton"], solving, kernels):
        lines.append(f"| `{one.node.name}` | `{_file(one)}` | {one.summary} |")
    lines += ["", "Many loose parts go another way: `contact/sparse/ladder.py`.", ""]
    for one in stages:
        lines += [f"## {one.node.name.strip('_')}", "", f"{one.summary}.", ""]
        lines += [f"- reads {_arrays(one, READ)}", f"- writes {_arrays(one, WRITTEN)}", ""]
        lines += ["| calls | in | to |", "|---|---|---|"]
        for inner in called(one, kernels):
            if inner.summary and inner.arrays:
                lines.append(f"| `{inner.node.name}` | `{_file(inner)}` | {inner.summary} |")
        lines.append("")
    return "\n".join(lines)


def way_to(goal: Kernel, start: Kernel, kernels: dict[tuple[str, str], Kernel]) -> list[Kernel]:
    """The shortest way of calls from one function to another, both with it; empty if none."""
    ways = [[start]]
    seen = {id(start)}
    for way in ways:  # grows meanwhile
        if way[-1] is goal:
            return way
        for one in called(way[-1], kernels):
            if id(one) not in seen:
                seen.add(id(one))
                ways.append([*way, one])
    return []


def _file(kernel: Kernel) -> str:
    """Where it stands, in the package."""
    return kernel.module.replace("dynenvs.", "").replace(".", "/") + ".py"


def _own(kernel: Kernel, kernels: dict[tuple[str, str], Kernel]) -> dict[str, set[str]]:
    """Its effects that none of the kernels that it hands `w` on to has."""
    below: dict[str, set[str]] = {}
    for inner in called(kernel, kernels):
        if inner is not kernel:
            for name, effects in inner.arrays.items():
                below.setdefault(name, set()).update(effects)
    return {name: e - below.get(name, set()) for name, e in kernel.arrays.items()}


def _own_arrays(kernel: Kernel) -> list[str]:
    """The arrays of state and workspace that it or what it calls works on."""
    shared = {entry.name for entry in vars(ModelView).values() if isinstance(entry, Array)}
    return [name for name in kernel.arrays if name not in shared]


def _arrays(kernel: Kernel, effect: str) -> str:
    """The arrays that it reads or writes; of those in a handle of their own, the handle."""
    names = {name.split(".")[0] for name in _own_arrays(kernel) if effect in kernel.arrays[name]}
    return ", ".join(f"`{name}`" for name in sorted(names)) or "nothing"


def _few(names: list[str]) -> str:
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(names[:MOST]) + more


def _short(text: str) -> str:
    return text if len(text) <= 54 else text[: text.rfind(" ", 0, 52)] + " ..."


def _summary(kind: type[Handle]) -> str:
    return _lower((kind.__doc__ or "").split("\n")[0].rstrip(".")) + "."


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]


def _type_name(entry: Array) -> str:
    names = {"float64": "float", "int64": "int", "uint8": "byte"}
    return "record" if entry.kind.names else names[entry.kind.name]
