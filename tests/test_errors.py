"""What the user is told to install, wherever the package came from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dynenvs
from dynenvs.agents import errors
from dynenvs.agents.errors import install_hint


class _Installed:
    """A distribution that knows only where it came from."""

    def __init__(self, origin: dict[str, Any] | None) -> None:
        self.origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self.origin is None else json.dumps(self.origin)


def test_a_checkout_is_installed_again_with_the_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A dot for whoever stands in the checkout, its path for all others."""
    checkout = tmp_path / "checkout"
    (checkout / "dynenvs").mkdir(parents=True)
    (checkout / "pyproject.toml").touch()
    monkeypatch.setattr(dynenvs, "__file__", str(checkout / "dynenvs" / "__init__.py"))
    monkeypatch.chdir(checkout)
    assert install_hint("train") == 'pip install -e ".[train]"'
    monkeypatch.chdir(tmp_path)
    assert install_hint("data") == f'pip install -e "{checkout}[data]"'


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, 'pip install "dynenvs[train]"'),
        (
            {"url": "file:///home/me/my%20code", "dir_info": {}},
            'pip install "/home/me/my code[train]"',
        ),
        (
            {"url": "https://host/d.git", "vcs_info": {"vcs": "git", "commit_id": "0"}},
            'pip install "dynenvs[train] @ git+https://host/d.git"',
        ),
        (
            {"url": "file:///tmp/dynenvs-0.1.0-py3-none-any.whl", "archive_info": {}},
            'pip install "dynenvs[train] @ file:///tmp/dynenvs-0.1.0-py3-none-any.whl"',
        ),
    ],
)
def test_an_installed_package_is_asked_for_where_it_came_from(
    origin: dict[str, Any] | None, command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(dynenvs, "__file__", str(tmp_path / "dynenvs" / "__init__.py"))
    monkeypatch.setattr(errors.importlib.metadata, "distribution", lambda name: _Installed(origin))
    assert install_hint("train") == command
