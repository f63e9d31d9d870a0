"""Nodes of one network, mapped by how heat spreads along its edges: four circles of friends."""

import numpy as np

import mercer as mc
from mercer import kernels, pictures

rng = np.random.default_rng(4)
circle = np.repeat(np.arange(4), 12)
likely = np.where(circle[:, None] == circle, 0.5, 0.02)
joined = np.triu(rng.random((48, 48)) < likely, 1)
network = mc.Graph([(int(i), int(j)) for i, j in np.argwhere(joined)])
model = mc.KernelPCA(2, kernel=kernels.Diffusion(network, time=1.0)).fit(range(48))
names = np.array(["north", "east", "south", "west"], object)[circle]
picture = pictures.individuals.describe(
    model, colour=names, labels=0, title="48 people by whom they know"
)
picture.save("nodes.png")
