"""Scenes with known answers, run on dynenvs and other simulators: `python -m studies verify`."""
