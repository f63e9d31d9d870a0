"""The first twenty-four axes of images of the digit three, as images."""

from sklearn.datasets import load_digits

import mercer as mc
from mercer import pictures

digits = load_digits()
model = mc.PCA(24).fit(digits.data[digits.target == 3])
titles = [f"Dim {k + 1}" for k in range(24)]
picture = pictures.images.describe(
    model.components_, (8, 8), titles=titles, is_signed=True, title="Axes of the threes"
)
picture.save("images_axes.png")
