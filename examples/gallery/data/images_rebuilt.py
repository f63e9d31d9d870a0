"""Eight threes, what 2, 8 and 20 axes rebuild of them, and the same with permuted pixels."""

import numpy as np
from sklearn.datasets import load_digits

import mercer as mc
from mercer import pictures

digits = load_digits()
x = digits.data[digits.target == 3]
rows = {"data": x[:8]}
for count in (2, 8, 20):
    model = mc.PCA(count).fit(x)
    rows[f"{count} axes"] = model.inverse_transform(model.transform(x[:8]))
rng = np.random.default_rng(12)
rows["permuted"] = np.column_stack([rng.permutation(column) for column in x.T])[:8]
titles = [name if i == 0 else "" for name in rows for i in range(8)]
picture = pictures.images.describe(np.vstack(list(rows.values())), (8, 8), titles=titles)
picture.save("images_rebuilt.png")
