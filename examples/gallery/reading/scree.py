"""Inertias of the decathlon beside those of permuted columns, and Kaiser's mean."""

import mercer as mc
from mercer import datasets, pictures

model = mc.PCA(standardize=True).fit(datasets.decathlon())
horn = mc.parallel_analysis(model, 499, random_state=0)
picture = pictures.scree.describe(
    model.inertias_, total=model.inertia_, horn=horn, kaiser=1.0, title="Decathlon"
)
picture.save("scree.png")
