"""Twenty-one European cities on the map that least stress makes of road distances."""

import numpy as np

import mercer as mc
from mercer import datasets, pictures

cities = datasets.eurodist()
places = mc.StressMDS(2, random_state=0).fit(cities.values).embedding_
north, east = cities.names.index("Stockholm"), cities.names.index("Athens")
up = places[north] - places.mean(axis=0)
turn = np.array([[up[1], -up[0]], [up[0], up[1]]]) / np.linalg.norm(up)
places = places @ turn.T
places[:, 0] *= np.sign(places[east, 0])
picture = pictures.individuals.describe(
    places, names=cities.names, labels=21, spectrum=("km", "km"), title="Europe by road"
)
picture.save("europe.png")
