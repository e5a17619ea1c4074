"""The packed buffers: their records with units, their layout, and the views that kernels open."""
