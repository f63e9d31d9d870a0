"""A worked example: is this a kernel, and what it sees of points on circles."""

import numpy as np

import mercer as mc

rng = np.random.default_rng(12)
angles = rng.uniform(0.0, 2.0 * np.pi, 90)
radii = np.repeat([1.0, 2.0, 3.0], [15, 30, 45])
circles = np.column_stack([radii * np.cos(angles), radii * np.sin(angles)])

k = mc.Gaussian(bandwidth="median").resolve(circles) + 0.1 * mc.Linear()
print("Ninety points on three circles, and the kernel")
print(f"  k = {k}")
print(f"  parameters: {mc.kernels.parameters(k)}")

K = k(circles)
verdict = mc.positive_definite(k, circles)
print(f"\nIts Gram matrix is {K.shape[0]} x {K.shape[1]}, trace {np.trace(K):.4f}.")
print(f"  {verdict.reason}")
print(f"  proof: {verdict.proof}")

print("\nDistances in the kernel's space, from a point to the mean of each circle:")
for radius in (1.0, 2.0, 3.0):
    ring = circles[radii == radius]
    row = mc.distance_to_set(k, circles[:1], ring)
    print(f"  to the circle of radius {radius:.0f}: {row[0]:.4f}")

print("\nNot every similarity is a kernel (Kroese et al., Example 6.8):")
uniform = mc.FromFunction(lambda a, b: 0.5 * (abs(a - b) <= 1.0))
print(f"  {mc.positive_definite(uniform, [0.0, 0.75, 1.5]).reason}")

print("\nMercer's theorem for 1 + xy on [-1, 1] (Kroese et al., Example 6.9):")
expansion = mc.mercer_decomposition(1.0 + mc.Linear(), mc.Interval(-1.0, 1.0), 2)
for value, error in zip(expansion.values, expansion.errors, strict=True):
    print(f"  eigenvalue {value:.12f}, error at most {error:.1e}")

print("\nThe same language on sets:")
baskets = [{"bread", "milk"}, {"milk"}, {"tea", "bread", "milk"}, {"tea"}]
print(mc.kernels.Intersection().gaussian(bandwidth=1.0)(baskets).round(4))
