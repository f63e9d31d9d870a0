"""Are sepals and petals of irises related? What was observed, beside what permutations give."""

import mercer as mc
from mercer import datasets, pictures

x = datasets.iris().matrix()
setosa = x[:50]
found = mc.hsic(mc.Gaussian(0.5), mc.Gaussian(0.3), setosa[:, :2], setosa[:, 2:], random_state=0)
picture = pictures.chance.describe(found, title="Sepals and petals of 50 setosas")
picture.save("chance.png")
