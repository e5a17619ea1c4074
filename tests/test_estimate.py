"""How long a first start takes is told at once, and truly once a part has been compiled.

Machines of all kinds are played, with a clock of their own: nothing is compiled, nobody waits.
"""

from __future__ import annotations

import re
from contextlib import nullcontext

import pytest

from dynenvs.jit import compiling
from dynenvs.jit.estimate import LOST, Speed, left, shared

DECLARED = (28.0, 2.5, 8.0, 12.0, 12.0, 14.0, 17.0, 30.0)  # a robot's own part, then quick to slow
OFF = (1.2, 0.8, 1.1, 0.9, 1.0, 1.2, 0.8, 1.1)  # by which they really differ from that
NEVER = 1e9


class Part:
    """A kernel of a machine that is played."""

    def __init__(self, machine: Machine, name: str, declared: float, cost: float) -> None:
        self.machine, self.name, self.cost = machine, f"a.{name}", cost
        self.seconds = declared
        self.done = NEVER  # when it is compiled

    @property
    def is_ready(self) -> bool:
        self.machine.catch_up()
        return self.done <= self.machine.now

    def compile(self) -> None:
        self.machine.now += self.machine.slow * self.cost
        self.done = min(self.done, self.machine.now)


class Machine:
    """A clock, this process, and its helper, as `compiling` sees it.

    Args:
        slow: seconds that pass for a declared one.
        begins: when the helper begins its first part [s].
        dies: when it ends [s].
    """

    def __init__(self, slow: float, begins: float = 3.0, dies: float = NEVER) -> None:
        self.slow, self.dies = slow, dies
        self.now = 0.0
        pairs = enumerate(zip(DECLARED, OFF, strict=True))
        self.parts = [Part(self, f"part {i}", d, d * off) for i, (d, off) in pairs]
        self._theirs = self.parts[:0:-1]
        self._part: Part | None = None  # at which the helper is
        self._begin, self._end = 0.0, begins

    def catch_up(self) -> None:
        """The helper has done what it could until now."""
        while self._end <= min(self.now, self.dies):
            if self._part is not None:
                self._part.done = min(self._part.done, self._end)
            waiting = [part for part in self._theirs if part.done > self._end]
            self._part = waiting[0] if waiting else None
            more = self.slow * waiting[0].cost if waiting else NEVER
            self._begin, self._end = self._end, self._end + more

    def at(self) -> tuple[str, float] | None:
        self.catch_up()
        if self._part is None or self.now > self.dies:
            return None
        return self._part.name, self.now - self._begin

    def is_at(self, name: str) -> bool:
        found = self.at()
        return found is not None and found[0] == name

    def leave(self, name: str) -> None:
        """It takes what is not ready: this helper listens to nobody."""

    def wait_for(self, name: str) -> None:
        if self.is_at(name):
            self.now = min(self._end, self.dies + 0.1)


def play(machine: Machine, monkeypatch: pytest.MonkeyPatch, speed: Speed) -> None:
    """Have `compiling` see this machine, without a helper."""
    monkeypatch.setattr(compiling, "monotonic", lambda: machine.now)
    monkeypatch.setattr(compiling, "_speed", speed)
    monkeypatch.setattr(compiling, "_helpers", [])
    monkeypatch.setattr(compiling, "compiles_elsewhere", lambda _: False)
    monkeypatch.setattr(compiling, "turn_to_compile", lambda *_: nullcontext(True))
    monkeypatch.setattr(compiling, "start_helper", lambda _: None)


MACHINES = {
    "as declared": ((1.0,), True),
    "three times slower": ((3.0,), True),
    "twice as fast": ((0.5,), True),
    "alone, three times slower": ((3.0, NEVER), False),
    "a helper that never runs": ((1.0, NEVER), True),
    "a helper that begins late": ((3.0, 60.0), True),
    "a helper that dies at once": ((1.0, 3.0, 4.0), True),
    "a helper that dies in the middle": ((2.0, 3.0, 45.0), True),
}


@pytest.mark.parametrize("name", MACHINES)
def test_what_is_told_comes_true(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each line's seconds and what is left are all it took, within 1.5 times, as far as one knows.

    While a helper is still counted on that will never run, or will die, nobody knows.
    """
    options, helped = MACHINES[name]
    machine = Machine(*options)
    play(machine, monkeypatch, Speed())
    monkeypatch.setattr(compiling, "start_helper", lambda _: machine if helped else None)
    compiling.compile_units("a test", machine.parts)
    first, *lines, last = capsys.readouterr().err.splitlines()
    assert last == f"dynenvs: compiled in {machine.now:.0f} s"
    assert re.search(r": 8 parts, about \d+ to \d+ s on (one core|two cores); kept", first)
    found = [re.search(r"(\d) of 8 parts after (\d+) s, about (\d+) s left", x) for x in lines]
    assert [int(one[1]) for one in found] == sorted({int(one[1]) for one in found})
    for one in found:
        passed = float(one[2])
        if passed > min(machine.dies, machine.now / 2) or machine.dies == NEVER:
            assert 1 / 1.5 < (passed + float(one[3])) / machine.now < 1.5, one[0]


@pytest.mark.parametrize(
    ("slow", "told"), [(3.0, "compiling a test: one part, about 25 s on one core"), (0.1, "")]
)
def test_a_second_message_knows_the_machine(
    slow: float, told: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One number instead of a range; what is quick here is not worth a word."""
    speed, machine = Speed(), Machine(slow, NEVER)
    speed.measure(10.0, 10.0 * slow)
    play(machine, monkeypatch, speed)
    compiling.compile_units("a test", machine.parts[2:3])
    first = capsys.readouterr().err.partition("\n")[0]
    assert told in first
    assert bool(told) == bool(first)


@pytest.mark.parametrize(
    ("seconds", "alone", "helped"),
    [((30.0, 2.0), 32.0, 30.0), ((10.0, 12.0, 9.0), 31.0, 15.5), ((8.0,), 8.0, 8.0)],
)
def test_two_processes_share_out_parts_and_divide_none(
    seconds: tuple[float, ...], alone: float, helped: float
) -> None:
    assert shared(seconds, 1) == alone
    assert shared(seconds, 2) == helped


def test_a_helper_counts_while_it_makes_progress() -> None:
    """One at a part of these, and not much longer than that should take."""
    parts = {"a": 4.0, "b": 6.0, "c": 10.0}
    assert left(parts, 2.0, None) == 40.0
    assert left(parts, 2.0, ("c", 5.0)) == 17.5
    assert left(parts, 2.0, ("c", 25.0)) == 12.0  # b alone takes as long
    assert left(parts, 2.0, ("c", 20.0 * LOST + 1.0)) == 40.0
    assert left(parts, 2.0, ("d", 0.0)) == 40.0


def test_a_small_part_that_took_long_is_no_measure_of_the_machine() -> None:
    """0.2 declared seconds took 4, since much else ran: others do not take twenty times as long."""
    speed = Speed()
    speed.measure(0.2, 4.0)
    assert speed.factor == 1.0
    speed.measure(30.0, 60.0)
    assert 1.9 < speed.factor < 2.2
