"""Digits, the same with noise, and what PCA and kernel PCA bring back of them."""

import numpy as np
from sklearn.datasets import load_digits

import mercer as mc
from mercer import pictures

digits, count = load_digits().data, 8
noisy = digits + 6.0 * np.random.default_rng(0).standard_normal(digits.shape)
train, new = digits[:400], noisy[400 : 400 + count]
linear = mc.PCA(12).fit(train)
model = mc.KernelPCA(80, kernel=mc.Gaussian(40.0)).fit(train)
rows = {
    "digit": digits[400 : 400 + count],
    "with noise": new,
    "PCA": linear.inverse_transform(linear.transform(new)),
    "kernel PCA": model.inverse_transform(model.transform(new)),
}
titles = [name if column == 0 else "" for name in rows for column in range(count)]
images = np.vstack(list(rows.values()))
picture = pictures.images.describe(images, (8, 8), columns=count, titles=titles)
picture.save("cleaned_digits.png")
