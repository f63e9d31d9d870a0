"""What is usual and what is not: the region of a one-class machine around two clouds."""

import numpy as np

import mercer as mc
from mercer import pictures

rng = np.random.default_rng(5)
x = np.vstack([0.5 * rng.standard_normal((60, 2)) + c for c in ((-1.0, 0.0), (1.2, 0.8))])
model = mc.OneClassSVM(mc.Gaussian(0.7), nu=0.1).fit(x)
a, b = np.linspace(-3.0, 3.2, 90), np.linspace(-2.2, 3.0, 90)
u, v = np.meshgrid(a, b)
values = model.decision_function(np.column_stack([u.ravel(), v.ravel()])).reshape(u.shape)
picture = pictures.contours.describe(
    a, b, values, points=x, is_signed=True, what="usual above 0", title="A tenth may stand outside"
)
picture.save("novelty.png")
