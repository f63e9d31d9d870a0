"""Athletes and events on one plane: who is fast, who throws far."""

import mercer as mc
from mercer import datasets, pictures

data = datasets.decathlon()
model = mc.PCA(standardize=True).fit(data)
picture = pictures.biplot.describe(model, colour=data.colour, labels=8)
picture.save("biplot.png")
