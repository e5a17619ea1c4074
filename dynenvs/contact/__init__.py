"""Contact: detection, the contact problem as an LCP, and the projection of positions."""
