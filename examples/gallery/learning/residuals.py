"""Fertility of Swiss provinces in 1888 from five indicators: what was fitted, what is left."""

import mercer as mc
from mercer import datasets, pictures

data = datasets.swiss()
x, y = data.matrix()[:, 1:], data.matrix()[:, 0]
x = (x - x.mean(axis=0)) / x.std(axis=0)
model = mc.KernelRegression(mc.Gaussian(4.0), null_space="constant").fit(x, y)
fitted = model.predict(x)
left = pictures.against_observed.describe(fitted, y, names=data.row_names, title="Fertility")
right = pictures.residuals.describe(fitted, y - fitted, names=data.row_names)
picture = pictures.sheet(left, right, cell=(5.0, 4.2))
picture.save("residuals.png")
