"""Sixty thousand points: their density and a sample of each group, of which one is small."""

import numpy as np

from mercer import pictures

rng = np.random.default_rng(12)
centres = np.array([[0.0, 0.0], [4.0, 1.0], [1.0, 4.0]])
which = rng.choice(3, 60_000, p=[0.7, 0.29, 0.01])
points = centres[which] + rng.standard_normal((60_000, 2))
groups = np.array(["many", "some", "few"], object)[which]
picture = pictures.individuals.describe(points, colour=groups, labels=0, title="60 000 points")
picture.save("crowd.png")
