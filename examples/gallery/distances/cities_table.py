"""The distances between nine cities of the United States, in the order of the first axis."""

from mercer import datasets, pictures

cities = datasets.us_cities()
picture = pictures.heat_map.describe(
    cities.values, names=cities.names, order="distance", what="miles", title="Distances"
)
picture.save("cities_table.png")
