"""The Gram matrix of the irises, species by species: what a Gaussian kernel sees of them."""

import mercer as mc
from mercer import datasets, pictures

data = datasets.iris()
similar = mc.Gaussian("median").resolve(data.matrix())(data.matrix())
picture = pictures.heat_map.describe(similar, groups=data.colour, title="Irises, Gaussian kernel")
picture.save("gram_matrix.png")
