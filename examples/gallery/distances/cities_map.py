"""The map that classical scaling makes of the distances between nine cities."""

import numpy as np

import mercer as mc
from mercer import datasets, pictures

cities = datasets.us_cities()
model = mc.ClassicalMDS().fit(cities.values)
places = model.embedding_ * np.sign(model.embedding_[0])  # Boston to the north-east
picture = pictures.individuals.describe(
    places, names=cities.names, spectrum=model.spectrum_, title="Nine cities from distances"
)
picture.save("cities_map.png")
