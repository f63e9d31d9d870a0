"""The figures of the canon, drawn from values: `python examples/gallery.py [folder]`."""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import mercer as mc
from mercer import datasets, pictures
from mercer.regression import penalty_path

rng = np.random.default_rng(12)


def reconstruction() -> Any:
    """Three columns, one of which depends on the others, and what two axes rebuild of them."""
    x = rng.standard_normal((60, 3))
    x[:, 0] += 4.0 * x[:, 1] + 2.0 * x[:, 2]
    model = mc.PCA(2).fit(x)
    rebuilt = model.inverse_transform(model.transform(x))
    both = {"data": x, "rebuilt from 2 axes": rebuilt}
    return pictures.four_panels.describe(both, names=("x1", "x2", "x3"), title="Two axes of three")


def kernel_map() -> Any:
    """Two classes that no line separates, and the features of (x'y)^2 where a plane does."""
    points, part = (datasets.disc_and_ring().matrix(), datasets.disc_and_ring().colour)
    x, y = points.T
    features = np.column_stack([x**2, np.sqrt(2.0) * x * y, y**2])
    plane = pictures.individuals.describe(
        points, colour=part, labels=0, spectrum=("x1", "x2"), title="x"
    )
    space = pictures.space.describe(
        features, colour=part, spectrum=("x1²", "√2 x1 x2", "x2²"), title="φ(x)"
    )
    return pictures.sheet(plane, space, title="The map of the kernel (x'y)²")


def circles() -> Any:
    """Three circles on the first three axes of a Gaussian kernel."""
    data = datasets.circles()
    model = mc.KernelPCA(3, kernel=mc.Gaussian(8**-0.5)).fit(data)
    return pictures.four_panels.describe(
        model.individuals_, spectrum=model.spectrum_, colour=data.colour, title="Three circles"
    )


def fish() -> Any:
    """The same body seen on the plane of its first two axes, and on that of the last two."""
    t = np.linspace(0.0, 2.0 * np.pi, 160)
    body = np.column_stack([3.0 * np.cos(t), 1.1 * np.sin(t), 0.25 * rng.standard_normal(160)])
    s = rng.uniform(0.0, 1.0, 80)
    tail = np.column_stack(
        [-3.0 - 1.5 * s, 1.1 * s * rng.choice((-1.0, 1.0), 80), 0.2 * rng.standard_normal(80)]
    )
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    model = mc.PCA().fit(np.vstack([body, tail]) @ turn)
    part = np.array(["body"] * 160 + ["tail"] * 80, object)
    panels = [
        pictures.individuals.describe(
            model.individuals_, axes=axes, spectrum=model.spectrum_, colour=part, labels=0, title=t
        )
        for axes, t in (((1, 2), "the plane of most inertia"), ((2, 3), "the plane of least"))
    ]
    return pictures.sheet(*panels, title="A fish, and the choice of a plane")


def plants() -> Any:
    """Twenty-four plants under four conditions, with the ellipse of each."""
    data = datasets.plants(effect=8.0)
    model = mc.PCA(standardize=True).fit(data)
    return pictures.individuals.describe(
        model.individuals_,
        spectrum=model.spectrum_,
        colour=_conditions(data),
        ellipses="confidence",
        title="Plants by condition",
    )


def _conditions(data: Any) -> Any:
    names = [name.rsplit(" ", 1)[0] for name in data.row_names]
    return np.array(names, object)


def genes() -> Any:
    """The genes whose correlation with an axis is at least 0.85, with those of treatments."""
    data = datasets.plants(effect=8.0)
    model = mc.PCA(standardize=True).fit(data)
    warm = {"temperature": data.column("temperature").values == "elevated"}
    passive = model.supplementary(variables={k: v.astype(float) for k, v in warm.items()})
    return pictures.variables.describe(
        model.variables_,
        spectrum=model.spectrum_,
        least={"correlation": 0.85},
        supplementary=passive.variables,
    )


def plants_by_kernel() -> Any:
    """The same plants on the axes of a Gaussian kernel."""
    data = datasets.plants(effect=8.0)
    model = mc.KernelPCA(4, kernel=mc.Gaussian("median")).fit(data)
    return pictures.individuals.describe(
        model.individuals_,
        spectrum=model.spectrum_,
        colour=_conditions(data),
        title="Plants, Gaussian kernel of median bandwidth",
    )


def _threes() -> Any:
    digits = load_digits()
    return digits.data[digits.target == 3]


def digits_scree() -> Any:
    """Images of the digit three: inertias beside those of permuted pixels, on logarithmic axes."""
    model = mc.PCA().fit(_threes())
    horn = mc.parallel_analysis(model, 99, random_state=0)
    return pictures.scree.describe(
        model.inertias_, total=model.inertia_, horn=horn, most=61, is_log=True, title="Threes"
    )


def digits_rebuilt() -> Any:
    """Eight threes, what 2, 8 and 20 axes rebuild of them, and the same with permuted pixels."""
    x = _threes()
    rows = [x[:8]]
    for count in (2, 8, 20):
        model = mc.PCA(count).fit(x)
        rows.append(model.inverse_transform(model.transform(x[:8])))
    permuted = np.column_stack([rng.permutation(column) for column in x.T])
    titles = [
        text if i == 0 else ""
        for text in ("data", "2 axes", "8 axes", "20 axes", "permuted")
        for i in range(8)
    ]
    return pictures.images.describe(np.vstack([*rows, permuted[:8]]), (8, 8), titles=titles)


def digits_axes() -> Any:
    """The first twenty-four axes of the threes, as images."""
    model = mc.PCA(24).fit(_threes())
    titles = [f"Dim {k + 1}" for k in range(24)]
    return pictures.images.describe(
        model.components_, (8, 8), titles=titles, is_signed=True, title="Axes of the threes"
    )


def cities_table() -> Any:
    """The distances between nine cities, in the order of the first axis."""
    cities = datasets.us_cities()
    return pictures.heat_map.describe(
        cities.values, names=cities.names, order="distance", what="miles", title="Distances"
    )


def cities_eigenvalues() -> Any:
    """Their eigenvalues, three of which are negative."""
    model = mc.ClassicalMDS().fit(datasets.us_cities().values)
    return pictures.eigenvalues.describe(model.eigenvalues_, title="Eigenvalues of the cities")


def cities_map() -> Any:
    """The map that classical scaling makes of the distances."""
    cities = datasets.us_cities()
    model = mc.ClassicalMDS().fit(cities.values)
    east = model.embedding_ * np.sign(model.embedding_[0])  # Boston to the north-east
    return pictures.individuals.describe(
        east, names=cities.names, spectrum=model.spectrum_, title="Nine cities from distances"
    )


def shepard() -> Any:
    """Distances on an ordinal map of European cities against road distances."""
    model = mc.StressMDS(2, loss="ordinal", random_state=0).fit(datasets.eurodist().values)
    return pictures.shepard.describe(
        model.shepard_, title=f"European cities, stress-1 {model.stress_:.3f}"
    )


def _peaks(x: Any, y: Any) -> Any:
    return (
        3.0 * (1.0 - x) ** 2 * np.exp(-(x**2) - (y + 1.0) ** 2)
        - 10.0 * (x / 5.0 - x**3 - y**5) * np.exp(-(x**2) - y**2)
        - np.exp(-((x + 1.0) ** 2) - y**2) / 3.0
    )


def peaks() -> Any:
    """The peaks function, and the smoothest function of a Gaussian kernel through 20 points."""
    halves = [int(f"{i:05b}"[::-1], 2) / 32.0 for i in range(1, 21)]
    points = 6.0 * np.column_stack([(np.arange(1, 21) - 0.5) / 20.0, halves]) - 3.0
    model = mc.KernelRegression(mc.Gaussian(0.3**0.5), penalty=0.0)
    model.fit(points, _peaks(*points.T))
    side = np.linspace(-3.0, 3.0, 70)
    x, y = np.meshgrid(side, side)
    fitted = model.predict(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
    return pictures.sheet(
        pictures.surface.describe(side, side, _peaks(x, y), what="peaks", title="peaks"),
        pictures.contours.describe(side, side, fitted, points=points, title="from 20 points"),
    )


def splines() -> Any:
    """Kroese's five points and their smoothing splines, from a line to an interpolation."""
    points = np.array([(0.05, 0.4), (0.2, 0.2), (0.5, 0.6), (0.75, 0.7), (1.0, 1.0)])
    at = np.linspace(0.0, 1.05, 200)
    fits = {}
    for r in (0.8, 0.99, 0.999, 0.999999):
        model = mc.SmoothingSpline(penalty=(1.0 - r) / r)
        fits[f"r = {r:g}"] = model.fit(points[:, 0], points[:, 1]).predict(at)
    return pictures.curves.describe(at, fits, points=points, title="Smoothing splines")


def _noisy_sine() -> Any:
    x = np.sort(rng.uniform(0.0, 1.0, 30))
    return x[:, None], 2.0 * np.sin(2.0 * np.pi * x) + 0.5 * rng.standard_normal(30)


def process() -> Any:
    """Draws of a Gaussian process and its bands given a sine, of a wide and a narrow bandwidth."""
    (x, y), at = _noisy_sine(), np.linspace(0.0, 1.0, 150)
    truth, panels = 2.0 * np.sin(2.0 * np.pi * at), []
    for width in (0.2, 0.02):
        model = mc.GaussianProcess(
            mc.Gaussian(width), noise_variance=0.25, optimise=False, random_state=0
        )
        draws = model.sample(at[:, None], 3, prior=True, random_state=0)
        prior = {f"draw {i + 1}": draw for i, draw in enumerate(draws.T)}
        given = model.fit(x, y).posterior(at[:, None])
        bands = {
            "95 % of observations": given.band(observation=True),
            "95 % of g(x)": given.band(),
        }
        lines = {"mean": given.mean, "truth": truth}
        points = np.column_stack([x[:, 0], y])
        panels += [
            pictures.curves.describe(at, prior, title=f"prior, bandwidth {width}"),
            pictures.curves.describe(at, lines, points=points, bands=bands, title="posterior"),
        ]
    return pictures.sheet(*panels, title="A Gaussian process", cell=(5.4, 3.8))


def likelihood() -> Any:
    """The log likelihood of the bandwidth and the noise of such a process, and its maximum."""
    x, y = _noisy_sine()
    model = mc.GaussianProcess(mc.Gaussian(0.2), noise_variance=0.25, random_state=0).fit(x, y)
    widths, noises = np.geomspace(0.05, 0.6, 40), np.geomspace(0.2, 1.2, 40)
    values = model.likelihood_surface({"bandwidth": widths, "noise_variance": noises**2}).T
    best = [mc.kernels.parameters(model.kernel_)["bandwidth"], np.sqrt(model.noise_variance_)]
    return pictures.contours.describe(
        widths,
        noises,
        np.maximum(values, model.log_likelihood() - 20.0),
        points=[best],
        names=("bandwidth", "standard deviation of the noise"),
        is_log=True,
        what="log likelihood (below the best by 20 at most)",
        title="The maximum of the likelihood is marked",
    )


def penalty() -> Any:
    """How the smoothing spline of a noisy sine finds its penalty, by cross-validation."""
    x, y = _noisy_sine()
    model = mc.SmoothingSpline().fit(x, y)
    return pictures.penalty_path.describe(penalty_path(model), chosen=model.penalty_)


def eigenfunctions() -> Any:
    """Nine axes of a disc and a ring as functions of the plane."""
    data = datasets.disc_and_ring()
    model = mc.KernelPCA(9, kernel=mc.Gaussian(0.5**0.5)).fit(data)
    return pictures.eigenfunctions.describe(
        model.transform, data.matrix(), spectrum=model.spectrum_, title="Disc and ring"
    )


def projection() -> Any:
    """The disc and the ring on the first two axes."""
    data = datasets.disc_and_ring()
    model = mc.KernelPCA(2, kernel=mc.Gaussian(0.5**0.5)).fit(data)
    return pictures.individuals.describe(
        model.individuals_, spectrum=model.spectrum_, colour=data.colour, labels=0
    )


def _decathlon() -> Any:
    data = datasets.decathlon()
    return data, mc.PCA(standardize=True).fit(data)


def scree() -> Any:
    """Inertias of the decathlon beside those of permuted columns, and Kaiser's mean."""
    _, model = _decathlon()
    horn = mc.parallel_analysis(model, 499, random_state=0)
    return pictures.scree.describe(
        model.inertias_, total=model.inertia_, horn=horn, kaiser=1.0, title="Decathlon"
    )


def decathletes() -> Any:
    """Athletes coloured by cos2, with the two meetings as supplementary categories."""
    data, model = _decathlon()
    passive = model.supplementary(categories={"Competition": data.colour.values})
    return pictures.individuals.describe(
        model.individuals_, spectrum=model.spectrum_, colour="cos2", supplementary=passive
    )


def events() -> Any:
    """The ten events in the circle of correlations, rank and points as supplementary ones."""
    data, model = _decathlon()
    numbers = {name: data.column(name).values for name in ("Rank", "Points")}
    passive = model.supplementary(variables=numbers)
    return pictures.variables.describe(
        model.variables_,
        spectrum=model.spectrum_,
        colour="contribution",
        supplementary=passive.variables,
    )


def biplot() -> Any:
    """Athletes and events on one plane."""
    data, model = _decathlon()
    return pictures.biplot.describe(
        model.individuals_, model.variables_, spectrum=model.spectrum_, colour=data.colour, labels=8
    )


def contributions() -> Any:
    """Who makes the first axis."""
    _, model = _decathlon()
    return pictures.contributions.describe(model.individuals_, spectrum=model.spectrum_, most=15)


def gram() -> Any:
    """The Gram matrix of the irises, species by species."""
    data = datasets.iris()
    similar = mc.Gaussian("median").resolve(data.matrix())(data.matrix())
    return pictures.heat_map.describe(similar, groups=data.colour, title="Irises, Gaussian kernel")


def path() -> Any:
    """The spectrum of the irises as the bandwidth grows."""
    x = datasets.iris().matrix()
    widths = np.geomspace(0.1, 10.0, 25)
    models = [mc.KernelPCA(6, kernel=mc.Gaussian(h)).fit(x) for h in widths]
    median = mc.kernels.parameters(mc.Gaussian("median").resolve(x))["bandwidth"]
    return pictures.bandwidth_path.describe(
        widths, [m.inertias_ for m in models], [m.inertia_ for m in models], chosen=median
    )


def bootstrap() -> Any:
    """Irises, some of them with the ellipses of 200 bootstrap samples."""
    data: Any = datasets.iris()
    found = mc.bootstrap(mc.PCA(2), data, random_state=0)
    return pictures.bootstrap.describe(found, colour=data.colour, labels=0)


def turning() -> Any:
    """Athletes, each where two axes of the decathlon turn to without him."""
    model = mc.PCA(2, standardize=True).fit(datasets.decathlon())
    return pictures.jackknife.describe(mc.jackknife(model), spectrum=model.spectrum_)


def crossing() -> Any:
    """A grid that is wider in one direction: two axes change places as the bandwidth grows."""
    x, y = np.meshgrid(np.linspace(-1.0, 1.0, 12), np.linspace(-0.42, 0.42, 8))
    grid, widths = np.column_stack([x.ravel(), y.ravel()]), np.geomspace(0.25, 1.5, 25)
    model = mc.KernelPCA(3, kernel=mc.Gaussian(1.0))
    return pictures.parameter_path.describe(
        mc.parameter_path(model, grid, "kernel__bandwidth", widths)
    )


def arrows() -> Any:
    """Where irises move on kernel axes when one of their measures rises."""
    data: Any = datasets.iris()
    model = mc.KernelPCA(2, kernel=mc.Gaussian("median")).fit(data)
    slopes = mc.axis_slopes(model, standardize=True)
    return pictures.slopes.describe(model.individuals_, slopes, spectrum=model.spectrum_)


def importance() -> Any:
    """What the first two axes of the decathlon lose when an event is shuffled."""
    model = mc.PCA(standardize=True).fit(datasets.decathlon())
    return pictures.importance.describe(mc.permutation_importance(model, random_state=0))


def along() -> Any:
    """What irises at the ends and in the middle of two kernel axes would look like."""
    model = mc.KernelPCA(4, kernel=mc.Gaussian("median")).fit(datasets.iris())
    return pictures.axis_points.describe(mc.axis_points(model), spectrum=model.spectrum_)


def brought_back() -> Any:
    """What two kernel axes bring back of each measure of the irises."""
    model = mc.KernelPCA(4, kernel=mc.Gaussian("median")).fit(datasets.iris())
    return pictures.rebuilt.describe(mc.rebuilt(model, random_state=0))


def denoising() -> Any:
    """Digits, the same with noise, and what PCA and kernel PCA bring back of them."""
    digits, count = load_digits().data, 8
    noisy = digits + 6.0 * np.random.default_rng(0).standard_normal(digits.shape)
    train, new = digits[:400], noisy[400 : 400 + count]
    linear = mc.PCA(12).fit(train)
    model = mc.KernelPCA(80, kernel=mc.Gaussian(40.0)).fit(train)
    rows = (
        digits[400 : 400 + count],
        new,
        linear.inverse_transform(linear.transform(new)),
        model.inverse_transform(model.transform(new)),
    )
    names = ("digit", "with noise", "PCA", "kernel PCA")
    titles = [name if column == 0 else "" for name in names for column in range(count)]
    return pictures.images.describe(np.vstack(rows), (8, 8), columns=count, titles=titles)


def crowd() -> Any:
    """Sixty thousand points: their density and a sample of each group."""
    centres = np.array([[0.0, 0.0], [4.0, 1.0], [1.0, 4.0]])
    which = rng.choice(3, 60_000, p=[0.7, 0.29, 0.01])
    points = centres[which] + rng.standard_normal((60_000, 2))
    return pictures.individuals.describe(
        points, colour=np.array(["many", "some", "few"], object)[which], labels=0
    )


@cache
def _study() -> Any:
    """Return a study of simulated expression: 2 x 2 conditions, 12 replicates of each."""
    model = mc.networks.simulate_expression(40, 4, effect=0.8, strength=0.95, random_state=1)
    table = model.table(12, np.random.default_rng(1))
    return mc.replicate_study(
        table, "condition", infer=mc.networks.Inference(power=2), draws=40, random_state=0
    )


def replicates() -> Any:
    """How far gene networks scatter and conditions lie apart, by the number of replicates."""
    return pictures.replicate_curve.describe(_study())


def replicates_map() -> Any:
    """The same networks on the axes of their kernel PCA, from few replicates to many."""
    return pictures.replicate_map.describe(_study())


def replicates_pairs() -> Any:
    """How many replicates each pair of conditions needs by itself, with its interval."""
    return pictures.replicate_pairs.describe(_study())


def replicates_networks() -> Any:
    """The networks of all replicates of each condition, genes in one order."""
    return pictures.replicate_networks.describe(_study())


def radial_profiles() -> Any:
    """Kernels of a distance: how fast similarity falls."""
    r = np.linspace(0.0, 4.0, 200)
    kernels = {
        "Gaussian": mc.Gaussian(1.0),
        "Matérn 1.5": mc.Matern(1.5, 1.0),
        "Laplacian": mc.Laplacian(1.0),
        "rational quadratic": mc.kernels.RationalQuadratic(0.5, 1.0),
        "Bessel, a ball of R³": mc.kernels.Bessel(1.5, 0.5),
    }
    lines = {name: k([0.0], r)[0] for name, k in kernels.items()}
    names = ("distance", "k")
    return pictures.curves.describe(r, lines, names=names, title="Functions of a distance")


def functions_by_kernel() -> Any:
    """Draws of Gaussian processes: what functions a kernel thinks likely."""
    at = np.linspace(0.0, 1.0, 160)
    kernels = {
        "Gaussian(0.15)": mc.Gaussian(0.15),
        "Laplacian(0.3)": mc.Laplacian(0.3),
        "Periodic(0.4)": mc.kernels.Periodic(0.4, 1.0),
        "Brownian()": mc.kernels.Brownian(),
    }
    panels = []
    for name, k in kernels.items():
        process = mc.GaussianProcess(k, noise_variance=1e-6, optimise=False)
        draws = process.sample(at[:, None], 5, prior=True, random_state=1)
        lines = {str(i): draw for i, draw in enumerate(draws.T)}
        drawn: Any = pictures.curves.describe(at, lines, title=name)
        panels.append(replace(drawn, marks=tuple(replace(line, name=None) for line in drawn.marks)))
    return pictures.sheet(*panels, title="Five functions of each kernel")


def shapes_of_graphs() -> Any:
    """Graphs on the axes of a kernel on neighbourhoods: rings, stars, trees and paths."""
    made: dict[str, Callable[[int], list[tuple[int, int]]]] = {
        "ring": lambda n: [(i, (i + 1) % n) for i in range(n)],
        "star": lambda n: [(0, i) for i in range(1, n)],
        "path": lambda n: [(i, i + 1) for i in range(n - 1)],
        "tree": lambda n: [((i - 1) // 2, i) for i in range(1, n)],
    }
    graphs = [mc.Graph(edges(n)) for edges in made.values() for n in range(6, 14)]
    model = mc.KernelPCA(2, kernel=mc.kernels.WeisfeilerLehman(3).normalised()).fit(graphs)
    shapes = np.repeat(list(made), 8)
    return pictures.individuals.describe(model, colour=shapes, labels=0, title="Graphs by shape")


def words_by_letters() -> Any:
    """Words on the axes of a kernel on strings: what they share in pairs of letters."""
    names = [
        "kernel",
        "kernels",
        "colonel",
        "canal",
        "banana",
        "bandana",
        "ananas",
        "mean",
        "means",
        "median",
        "medians",
    ]
    model = mc.KernelPCA(2, kernel=mc.kernels.StringSpectrum(2).normalised()).fit(names)
    return pictures.individuals.describe(
        model, names=names, title="Words by their pairs of letters"
    )


def baskets() -> Any:
    """Sets on the axes of Jaccard's kernel: baskets of three shops."""
    shops = {
        "baker": ["bread", "rolls", "cake", "butter", "tea"],
        "grocer": ["apples", "pears", "leek", "tea", "beans"],
        "dairy": ["milk", "cheese", "butter", "cream", "whey"],
    }
    generator = np.random.default_rng(5)
    sets = [
        frozenset(generator.choice(goods, 3, replace=False).tolist())
        for goods in shops.values()
        for _ in range(15)
    ]
    names = np.repeat(list(shops), 15)
    model = mc.KernelPCA(2, kernel=mc.kernels.Jaccard()).fit(sets)
    return pictures.individuals.describe(model, colour=names, labels=0, title="Baskets")


GALLERY: tuple[Callable[[], Any], ...] = (
    reconstruction,
    kernel_map,
    circles,
    fish,
    plants,
    genes,
    plants_by_kernel,
    digits_scree,
    digits_rebuilt,
    digits_axes,
    cities_table,
    cities_eigenvalues,
    cities_map,
    shepard,
    peaks,
    splines,
    penalty,
    process,
    likelihood,
    eigenfunctions,
    projection,
    scree,
    decathletes,
    events,
    biplot,
    contributions,
    gram,
    path,
    bootstrap,
    crowd,
    replicates,
    replicates_map,
    replicates_pairs,
    replicates_networks,
    crossing,
    arrows,
    importance,
    denoising,
    turning,
    along,
    brought_back,
    radial_profiles,
    functions_by_kernel,
    shapes_of_graphs,
    words_by_letters,
    baskets,
)


def main(folder: Path, only: list[str]) -> None:
    """Write every picture, or those named, as PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, make in enumerate(GALLERY, 1):
        if only and make.__name__ not in only:
            continue
        found = np.ravel(pictures.draw(make()))
        file = folder / f"{number:02d}_{make.__name__}.png"
        found[0].figure.savefig(file, dpi=110)
        print(f"{file}: {make.__doc__}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo/gallery"), sys.argv[2:])
