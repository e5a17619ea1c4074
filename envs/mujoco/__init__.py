"""Gymnasium's MuJoCo tasks, version 5, on hard contact: the same robots, spaces and rewards."""
