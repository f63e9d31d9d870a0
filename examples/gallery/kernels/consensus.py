"""Sprints, jumps and throws of the decathlon: how much each weighs in the consensus of all."""

import mercer as mc
from mercer import datasets, pictures

data = datasets.decathlon()
events = {
    "sprints": ["100m", "400m", "110m.hurdle"],
    "jumps": ["Long.jump", "High.jump", "Pole.vault"],
    "throws": ["Shot.put", "Discus", "Javeline"],
    "1500 m": ["1500m"],
}
tables = {}
for name, columns in events.items():
    x = data.matrix()[:, [data.active.index(column) for column in columns]]
    tables[name] = ("linear()", (x - x.mean(axis=0)) / x.std(axis=0))
picture = pictures.weights.describe(mc.consensus(tables))
picture.save("consensus.png")
