"""Simulated strands of DNA: three ancestors and their descendants, by words with one mismatch."""

import numpy as np

import mercer as mc
from mercer import kernels, pictures

rng = np.random.default_rng(1)
families, letters = 3, np.array(list("ACGT"))
strands = []
for ancestor in rng.choice(letters, (families, 60)):
    for _ in range(12):
        changed = rng.random(60) < rng.uniform(0.05, 0.4)
        strands.append("".join(np.where(changed, rng.choice(letters, 60), ancestor)))
kernel = kernels.MismatchSpectrum(4, 1, "ACGT").normalised()
model = mc.KernelPCA(2, kernel=kernel).fit(strands)
ancestors = np.repeat(["first ancestor", "second ancestor", "third ancestor"], 12)
picture = pictures.individuals.describe(
    model, colour=ancestors, labels=0, title="Strands by words of four letters"
)
picture.save("strands.png")
