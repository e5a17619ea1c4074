"""What may be said of a run that is resumed, and what it was begun with.

Settings that shape the worlds, the networks or the buffers stay as they are: what the run holds
would not fit others.  The rest of what the algorithms compute with may change from the checkpoint
on.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dynenvs.agents.evaluation.options import plain_options, spoken
from dynenvs.agents.policy_file import read_note

COMMON = ("batch_size", "gamma", "learning_rate", "n_timesteps")
CHANGEABLE = {
    "ppo": (
        *COMMON,
        "clip_range",
        "desired_kl",
        "ent_coef",
        "gae_lambda",
        "max_grad_norm",
        "n_epochs",
        "vf_coef",
    ),
    "sac": (*COMMON, "gradient_steps", "tau"),
}


def read_log(folder: Path, algorithm: str, env_id: str) -> dict[str, Any]:
    """The log of the run in a folder, as its last checkpoint has it.

    Raises:
        FileNotFoundError: no run is there.
        ValueError: a policy alone, or a run of another algorithm or environment.
    """
    last = folder / "last.zip"
    if not last.is_file():
        raise FileNotFoundError(f"there is no run in {str(folder)!r}: leave out --resume")
    note = read_note(last)
    if "log" not in note:
        raise ValueError(f"{str(last)!r} holds a policy, not a run: start with --from instead")
    if note["algorithm"] != algorithm:
        raise ValueError(f"{str(last)!r} is a run of {note['algorithm']}, not of {algorithm}")
    log: dict[str, Any] = note["log"]
    if log["env"] != env_id:
        raise ValueError(f"{str(last)!r} is a run in {log['env']}, not in {env_id}")
    for name, nothing in (("options", {}), ("learning", 0.0), ("evaluating", 0.0)):
        log.setdefault(name, nothing)  # of a run begun before there were any
    return {**log, "steps": note["steps"]}


def check_same(log: dict[str, Any], seed: int | None, options: dict[str, Any]) -> None:
    """Refuse a seed or options other than those that a run was begun with; None or {}: its own.

    Raises:
        ValueError: says which it was begun with.
    """
    if seed is not None and seed != log["seed"]:
        raise ValueError(
            f"the run was begun with --seed {log['seed']}: resume it without --seed, or begin "
            f"another one with --out"
        )
    if options and plain_options(options) != plain_options(log["options"]):
        raise ValueError(
            f"the run was begun with {spoken(log['options']) or 'no options'}: resume it without "
            "--option, or begin another one with --out"
        )


def changed_settings(log: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """Those of the wanted settings that are not the run's own.

    Args:
        log: the run's.
        wanted: settings as `load_settings` gives them, all or some.

    Raises:
        ValueError: one that cannot change within a run; fewer steps than the run has made.
    """
    own, plain = log["settings"], plain_options(wanted)
    changed = {name: wanted[name] for name in wanted if plain[name] != own.get(name)}
    may = CHANGEABLE[log["kind"]]
    for name in changed:
        if name not in may:
            raise ValueError(
                f"{name} cannot change from {own.get(name)!r} to {wanted[name]!r} within a run: "
                f"begin another one, --from this one's best.zip; what can: {', '.join(may)}"
            )
    steps = changed.get("n_timesteps")
    if steps is not None and steps < log["steps"]:
        raise ValueError(f"the run has made {log['steps']:,} steps: --steps must not be fewer")
    return changed
