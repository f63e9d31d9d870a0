"""Twenty-eight languages by the letters of their words for one to ten."""

import mercer as mc
from mercer import datasets, kernels, pictures

words = datasets.numerals()
model = mc.KernelPCA(2, kernel=kernels.StringSpectrum(2).normalised()).fit(words)
picture = pictures.individuals.describe(model, labels=28, title="One to ten in 28 languages")
picture.save("numerals.png")
