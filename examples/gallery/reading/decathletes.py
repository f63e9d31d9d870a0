"""Athletes coloured by cos2, with the two meetings as supplementary categories."""

import mercer as mc
from mercer import datasets, pictures

data = datasets.decathlon()
model = mc.PCA(standardize=True).fit(data)
meetings = model.supplementary(categories={"Competition": data.column("Competition").values})
picture = pictures.individuals.describe(model, colour="cos2", supplementary=meetings)
picture.save("decathletes.png")
