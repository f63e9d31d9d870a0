"""Simulated genes whose correlation with an axis is at least 0.87, and the temperature."""

import mercer as mc
from mercer import datasets, pictures

data = datasets.plants(effect=8.0)
model = mc.PCA(standardize=True).fit(data)
warm = (data.column("temperature").values == "elevated").astype(float)
passive = model.supplementary(variables={"temperature": warm}).variables
picture = pictures.variables.describe(model, least={"correlation": 0.87}, supplementary=passive)
picture.save("genes.png")
