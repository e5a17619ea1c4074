"""How well agents bear disturbances: `python -m studies.robustness quadruped`."""
