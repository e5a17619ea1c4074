"""No kernel reaches beyond an array: numba checks every index, in small scenes of each kind.

What it cannot see: a place or a count in the header that is wrong by itself (arrays are opened at
addresses, with shapes of the header's counts), what is copied word by word and what `dynenvs.simd`
loads by address.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_no_index_is_out_of_bounds(tmp_path: Path) -> None:
    """Compiled anew, with checks and without optimisation, which takes most of the time."""
    script = Path(__file__).with_name("checked_scenes.py")
    checked = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_FULL_TRACEBACKS": "1", "NUMBA_OPT": "0"}
    checked |= {"DYNENVS_CORE": "jit"}
    own = {"DYNENVS_CACHE_DIR": str(tmp_path), "DYNENVS_COMPILERS": "1"}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)],
        env={**os.environ, **checked, **own},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    meant, _, rest = run.stdout.partition("seen so far is meant")
    assert meant.count("IndexError") == 2, run.stdout[:2000]  # such indices are seen at all
    assert "IndexError" not in rest, rest[:2000]
    for name in ("ball", "loop", "heap", "hulls"):
        assert f"{name}: " in rest
    assert rest.count(" 0 failed") == 4
