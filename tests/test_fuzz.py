"""The fuzzer, for about a minute; `python tests/fuzz.py --minutes 60` is for a release."""

from __future__ import annotations

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
