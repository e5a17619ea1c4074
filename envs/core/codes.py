"""Numbers that shells and kernels exchange: why an episode ended, what a kernel is to do."""

from __future__ import annotations

# Why an episode ended; the words are what `info["end"]` says.
RUNNING, FELL, TOO_FAST, TIME_LIMIT, FAILED_STEP = range(5)
END_WORDS = ("", "fall", "velocity bound", "time limit", "no solution of the contact problem")
TERMINATIONS = (FELL, TOO_FAST)
TRUNCATIONS = (TIME_LIMIT, FAILED_STEP)

# Orders to `run`, for every world of the mask.
# OBSERVE: describe the present state.
# BEGIN: start an episode.
# STEP: one control step.
# STEP_OR_BEGIN: a control step; where the last one ended the episode, start the next one instead.
# STEP_AND_BEGIN: a control step; where it ends the episode, start the next one after it.
OBSERVE, BEGIN, STEP, STEP_OR_BEGIN, STEP_AND_BEGIN = range(5)
