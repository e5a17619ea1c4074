"""The command `dynenvs`, also as `python -m dynenvs`: Ctrl-C ends it even while it is loading."""

from __future__ import annotations

import sys


def main() -> None:
    """Load the command line, which takes a second, and run it."""
    try:
        from dynenvs.cli import main as run
    except KeyboardInterrupt:
        print("dynenvs: stopped", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
