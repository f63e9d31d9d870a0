"""What similar means: kernels as immutable values, their algebra and their validity."""
