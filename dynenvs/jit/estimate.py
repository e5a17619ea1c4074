"""How long compiling will take: from the seconds that parts declare, and from what passes here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

LOST = 3.0  # a helper at a part for so many times as long as it should take is not counted on
LEAST = 1.0  # declared seconds that must have been compiled: smaller parts tell little
DOUBT = 3.0  # before anything is measured: from as declared to so many times as long


class Speed:
    """Seconds that pass here for each declared one, as parts compiled by this process show."""

    def __init__(self) -> None:
        self._passed = self._declared = 0.0

    @property
    def is_measured(self) -> bool:
        """Whether parts have been compiled that are large enough to tell."""
        return self._declared >= LEAST

    @property
    def factor(self) -> float:
        """1 on the machine of the declared seconds, and until that is measured."""
        return self._passed / self._declared if self.is_measured else 1.0

    def measure(self, declared: float, passed: float) -> None:
        """A part that declares so many seconds took as many as `passed`."""
        self._declared += declared
        self._passed += passed


def shared(seconds: Sequence[float], processes: int) -> float:
    """How long processes need that share out parts, and cannot divide one."""
    return max(sum(seconds) / processes, max(seconds))


def left(parts: Mapping[str, float], factor: float, helper: tuple[str, float] | None) -> float:
    """Seconds until all are compiled.

    Args:
        parts: that are not yet, and the seconds that they declare.
        factor: of `Speed`.
        helper: the part at which a helping process is, and for how many seconds; None if there is
            none.  One that makes no progress, or is at something else, does not count.
    """
    times = {name: factor * seconds for name, seconds in parts.items()}
    at, since = helper or ("", 0.0)
    if at not in times or since > LOST * times[at]:
        return sum(times.values())
    times[at] = max(times[at] - since, 0.0)
    return shared(list(times.values()), 2)


def rounded(seconds: float) -> str:
    """As precise as an estimate is: 7, 35, 150."""
    return f"{seconds:.0f}" if seconds < 20 else f"{5 * round(seconds / 5)}"
