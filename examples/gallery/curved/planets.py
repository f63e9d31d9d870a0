"""Five planets on a straight map and on a curved one: what a Gaussian kernel adds."""

import mercer as mc
from mercer import datasets, pictures

table = datasets.planets()
found = mc.analyse(table, random_state=0)
titles = {"straight: principal components": found.model, "curved: Gaussian kernel": found.curved}
panels = [
    pictures.individuals.describe(model, colour=table.colour, labels=0, title=title)
    for title, model in titles.items()
]
picture = pictures.sheet(*panels)
picture.save("planets.png")
