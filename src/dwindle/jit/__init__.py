"""Numba and LLVM: compiling, caching and calling kernels."""
