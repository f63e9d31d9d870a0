"""Numbers, categories, text and graphs in one analysis: `python examples/mixed_table.py [folder]`.

Forty patients of two clinics. What is wrong with them shows a little in every column.
"""

import sys
from pathlib import Path

import numpy as np

import mercer as mc
from mercer import pictures

rng = np.random.default_rng(7)
ill = np.arange(40) % 2 == 1
words = ("slept well", "no complaint", "good appetite"), ("sleepless", "in pain", "no appetite")


def network(is_ill: bool) -> mc.Graph:
    """Eight genes, of which the last three work together in those who are ill."""
    pairs = [(u, v) for u in range(8) for v in range(u) if rng.random() < 0.25]
    more = [(7, 6), (7, 5), (6, 5)] if is_ill else []
    return mc.Graph(sorted({*pairs, *more}), labels="rrrrrsss", n=8)


table = {
    "age": rng.normal(55.0, 12.0, 40) + 8.0 * ill,
    "pressure": rng.normal(120.0, 10.0, 40) + 12.0 * ill,
    "clinic": rng.choice(["north", "south"], 40).tolist(),
    "visits": np.digitize(rng.normal(1.0 * ill, 1.0), [0.0, 1.0]).astype(float),
    "note": [" ".join(rng.choice(words[i], 2)) for i in ill.astype(int)],
    "genes": [network(i) for i in ill],
}

kernel = mc.Columns.guess(mc.data.rows(table, roles={"visits": "ordinal", "note": "text"}))
print("A kernel for each column, numbers and categories as in FAMD, others of inertia 1:")
for column, k in kernel.children().items():
    print(f"  {column:<9} {k}")

model = mc.KernelPCA(3, kernel=kernel).fit(table)
print(
    f"\nInertia {model.inertia_:.3f}; shares of the axes {model.explained_variance_ratio_.round(3)}"
)
print("\nWhich columns make the axes:")
print(mc.column_contributions(model))

state = np.where(ill, "ill", "well")
read = model.supplementary(
    variables={name: table[name] for name in ("age", "pressure")},
    categories={"state": state, "clinic": table["clinic"]},
)
assert read.variables is not None
assert read.categories is not None
print("\nCorrelations of the numbers with the axes:")
print(read.variables.correlations.round(2))
print("\nState and clinic on the first axis, and their v-tests:")
for level, x, v in zip(
    read.categories.levels,
    read.categories.coordinates[:, 0],
    read.categories.v_test[:, 0],
    strict=True,
):
    print(f"  {level:<6} {x:6.2f} {v:6.2f}")

someone = {name: column[-1:] for name, column in reversed(table.items())}
print(f"\nA patient, columns in another order: {model.transform(someone)[0].round(3)}")

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "demo")
folder.mkdir(parents=True, exist_ok=True)
ax = pictures.individuals(
    model.individuals_,
    spectrum=model.spectrum_,
    colour=state,
    ellipses="confidence",
    labels=0,
    title="Patients, by all that is known of them",
)
ax.figure.savefig(folder / "mixed_table.png", dpi=150)
print(f"\nThe picture is in {folder / 'mixed_table.png'}.")
