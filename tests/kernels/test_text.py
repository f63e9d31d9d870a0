from __future__ import annotations

import ast
import inspect
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import is_dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.decomposition import KernelPCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import pairwise

import mercer as mc
from mercer.check import Array
from mercer.kernels import text as written
from mercer.kernels.algebra import Sum
from mercer.kernels.pairs import Pairs
from mercer.kernels.text import kernel
from mercer.kernels.written import (
    DEEPEST,
    LARGEST_POWER,
    LONGEST_NUMBER,
    LONGEST_TEXT,
    snake,
)
from tests.strategies import kernels, set_kernels

PATIENCE = 5.0
"""Seconds of CPU for any one text, which takes milliseconds."""

k, g = mc.Linear(), mc.Gaussian(0.35)

ATOMS: list[mc.Kernel] = [
    mc.Linear(),
    mc.kernels.Tanimoto(),
    mc.kernels.Jaccard(),
    mc.Polynomial(4, 0.1 + 0.2, 1e-300),
    mc.kernels.Sigmoid(-1.5, 1 / 3),
    mc.kernels.Bilinear([[2.0, -0.5], [-0.5, 1e16]]),
    mc.Gaussian(0.35),
    mc.Gaussian((1.0, 5e-324)),
    mc.Gaussian("median"),
    mc.Laplacian(1.7976931348623157e308, 1.5),
    mc.Matern(inf, "scale"),
    mc.kernels.RationalQuadratic(0.7, (1.0, 2.0, 3.0)),
    mc.kernels.NegativeDistance(1.9, 2.0),
    mc.kernels.Periodic((1.0, 2.0), 0.5),
    mc.kernels.Sinc(2.0),
    mc.kernels.Sobolev(2.5, 0.1),
    mc.kernels.Characteristic("triangular", 0.25),
    mc.kernels.Bessel(-0.5, (0.1, 1e300)),
    mc.kernels.Waves([[0.1, -2.0], [1e300, 0.0]], [1 / 3, 2.0]),
    mc.kernels.Constant(0.0),
    mc.kernels.Delta(),
    mc.Precomputed(np.array([[1.0, -2.5j], [2.5j, 7.0]])),
    mc.kernels.Group([2.0, 1.0, 1.0]),
    mc.kernels.Group([3.0, complex(0.5, 1.0), complex(0.5, -1.0)]),
    mc.kernels.Brownian(),
    mc.kernels.CubicSpline(),
    mc.kernels.Intersection(),
    mc.kernels.Intersection(frozenset({1, 2.5, None, ("a", (True,))})),
    mc.kernels.UnionComplement(
        frozenset({'quo"te', "it's", "back\\slash", "new\nline", "日本", "😀", "\0"})
    ),
    mc.kernels.Agreement(frozenset({complex(1.0, -2.0), -1, inf, -inf})),
    mc.kernels.AllSubsets(frozenset()),
    mc.kernels.BrayCurtis(),
    mc.kernels.Aitchison(),
    mc.kernels.ChiSquare((0.25, 0.75)),
    mc.kernels.StringSpectrum(3),
    mc.kernels.StringBoundedRange(2, "dna"),
    mc.kernels.MismatchSpectrum(4, 1, '"\\\n日'),
    mc.kernels.GappySpectrum(2, 1),
    mc.kernels.Subsequence(3, 0.1 + 0.2),
    mc.kernels.LocalAlignment(match=2.0, alphabet="protein"),
    mc.kernels.LocalAlignment(scores="blosum62"),
    mc.kernels.LocalAlignment(scores=[[0.1, -1.0], [-1.0, 2.0]], alphabet="ab"),
    mc.kernels.VertexHistogram(),
    mc.kernels.EdgeHistogram(),
    mc.kernels.WeisfeilerLehman(5),
    mc.kernels.ContinuousWeisfeilerLehman(2),
    mc.kernels.ContinuousWeisfeilerLehman(0, mc.Linear() + 1),
    mc.kernels.ShortestPath(),
    mc.kernels.Graphlets(),
    mc.kernels.Propagation(3, width=0.1, seed=7),
    mc.kernels.RandomWalk(1 / 3),
    mc.kernels.ExponentialWalk(1 / 3),
    mc.kernels.Subtrees(2, 1 / 3),
    mc.kernels.AlignedEdges(),
    mc.kernels.AlignedLaplacian(),
    mc.kernels.AlignedHeat(0.1),
    mc.kernels.Diffusion(mc.Graph([(0, 1), (2, 1)], weights=[0.1, 1e-300]), 0.5),
    mc.kernels.RegularisedLaplacian(
        mc.Graph([(0, 1)], labels=[("a", (2.5, None)), frozenset({1})])
    ),
    mc.kernels.CommuteTime(mc.Graph([], n=3)),
    mc.kernels.Standardised(),
    mc.kernels.Standardised([0.1, 1e300], [5e-324, 2.0]),
    mc.kernels.Category(),
    mc.kernels.Category(["a", 1, None], [0.5, 0.25, 0.25], "level"),
    mc.kernels.Ordinal(["low", 'h"igh']),
    mc.Columns(),
    mc.Columns({"x": mc.Gaussian("median"), ("y", "it's"): mc.Linear() + 1}, "balanced"),
]
OPERATIONS: list[mc.Kernel] = [
    k + g + k,
    k + 1,
    2.5 + k * g,
    k * g * k,
    0.1 * k,
    0.1 * (k * g),
    (0.1 * k) * g,
    k * (0.1 * g),
    0.1 * (k + g) * g,
    (k + g) * (g + k),
    k / 3,
    k**2,
    (k**2) ** 3,
    (k * g) ** 2 * k**0,
    (0.5 * k) ** 2,
    (k + 1) ** LARGEST_POWER,
    k.exp(),
    (k + g).exp().exp(),
    (0.5 * g).polynomial([0.0, 1e-5, 3.0]),
    (k * g).normalised(),
    (k**2).gaussian(),
    k.gaussian("median"),
    mc.kernels.NegativeDistance().centred([[1.0, -2.0], [3.5, 0.0]]),
    g.centred([[0.5], [1.5]], [2.5, -1.5]),
    mc.kernels.Intersection().centred([["a", "b"], []]),
    mc.kernels.tensor_sum(k, g + k),
    mc.kernels.tensor_product(k, 2.0 * g, mc.kernels.tensor_sum(k, k)).exp(),
]


@mc.kernels.value
class OfTheUser(mc.Kernel):
    """An atom that a user wrote, with parameters that nothing checks."""

    words: tuple[Any, ...] = ()
    is_strict: bool = False

    def evaluate(self, pairs: Pairs) -> Array:
        return mc.Linear().evaluate(pairs)


@mc.kernels.value
class Angry(mc.Kernel):
    """An atom whose constructor raises what nobody expects."""

    mood: str

    def __post_init__(self) -> None:
        raise KeyError(self.mood)

    def evaluate(self, pairs: Pairs) -> Array:
        raise NotImplementedError


@mc.kernels.value
class Linked(mc.Kernel):
    """An atom that may hold a function and need not."""

    scale: float = 1.0
    link: Callable[[float], float] | None = None

    def evaluate(self, pairs: Pairs) -> Array:
        return mc.Linear().evaluate(pairs)


@mc.kernels.value
class Doubled(mc.Kernel):
    """An operation that a user wrote."""

    kernel: mc.Kernel
    rounds: ClassVar[int] = 2

    def evaluate(self, pairs: Pairs) -> Array:
        return 2.0 * self.kernel.evaluate(pairs)


@pytest.mark.parametrize("made", ATOMS + OPERATIONS, ids=str)
def test_what_a_kernel_prints_is_read_as_the_same_kernel(made: mc.Kernel) -> None:
    assert kernel(repr(made)) == made
    assert kernel(str(made)) == made
    assert hash(kernel(repr(made))) == hash(made)


@settings(deadline=None)
@given(st.one_of(kernels(), set_kernels()))
def test_what_an_expression_prints_is_read_as_the_same_expression(made: mc.Kernel) -> None:
    assert kernel(repr(made)) == made
    assert kernel(str(made)) == made


@settings(deadline=None)
@given(st.floats(min_value=0.0, exclude_min=True, allow_infinity=False))
def test_every_double_comes_back_to_the_last_bit(bandwidth: float) -> None:
    assert kernel(repr(mc.Gaussian(bandwidth))) == mc.Gaussian(bandwidth)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.text()
    | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4).map(tuple),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.lists(VALUES, max_size=4), st.booleans())
@example(["\ud800", "\u2028", "\\u0041", "'"], True)
def test_a_users_own_kernel_is_read_with_any_values(words: list[Any], is_strict: bool) -> None:
    made = OfTheUser(tuple(words), is_strict)
    assert kernel(repr(made)) == made
    assert kernel(str(made)) == made


def test_a_kernel_that_could_hold_a_function_is_read_without_one() -> None:
    assert kernel(repr(Linked(2.0))) == Linked(2.0)


@given(st.text())
@example("\\'\"\\")
def test_strings_in_single_quotes_are_those_in_double_quotes(word: str) -> None:
    body = word.replace("\\", "\\\\").replace("'", "\\'")
    escaped = "".join(c if ord(c) >= 32 else f"\\u{ord(c):04x}" for c in body)
    assert kernel(f"of_the_user(['{escaped}'])") == OfTheUser((word,))


def public_kernels() -> list[type[mc.Kernel]]:
    classes = [getattr(mc.kernels, name) for name in dir(mc.kernels) if name[0].isupper()]
    kernels_only = [c for c in classes if isinstance(c, type) and issubclass(c, mc.Kernel)]
    return [c for c in kernels_only if is_dataclass(c) and not inspect.isabstract(c)]


def test_every_public_kernel_is_tried_here() -> None:
    k = mc.kernels
    functions = {k.FeatureMap, mc.FromFunction, k.Series, k.CompletelyMonotone}
    assert set(public_kernels()) - functions == {type(atom) for atom in ATOMS}


def printed_by(program: str) -> list[str]:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()


def test_every_public_kernel_can_be_named_without_importing_its_module() -> None:
    program = "from mercer.kernels.base import all_kernels\nprint(*all_kernels())"
    assert {snake(cls.__name__) for cls in public_kernels()} <= set(printed_by(program))


def test_a_namesake_that_was_there_first_does_not_keep_the_place_of_ours() -> None:
    program = (
        "from mercer import Kernel, kernel\n"
        "class Delta(Kernel): pass\n"
        "print(kernel('delta()'), type(kernel('delta()')).__module__)"
    )
    assert printed_by(program) == ["delta()", "mercer.kernels.given"]


def test_a_kernel_is_its_own_written_form() -> None:
    assert mc.kernel(g) is g


@pytest.mark.parametrize("wrong", [None, 3, b"linear()", ["linear()"], mc.Linear])
def test_what_is_no_text_is_refused(wrong: Any) -> None:
    with pytest.raises(mc.errors.InvalidParameter, match="expected a kernel or its text, found"):
        kernel(wrong)


SAME = [
    ("linear()+gaussian(0.35)*linear()", k + g * k),
    ("(linear()+gaussian(0.35))*linear()", (k + g) * k),
    ("2*linear()**2", 2 * k**2),
    ("(2*linear())**2", (2 * k) ** 2),
    ("linear()*2", 2 * k),
    ("linear()*2*gaussian(.35)", k * 2 * g),
    ("linear()/4/2", k / 4 / 2),
    ("linear() / 4 * gaussian(35e-2)", k / 4 * g),
    ("1 + linear() + 2", 1 + k + 2),
    ("linear() + 0", k),
    ("1/4 * linear() + (2 - 1.5)*linear()", 1 / 4 * k + 0.5 * k),
    ("1 + 2*3 + linear()", 7 + k),
    ("linear().exp()**2", k.exp() ** 2),
    ("(linear()**2).exp()", (k**2).exp()),
    ("2*linear().exp()", 2 * k.exp()),
    ("linear() . exp ( ) . normalised( )", k.exp().normalised()),
    (" \t\r\nlinear()\n  + gaussian(\n  bandwidth = 0.35,\n)\n", k + g),
    ("((linear()))", k),
    ("linear()**(2)", k**2),
    ("Gaussian([1, 2.0,])", mc.Gaussian((1.0, 2.0))),
    ("RationalQuadratic(2, bandwidth=3)", mc.kernels.RationalQuadratic(2.0, 3.0)),
    ("rational_quadratic(bandwidth=3, shape=2)", mc.kernels.RationalQuadratic(2.0, 3.0)),
    ("sigmoid(scale=-1.5, offset=-(-2))", mc.kernels.Sigmoid(-1.5, 2.0)),
    ("gaussian(bandwidth=1/4)", mc.Gaussian(0.25)),
    ("linear().polynomial(coefficients=[1, 2])", k.polynomial([1.0, 2.0])),
    ("linear().gaussian(2)", k.gaussian(2.0)),
    ("linear().centred([[1], [2]], weights=none)", k.centred([[1.0], [2.0]])),
    ("intersection(universe=None)", mc.kernels.Intersection()),
    ("tensor_product(linear(), gaussian(0.35),)", mc.kernels.tensor_product(k, g)),
    ("group([2, complex(0, 1), complex(imag=-1, real=0)])", mc.kernels.Group([2.0, 1j, -1j])),
]


@pytest.mark.parametrize(("text", "expected"), SAME)
def test_marks_bind_as_in_python(text: str, expected: mc.Kernel) -> None:
    assert kernel(text) == expected


X, Y = np.random.default_rng(7).normal(size=(2, 6, 3))
SCIKIT_LEARN: list[tuple[str, Callable[[Array, Array], Array]]] = [
    ("linear()", pairwise.linear_kernel),
    ("rbf(gamma=0.3)", lambda x, y: pairwise.rbf_kernel(x, y, gamma=0.3)),
    ("rbf(2)", lambda x, y: pairwise.rbf_kernel(x, y, gamma=2.0)),
    ("poly(gamma=0.3)", lambda x, y: pairwise.polynomial_kernel(x, y, gamma=0.3)),
    (
        "poly(degree=2, gamma=0.3, coef0=0.5)",
        lambda x, y: pairwise.polynomial_kernel(x, y, degree=2, gamma=0.3, coef0=0.5),
    ),
    (
        "polynomial(degree=4, gamma=0.3)",
        lambda x, y: pairwise.polynomial_kernel(x, y, degree=4, gamma=0.3),
    ),
    (
        "polynomial(coef0=2, gamma=1)",
        lambda x, y: pairwise.polynomial_kernel(x, y, gamma=1.0, coef0=2.0),
    ),
    ("laplacian(gamma=0.3)", lambda x, y: pairwise.laplacian_kernel(x, y, gamma=0.3)),
    ("cosine()", pairwise.cosine_similarity),
    ("sigmoid(gamma=0.3)", lambda x, y: pairwise.sigmoid_kernel(x, y, gamma=0.3)),
    (
        "sigmoid(gamma=0.3, coef0=-1)",
        lambda x, y: pairwise.sigmoid_kernel(x, y, gamma=0.3, coef0=-1.0),
    ),
]


@pytest.mark.parametrize(("text", "theirs"), SCIKIT_LEARN, ids=[text for text, _ in SCIKIT_LEARN])
def test_names_of_scikit_learn_mean_what_they_mean_there(
    text: str, theirs: Callable[[Array, Array], Array]
) -> None:
    np.testing.assert_allclose(kernel(text)(X, Y), theirs(X, Y), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", ["rbf", "poly", "polynomial", "laplacian", "sigmoid", "cosine"])
@pytest.mark.parametrize("columns", [1, 3])
def test_a_name_of_scikit_learn_alone_has_the_values_usual_there(name: str, columns: int) -> None:
    x, y = X[:, :columns], Y[:, :columns]
    made = kernel(name)
    expected = pairwise.pairwise_kernels(x, y, metric=name)
    np.testing.assert_allclose(made(x, y), expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(made.resolve(x)(x, y), expected, rtol=1e-12, atol=1e-15)
    assert kernel(repr(made)) == made == kernel(str(made))
    if name != "cosine":
        assert kernel(f"{name}(gamma='auto')") == kernel(f"{name}(gamma=None)") == made
        with pytest.raises(mc.errors.WrittenFormError, match="gamma is a number"):
            kernel(f"{name}(gamma='wide')")


def test_names_that_are_mercers_too_are_mercers_where_brackets_or_capitals_say_so() -> None:
    assert kernel("Laplacian") == kernel("Laplacian()") == mc.Laplacian()
    assert kernel("Sigmoid") == mc.kernels.Sigmoid()
    assert kernel("rbf(gamma='scale')") == mc.Gaussian("scale")


@pytest.mark.parametrize("name", ["rbf", "poly", "laplacian", "cosine"])
def test_models_take_scikit_learns_names_with_their_usual_values(name: str) -> None:
    theirs = KernelRidge(kernel=name, alpha=0.6).fit(X, Y[:, 0])
    ours = mc.KernelRegression(name, penalty=0.1).fit(X, Y[:, 0])
    np.testing.assert_allclose(ours.predict(Y), theirs.predict(Y), rtol=1e-9, atol=1e-9)
    if name != "laplacian":
        axes = KernelPCA(2, kernel=name).fit_transform(X)
        np.testing.assert_allclose(
            np.abs(mc.KernelPCA(2, kernel=name).fit_transform(X)), np.abs(axes), atol=1e-9
        )


def test_a_kernel_of_scikit_learn_that_is_missing_is_said_to_be() -> None:
    with pytest.raises(mc.errors.WrittenFormError, match="mercer does not have.*chi2_kernel"):
        kernel("chi2(gamma=2)")


@pytest.mark.parametrize("gamma", [1e-300, 0.5, 2.0, 1e308])
def test_the_bandwidth_of_an_extreme_gamma_is_finite_and_right(gamma: float) -> None:
    made = kernel(f"rbf(gamma={gamma})")
    assert isinstance(made, mc.Gaussian)
    assert made.bandwidth == pytest.approx(2.0**-0.5 * gamma**-0.5, rel=1e-15)


def test_our_names_keep_our_parameters_where_scikit_learn_has_the_same_name() -> None:
    assert kernel("laplacian(bandwidth=2)") == mc.Laplacian(2.0)
    assert kernel("polynomial(2, scale=3)") == mc.Polynomial(2, scale=3.0)
    assert kernel("sigmoid(offset=1)") == mc.kernels.Sigmoid(offset=1.0)
    assert kernel("laplacian()") == mc.Laplacian()


ERRORS = [
    ("", 1, "expected a kernel or a value, found the end of the text"),
    ("   ", 4, "found the end of the text"),
    ("linear() linear()", 10, "expected an operator or the end of the text, found 'linear'"),
    ("linear() +", 11, "found the end of the text"),
    ("linear() + * 2", 12, "found '*'"),
    ("(linear()", 10, "expected '\\)', found the end of the text"),
    ("linear())", 9, "found '\\)'"),
    ("linear().exp", 13, "expected '\\(' after exp, found the end"),
    ("gaussian bandwidth=2", 10, "found 'bandwidth'"),
    ("linear(", 8, "expected a kernel or a value, found the end"),
    ("gaussian(1 2)", 12, "expected ',' or '\\)', found '2'"),
    ("gaussian([1 2])", 13, "expected ',' or '\\]', found '2'"),
    ("gaussian([bandwidth=1])", 11, "found 'bandwidth'"),
    ("gaussian(bandwidth==1)", 20, "found '='"),
    ("gaussian(bandwidth=1, 2)", 23, "expected a new name and '=', found '2'"),
    ("gaussian(bandwidth=1, bandwidth=2)", 23, "found 'bandwidth'"),
    ("gaussian(bandwidt=1)", 1, "gaussian takes bandwidth: .*unexpected.*'bandwidt'"),
    ("gaussian(1, bandwidth=2)", 1, "multiple values"),
    ("linear() + linear(3)", 12, "linear takes nothing: too many"),
    ("bilinear()", 1, "bilinear takes B: missing"),
    ("cosine(gamma=1)", 1, "cosine takes nothing"),
    ("linear() + gaussain(1)", 12, "'gaussain' \\(did you mean gaussian\\?\\)"),
    ("GaussKernel(1)", 1, "found 'GaussKernel'"),
    ("tensor_sums(linear())", 1, "did you mean tensor_sum"),
    ("3", 1, "expected a kernel, found 3"),
    ("'linear()'", 1, "expected a kernel, found 'linear\\(\\)'"),
    ("[linear()]", 1, "expected a kernel, found \\(Linear\\(\\),\\)"),
    ("linear().foo()", 10, "expected a method \\(exp, polynomial, .*, found 'foo'"),
    ("linear().exp", 13, "expected '\\(' after exp"),
    ("linear().exp(1)", 10, "exp takes nothing"),
    ("linear().", 10, "found the end of the text"),
    ("linear()**2.exp()", 13, "expected an operator or the end of the text, found 'exp'"),
    ("linear()**2 .exp()", 14, "expected a kernel before the dot, found 2"),
    ("(1).exp()", 5, "expected a kernel before the dot, found 1"),
    ("linear() * 'a'", 10, "joins kernels and numbers, found 'a'"),
    ("linear() + [1]", 10, "joins kernels and numbers, found \\(1,\\)"),
    ("linear() * True", 10, "joins kernels and numbers, found True"),
    ("-'a'", 1, "unary"),
    ("linear() - linear()", 10, "cannot be subtracted"),
    ("linear() + -linear()", 12, "negative"),
    ("linear() + -0.5*linear()", 16, "negative: sums and multiples of kernels"),
    ("linear() / linear()", 10, "divided by a positive number only"),
    ("1 / linear()", 3, "divided by a positive number only"),
    ("linear() / 0", 10, "divided by a positive number only"),
    ("1/0*linear()", 2, "division by zero"),
    ("1e308*10*linear()", 6, "not a finite number"),
    ("linear()*inf", 9, "found inf"),
    ("linear()**0.5", 9, "not a whole number"),
    ("linear()**-1", 9, "not a whole number"),
    (f"linear()**{LARGEST_POWER + 1}", 9, f"a number up to {LARGEST_POWER}, found"),
    ("linear()**linear()", 9, "found Linear"),
    ("2**linear()", 2, "only a kernel can be raised"),
    ("negative_distance()*linear()", 20, "conditionally positive definite"),
    ("gaussian(-1)", 1, "bandwidth must be a number > 0, found -1"),
    ("laplacian(1, 3)", 1, "1 <= p <= 2"),
    ("bilinear([[0, 1], [1, 0]])", 1, "negative eigenvalue"),
    ("linear().centred([])", 10, "empty sample"),
    ("linear().centred(3)", 10, "sample"),
    ("tensor_sum()", 1, "at least one kernel"),
    ("tensor_sum(linear(), 2)", 1, "kernels only"),
    ("characteristic(law=linear())", 1, "characteristic takes no kernel, found one"),
    ("linear() + sum([linear()])", 12, "sum, which is an operation"),
    ("Scaled(2.0, linear())", 1, "Scaled, which is an operation"),
    ("TensorSum([linear()])", 1, "TensorSum, which is an operation"),
    ("doubled(linear())", 1, "doubled, which is an operation"),
    ("radial()", 1, "radial, which is a family"),
    ("FeatureMap(phi=3)", 1, "holds a Python function, which has no written form"),
    ("from_function('f')", 1, "holds a Python function, which has no written form"),
    ("series([1], [1.0])", 1, "holds a Python function, which has no written form"),
    ("linear().weighted('f')", 10, "takes a Python function, which has no written form"),
    ("linear().on('f')", 10, "takes a Python function, which has no written form"),
    ("characteristic(law=<function f>)", 20, "a Python function, which has no written form"),
    ("angry('very')", 1, "'very'"),
    ("gaussian('medi", 10, "a string without end"),
    ('characteristic("\\q")', 16, "escape"),
    ('characteristic("a\nb")', 16, "control character"),
    ("gаussian()", 2, "'а' \\(CYRILLIC SMALL LETTER A\\)"),
    ("linear() × linear()", 10, "'×' \\(MULTIPLICATION SIGN\\)"),
    ("1e999*linear()", 1, "1e999 is infinite"),
    ("9" * (LONGEST_NUMBER + 1) + "*linear()", 1, "longer than 40 characters"),
]


@pytest.mark.parametrize(("text", "position", "message"), ERRORS, ids=lambda p: str(p)[:50])
def test_an_error_says_what_where_and_points_at_it(text: str, position: int, message: str) -> None:
    with pytest.raises(mc.errors.WrittenFormError, match=message) as caught:
        kernel(text)
    words, shown, caret = str(caught.value).split("\n")[-3:]
    assert words.endswith(f", at character {position}")
    assert caret == " " * (4 + position - 1) + "^"
    assert shown[4:] == "".join(c if c.isprintable() else " " for c in text)


def test_an_error_far_inside_a_long_text_shows_what_is_around_it() -> None:
    text = "linear() + " * 30 + "$" + " + linear()" * 30
    with pytest.raises(mc.errors.WrittenFormError, match="at character 331") as caught:
        kernel(text)
    _, shown, caret = str(caught.value).split("\n")
    assert shown[caret.index("^")] == "$"
    assert shown.strip().startswith("…")
    assert shown.endswith("…")
    assert len(shown) < 70


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("gaussian(-1)", mc.errors.InvalidParameter),
        ("linear() * -1", mc.errors.NotPositiveDefinite),
        ("linear().centred([])", mc.errors.InvalidInput),
        ("gaussian(gamma=1)", TypeError),
        ("angry('x')", KeyError),
        ("group(['a'])", mc.errors.InvalidParameter),
    ],
)
def test_the_error_of_a_constructor_is_the_cause(text: str, cause: type[Exception]) -> None:
    with pytest.raises(mc.errors.WrittenFormError) as caught:
        kernel(text)
    assert isinstance(caught.value.__cause__, cause)
    assert str(caught.value.__cause__) in str(caught.value)


def same(values: Any) -> Array:
    return np.asarray(values)


def test_a_kernel_without_a_written_form_is_not_read() -> None:
    unwritten = [
        k.weighted(same),
        k.on(same),
        mc.kernels.FeatureMap(same),
        mc.kernels.Characteristic(same),
        mc.Gaussian((1.0,) * LONGEST_TEXT),
    ]
    for made in unwritten:
        with pytest.raises(mc.errors.WrittenFormError):
            kernel(repr(made))


def nested(depth: int) -> str:
    return "(" * depth + "linear()" + ")" * depth


DEEP: list[Callable[[int], str]] = [
    nested,
    lambda depth: "gaussian(" + "[" * depth + "]" * depth + ")",
    lambda depth: "gaussian(" + "-" * (depth - 1) + "1)",
    lambda depth: "tensor_sum(" * depth + "linear()" + ")" * depth,
    lambda depth: "linear()" + ".exp()" * depth,
    lambda depth: "(" * depth + "linear()" + "**1)" * depth,
    lambda depth: "linear()" + "**1" * depth,
    lambda depth: "linear()" + "*2*linear()" * depth,
    lambda depth: "linear()*(2+" * depth + "linear()" + ")" * depth,
    lambda depth: "linear()" + ".normalised().gaussian()" * depth,
    lambda depth: "linear().centred(" * depth + "1" + ")" * depth,
]


@pytest.mark.parametrize("deep", DEEP)
@pytest.mark.parametrize("depth", [DEEPEST + 1, 400])
def test_what_is_too_deep_is_refused(deep: Callable[[int], str], depth: int) -> None:
    with pytest.raises(mc.errors.WrittenFormError, match=f"at most {DEEPEST}"):
        kernel(deep(depth))


@pytest.mark.parametrize(
    "deep", [nested, DEEP[4], lambda depth: "2*(" * depth + "linear()" + ")" * depth]
)
def test_what_is_deep_but_not_too_deep_is_read(deep: Callable[[int], str]) -> None:
    assert isinstance(kernel(deep(DEEPEST - 2)), mc.Kernel)


def test_the_limits_are_those_promised() -> None:
    assert (DEEPEST, LONGEST_TEXT, LONGEST_NUMBER, LARGEST_POWER) == (50, 10_000, 40, 1000)


def test_long_sums_are_not_deep() -> None:
    assert kernel("+".join(["(linear())"] * 900)) == Sum((k,) * 900)
    assert kernel("+".join(["linear()"] * 1000)) == Sum((k,) * 1000)
    assert kernel("linear()" + "*2" * 1000) == 2.0**1000 * k


def test_the_longest_text_is_read_and_a_longer_one_is_not() -> None:
    assert kernel("linear()".ljust(LONGEST_TEXT)) == k
    with pytest.raises(mc.errors.WrittenFormError, match="at most 10000 characters, found 10001"):
        kernel("linear()".ljust(LONGEST_TEXT + 1))


HOSTILE = {
    "import": "__import__('os').system('id')",
    "import statement": "import os",
    "eval": "eval('1')",
    "exec": 'exec("print(1)")',
    "open": "open('/etc/passwd')",
    "attribute chain": "linear().__class__.__mro__[1].__subclasses__()",
    "private method": "linear()._written(linear)",
    "globals of a method": "linear().exp.__globals__",
    "dunder keyword": "gaussian(__class__=1)",
    "self as keyword": "linear().exp(self=linear())",
    "lambda": "(lambda: linear())()",
    "comprehension": "[k for k in [linear()]]",
    "generator": "tensor_sum(*(linear() for i in [1]))",
    "f-string": "f\"{__import__('os')}\"",
    "format string": "'{0.__class__}'.format(linear())",
    "assignment expression": "(k := linear())",
    "statements": "linear(); import os",
    "comment": "linear() # and more",
    "dictionary": "gaussian(**{'bandwidth': 1})",
    "subscript": "linear()[0]",
    "conditional": "linear() if True else gaussian()",
    "comparison": "linear() == linear()",
    "nested brackets": nested(10_000)[:LONGEST_TEXT],
    "nested lists": "[" * 5000 + "]" * 5000,
    "a megabyte": "linear() + " * 95_326 + "linear()",
    "tower of powers": "9**9**9",
    "tower on a kernel": "linear()**9**9**9",
    "repeated string": "'a' * 999999999",
    "look-alike letter": "lineаr()",
    "full width": "ｌｉｎｅａｒ()",
    "invisible": "line\u200bar()",
    "right to left": "\u202elinear()",
    "unknown name": "os()",
    "negative bandwidth": "gaussian(bandwidth=-1)",
    "huge number": "gaussian(bandwidth=1e400)",
    "digits of another script": "gaussian(bandwidth=١)",
    "a million methods": "linear()" + ".exp()" * 1600,
    "NUL": "linear()\x00",
    "lone surrogate": "linear()\ud800",
    "operation by name": "Power(linear(), 10**10)",
}


class Ear:
    """Hears what Python reports to its auditors, while it listens."""

    def __init__(self) -> None:
        self.is_listening = False
        self.heard: list[str] = []
        sys.addaudithook(self.hear)

    def hear(self, event: str, _: tuple[Any, ...]) -> None:
        if self.is_listening and event in ("compile", "exec", "import", "open", "os.system"):
            self.heard.append(event)

    @contextmanager
    def listening(self) -> Iterator[list[str]]:
        self.heard.clear()
        self.is_listening = True
        try:
            yield self.heard
        finally:
            self.is_listening = False


@pytest.fixture(scope="module")
def ear() -> Ear:
    for made in ATOMS + OPERATIONS:
        kernel(repr(made))  # what numpy imports late, it imports now
    return Ear()


def test_the_ear_hears(ear: Ear) -> None:
    with ear.listening() as heard:
        eval("1 + 1")
    assert heard == ["compile", "exec"]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_refused_and_run_nothing(name: str, ear: Ear) -> None:
    start = time.process_time()
    with ear.listening() as heard, pytest.raises(mc.errors.WrittenFormError) as caught:
        kernel(HOSTILE[name])
    assert heard == []
    assert time.process_time() - start < PATIENCE
    assert len(str(caught.value)) < 600


def test_the_module_names_nothing_that_runs_text() -> None:
    tree = ast.parse(inspect.getsource(written))
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert not names & {"eval", "exec", "compile", "getattr", "setattr", "open", "globals", "vars"}
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    assert {alias.name for node in imports for alias in node.names} == {"json", "re", "unicodedata"}


WORDS = [
    *("linear", "gaussian", "Gaussian", "polynomial", "poly", "rbf", "cosine", "laplacian"),
    *("matern", "bilinear", "group", "precomputed", "intersection", "characteristic", "constant"),
    *("tensor_sum", "tensor_product", "complex", "exp", "normalised", "centred", "weighted", "on"),
    *("bandwidth", "gamma", "degree", "coef0", "scale", "nu", "law", "p", "universe", "weights"),
    *("inf", "None", "none", "True", "False", "Sum", "Power", "FeatureMap", "Kernel", "radial"),
    *("__import__", "eval", "__class__", "self", "lambda", "for", "if", "angry", "of_the_user"),
    *("0", "1", "2", "0.5", "1e3", "-1", "1e-320", "1e308", "1e999", "7" * 40, ".5", "3."),
    *('"median"', "'scale'", '"normal"', '"\\u00e9"', '"', "'", "\\", "()", "(1)", "([1, 2])"),
    *("+", "-", "*", "/", "**", ".", ",", "=", "(", ")", "[", "]", " ", "\n", "linear()", "()."),
]
FORMS = [repr(made) for made in ATOMS + OPERATIONS] + [str(made) for made in ATOMS + OPERATIONS]
FORMS = [form for form in FORMS if len(form) < 300] + [text for text, _ in SCIKIT_LEARN]


def mutated(text: str, rng: random.Random) -> str:
    i, j = sorted(rng.choices(range(len(text) + 1), k=2))
    word = rng.choice(WORDS)
    method = rng.choice([".exp()", ".normalised()", "**2", ".gaussian()", ".centred([1, 2])", ""])
    return rng.choice(
        [
            text[:i] + text[j:],
            text[:j] + text[i:],
            text[:i] + word + text[i:],
            text[:i] + word + text[j:],
            text[:i] + chr(rng.randrange(0x3000)) + text[i + 1 :],
            f"({text}){method}",
            f"{text} {rng.choice('+*-/')} {rng.choice(FORMS)}",
            f"{rng.choice(['2', '0.5', '-1', '1e200', 'inf'])} * ({text})",
        ]
    )


def fuzzed(count: int, seed: int) -> Iterator[str]:
    """Random words of the grammar, changed kernels and random characters, in turn."""
    rng = random.Random(seed)
    for i in range(count):
        if i % 3 == 0:
            yield "".join(rng.choices(WORDS, k=rng.randrange(1, 20)))
        elif i % 3 == 1:
            text = rng.choice(FORMS)
            for _ in range(rng.randrange(1, 4)):
                text = mutated(text, rng)
            yield text
        else:
            planes = [
                rng.choice((0x80, 0x800, 0x10000, 0x110000)) for _ in range(rng.randrange(30))
            ]
            yield "".join(chr(rng.randrange(most)) for most in planes)


def survive(count: int, seed: int, ear: Ear) -> int:
    """Read fuzzed texts, each of which is a kernel or a WrittenFormError; count the kernels."""
    accepted = 0
    slowest = 0.0
    with ear.listening() as heard:
        for text in fuzzed(count, seed):
            start = time.process_time()
            try:
                made = kernel(text)
            except mc.errors.WrittenFormError:
                continue
            finally:
                slowest = max(slowest, time.process_time() - start)
            accepted += 1
            assert isinstance(made, mc.Kernel)
            assert kernel(repr(made)) == made, text
    assert heard == []
    assert slowest < PATIENCE
    return accepted


def test_twenty_thousand_random_texts_are_kernels_or_refused(ear: Ear) -> None:
    assert survive(20_000, 0, ear) > 500


@pytest.mark.slow
def test_a_million_random_texts_are_kernels_or_refused(ear: Ear) -> None:
    assert survive(1_000_000, 1, ear) > 25_000


@pytest.mark.parametrize("text", ["gaussian", "Gaussian", "linear", "matern"])
def test_a_name_alone_is_the_kernel_with_its_usual_parameters(text: str) -> None:
    assert kernel(text) == kernel(f"{text}()")
    assert kernel(f"2*{text} + linear") == kernel(f"2*{text}() + linear()")


def test_what_is_none_by_default_is_not_written() -> None:
    spectrum = mc.kernels.StringSpectrum(3)
    assert str(spectrum) == "string_spectrum(length=3)"
    assert repr(spectrum) == "StringSpectrum(length=3)"
    assert kernel(str(spectrum)) == spectrum
    assert "alphabet=" in str(mc.kernels.StringSpectrum(3, "dna"))
