"""What CONTRIBUTING.md promises: every file that it names exists, and it names the whole house."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SAMPLES = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
WORDS = re.sub(r"^```.*?^```", "", TEXT, flags=re.MULTILINE | re.DOTALL)
FOLDERS = "agents", "docs", "dynenvs", "envs", "examples", "results", "studies", "tests"
BUILT = {"dynenvs/lib"}  # by `dynenvs compile`, not in a fresh clone
NAMED = set(re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]*)`", WORDS))


def test_what_it_names_exists() -> None:
    assert len(NAMED) > 50
    assert [name for name in sorted(NAMED - BUILT) if not (ROOT / name).exists()] == []


def test_it_names_every_module_of_the_core() -> None:
    """Modules and folders right below `dynenvs/`; `envs` and `agents` are links."""
    links = {"dynenvs/envs/", "dynenvs/agents/", "dynenvs/__init__.py"}
    folders = {f"dynenvs/{p.parent.name}/" for p in (ROOT / "dynenvs").glob("*/__init__.py")}
    modules = {f"dynenvs/{path.name}" for path in (ROOT / "dynenvs").glob("*.py")}
    assert (folders | modules) - links - NAMED == set()


def test_samples_import_what_there_is() -> None:
    """All but names of modules that another sample adds."""
    added = {"dynenvs.envs.lift", "dynenvs.envs.robots.lift"}
    checked = 0
    for line in re.findall(r"^from dynenvs.*", "\n".join(SAMPLES), re.MULTILINE):
        statement = ast.parse(line).body[0]
        assert isinstance(statement, ast.ImportFrom)
        assert statement.module is not None
        if statement.module not in added:
            for alias in statement.names:
                assert hasattr(import_module(statement.module), alias.name), line
                checked += 1
    assert checked > 10


def test_every_action_is_pinned() -> None:
    """By the digest of a commit, its version beside it: a tag can be moved to other code."""
    used = []
    for path in sorted((ROOT / ".github/workflows").glob("*.y*ml")):
        used += re.findall(r"^.*\buses:.*$", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(used) > 5
    pinned = re.compile(r"\s+(- )?uses: [\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+")
    assert [line for line in used if not pinned.fullmatch(line)] == []
