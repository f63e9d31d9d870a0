"""Sets on the axes of Jaccard's kernel: baskets of three shops that sell some goods in common."""

import numpy as np

import mercer as mc
from mercer import kernels, pictures

shops = {
    "baker": ["bread", "rolls", "cake", "butter", "tea"],
    "grocer": ["apples", "pears", "leek", "tea", "beans"],
    "dairy": ["milk", "cheese", "butter", "cream", "whey"],
}
rng = np.random.default_rng(5)
baskets = [
    frozenset(rng.choice(goods, 3, replace=False).tolist())
    for goods in shops.values()
    for _ in range(15)
]
model = mc.KernelPCA(2, kernel=kernels.Jaccard()).fit(baskets)
picture = pictures.individuals.describe(
    model, colour=np.repeat(list(shops), 15), labels=0, title="Baskets of three shops"
)
picture.save("baskets.png")
