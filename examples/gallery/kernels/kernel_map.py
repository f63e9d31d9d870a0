"""Two classes that no line separates, and the features of (x'y)² where a plane does."""

import numpy as np

from mercer import datasets, pictures

data = datasets.disc_and_ring()
points = data.matrix()
x, y = points.T
features = np.column_stack([x**2, np.sqrt(2.0) * x * y, y**2])
plane = pictures.individuals.describe(
    points, colour=data.colour, labels=0, spectrum=("x1", "x2"), title="x"
)
space = pictures.space.describe(
    features, colour=data.colour, spectrum=("x1²", "√2 x1 x2", "x2²"), title="φ(x)"
)
picture = pictures.sheet(plane, space, title="The map of the kernel (x'y)²")
picture.save("kernel_map.png")
