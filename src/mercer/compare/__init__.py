"""Kernels against kernels: whether they see individuals alike, and what all of them see."""
