"""What two kernel axes bring back of each measure of the irises."""

import mercer as mc
from mercer import datasets, pictures

model = mc.KernelPCA(4, kernel=mc.Gaussian("median")).fit(datasets.iris())
picture = pictures.rebuilt.describe(mc.rebuilt(model, random_state=0))
picture.save("brought_back.png")
