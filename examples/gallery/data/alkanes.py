"""Isomers of alkanes as graphs of carbons: straight chains stand apart from branched ones."""

import numpy as np

import mercer as mc
from mercer import datasets, kernels, pictures

files = sorted(datasets.alkanes().glob("*/*"))
carbons = [mc.read(file) for file in files]
model = mc.KernelPCA(2, kernel=kernels.WeisfeilerLehman(2).normalised()).fit(carbons)
sizes = np.array([file.parent.name for file in files], object)
picture = pictures.individuals.describe(
    model, names=[file.stem for file in files], colour=sizes, labels=8, title="Alkanes"
)
picture.save("alkanes.png")
