"""Images of the digit three: inertias beside those of permuted pixels, on logarithmic axes."""

from sklearn.datasets import load_digits

import mercer as mc
from mercer import pictures

digits = load_digits()
model = mc.PCA().fit(digits.data[digits.target == 3])
horn = mc.parallel_analysis(model, 99, random_state=0)
picture = pictures.scree.describe(
    model.inertias_, total=model.inertia_, horn=horn, most=61, is_log=True, title="Threes"
)
picture.save("images_scree.png")
