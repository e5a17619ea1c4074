"""Which parts touch, where, and along which normal."""
