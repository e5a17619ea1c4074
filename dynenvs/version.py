"""The package's version, for all that writes it into files."""

__version__ = "0.2.0"
