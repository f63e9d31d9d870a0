"""The eigenvalues of the distances between nine cities, three of which are negative."""

import mercer as mc
from mercer import datasets, pictures

model = mc.ClassicalMDS().fit(datasets.us_cities().values)
picture = pictures.eigenvalues.describe(
    model.eigenvalues_ / 1e6, title="Eigenvalues of nine cities, in millions of square miles"
)
picture.save("cities_eigenvalues.png")
