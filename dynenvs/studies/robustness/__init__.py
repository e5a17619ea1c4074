"""How well agents bear disturbances: `python -m dynenvs.studies.robustness quadruped`."""
