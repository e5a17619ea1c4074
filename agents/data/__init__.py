"""Demonstrations: collecting, reading, replaying and exporting them in Minari's format."""
