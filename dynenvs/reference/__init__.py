"""What the sources do otherwise, to set beside the compiled core: methods, integrators, models."""
