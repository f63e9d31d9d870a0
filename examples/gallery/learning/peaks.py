"""The peaks function, and the smoothest function of a Gaussian kernel through 20 of its points."""

import numpy as np

import mercer as mc
from mercer import pictures


def peaks(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the hills and valleys."""
    hill = 3.0 * (1.0 - x) ** 2 * np.exp(-(x**2) - (y + 1.0) ** 2)
    valley = 10.0 * (x / 5.0 - x**3 - y**5) * np.exp(-(x**2) - y**2)
    return np.asarray(hill - valley - np.exp(-((x + 1.0) ** 2) - y**2) / 3.0)


halves = [int(f"{i:05b}"[::-1], 2) / 32.0 for i in range(1, 21)]  # Hammersley's points
points = 6.0 * np.column_stack([(np.arange(1, 21) - 0.5) / 20.0, halves]) - 3.0
model = mc.KernelRegression(mc.Gaussian(0.3**0.5), penalty=0.0).fit(points, peaks(*points.T))
side = np.linspace(-3.0, 3.0, 70)
x, y = np.meshgrid(side, side)
fitted = model.predict(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
left = pictures.surface.describe(side, side, peaks(x, y), is_signed=True, title="peaks")
right = pictures.contours.describe(
    side, side, fitted, points=points, is_signed=True, title="from 20 points"
)
picture = pictures.sheet(left, right)
picture.save("peaks.png")
