"""Provinces of Switzerland in 1888, and the classes that Ward's method finds on their axes."""

import numpy as np

import mercer as mc
from mercer import datasets, pictures

model = mc.PCA(standardize=True).fit(datasets.swiss())
found = mc.cluster(model, 3)
classes = np.array([f"class {label}" for label in found.labels], object)
picture = pictures.individuals.describe(
    model, colour=classes, ellipses="concentration", labels=12, title="Classes of 47 provinces"
)
picture.save("clusters.png")
