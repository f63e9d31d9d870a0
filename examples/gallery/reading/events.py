"""The ten events in the circle of correlations, with rank and points as supplementary variables."""

import mercer as mc
from mercer import datasets, pictures

data = datasets.decathlon()
model = mc.PCA(standardize=True).fit(data)
numbers = {name: data.column(name).values for name in ("Rank", "Points")}
passive = model.supplementary(variables=numbers).variables
picture = pictures.variables.describe(model, colour="contribution", supplementary=passive)
picture.save("events.png")
