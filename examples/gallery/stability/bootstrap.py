"""Irises, some of them with the ellipses of 200 bootstrap samples."""

import mercer as mc
from mercer import datasets, pictures

data = datasets.iris()
found = mc.bootstrap(mc.PCA(2), data, random_state=0)
picture = pictures.bootstrap.describe(found, colour=data.colour, labels=0)
picture.save("bootstrap.png")
