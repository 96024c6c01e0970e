"""The scikit-learn estimator of `thin`."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from herder._errors import ParameterError
from herder._validation import check_fitted, fit_points, positive_int
from herder.core.blas import one_blas_thread
from herder.core.plain import (
    Arrays,
    Header,
    plain_estimator,
    read_array,
    read_estimator,
    read_number,
)
from herder.core.state import State
from herder.data.rows import read_rows
from herder.kernel.bandwidth import (
    BandwidthLike,
    KernelLike,
    plain_kernel,
    read_kernel,
    resolve_kernel,
)
from herder.kernel.functions import Stein
from herder.kernel.thinning import thin

__all__ = ["KernelHerder"]


class KernelHerder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Choose rows by kernel herding; ``transform`` returns kernel values to the chosen points.

    Parameters
    ----------
    n_select : int, default 100
        Rows to choose; if there are fewer, all of them.
    kernel, bandwidth, standardise, refine, weights
        As for `thin`; the Stein kernel needs scores and is left to `thin`.
    n_jobs : int, optional
        Threads, all cores by default.

    Attributes
    ----------
    indices_ : array of shape (n_chosen,)
        Rows chosen.
    samples_ : array of shape (n_chosen, n_features)
        The chosen points.
    weights_ : array of shape (n_chosen,)
        Their weights.
    mmd_ : float
        Distance of the chosen points to all rows.
    kernel_ : callable
        The kernel with its bandwidth.

    Examples
    --------
    >>> import numpy as np
    >>> from herder import KernelHerder
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> KernelHerder(n_select=10).fit_transform(X).shape
    (500, 10)
    """

    def __init__(
        self,
        n_select: int = 100,
        *,
        kernel: KernelLike = "energy",
        bandwidth: BandwidthLike = "median",
        standardise: bool = True,
        refine: bool | int = True,
        weights: str = "uniform",
        n_jobs: int | None = None,
    ) -> None:
        self.n_select = n_select
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.standardise = standardise
        self.refine = refine
        self.weights = weights
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Choose rows of ``X``; ``y`` is ignored.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The sample.
        y : object
            Ignored; labels belong to `thin`.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows in the target.
        """
        rows = read_rows(fit_points(self, X))
        kernel = resolve_kernel(self.kernel, self.bandwidth, rows, standardise=self.standardise)
        if isinstance(kernel, Stein):
            raise ParameterError("kernel", "not be 'stein', which needs scores: use herder.thin")
        chosen = thin(
            rows,
            min(positive_int(self.n_select, "n_select"), rows.n_rows),
            kernel=kernel,
            refine=self.refine,
            weights=self.weights,
            sample_weight=sample_weight,
            n_jobs=self.n_jobs,
        )
        self.kernel_ = kernel
        self.indices_ = chosen.indices
        self.samples_ = rows.values[chosen.indices]
        self.weights_ = chosen.weights
        self.mmd_ = chosen.mmd
        self._n_features_out = len(chosen)
        return self

    def to_state(self) -> State:
        """Return the chosen points, and a header that JSON can hold."""
        check_fitted(self, "samples_")
        own = None if isinstance(self.kernel, str) else plain_kernel(self.kernel)
        header = {
            **plain_estimator(self, kernel=self.kernel if own is None else None),
            "own_kernel": own,
            "kernel": plain_kernel(self.kernel_),
            "mmd": float(self.mmd_),
        }
        return {name: getattr(self, name) for name in ("indices_", "samples_", "weights_")}, header

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Make an estimator of what `to_state` returned."""
        samples = read_array(arrays, "samples_", (None, None), arrays["samples_"].dtype)
        n, d = samples.shape
        model = read_estimator(cls, header, d)
        if header["own_kernel"] is not None:
            model.kernel = read_kernel(header["own_kernel"], d)
        model.kernel_ = read_kernel(header["kernel"], d)
        model.indices_ = read_array(arrays, "indices_", (n,), np.intp, low=0)
        model.samples_ = samples
        model.weights_ = read_array(arrays, "weights_", (n,))
        model.mmd_ = read_number(header, "mmd", float, low=None)
        model._n_features_out = n
        return model

    @one_blas_thread()
    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the kernel values of every row of ``X`` to the chosen points."""
        check_fitted(self, "samples_")
        points = read_rows(fit_points(self, X, reset=False)).values
        return np.asarray(self.kernel_(points, self.samples_), np.float64)
