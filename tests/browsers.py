"""The browser of the tests of pages: Chromium, if the machine has it."""

from __future__ import annotations

import os
import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def browser_path() -> str:
    """Where it is; the test is skipped if there is none."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip(f"no browser found: none of {', '.join(NAMES)} is on the path")
    return path


def user_flags() -> tuple[str, ...]:
    """What it has to be told because of who starts it: as root Chromium has no sandbox."""
    return ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
