"""Scenes with known answers, run on dynenvs and other simulators: `dynenvs verify`."""
