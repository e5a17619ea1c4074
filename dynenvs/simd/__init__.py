"""Vector registers in kernels: one operation on several worlds."""
