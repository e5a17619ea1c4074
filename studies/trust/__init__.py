"""Attacks on dynenvs that once succeeded, tried again (`python -m studies.trust`)."""
