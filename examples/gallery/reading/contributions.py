"""Who makes the first axis of the decathlon, and who would with equal shares."""

import mercer as mc
from mercer import datasets, pictures

model = mc.PCA(standardize=True).fit(datasets.decathlon())
picture = pictures.contributions.describe(model.individuals_, spectrum=model.spectrum_, most=15)
picture.save("contributions.png")
