"""Fitted models in place of their values, and the first picture one wants of each."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.check import Array
from mercer.errors import InvalidInput, InvalidParameter, NotAvailable
from mercer.estimator import Model, require_fit
from mercer.pictures.shares import as_shares

PLACES = 300
"""Points of a curve, across what was observed and a tenth of it on either side."""


def is_model(values: Any) -> bool:
    """Whether a fitted model was given in place of its values."""
    if isinstance(values, Model):
        require_fit(values)
        return True
    return False


def shares_of_model(model: Any) -> Any:
    """Return what the titles of a model's axes say: the shares of the axes, where there are any."""
    shares = getattr(model, "explained_variance_ratio_", getattr(model, "shares_", None))
    spectrum = getattr(model, "spectrum_", None)
    if shares is None:
        return as_shares(spectrum)
    clusters = () if spectrum is None else spectrum.clusters
    return type(as_shares(None))(np.asarray(shares), clusters)


def inertias_of_model(model: Any) -> tuple[Array, float | None]:
    """Return the inertias of a model's axes and their total; None where it is Σ|λ|."""
    if hasattr(model, "inertias_"):
        return model.inertias_, model.inertia_
    if not hasattr(model, "eigenvalues_"):
        raise InvalidInput(
            f"the axes of {type(model).__name__} have no inertias, which a scree plot shows"
        )
    return model.eigenvalues_, None


def variables_of_model(model: Any) -> Any:
    """Return the variables on a model's axes, or say what has none."""
    if not hasattr(type(model), "variables_"):
        raise InvalidInput(
            f"{type(model).__name__} knows distances and no variables, which a circle of "
            "correlations shows: mercer.fit_variables fits them to its map"
        )
    return model.variables_


def first_picture(model: Any, **options: Any) -> Any:
    """Draw the individuals of a model with axes, or the curve of one that predicts from a number.

    Of correspondence analysis and its kin, with the columns or categories that place them.

    >>> from mercer import PCA, datasets
    >>> ax = first_picture(PCA(standardize=True).fit(datasets.decathlon()))
    >>> ax.get_xlabel()
    'Dim 1 (32.7 %)'
    """
    from mercer.pictures.circle import biplot
    from mercer.pictures.curves import curves
    from mercer.pictures.planes import individuals
    from mercer.pictures.spectra import scree

    is_model(model)
    if hasattr(model, "individuals_"):
        if model.individuals_.coordinates.shape[1] < 2:
            return scree(model, **options)
        # Categories and columns of counts are points among the individuals, and say what they mean.
        has_points = hasattr(type(model), "categories_") or hasattr(type(model), "columns_")
        return (biplot if has_points else individuals)(model, **options)
    at, band = _curve(model)
    what = {"the curve": np.asarray(model.predict(at[:, None]))}
    return curves(at, what, bands=band, **{"title": type(model).__name__, **options})


def _curve(model: Any) -> tuple[Array, dict[str, tuple[Array, Array]]]:
    """Return places across what a model of one variable has seen, and its band there."""
    seen = getattr(model, "X_fit_", None)
    if seen is None and hasattr(model, "curve"):
        seen = model.curve.places.at
    values = np.asarray(seen)
    is_one = values.dtype.kind in "iuf" and values.ndim > 0 and values.size == len(values)
    if not is_one or hasattr(model, "classes_") or getattr(model, "n_features_in_", 0) != 1:
        raise InvalidParameter(
            f"{type(model).__name__} has no first picture: it has no axes and does not predict "
            "from one number; mercer.pictures holds pictures for its values"
        )
    low, high = float(values.min()), float(values.max())
    at = np.linspace(low - 0.1 * (high - low), high + 0.1 * (high - low), PLACES)
    try:
        if hasattr(model, "posterior"):
            return at, {"95 % band": model.posterior(at[:, None]).band()}
        return at, {"95 % band": model.confidence_band(at[:, None])}
    except (InvalidParameter, NotAvailable):  # a loss or a penalty without a law
        return at, {}
