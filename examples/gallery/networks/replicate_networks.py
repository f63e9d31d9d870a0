"""The networks of all replicates of each condition, genes in one order."""

import numpy as np

import mercer as mc
from mercer import networks, pictures

genes = networks.simulate_expression(40, 4, effect=0.8, strength=0.95, random_state=1)
study = mc.replicate_study(
    genes.table(12, np.random.default_rng(1)),
    "condition",
    infer=networks.Inference(power=2),
    draws=40,
    random_state=0,
)
picture = pictures.replicate_networks.describe(study)
picture.save("replicate_networks.png")
