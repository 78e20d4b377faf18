"""Kernels that scan lines of text and read numbers in them."""
