"""Words on the axes of a kernel on strings: what they share in pairs of letters."""

import mercer as mc
from mercer import kernels, pictures

words = ["kernel", "kernels", "colonel", "canal", "banana", "bandana", "ananas"]
words += ["mean", "means", "median", "medians"]
model = mc.KernelPCA(2, kernel=kernels.StringSpectrum(2).normalised()).fit(words)
picture = pictures.individuals.describe(model, names=words, title="Words by their pairs of letters")
picture.save("words.png")
