"""Numbers and categories in one table: a kernel for each column, and their sum."""

import mercer as mc
from mercer import datasets, pictures

data = datasets.iris()
model = mc.KernelPCA(2, kernel=mc.Columns()).fit(data)
picture = pictures.individuals.describe(
    model, colour=data.colour, labels=0, title="Irises by four measures and their species"
)
picture.save("mixed_columns.png")
