"""What a run stood on: processor, cores, load, versions."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dynenvs
from dynenvs.jit import library
from dynenvs.jit.cache import cache_root
from dynenvs.jit.core import core
from dynenvs.simulation.threads import available_threads

PACKAGES = (
    "dynenvs",
    "numba",
    "llvmlite",
    "numpy",
    "gymnasium",
    "mujoco",
    "envpool",
    "pin",
    "dartpy",
    "quantecon",
)


def processor() -> str:
    """The processor's name."""
    with suppress(OSError):
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
        if found:
            return found[1]
    return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """Versions of all packages that take part, "absent" for those that are not installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "absent"
    return found


def diagnosis() -> dict[str, str]:
    """What a person needs who asks why something does not start, or starts slowly."""
    try:
        chosen, why = core(), library.fault()
    except (ImportError, ValueError) as error:
        chosen, why = "none", str(error)
    places = {"library": str(library.place()), "jit": f"compiled here, kept in {cache_root()}"}
    return {
        "core": f"{chosen}: {places.get(chosen, 'kernels run as Python')}",
        "because": why or os.environ.get("DYNENVS_CORE") or "the library belongs to the sources",
        "processor": processor(),
        "package": str(Path(dynenvs.__file__).parent),
        **versions(),
    }


def load() -> float | None:
    """Mean number of processes that wanted to run in the last minute, where it is known."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def describe() -> dict[str, Any]:
    """Everything about the machine that a reader needs to judge the figures."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": processor(),
        "cores": available_threads(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": versions(),
    }
