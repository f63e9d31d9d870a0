"""What the page says in words: the result, the kernel, the axes, the classes found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import chdtrc

from mercer.analysis import Analysis
from mercer.check import Array
from mercer.clusters import Clusters, cluster
from mercer.dimension.horn import OF_SIGNS, ParallelAnalysis
from mercer.dimension.rules import Choice
from mercer.errors import InvalidInput, MercerError
from mercer.factorial import CA
from mercer.kernels.base import Kernel, parameters
from mercer.kernels.tables import columns_read
from mercer.kernels.written import snake
from mercer.page.safe_text import PAGE, clean, count_of, listing, percent, short
from mercer.page.subject import Subject
from mercer.reading.describe import DESCRIBED, describe_axes
from mercer.settings import LEVEL

NAMED = 5
"""Individuals named on each side of an axis."""

PLANE = 2
"""Axes of the map that is drawn first."""

LEAST_P = 1e-16
"""The smallest p-value of χ² that is told as a number."""


def result(subject: Subject, choices: dict[str, Choice], made: Analysis | None = None) -> list[str]:
    """Return the answer: what was done and why, which a page puts last, then what the axes show."""
    one, present = subject.one, int(np.sum(subject.weights > 0))
    if made is None:
        done = f"{count_of(present, one)}, {analysis(subject)}."
        alike = "" if subject.kernel is None else _likeness(subject.kernel)
        sentences = [f"{done} {alike}; {OTHERWISE}." if alike else done]
    else:
        # A kernel is said with its parameters; what other methods do, the sentence says.
        is_said = type(subject.model).__name__ in METHODS or str(subject.kernel) in made.sentence
        kernel = "" if is_said else f", {analysis(subject)}"
        count = f"{count_of(present, one)}{kernel}"
        if subject.counted is not None:
            rows, people = count_of(len(subject), "row"), count_of(subject.counted, one)
            count = f"{rows}, which stand for {people}{kernel}"
        sentences = [f"{count}. {clean(made.sentence, 600)}"]
    if subject.axes == 0:
        return [*sentences, f"All {one}s coincide: there is no inertia and there are no axes."]
    if subject.shares is not None:
        shown = percent(float(np.sum(subject.shares[:2])))
        which = "The map of the first two axes" if subject.axes > 1 else "The one axis"
        sentences.append(f"{which} shows {shown} of the differences between {one}s.")
    elif subject.spectrum is None:
        sentences.append(f"{_stress(subject.model)}.")
    sentences += _association(subject)
    if made is not None:
        sentences += [clean(said, 600) for said in (made.parted, made.adds) if said]
    sentences += dimension(subject, choices)[:1]
    horn = choices.get("horn")
    is_later = isinstance(horn, ParallelAnalysis) and horn.is_decided and horn.n_components <= PLANE
    if made is not None and made.parted and is_later:
        sentences.append(
            "That test is of the size of axes: a small one can separate groups, as the one above."
        )
    return sentences


def _association(subject: Subject) -> list[str]:
    """Return whether rows and columns of a table of counts are related, by the χ² test.

    The total inertia of a correspondence analysis is χ²/n, with n the total of the table.
    """
    table = subject.table
    if not isinstance(subject.model, CA) or table is None:
        return []
    cells = table.matrix()
    if np.any(cells != np.floor(cells)):  # which are no counts
        return []
    freedom = (int(np.sum(cells.any(axis=1))) - 1) * (int(np.sum(cells.any(axis=0))) - 1)
    squares = float(subject.model.inertia_ * cells.sum())
    p = float(chdtrc(freedom, squares)) if freedom else 1.0
    chance = f"p = {p:.2g}" if p >= LEAST_P else f"p < {LEAST_P:g}"
    proved = "Rows and columns are related" if p <= LEVEL else "Rows and columns may be unrelated"
    return [f"{proved}: χ² = {short(squares)} with {freedom} degrees of freedom ({chance})."]


def dimension(subject: Subject, choices: dict[str, Choice]) -> list[str]:
    """Return in words how many axes are more than chance, and what they carry together.

    >>> from mercer import PCA, datasets, parallel_analysis
    >>> from mercer.page.subject import subject_of
    >>> model = PCA(standardize=True).fit(datasets.iris())
    >>> horn = parallel_analysis(model, 19, random_state=0)
    >>> dimension(subject_of(model), {"horn": horn})[0]
    'One axis is more than chance: none of 19 tables with shuffled columns had one this large
    (p = 0.05).'
    """
    horn = choices.get("horn")
    if not isinstance(horn, ParallelAnalysis):
        return []
    count = horn.n_components
    if not horn.is_decided and count == 0:
        return [f"How many axes are more than chance is not known: {horn.evidence}."]
    if not horn.is_decided:
        return [
            f"All {count} axes that were computed are more than chance, and there may be more: "
            f"{_chance(horn, count)}."
        ]
    if count == 0:
        return [
            f"No axis is more than chance: {_chance(horn, 1)}. This test finds no relation between "
            "the columns."
        ]
    number = NUMBERS.get(count, str(count))
    said = f"{number} {'axis is' if count == 1 else 'axes are'} more than chance"
    carried = ""
    if subject.shares is not None and count > 2:
        carried = f"; they carry {percent(float(np.sum(subject.shares[:count])))} of the inertia"
    return [f"{said}: {_chance(horn, count)}{carried}."]


def rule_told(choice: Choice) -> str:
    """Return what a rule found, or in plain words why it cannot be asked of these data.

    >>> words = "not decided: points of type str have no columns to permute: the null. For other"
    >>> rule_told(Choice("horn", 0, words, False))
    'it cannot be asked here: strings have no columns to permute'
    """
    if choice.n_components or not choice.evidence.startswith(UNDECIDED):
        return str(choice)
    why = choice.evidence.removeprefix(UNDECIDED)
    for advice in (": the null", ". Choose by", ". For other", ". Give"):
        why = why.partition(advice)[0]
    why = why.replace("points of type str ", "strings ")
    return f"it cannot be asked here: {why}"


UNDECIDED = "not decided: "
"""How a choice begins that the data do not allow, before the advice for whoever asked for it."""


def _chance(horn: ParallelAnalysis, count: int) -> str:
    """Return what is counted: how many random tables had the first axes as large, and p."""
    k = int(np.argmax(horn.p_values[:count]))
    reached, drawn, p = int(horn.reached[k]), int(horn.draws[k]), float(horn.p_values[k])
    some = "none" if reached == 0 else f"{'at most ' if count > 1 else ''}{reached}"
    what = "one this large" if count == 1 else "axes this large"
    tables = count_of(drawn, "table")
    null = "random signs" if OF_SIGNS in horn.evidence else "shuffled columns"
    return f"{some} of {tables} with {null} had {what} (p = {p:.2g})"


NUMBERS = dict(
    enumerate(("One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"), 1)
)


def exactness(subject: Subject) -> str:
    """Return how exact the eigenvalues are, for the foot of the page."""
    spectrum = subject.spectrum
    if spectrum is None or subject.axes == 0:
        return ""
    largest = float(spectrum.values[0])
    relative = float(np.max(spectrum.errors[: subject.axes])) / largest if largest > 0 else 0.0
    if spectrum.is_approximate:
        return f"Approximate: eigenvalues within {short(relative)} of the largest."
    return f"Eigenvalues exact to {relative:.0e} of the largest."


def _stress(model: Any) -> str:
    name = {"sammon": "Sammon's error", "sstress": "SSTRESS"}.get(model.loss, "Stress-1")
    state = "" if model.has_converged_ else ", not yet at its minimum"
    return f"{name} {short(model.stress_)}{state}"


OTHERWISE = "another kernel (--kernel) compares them in another way"
"""How to change what makes points alike."""


def _likeness(kernel: Kernel) -> str:
    """Return which points are alike, of an operation on one kernel what that kernel says."""
    inside = list(kernel.children().values())
    return kernel.likeness or (_likeness(inside[0]) if len(inside) == 1 else "")


def analysis(subject: Subject) -> str:
    """Return what was done, in words.

    >>> from mercer import Gaussian, KernelPCA
    >>> from mercer.page.subject import subject_of
    >>> model = KernelPCA(1, kernel=Gaussian("median")).fit([[0.0], [1.0], [3.0]])
    >>> analysis(subject_of(model))
    'Gaussian kernel (bandwidth 2, median rule)'
    """
    model, kernel = subject.model, subject.kernel
    if type(model).__name__ in METHODS:
        return f"{method(subject)}, standardised" if model_scales(model) else method(subject)
    if subject.is_precomputed:
        return "kernel given as a matrix"
    if kernel is not None:
        given = getattr(model, "kernel", None)
        of_scaled = _on_scaled(kernel, subject)
        return of_scaled or in_words(kernel, given if isinstance(given, Kernel) else _read(given))
    return method(subject)


METHODS = {
    "PCA": "principal component analysis",
    "CA": "correspondence analysis",
    "MCA": "multiple correspondence analysis",
    "FAMD": "factor analysis of mixed data",
    "MFA": "multiple factor analysis",
    "ClassicalMDS": "classical scaling of distances",
    "StressMDS": "a map of dissimilarities",
}
"""What a reader calls the analyses, by their classes; kernels have words of their own."""


def method(subject: Subject) -> str:
    """Return the name of the method, without its parameters."""
    name = type(subject.model).__name__
    if name in METHODS:
        return METHODS[name]
    if subject.kernel is None:
        return name
    is_alone = not subject.kernel.children() and not subject.is_precomputed
    is_named = bool(subject.kernel.title) or is_alone
    return f"kernel PCA, {_title(subject.kernel)} kernel" if is_named else "kernel PCA"


def model_scales(model: Any) -> bool:
    """Whether a model divides the columns by their standard deviations."""
    return bool(getattr(model, "standardize", False))


def _on_scaled(kernel: Kernel, subject: Subject) -> str:
    """Return in words a kernel whose bandwidths are all one multiple of the deviations."""
    lengths = getattr(kernel, "bandwidth", None)
    points = getattr(subject.model, "X_fit_", None)
    if not isinstance(lengths, tuple) or not isinstance(points, np.ndarray) or kernel.children():
        return ""
    mean = subject.weights @ points
    deviations = np.sqrt(subject.weights @ (points - mean) ** 2)
    known = deviations > 0
    ratios = np.asarray(lengths, float)[known] / deviations[known]
    if not ratios.size or np.ptp(ratios) > 1e-6 * ratios[0]:
        return f"{_title(kernel)} kernel (a bandwidth for each of {len(lengths)} variables)"
    return f"{_title(kernel)} kernel on standardised columns (bandwidth {short(ratios[0])})"


def _read(given: Any) -> Kernel | None:
    from mercer.estimator import as_kernel

    return as_kernel(given) if isinstance(given, str) else None


def in_words(kernel: Kernel, given: Kernel | None) -> str:
    """Return a kernel and its parameters in words, with the rule that found a parameter.

    >>> from mercer.kernels import StringSpectrum
    >>> in_words(StringSpectrum(3).normalised(), None)
    'normalised string spectrum kernel (length 3)'
    """
    if kernel.phrase:
        inner = given.children().get("kernel") if type(given) is type(kernel) else None
        return _filled(kernel.phrase, kernel, inner)
    columns = columns_read(kernel)
    if columns:
        names = listing([clean(name, 40) for name in columns], NAMED)
        return f"kernel on {count_of(len(columns), 'column')} ({names})"
    values = {name: found for name, found in parameters(kernel).items() if found is not None}
    rules = {} if given is None else parameters(given)
    if kernel.children() or not values:
        name = clean(repr(kernel), 200)
        return f"{_title(kernel)} kernel" if not kernel.children() else f"kernel {name}"
    parts = []
    for name, found in values.items():
        rule = f", {rules[name]} rule" if isinstance(rules.get(name), str) else ""
        text = short(found) if isinstance(found, int | float) else clean(found, 60)
        parts.append(f"{name} {text}{rule}")
    return f"{_title(kernel)} kernel ({'; '.join(parts) if len(parts) > 1 else parts[0]})"


def _filled(phrase: str, kernel: Kernel, given: Kernel | None = None) -> str:
    """Return a phrase of a kernel with words for its parameters and the kernel inside."""
    words = {name: _value_in_words(value) for name, value in kernel.fields().items()}
    inside = kernel.children().get("kernel")
    if inside is not None:
        words["kernel"] = in_words(inside, given)
        words["distance"] = _distance_in_words(inside)
    return phrase.format_map(words)


def _value_in_words(value: Any) -> str:
    if isinstance(value, tuple):
        return count_of(len(value), "column")
    return short(value) if isinstance(value, int | float) else clean(value, 60)


def _distance_in_words(kernel: Kernel) -> str:
    """Return the distance between the features of a kernel in words.

    >>> from mercer.kernels import ChiSquare
    >>> _distance_in_words(ChiSquare((0.25, 0.75)))
    'the χ² distance between profiles of 2 columns'
    """
    if kernel.distance_phrase:
        return _filled(kernel.distance_phrase, kernel)
    columns = columns_read(kernel)
    if columns:
        names = listing([clean(name, 40) for name in columns], NAMED)
        return f"the straight map's distance on {count_of(len(columns), 'column')} ({names})"
    return f"the distance of {clean(repr(kernel), 200)}"


def _title(kernel: Kernel) -> str:
    """Return the name of a kernel; people keep the spelling of theirs.

    >>> from mercer.kernels import Matern, WeisfeilerLehman
    >>> _title(Matern(1.5)), _title(WeisfeilerLehman(3))
    ('Matérn', 'Weisfeiler–Lehman')
    """
    words = snake(type(kernel).__name__).replace("_", " ")
    return kernel.title or PEOPLE.get(words, words)


PEOPLE = {
    "gaussian": "Gaussian",
    "laplacian": "Laplacian",
    "matern": "Matérn",
    "weisfeiler lehman": "Weisfeiler–Lehman",
    "brownian": "Brownian",
    "sobolev": "Sobolev",
    "aitchison": "Aitchison",
}


def axes_in_words(subject: Subject) -> list[dict[str, Any]]:
    """Return a title, the axes and some sentences for each of the first, and how to read them."""
    if isinstance(subject.model, CA):
        axes = range(min(subject.axes, DESCRIBED))
        return [
            {"title": subject.axis(k), "axes": [k], "sentences": _of_table(subject, k)}
            for k in axes
        ]
    try:
        found = describe_axes(subject.model, subject.table, axes=DESCRIBED, counted=subject.counted)
    except InvalidInput:  # neither variables nor a table: individuals are all there is
        axes = range(min(subject.axes, DESCRIBED))
        return [_axis_in_words(subject, (k,), ()) for k in axes]
    told = [
        _axis_in_words(subject, tuple(k - 1 for k in axis.axes), axis.sentences)
        for axis in found.axes
    ]
    how = {"title": "How to read this", "axes": [], "sentences": found.notes}
    return [*told, how] if told else []


def _axis_in_words(
    subject: Subject, axes: tuple[int, ...], sentences: Sequence[str]
) -> dict[str, Any]:
    of_individuals = [_of_individuals(subject, axes[0])] if len(axes) == 1 else []
    title = listing([subject.axis(k) for k in axes])
    return {"title": title, "axes": list(axes), "sentences": [*sentences, *of_individuals]}


def _of_individuals(subject: Subject, k: int) -> str:
    uniform = 1.0 / max(int(np.sum(subject.weights > 0)), 1)
    shares, at = subject.contributions(k), subject.coordinates[:, k]
    found = _opposed(shares, at, subject.names, 2.0 * uniform)
    return found or f"No {subject.one} contributes more than twice its share."


def _of_table(subject: Subject, k: int) -> list[str]:
    """Return which columns and which rows of a table of counts make an axis, and on which side.

    Correlations of columns over the rows say nothing here: the sample is what was counted.
    """
    said = []
    for one in subject.elements:
        if one.of == "columns":
            shares = one.measures["contrib"][:, k]
            found = _opposed(shares, one.coordinates[:, k], one.names, 1.0 / len(one))
            said.append(f"Columns: {found[:1].lower()}{found[1:]}")
    shares, at = subject.contributions(k), subject.coordinates[:, k]
    found = _opposed(shares, at, subject.names, 1.0 / len(subject))
    return [*said, f"Rows: {found[:1].lower()}{found[1:]}"]


def _opposed(shares: Array, at: Array, names: Sequence[str], least: float) -> str:
    """Return who makes more than so much of an axis on each side, or nothing.

    >>> _opposed(np.array([0.6, 0.1, 0.3]), np.array([1.0, 0.5, -1.0]), ["a", "b", "c"], 0.2)
    'It opposes a to c, which together make 90 % of it.'
    """
    top = [i for i in np.argsort(-shares, kind="stable")[: 2 * NAMED] if shares[i] > least]
    if not top:
        return ""
    sides = [[i for i in top if at[i] * sign > 0][:NAMED] for sign in (1, -1)]
    texts = [listing([clean(names[i], 40) for i in side]) for side in sides if side]
    total = percent(float(np.sum(shares[[i for side in sides for i in side]])))
    if len(texts) == 2:
        return f"It opposes {texts[0]} to {texts[1]}, which together make {total} of it."
    side = "positive" if sides[0] else "negative"
    stand, makes = "stand out", "which together make"
    if sum(map(len, sides)) == 1:
        stand, makes = "stands out", "which makes"
    return f"On its {side} side {stand} {texts[0]}, {makes} {total} of it."


Value = dict[str, Any]

CLASS, OTHER = "class", "found class"
"""The name of the colour by classes, and that beside a column which has the first for its own."""

MADE = (
    "Such classes can always be made: what sets them apart describes them and does not prove that "
    "there are groups."
)
"""What classes made from axes do not show."""

NOTHING = 1e-4
"""A mean below this share of the deviation of its column is told as 0."""

FEATURES, MEMBERS = 4, 3
"""What is said of a class: so many variables or categories, and so many of its members."""


def classes_of(subject: Subject, axes: int, count: int | None = None) -> Clusters | None:
    """Return classes of the individuals on the first axes, None for too few or too many.

    A ``count`` of classes was asked for, of whatever number of individuals.
    """
    if count is not None:
        axes = axes or 1  # of none there are no classes, which it refuses
        return cluster(subject.model, count, axes=axes, counted=subject.counted, random_state=0)
    if subject.axes == 0 or not PAGE.fewest_clustered <= len(subject) <= PAGE.clustered:
        return None
    try:
        return cluster(subject.model, axes=axes, counted=subject.counted, random_state=0)
    except MercerError:  # all individuals coincide
        return None


def name_of_classes(subject: Subject) -> str:
    """Return what the colour by classes is called, as no column is."""
    taken = () if subject.table is None else {name.strip().lower() for name in subject.table.names}
    return OTHER if CLASS in taken else CLASS


def groups_value(subject: Subject, found: Clusters, asked: int | None = None) -> Value:
    """Return what the page says of classes: sentences, and a table with a row for each."""
    axes = found.centres.shape[1]
    cut = "where it suggests" if asked is None else f"as asked; it suggests {found.suggested}"
    which = f"all {count_of(axes, 'axis')}, of which a map shows two,"
    if axes < 3 or axes < subject.axes:
        which = f"the first {count_of(axes, 'axis')}"
    who = one = f"{subject.one}s"
    if subject.counted is not None:
        who = f"{count_of(int(found.sizes.sum()), 'individual')} in {count_of(len(subject), 'row')}"
    said = (
        f"On {which} the {who} form {count_of(found.count, 'class')}, which explain "
        f"{percent(found.share)} of the differences there (Ward's tree, cut {cut}, then k-means)."
    )
    told = _told(subject, found)
    rows = [
        [
            str(c),
            int(found.sizes[c - 1]),
            int(found.rows[c - 1]),
            told[c],
            _names(subject, found.members(c)),
            _names(subject, found.remote(c)),
        ]
        for c in range(1, found.count + 1)
    ]
    columns = ("class", one, "rows", "what sets it apart", "most typical", "farthest out")
    kinds = ("text", "number", "number", "text", "text", "text")
    named = [{"name": n, "kind": k} for n, k in zip(columns, kinds, strict=True)]
    without = [] if any(told.values()) else [3]  # distances have no columns that could differ
    if subject.counted is None:
        without.append(2)  # a row is an individual
    for at in without:
        named, rows = named[:at] + named[at + 1 :], [row[:at] + row[at + 1 :] for row in rows]
    shown = {
        "most typical": [found.members(c)[:MEMBERS] for c in range(1, found.count + 1)],
        "farthest out": [found.remote(c)[:MEMBERS] for c in range(1, found.count + 1)],
    }
    return {
        "colour": name_of_classes(subject),
        "sentences": [said, MADE],
        "members": {how: [rows.tolist() for rows in each] for how, each in shown.items()},
        "sheet": {
            "id": "classes",
            "title": "Classes",
            "columns": named,
            "rows": rows,
        },
    }


def _names(subject: Subject, rows: Array) -> str:
    return listing([clean(subject.names[i], 30) for i in rows[:MEMBERS].tolist()])


def _told(subject: Subject, found: Clusters) -> dict[int, str]:
    """Return what sets each class apart: numbers that are high or low, frequent categories.

    Rows of counts are told by their shares, which correspondence analysis compares.
    """
    numbers, labels = subject.columns(subject.used, is_active=True)
    are_shares = isinstance(subject.model, CA)
    numbers = subject.profiles(numbers) if are_shares else numbers
    more, others = subject.columns(subject.used, is_active=False)
    data: Mapping[str, Array] = {**numbers, **labels, **more, **others}
    told: dict[int, list[str]] = {c: [] for c in range(1, found.count + 1)}
    if not data:
        return dict.fromkeys(told, "")
    table = found.describe(data)
    names = ("class", "column", "level", "v_test", "p_value", "in_class", "overall")
    for row in zip(*(table[name].tolist() for name in names), strict=True):
        label, column, level, v, p, inside, overall = row
        said = told[label]
        if p > LEVEL or len(said) >= FEATURES or (level and v < 0):
            continue
        name = clean(column, 40)
        if level:
            said.append(f"{name} = {clean(level, 30)} ({percent(inside)} of it)")
        else:
            way = "high" if v > 0 else "low"
            tell = percent if are_shares and column in numbers else short
            least = NOTHING * float(np.std(data[column]))  # a mean of 1e-6 says 0 of such a column
            inside, overall = (0.0 if abs(x) < least else x for x in (inside, overall))
            said.append(f"{name} {way} ({tell(inside)}; all {tell(overall)})")
    return {c: "; ".join(said) or "nothing beyond chance" for c, said in told.items()}
