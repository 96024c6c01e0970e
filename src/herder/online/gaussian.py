r"""Gaussian herding (NHERD) and adaptive regularisation (AROW) of weight vectors.

Both keep a Gaussian over weights and, at a row with margin :math:`m = y \mu^T x \le 1`, move its
mean by a passive-aggressive step in its own metric,

.. math:: \mu \leftarrow \mu + y \frac{1 - m}{v + 1/C} \Sigma x, \qquad v = x^T \Sigma x.

NHERD moves every weight vector by one linear flow, :math:`w \leftarrow A w + b`, which narrows the
Gaussian to :math:`A \Sigma A^T` with :math:`A = (\Sigma^{-1} + C x x^T)^{-1} \Sigma^{-1}`: its
precision grows by :math:`(2C + C^2 v) x x^T`, that of AROW by :math:`C x x^T` [crammer2010]_,
[crammer2009]_. A larger C learns faster and narrows faster; the precision never falls (without
forgetting), so the steps shrink as evidence comes in, which is what makes these learners calm
under label noise.

The second-order perceptron [cesa2005]_ is AROW's update at mistakes only: its weight vector
:math:`(I/C + \sum x x^T)^{-1} \sum y x` over the mistakes is the mean above, and the instance at
hand, which it adds to the matrix before it predicts, cannot change the sign. Its diagonal form
("project") keeps one ridge regression a feature, and predicts without the instance at hand, so
that the classifier is linear.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import check_fitted, fit_rows, one_of, positive_number, share
from herder.core.blas import one_blas_thread
from herder.online.classifier import OnlineClassifier
from herder.online.fitted import finite_answers
from herder.online.inputs import RandomState, RowsLike
from herder.online.odds import find_rivals, probabilities
from herder.online.rules import VARIANCE_FLOOR, Rule
from herder.online.weights import DiagonalWeights

__all__ = ["AROW", "NHERD", "GaussianClassifier", "SecondOrderPerceptron"]

#: With a larger C squares of it overflow.
LARGEST_C = 1e100


class GaussianClassifier(OnlineClassifier):
    """Base of the learners with a covariance: see `NHERD` for the parameters."""

    _algorithm: str
    _covariances: ClassVar[tuple[str, ...]] = ("project", "drop", "full")

    def __init__(
        self,
        C: float = 1.0,
        *,
        covariance: str = "project",
        fit_intercept: bool = True,
        max_iter: int = 5,
        shuffle: bool = True,
        random_state: RandomState = 0,
        average: bool = False,
        forget: float = 0.0,
        class_weight: str | Mapping[Any, float] | None = None,
        multi_class: str = "max-margin",
        new_classes: str = "error",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        kernel: str | Callable[..., Any] | None = None,
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        budget: int = 1000,
    ) -> None:
        super().__init__(
            fit_intercept=fit_intercept,
            max_iter=max_iter,
            shuffle=shuffle,
            random_state=random_state,
            average=average,
            class_weight=class_weight,
            multi_class=multi_class,
            new_classes=new_classes,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
        )
        self.C = C
        self.covariance = covariance
        self.forget = forget
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.budget = budget

    def _rule(self) -> Rule:
        form = one_of(self.covariance, "covariance", self._covariances)
        if positive_number(self.C, "C") > LARGEST_C:
            raise ParameterError("C", f"be at most {LARGEST_C:g}", self.C)
        if self.kernel is not None and form != "full":
            raise ParameterError(
                "covariance",
                "be 'full' for a kernel",
                got=f"{form!r}: a diagonal has no kernel form",
            )
        if self.kernel is not None and self.multi_class != "max-margin":
            raise ParameterError("multi_class", "be 'max-margin' for a kernel", self.multi_class)
        return Rule.named(self._algorithm, form, forget=share(self.forget, "forget"))

    def _linear_weights(self, name: str) -> Any:
        """Return the weights, unless they live in the feature space of a kernel."""
        check_fitted(self, "classes_")
        if self.kernel is not None:
            raise AttributeError(f"a model with a kernel has no {name}; see dual_coef_")
        return self._weights

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Mean weights, (1, n_features) for two classes, else (n_classes, n_features)."""
        self._linear_weights("coef_")
        return super().coef_

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Mean weights of the constant feature, (1,) or (n_classes,)."""
        self._linear_weights("intercept_")
        return super().intercept_

    @property
    def support_vectors_(self) -> Any:
        """Rows kept by a model with a kernel, (n_supports, n_features)."""
        return self._dual("support_vectors_").supports

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        """Coefficients of the rows kept by a model with a kernel, (1 or n_classes, n_supports)."""
        return np.atleast_2d(self._dual("dual_coef_").dual_coef)

    @property
    def n_projected_(self) -> int:
        """Updates that the budget of a model with a kernel made approximate."""
        return self._dual("n_projected_").n_projected

    def _dual(self, name: str) -> Any:
        check_fitted(self, "classes_")
        if self.kernel is None:
            raise AttributeError(f"a model without a kernel has no {name}; see coef_")
        return self._weights.dual

    @property
    def covariance_(self) -> NDArray[np.float64]:
        """Variances of the weights, shaped like ``coef_``; with ``covariance="full"`` a matrix.

        The matrix is (n_features, n_features) for two classes, one such matrix a class for
        one-vs-rest, and for max-margin one matrix over the blocks of all classes.
        """
        weights, width = self._linear_weights("covariance_"), self.n_features_in_
        if isinstance(weights, DiagonalWeights):
            return weights.table[:width, :, 1].T.copy()
        matrices = weights.matrices
        if not weights.together:
            found = matrices[:, :width, :width]
            return (found[0] if len(found) == 1 else found).copy()
        kept = np.flatnonzero(np.arange(matrices.shape[1]) % weights.means_.shape[1] < width)
        return matrices[0][np.ix_(kept, kept)]

    @property
    @one_blas_thread()
    def intercept_variance_(self) -> NDArray[np.float64]:
        """Variances of the weights of the constant feature, shaped like ``intercept_``."""
        weights = self._linear_weights("intercept_variance_")
        if not weights.bias:
            return np.zeros(weights.n_blocks)
        if isinstance(weights, DiagonalWeights):
            return weights.table[-1, :, 1].copy()
        last = (weights.block_root(b)[-1] for b in range(weights.n_blocks))
        return np.array([max(float(row @ row), VARIANCE_FLOOR) for row in last])

    def decision_variance(self, X: RowsLike) -> NDArray[np.float64]:
        """Return the variances of the scores of `decision_function`."""
        check_fitted(self, "classes_")
        rows, weights = fit_rows(self, X, reset=False), self._weights
        with np.errstate(over="ignore", invalid="ignore"):
            if len(self.classes_) != 2:
                found = weights.variances(rows)
            elif weights.n_blocks == 1:
                found = weights.variances(rows)[:, 0]
            else:
                found = weights.gap_variances(rows, np.tile([1, 0], (rows.shape[0], 1)))[:, 1]
        return finite_answers(found)

    def predict_proba(self, X: RowsLike) -> NDArray[np.float64]:
        r"""Return the probabilities of the classes by the probit of margin and variance.

        For two classes :math:`\Phi(\mu^T x / \sqrt{1 + v})`; for more, that of each class against
        the best other one, scaled to sum to one. They are as good as the Gaussian: see
        ``sklearn.calibration`` if you need more.
        """
        check_fitted(self, "classes_")
        rows = fit_rows(self, X, reset=False)
        weights = self._weights
        scores = finite_answers(weights.scores(rows))
        with np.errstate(over="ignore", invalid="ignore"):
            if weights.n_blocks == 1:
                found = weights.variances(rows)
            else:
                found = weights.gap_variances(rows, find_rivals(scores))
        return probabilities(scores, finite_answers(found), len(self.classes_))


class NHERD(GaussianClassifier):
    """Gaussian herding of weight vectors: an online classifier robust to label noise.

    Parameters
    ----------
    C : float, default 1.0
        How far a row moves the Gaussian; try powers of ten from 1e-3 to 1e2, and smaller ones the
        more labels are wrong. Rows of length about 1 are the scale that the default is for.
    covariance : {"project", "exact", "drop", "full"}, default "project"
        Form of the covariance: three diagonals, or the whole matrix.
    fit_intercept : bool, default True
        Add a constant feature, with a mean and a variance of its own.
    max_iter : int, default 5
        Passes of ``fit``; it stops before if a pass changes nothing.
    shuffle : bool, default True
        Whether ``fit`` takes rows in random order; ``partial_fit`` never does.
    random_state : int, Generator or None, default 0
        For the order of rows, and for the rows held out by early stopping.
    average : bool, default False
        Predict with the mean weights averaged over all rows seen.
    forget : float, default 0.0
        For streams that drift: before each row the covariance moves by this share back to its
        start, the unit matrix.
    class_weight : dict, "balanced" or None
        Factors of C for each class.
    multi_class : {"max-margin", "one-vs-rest"}, default "max-margin"
        More than two classes: one model of the difference between the right class and the best
        other one, or one model a class.
    new_classes : {"error", "add"}, default "error"
        Whether ``partial_fit`` may meet classes that it has not been told of. With "add" even two
        classes have a block of weights each.
    early_stopping : bool, default False
        Hold back rows in ``fit`` and stop when their error has not fallen for some passes; the
        best pass is kept.
    validation_fraction : float, default 0.1
        Share of rows held out.
    n_iter_no_change : int, default 3
        Passes without improvement before it stops.
    kernel : {"linear", "rbf", "poly", "laplacian"}, callable or None
        With ``covariance="full"`` learn in the feature space of a kernel instead of that of X.
    gamma, degree, coef0
        Of the kernel, as in ``sklearn.metrics.pairwise.pairwise_kernels``.
    budget : int, default 1000
        Rows that a kernel model may keep; further ones are projected on these.

    Attributes
    ----------
    coef_, intercept_ : arrays
        Mean weights.
    covariance_, intercept_variance_ : arrays
        Their variances, or covariance.
    classes_ : array
        The classes, in order.
    n_iter_, n_seen_, n_updates_ : int
        Passes made, rows seen (each pass counts), and rows that changed the model (one-vs-rest
        counts a row for each class whose model it changed).
    support_vectors_, dual_coef_, n_projected_
        Of a model with a kernel: the rows kept, their coefficients, and the updates that the
        budget made approximate. Such a model has no ``coef_`` and ``covariance_``.
    progressive_error_ : float
        Share of rows predicted wrongly before they were learnt, in the first pass of ``fit`` or in
        all calls of ``partial_fit``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from herder import NHERD
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> NHERD(C=0.1).fit(StandardScaler().fit_transform(X), y).progressive_error_ < 0.1
    True
    """

    _algorithm = "NHERD"
    _covariances = ("project", "exact", "drop", "full")


class AROW(GaussianClassifier):
    """Adaptive regularisation of weight vectors; the parameters are those of `NHERD`.

    ``C`` is 1/r of the paper, and ``covariance`` is "project", "drop" or "full": for AROW the
    projection is also the exact solution within diagonal matrices.

    Examples
    --------
    >>> from herder import AROW
    >>> AROW().fit([[0.0, 1.0], [1.0, 0.0]], ["no", "yes"]).predict([[0.9, 0.1]])
    array(['yes'], dtype='<U3')
    """

    _algorithm = "AROW"


class SecondOrderPerceptron(GaussianClassifier):
    """The second-order perceptron, which learns from mistakes only; parameters as `NHERD`.

    ``covariance`` is "project" (a diagonal) or "full".

    Examples
    --------
    >>> from herder import SecondOrderPerceptron
    >>> SecondOrderPerceptron().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]).predict([[0.9, 0.1]])
    array([1])
    """

    _algorithm = "second-order"
    _covariances = ("project", "full")

    def _rule(self) -> Rule:
        rule = super()._rule()
        if rule.is_full:
            return rule
        return Rule.named(self._algorithm, "ridge", forget=rule.forget)
