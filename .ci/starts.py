"""How long a wheel takes from nothing to a first step, in a home that cannot be written.

Each environment starts in a process of its own, which must import neither numba nor torch.
"""

import json
import os
import subprocess
import sys
import time

IMPORT, STEP = 0.3, 1.5  # seconds at most, on an idle machine with the files in memory
SLACK = 2.0  # for one that is not idle
CODE = """
import time; begin = time.perf_counter()
import dynenvs; imported = time.perf_counter() - begin
import json, sys, gymnasium
env = gymnasium.make({env_id!r}); env.reset(seed=0); env.step(env.action_space.sample())
print(json.dumps([imported, sorted({{"numba", "torch", "llvmlite"}} & set(sys.modules))]))
"""


def start(env_id: str) -> tuple[float, float]:
    """Seconds of the import, and from the process's start to the end of the first step."""
    nowhere = {"HOME": "/proc/nowhere", "XDG_CACHE_HOME": "/proc/nowhere"}
    environment = {name: os.environ[name] for name in ("PATH", "SDL_VIDEODRIVER")} | nowhere
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-I", "-c", CODE.format(env_id=env_id)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    seconds = time.perf_counter() - begin
    assert done.returncode == 0, done.stderr
    assert "dynenvs:" not in done.stderr, done.stderr  # nothing is compiled
    imported, heavy = json.loads(done.stdout)
    assert not heavy, f"{env_id} imports {heavy}"
    return imported, seconds


import dynenvs  # noqa: E402

for env_id in dynenvs.registration.ENVIRONMENTS:
    times = [start(env_id) for _ in range(3)]
    imported, seconds = min(t[0] for t in times), min(t[1] for t in times)
    print(f"{env_id:32} import {imported:.2f} s, first step after {seconds:.2f} s")
    assert imported < SLACK * IMPORT, f"importing takes {imported:.2f} s"
    assert seconds < SLACK * STEP, f"{env_id} takes {seconds:.2f} s to its first step"
