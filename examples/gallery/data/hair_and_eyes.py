"""A table of counts: colours of hair and of eyes that go together stand together."""

import numpy as np

import mercer as mc
from mercer import pictures

counts = np.array([[68, 119, 26, 7], [20, 84, 17, 94], [15, 54, 14, 10], [5, 29, 14, 16]])
model = mc.CA().fit(counts)
places = np.vstack([model.rows_.coordinates[:, :2], model.columns_.coordinates[:, :2]])
picture = pictures.individuals.describe(
    places,
    spectrum=model.spectrum_,
    names=["brown", "blue", "hazel", "green", "black", "brown", "red", "blond"],
    colour=np.repeat(["eyes", "hair"], 4),
    title="Hair and eyes of 592 students",
)
picture.save("hair_and_eyes.png")
