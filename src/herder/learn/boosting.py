r"""Density estimation by boosting: fields that learn to tell data from their own samples.

Each round draws negative examples from the field so far, trains a feature to distinguish data from
them, and adds it to the energy with a coefficient [welling2003]_. The mathematics of a round is in
`herder.learn.boosted_round`, that of features in `herder.learn.boosted_features`, and that of the
field and its chains in `herder.learn.boosted_model`.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import (
    fit_points,
    flag,
    function_or_none,
    generator,
    non_negative_int,
    non_negative_number,
    one_of,
    positive_int,
    share,
    whole_or_not,
)
from herder.core.blas import one_blas_thread
from herder.core.lanes import Progress
from herder.learn.boosted_base import GaussianBase, SignBase, fit_gaussians, fit_signs
from herder.learn.boosted_features import (
    DimpleFeatures,
    FeatureFamily,
    RBMFeatures,
    choose_family,
)
from herder.learn.boosted_fitted import FittedField
from herder.learn.boosted_frame import RowFrame
from herder.learn.boosted_model import BoostedModel
from herder.learn.boosted_round import run_round

__all__ = ["BoostedField"]

Floats = NDArray[np.float64]

#: Steps of Metropolis chains in a round; other chains make one.
METROPOLIS_STEPS = 20

#: Least numbers of negative examples, of signs and of numbers: with fewer, their noise is learnt.
SIGN_CHAINS, NUMBER_CHAINS = 500, 2000

#: Rows that are kept for chains to start from.
N_STARTS = 1000


class BoostedField(FittedField):
    """Estimate a density by boosting, for rows of two states or of numbers.

    Parameters
    ----------
    features : {"auto", "rbm", "dimple", "tree"} or FeatureFamily, default "auto"
        What is added in each round: units of a generalised RBM, for rows of two states; dimples,
        for numbers; decision trees; or a family of your own. "auto" chooses one of the first two.
    n_rounds : int, default 100
        Number of rounds.
    weighted : bool, default False
        Whether rows are weighted by how badly they are classified, as in the paper; otherwise
        rounds follow the gradient of the log-likelihood. Weighted rounds are for classification:
        what they learn is not a good density.
    max_components : int, default 20
        Most components of the mixture that is the first energy, of Gaussians or of independent
        columns; their number is that of the least BIC. 0 begins as the paper does, and so do
        weighted rounds: with equal probabilities of all rows of two states, or one Gaussian.
    penalty : float, optional
        Standard errors of the mean of a feature by which the field may miss it. Larger values
        give smoother densities. Default: 0 with "rbm", otherwise the root of half the number of
        columns.
    chain : {"auto", "exact", "block"}, default "auto"
        How negative examples are drawn: by Gibbs sampling or the Metropolis algorithm, or by
        approximate chains with hidden variables. "auto": "block" for weighted rounds with "rbm",
        otherwise "exact".
    n_steps : int, optional
        Steps of the chains, which start at the rows. Default: 20 of Metropolis, otherwise 1.
    min_ess : float, default 0.6
        Least effective sample size of negative examples, relative to their number.
    resample : bool, default False
        Whether negative examples are drawn again when it is reached; otherwise the coefficient
        is accepted.
    early_stopping : bool, default False
        Whether to stop when held-out rows gain nothing, and keep the best number of rounds.
    validation_fraction : float, default 0.1
        Share of the rows that is held out then.
    n_iter_no_change : int, default 20
        Rounds without a gain before it stops; also without early stopping, rounds without a
        feature that helps.
    contamination : float, default 0.1
        Share of the rows that `predict` calls outliers.
    warm_start : bool, default False
        Whether `fit` adds rounds to those of the fit before, up to ``n_rounds``.
    random_state : int, Generator or None, default 0
        Draws negative examples and the starts of features.

    Attributes
    ----------
    coefficients_ : ndarray of shape (n_rounds,)
        Coefficients of the features; 0 if a feature did not help.
    parameters_ : ndarray of shape (n_rounds, n_parameters)
        Their parameters.
    ess_ : ndarray of shape (n_rounds,)
        Effective sample sizes at the coefficients, relative to the number of negative examples.
    gains_ : ndarray of shape (n_rounds,)
        Gain of log-likelihood in each round, estimated by the negative examples; of held-out rows
        with early stopping.
    constant_ : float
        Added to the energy to balance the weights of data and negative examples.
    offset_ : float
        Log density below which `predict` calls a row an outlier.
    log_partition_error_ : float
        Standard error of log Z.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from herder import BoostedField
    >>> angles = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    >>> ring = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> field = BoostedField(n_rounds=30).fit(ring)
    >>> field.predict([[1.0, 0.0], [0.0, 0.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        features: str | FeatureFamily = "auto",
        *,
        n_rounds: int = 100,
        weighted: bool = False,
        max_components: int = 20,
        penalty: float | None = None,
        chain: str = "auto",
        n_steps: int | None = None,
        min_ess: float = 0.6,
        resample: bool = False,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 20,
        contamination: float = 0.1,
        warm_start: bool = False,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.features = features
        self.n_rounds = n_rounds
        self.weighted = weighted
        self.max_components = max_components
        self.penalty = penalty
        self.chain = chain
        self.n_steps = n_steps
        self.min_ess = min_ess
        self.resample = resample
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.contamination = contamination
        self.warm_start = warm_start
        self.random_state = random_state

    def fit(self, X: object, y: object = None, *, progress: Progress | None = None) -> Self:
        """Add features in rounds.

        Parameters
        ----------
        X : array-like or frame of shape (n_rows, n_columns)
            Rows of 0 and 1, of -1 and 1, or of numbers.
        y : ignored
            For scikit-learn.
        progress : callable, optional
            Called with the share done, and a word on what is done.
        """
        with whole_or_not(self):
            points = fit_points(self, X).astype(np.float64, order="C")
            family, states = choose_family(self.features, points)
            return self._learn(points, family, RowFrame.around(points, states), progress)

    def _learn(
        self, points: Floats, family: FeatureFamily, frame: RowFrame, progress: Progress | None
    ) -> Self:
        """Add features in rounds, for rows in that frame unless they go on."""
        function_or_none(progress, "progress")
        n_rounds = positive_int(self.n_rounds, "n_rounds")
        contamination = share(self.contamination, "contamination")
        again = flag(self.warm_start, "warm_start") and hasattr(self, "_model")
        with one_blas_thread():
            if again and points.shape[1] == len(self._frame.centre):
                rows = self._frame.scaled(points)
                teach, held = self._held_out(len(rows))
            else:
                rows = frame.scaled(points)
                self._frame, self._seed = frame, int(generator(self.random_state).integers(2**62))
                teach, held = self._held_out(len(rows))
                self._begin(rows[teach], family)
            self._boost(rows[teach], rows[held], n_rounds, progress)
            energies = self._model.energy(rows)
            self._threshold = -float(np.quantile(energies, 1 - contamination))
            self._low, self._high = rows.min(axis=0), rows.max(axis=0)
            self._partition = None
        return self

    def _begin(self, rows: Floats, family: FeatureFamily) -> None:
        """Fit the first energy; it has no features."""
        most = non_negative_int(self.max_components, "max_components")
        if flag(self.weighted, "weighted"):
            most = 0  # the weights of rows of a good density are near 0 or 1
        if self._frame.states is None:
            base: SignBase | GaussianBase = fit_gaussians(rows, self._frame, most, self._seed)
        else:
            base = fit_signs(rows, most)
        self._model = BoostedModel(family, np.empty((0, 0)), np.empty(0), base)
        self.ess_, self.gains_, self.constant_ = np.empty(0), np.empty(0), 0.0

    def _held_out(self, n_rows: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the places of rows that teach, and of those that are held out."""
        if not flag(self.early_stopping, "early_stopping"):
            return np.arange(n_rows), np.empty(0, np.intp)
        fraction = share(self.validation_fraction, "validation_fraction")
        n_held = min(max(1, round(fraction * n_rows)), n_rows - 1)
        if n_held < 1:
            raise ParameterError("X", "have at least two rows with early stopping", got="1 row")
        order = np.random.default_rng([self._seed, 0]).permutation(n_rows)
        return np.sort(order[n_held:]), np.sort(order[:n_held])

    def _boost(self, rows: Floats, held: Floats, n_rounds: int, progress: Progress | None) -> None:
        """Add rounds until there are enough of them, or held-out rows gain nothing."""
        patience = positive_int(self.n_iter_no_change, "n_iter_no_change")
        settings: dict[str, Any] = {**self._settings(), "judges": held if len(held) else rows}
        *_, energies = self._model.staged(rows)  # added up in the order of the rounds
        first, constants = self.n_rounds_, [self.constant_]
        for t in range(self.n_rounds_, n_rounds):
            rng = np.random.default_rng([self._seed, t + 1])
            found = run_round(self._model, rows, energies, self.constant_, rng, **settings)
            self._model, energies, self.constant_ = found.model, found.energies, found.constant
            constants.append(found.constant)
            self.ess_ = np.append(self.ess_, found.ess)
            self.gains_ = np.append(self.gains_, found.gain)
            self._starts = found.negatives[:N_STARTS]
            best = int(self.gains_.cumsum().argmax()) + 1 if len(held) else t + 1
            idle = not self.coefficients_[-patience:].any() and t + 1 >= patience
            stopped = t + 1 - best >= patience or idle
            if progress is not None:
                progress(1.0 if stopped else (t + 1) / n_rounds, "boosting")
            if stopped:
                self._model = self._model.first(best)
                self.ess_, self.gains_ = self.ess_[:best], self.gains_[:best]
                self.constant_ = constants[max(best - first, 0)]
                break

    def _settings(self) -> dict[str, Any]:
        """Return how rounds are run."""
        chain = one_of(self.chain, "chain", ["auto", "exact", "block"])
        family, signs = self._model.family, self._model.signs
        units, weighted = isinstance(family, RBMFeatures), flag(self.weighted, "weighted")
        if chain == "auto":
            chain = "block" if units and weighted else "exact"
        elif chain == "block" and not isinstance(family, RBMFeatures | DimpleFeatures):
            raise ParameterError("chain", "be 'exact' for these features", chain)
        n_steps = 1 if signs or chain == "block" else METROPOLIS_STEPS
        if self.n_steps is not None:
            n_steps = positive_int(self.n_steps, "n_steps")
        penalty = 0.0 if units else float(np.sqrt(self._model.base.width / 2))
        if self.penalty is not None:
            penalty = non_negative_number(self.penalty, "penalty")
        return {
            "chain": chain,
            "n_steps": n_steps,
            "n_chains": SIGN_CHAINS if signs else NUMBER_CHAINS,
            "weighted": weighted,
            "penalty": penalty,
            "min_ess": share(self.min_ess, "min_ess"),
            "resample": flag(self.resample, "resample"),
        }
