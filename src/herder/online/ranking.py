"""The strongest features of a linear model, and how sure it is of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.core.summary import Block, Table, Text

__all__ = ["rank_features", "weight_deviations", "weight_tables"]

#: Columns of a table of weights, and their formats.
COLUMNS = {"weight": ".5g", "deviation": ".4g", "z": ".3g", "feature": ""}


def rank_features(model: Any, top: int, by: str) -> list[list[int]]:
    """Return the ``top`` features of each block of weights; those that never moved are none.

    Parameters
    ----------
    model : OnlineClassifier
        Linear.
    top : int
        Features of each block.
    by : {"weight", "confidence"}
        Order by the size of the weight, or of the weight over its standard deviation.
    """
    name = type(model).__name__
    weights = getattr(model, "coef_", None)
    if weights is None:
        raise ParameterError("model", "be linear to be explained", got=f"{name} without weights")
    sizes = np.abs(weights)
    if by == "confidence":
        deviations = weight_deviations(model)
        if deviations is None:
            raise ParameterError("by", f"be weight for {name}, which has no variances", got=by)
        sizes = sizes / deviations
    orders = np.argsort(-sizes, axis=1, kind="stable")[:, :top].tolist()
    return [[k for k in row if size[k] > 0] for row, size in zip(orders, sizes, strict=True)]


def weight_deviations(model: Any) -> NDArray[np.float64] | None:
    """Return the standard deviations of the weights, if the model has them."""
    variances = getattr(model, "covariance_", None)
    if variances is not None and model.covariance == "full":
        variances = np.diagonal(variances, axis1=-2, axis2=-1)
    return None if variances is None else np.sqrt(variances).reshape(model.coef_.shape)


def weight_tables(
    model: Any, top: int, by: str, name: Callable[[int], tuple[str, int]] | None = None
) -> list[Block]:
    """Return a table of the strongest features for each block of weights.

    Parameters
    ----------
    model : OnlineClassifier
        Fitted; one that is not linear has no tables.
    top, by
        As for `rank_features`.
    name : callable, optional
        Returns the name of a feature, and the sign that it counts with; by default names of
        columns, or the number of a feature.
    """
    classes = model.classes_.tolist()
    if len(classes) < 2:
        return [Text(f"only {classes[0]} so far: there is nothing to distinguish yet")]
    if not hasattr(model, "coef_"):
        return []
    names = getattr(model, "feature_names_in_", None)
    name = name or (lambda place: (str(place if names is None else names[place]), 1))
    weights, deviations = model.coef_, weight_deviations(model)
    columns = [c for c in COLUMNS if deviations is not None or c in ("weight", "feature")]
    tables: list[Block] = []
    for block, places in enumerate(rank_features(model, top, by)):
        rows = []
        for place in places:
            found = name(place)
            if not isinstance(found, tuple) or len(found) != 2 or found[1] not in (-1, 1):
                raise ParameterError("name", "return a name and a sign", found)
            label, sign = found
            spread = None if deviations is None else deviations[block, place]
            rows.append(_row(sign * weights[block, place], spread, label))
        if model.fit_intercept:
            spread = None
            if deviations is not None:
                spread = float(np.sqrt(model.intercept_variance_[block]))
            rows.append(_row(model.intercept_[block], spread, "(intercept)"))
        caption = f"above 0 for {classes[1]}, below 0 for {classes[0]}:"
        if len(weights) > 1:
            caption = f"for {classes[block]}:"
        tables.append(Table(columns, rows, [COLUMNS[c] for c in columns], caption))
    return tables


def _row(weight: float, deviation: float | None, name: str) -> tuple[object, ...]:
    return (weight, name) if deviation is None else (weight, deviation, weight / deviation, name)
