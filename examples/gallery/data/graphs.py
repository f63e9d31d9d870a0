"""Graphs on the axes of a kernel on neighbourhoods: rings, stars, trees and paths."""

import numpy as np

import mercer as mc
from mercer import kernels, pictures

sizes = range(6, 14)
edges = {
    "ring": [[(i, (i + 1) % n) for i in range(n)] for n in sizes],
    "star": [[(0, i) for i in range(1, n)] for n in sizes],
    "path": [[(i, i + 1) for i in range(n - 1)] for n in sizes],
    "tree": [[((i - 1) // 2, i) for i in range(1, n)] for n in sizes],
}
graphs = [mc.Graph(one) for shape in edges.values() for one in shape]
model = mc.KernelPCA(2, kernel=kernels.WeisfeilerLehman(3).normalised()).fit(graphs)
picture = pictures.individuals.describe(
    model, colour=np.repeat(list(edges), len(sizes)), labels=0, title="Graphs by shape"
)
picture.save("graphs.png")
