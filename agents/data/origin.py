"""Where the code that runs was installed from, as far as that can be known."""

from __future__ import annotations

import json
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import dynenvs


def code_permalink() -> str | None:
    """Where anyone finds the very code that runs, as pip takes it: "git+https://...@COMMIT".

    It is known where pip installed the package from a git repository: pip then keeps the address
    and the commit (PEP 610, `direct_url.json`).  A local folder, an archive and a checkout that is
    edited have no such place; None says so, where a guess might point at other code.
    """
    try:
        installed = distribution("dynenvs")
    except PackageNotFoundError:
        return None
    if not _runs_from(installed):
        return None
    came_from = json.loads(installed.read_text("direct_url.json") or "{}")
    version_control = came_from.get("vcs_info", {})
    if version_control.get("vcs") != "git" or "commit_id" not in version_control:
        return None
    if not came_from["url"].startswith(
        "https://"
    ):  # a repository on this machine, or a private one
        return None
    return f"git+{came_from['url']}@{version_control['commit_id']}"


def _runs_from(installed: Distribution) -> bool:
    """Whether the package that was imported is the installed one, not a checkout before it."""
    return (
        Path(str(installed.locate_file("dynenvs"))).resolve() == Path(dynenvs.__path__[0]).resolve()
    )
