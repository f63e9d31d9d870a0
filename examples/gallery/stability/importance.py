"""What the first two axes of the decathlon lose when an event is shuffled."""

import mercer as mc
from mercer import datasets, pictures

model = mc.PCA(standardize=True).fit(datasets.decathlon())
picture = pictures.importance.describe(mc.permutation_importance(model, random_state=0))
picture.save("importance.png")
