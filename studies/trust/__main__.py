"""The table of attacks: what was tried, what it did once, what it does now.

    python -m studies.trust                   # all of them, four minutes
    python -m studies.trust --only memory     # of a section, or whose words have "memory"

Each is tried in a process and an empty folder of its own, which may take `LIMIT` seconds.  The exit
code is 1 if one of them does not end as it should.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from studies.trust.case import Case, last_line
from studies.trust.energy import ENERGY
from studies.trust.memory import MEMORY
from studies.trust.others import CACHE, CODE, FAULTS

ROOT = Path(__file__).parents[2]
LIMIT = 600.0  # [s]: without the compiled core the first steps are compiled
SECTIONS = {
    "Memory": MEMORY,
    "Cache": CACHE,
    "Foreign code": CODE,
    "Faults": FAULTS,
    "Energy": ENERGY,
}
CASES = {case.attempt.__name__: case for cases in SECTIONS.values() for case in cases}


def now(name: str) -> str:
    """What a case does now."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            run = subprocess.run(
                [sys.executable, "-m", "studies.trust", "--case", name],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                capture_output=True,
                text=True,
                timeout=LIMIT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"no answer within {LIMIT:.0f} s"
    if run.returncode < 0:
        return f"crash: {signal.Signals(-run.returncode).name}"
    if run.returncode:
        return f"the attempt itself fails: {last_line(run.stderr)}"
    return last_line(run.stdout)


def row(case: Case, seen: str) -> str:
    """A line of the table, in Markdown."""
    fine = "" if re.search(case.wanted, seen) else "**not as it should:** "
    held = ", ".join(f"`{name}`" for name in case.tests)
    cells = (case.tried, case.before, fine + seen.replace("|", "\\|"), held)
    return f"| {' | '.join(cells)} |"


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", help="a section, or words of a case")
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case:
        print(CASES[given.case].attempt())
        return 0
    wrong = 0
    for section, cases in SECTIONS.items():
        words = given.only.lower()
        chosen = [case for case in cases if words in f"{section} {case.tried}".lower()]
        if chosen:
            print(f"\n{section}\n\n| tried | did | does now | held by |\n|---|---|---|---|")
        for case in chosen:
            seen = now(case.attempt.__name__)
            wrong += not re.search(case.wanted, seen)
            print(row(case, seen), flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
