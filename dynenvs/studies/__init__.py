"""What compares and checks: peers, truth tables, the sources' experiments, other methods."""
