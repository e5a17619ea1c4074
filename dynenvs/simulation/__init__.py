"""One step as a list of stages; worlds, batches, inverse dynamics, threads, random numbers."""
