"""The fuzzer, for about a minute; `python tests/fuzz.py --minutes 60` is for a release."""

from __future__ import annotations

from types import SimpleNamespace

import fuzz
import pytest
from fuzz import Tally, run, tell

# Each takes less than ten seconds of one core, of which three are for the start
INPUTS = {
    "models": 150,
    "saved": 150,
    "xml": 150,
    "states": 100,
    "starts": 50,
    "options": 30,
    "commands": 30,
}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", INPUTS)
def test_no_input_crashes_it(kind: str) -> None:
    """Each goes well or is refused in words; the message of a failure has the input."""
    tally = Tally()
    run(kind, 1, INPUTS[kind], tally)
    assert not tally.failures, tell({kind: tally})
    assert tally.inputs == INPUTS[kind] == tally.good + tally.refused
    assert tally.good > 0


def test_every_kind_gets_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long its inputs take; once an input of commands took forty times a model's."""
    now, seconds = [0.0], dict(zip(fuzz.KINDS, (4.0, 6.0, 3.0, 1.0, 0.5, 0.25, 0.1), strict=True))
    spent = dict.fromkeys(fuzz.KINDS, 0.0)

    def tried(kind: str, _: int, inputs: int, tally: Tally) -> None:
        tally.inputs += inputs
        spent[kind] += seconds[kind]
        now[0] += seconds[kind]

    monkeypatch.setattr(fuzz, "run", tried)
    monkeypatch.setattr(fuzz, "time", SimpleNamespace(monotonic=lambda: now[0]))
    fuzz.fuzz(list(fuzz.KINDS), 1, None, 5.0)
    assert max(spent.values()) - min(spent.values()) <= 2 * max(seconds.values())
    assert {tally.inputs for tally in fuzz.fuzz(list(fuzz.KINDS), 1, 450, None).values()} == {450}
