r"""One model out of several that were trained on parts of the data.

Each part starts from the same prior, so a product of their Gaussians counts it once too often for
every part but one. With precisions :math:`P_k = \Sigma_k^{-1}` and the prior :math:`I`,

.. math:: P = \sum_k P_k - (K - 1) I, \qquad \mu = P^{-1} \sum_k P_k \mu_k.

With ``average=True`` the averaged means are merged, and the average begins anew.

What comes out is not what one learner would have learnt from all rows in turn (each part met its
rows with a wider covariance), but it is exact in what it adds up: the evidence of the parts.
"""

import copy
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from herder._deprecated import renamed_names
from herder._errors import ParameterError, ParameterTypeError
from herder._validation import check_fitted, listed
from herder.core.blas import one_blas_thread
from herder.online.full import FullWeights
from herder.online.gaussian import GaussianClassifier
from herder.online.rules import VARIANCE_FLOOR
from herder.online.weights import DiagonalWeights

__all__ = ["merge_classifiers"]

__getattr__ = renamed_names(__name__, {"merge": "herder.online.merging.merge_classifiers"})

G = TypeVar("G", bound=GaussianClassifier)


@one_blas_thread()
def merge_classifiers(models: Iterable[G]) -> G:
    """Merge fitted Gaussian classifiers of one kind into one, which can go on learning.

    Parameters
    ----------
    models : iterable of NHERD, AROW, ConfidenceWeighted or SecondOrderPerceptron
        Fitted on parts of the data, with the same features, classes, intercept and form of
        covariance; C may differ.

    Returns
    -------
    model
        A new model of the same kind; ``n_seen_`` and ``n_updates_`` are the sums.

    Examples
    --------
    >>> from herder import NHERD, merge_classifiers
    >>> part = NHERD().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])
    >>> both = merge_classifiers([part, part])
    >>> bool((both.covariance_ < part.covariance_).all())
    True
    """
    parts = listed(models, "models", "fitted models")
    if not parts:
        raise ParameterError("models", "hold at least one fitted model", got="none")
    for part in parts:
        _check(part, parts[0])
    merged = copy.deepcopy(parts[0])
    weights = [part._weights for part in parts]
    if isinstance(merged._weights, DiagonalWeights):
        _merge_diagonal(merged._weights, weights)
    else:
        _merge_full(merged._weights, weights)
    merged.n_seen_ = sum(part.n_seen_ for part in parts)
    merged.n_updates_ = sum(part.n_updates_ for part in parts)
    merged._wrong = sum(part._wrong for part in parts)
    merged._tested = sum(part._tested for part in parts)
    merged._weights.seen = sum(part.seen for part in weights)
    return merged


def _check(part: GaussianClassifier, first: GaussianClassifier) -> None:
    if not isinstance(part, GaussianClassifier):
        raise ParameterTypeError(
            "models",
            "be Gaussian classifiers (NHERD, AROW, ConfidenceWeighted, "
            "SecondOrderPerceptron), which know how sure they are",
            got=type(part).__name__,
        )
    check_fitted(part, "classes_")
    if not isinstance(part._weights, DiagonalWeights | FullWeights):
        raise ParameterError("models", "not have a kernel: their feature spaces differ")
    names: list[Any] = [getattr(model, "feature_names_in_", None) for model in (first, part)]
    if all(name is not None for name in names) and not np.array_equal(*names):
        raise ParameterError("models", "have the same names of features in the same order")
    facts = (
        ("kind", type(first).__name__, type(part).__name__),
        ("classes", first.classes_.tolist(), part.classes_.tolist()),
        ("number of features", first.n_features_in_, part.n_features_in_),
        ("shape of weights", first._weights.means.shape, part._weights.means.shape),
        ("covariance", first.covariance, part.covariance),
        ("way with classes", first.multi_class, part.multi_class),
        ("way to read rows", getattr(first, "_beside", {}), getattr(part, "_beside", {})),
    )
    for name, wanted, given in facts:
        if wanted != given:
            raise ParameterError("models", f"be of one {name}", got=f"{wanted} and {given}")


def _merge_diagonal(into: DiagonalWeights, parts: list[DiagonalWeights]) -> None:
    precisions = [1.0 / part.table[:, :, 1] for part in parts]
    total = sum(precisions) - (len(parts) - 1)
    pairs = zip(precisions, parts, strict=True)
    means = sum(precision * part.means for precision, part in pairs) / total
    into.table[:, :, 0] = means
    into.table[:, :, 1] = np.maximum(1.0 / total, VARIANCE_FLOOR)
    into.drift = None if into.drift is None else np.zeros_like(into.drift)


def _merge_full(into: FullWeights, parts: list[FullWeights]) -> None:
    groups, side = into.roots.shape[:2]
    merged, given = np.empty_like(into.roots), [part.matrices for part in parts]
    for g in range(groups):
        try:
            precisions = [np.linalg.inv(matrices[g]) for matrices in given]
        except np.linalg.LinAlgError:
            raise ParameterError(
                "models",
                "have covariances that can be inverted",
                got="one that is too narrow in some direction: give a smaller C, or "
                "covariance='project'",
            ) from None
        total: NDArray[Any] = sum(precisions) - (len(parts) - 1) * np.eye(side)
        pull = np.zeros(side)
        for precision, part in zip(precisions, parts, strict=True):
            pull += precision @ part.means.T.reshape(groups, -1)[g]
        into.means_.reshape(groups, -1)[g] = np.linalg.solve(total, pull)
        inverse = np.linalg.inv(total)
        merged[g] = (inverse + inverse.T) / 2
    into.matrices = merged
    into.drift = None if into.drift is None else np.zeros_like(into.drift)
