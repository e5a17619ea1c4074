"""Numbers that shells and kernels exchange: why an episode ended, what a kernel is to do."""

from __future__ import annotations

# Why an episode ended; the words are what `info["end"]` says.
RUNNING, FELL, TOO_FAST, TIME_LIMIT, FAILED_STEP = range(5)
END_WORDS = ("", "fall", "velocity bound", "time limit", "no solution of the contact problem")
TERMINATIONS = (FELL, TOO_FAST)
TRUNCATIONS = (TIME_LIMIT, FAILED_STEP)

# Orders to `run`, for every chosen world: describe the present state; start an episode; one control
# step; a step or, where the last one ended the episode, a start instead; a step and, where it ends
# the episode, a start after it.
OBSERVE, BEGIN, STEP, STEP_OR_BEGIN, STEP_AND_BEGIN = range(5)
