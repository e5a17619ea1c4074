"""Controllers that solve the environments without training."""
