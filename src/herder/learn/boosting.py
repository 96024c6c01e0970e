r"""Density estimation by boosting: fields that learn to tell data from their own samples.

Each round draws negative examples from the field so far, trains a feature to distinguish data from
them, and adds it to the energy with a coefficient [welling2003]_. The mathematics of a round is in
`herder.learn.boosted_round`, that of features in `herder.learn.boosted_features`, and that of the
field and its chains in `herder.learn.boosted_model`.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import (
    check_fitted,
    fit_points,
    flag,
    function_or_none,
    generator,
    non_negative_number,
    one_of,
    positive_int,
    share,
    whole_or_not,
)
from herder.core.blas import one_blas_thread
from herder.core.lanes import Progress
from herder.core.plain import (
    Arrays,
    Header,
    plain_estimator,
    read_array,
    read_estimator,
    read_number,
    read_record,
)
from herder.core.state import State
from herder.core.summary import Fact, Facts, Picture, Section, Summary, counted
from herder.learn.boosted_features import (
    FAMILIES,
    DimpleFeatures,
    FeatureFamily,
    RBMFeatures,
    choose_family,
)
from herder.learn.boosted_model import BLOCK, BoostedModel
from herder.learn.boosted_partition import Partition, annealed, grid_sum
from herder.learn.boosted_round import run_round
from herder.learn.whitening import whitening

__all__ = ["BoostedField", "make_frame"]

Floats = NDArray[np.float64]

#: The two values of all rows, or None for numbers.
States = tuple[int, int] | None

#: Captions of the pictures.
ROUNDS = ("gain of log density and effective sample size in each round",)
DENSITY = ("log density, and samples of the field",)

#: Steps of Metropolis chains in a round; other chains make one.
METROPOLIS_STEPS = 20

#: Least numbers of negative examples, of signs and of numbers: with fewer, their noise is learnt.
SIGN_CHAINS, NUMBER_CHAINS = 500, 2000


#: Steps of the chains of a sample.
SAMPLE_STEPS = 200

#: Rows must be nearer to the mean than this, in standard deviations: their squares are finite.
FARTHEST = 1e100

#: Rows that are kept for chains to start from.
N_STARTS = 1000

#: Rows, half of them of each sign, that are added to each column for the fields of the base.
PRIOR_ROWS = 2

#: Share of these fields in the first energy. With all of it, the weights of most rows are near 0
#: or 1 from the start, and features are learnt from few of them.
BASE_SHARE = 0.5


class BoostedField(OutlierMixin, BaseEstimator):
    """Estimate a density by boosting, for rows of two states or of numbers.

    Parameters
    ----------
    features : {"auto", "rbm", "dimple", "tree"} or FeatureFamily, default "auto"
        What is added in each round: units of a generalised RBM, for rows of two states; dimples,
        for numbers; decision trees; or a family of your own. "auto" chooses one of the first two.
    n_rounds : int, default 100
        Number of rounds.
    weighted : bool, optional
        Whether rows are weighted by how badly they are classified; otherwise rounds follow the
        gradient of the log-likelihood. Default: only with "rbm", which then needs fewer rounds.
    penalty : float, optional
        Standard errors of the mean of a feature by which the field may miss it. Larger values
        give smoother densities. Default: 0 with "rbm", otherwise the root of half the number of
        columns.
    chain : {"auto", "exact", "block"}, default "auto"
        How negative examples are drawn: by Gibbs sampling or the Metropolis algorithm, or by
        approximate chains with hidden variables. "auto": "block" for "rbm", otherwise "exact".
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

    n_features_in_: int
    _partition: Partition | None

    def __init__(
        self,
        features: str | FeatureFamily = "auto",
        *,
        n_rounds: int = 100,
        weighted: bool | None = None,
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
            points = fit_points(self, X).astype(np.float64)
            kind = choose_family(self.features, points)
            return self._learn(points, kind, make_frame(points, kind[1]), progress)

    def energy(self, X: object) -> Floats:
        """Return the energy of each row: minus its log density, up to a constant."""
        return self._model_energy(self._read(X))

    def staged_energy(self, X: object) -> Iterator[Floats]:
        """Yield the energy of each row after each round."""
        rows = self._read(X)
        stages = self._model.staged(rows)
        next(stages)
        yield from stages

    def score_samples(self, X: object, *, normalise: bool = True) -> Floats:
        """Return the log density of each row, of rows of two states the log probability.

        Parameters
        ----------
        X : array-like or frame
            The rows.
        normalise : bool
            Whether to subtract log Z. It is computed once: on a grid for one or two columns of
            numbers, otherwise by annealed importance sampling. ``log_partition_error_`` is its
            standard error, the same for all rows.
        """
        energies = self.energy(X)
        return -energies - self._log_partition() if flag(normalise, "normalise") else -energies

    def score(self, X: object, y: object = None) -> float:
        """Return the mean of `score_samples`."""
        return float(self.score_samples(X).mean())

    def decision_function(self, X: object) -> Floats:
        """Return how far the log density is above that of an outlier."""
        return -self.energy(X) - self._threshold

    def predict(self, X: object) -> NDArray[np.intp]:
        """Return -1 for outliers and 1 for other rows."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def sample(
        self, n_samples: int = 1, *, random_state: int | np.random.Generator | None = 0
    ) -> NDArray[Any]:
        """Draw rows by exact chains, which start at negative examples of the last round.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        random_state : int, Generator or None
            Draws the rows.
        """
        check_fitted(self, "_model")
        n_samples, rng = positive_int(n_samples, "n_samples"), generator(random_state)
        starts = self._starts[rng.integers(len(self._starts), size=n_samples)]
        size = max(1, BLOCK // (SAMPLE_STEPS * self.n_features_in_))
        with one_blas_thread():
            parts = [
                self._model.advance(
                    starts[low : low + size], SAMPLE_STEPS, rng, archive=self._starts
                )[0]
                for low in range(0, n_samples, size)
            ]
        rows = np.concatenate(parts)
        if self._states is not None:
            return np.where(rows > 0, 1, self._states[0]).astype(np.int8)
        return rows @ np.linalg.inv(self._scale) + self._centre

    def summary(self) -> Summary:
        """Return the size of the field, how the rounds went, and a picture of them."""
        check_fitted(self, "_model")
        size = f"{counted(self.n_features_in_, 'column')}, {counted(self.n_rounds_, 'round')}"
        used, least = int((self.coefficients_ > 0).sum()), float(self.ess_.min())
        meaning = "mean log density of a row over that of the first energy, by negative examples"
        facts = [
            Fact("features", f"{used} {type(self._model.family).__name__}", "", "with a weight"),
            Fact("gain", float(self.gains_.sum()), ".3f", meaning),
            Fact("effective sample size", 100 * least, ".0f", "per cent, least of all rounds"),
        ]
        sections = [Section("Rounds", [Picture("rounds", self, *ROUNDS)])]
        if self._states is None and len(self._centre) == 2:
            sections.append(Section("Density", [Picture("density", self, *DENSITY)]))
        return Summary(f"BoostedField, {size}", [Facts(facts)], sections)

    def to_state(self) -> State:
        """Return features and coefficients, and a header that JSON can hold."""
        check_fitted(self, "_model")
        family = self._model.family
        kinds = [name for name, kind in FAMILIES.items() if type(family) is kind]
        if not kinds:
            got = f"{type(family).__name__}, which is not of herder"
            raise ParameterTypeError("features", "be a name or a family of herder", got=got)
        given = isinstance(self.features, str)
        header = plain_estimator(self, features=self.features if given else None)
        header |= {"family": kinds[0], "setting": asdict(cast(Any, family)), "seed": self._seed}
        header |= {"states": list(self._states or ()), "constant": self.constant_}
        arrays = {"parameters": self.parameters_, "coefficients": self.coefficients_}
        arrays |= {"ess": self.ess_, "gains": self.gains_, "starts": self._starts}
        arrays |= {"centre": self._centre, "scale": self._scale}
        arrays |= {"low": self._low, "high": self._high}
        if self._model.fields is not None:
            arrays["fields"] = self._model.fields
        return arrays, {**header, "threshold": self._threshold}

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Return the field that `to_state` described."""
        family = read_record(FAMILIES[header["family"]], header["setting"])
        states = tuple(header["states"]) or None
        if states not in (None, (0, 1), (-1, 1)):
            raise ValueError(f"states {states}")
        centre = read_array(arrays, "centre", (None,))
        width = len(centre)
        coefficients = read_array(arrays, "coefficients", (None,), low=0)
        n = len(coefficients)
        parameters = read_array(arrays, "parameters", (n, family.n_parameters(width)))
        field = read_estimator(cls, header, width)
        if field.features is None:
            field.features = family
        fields = None if states is None else read_array(arrays, "fields", (width,))
        field._model = BoostedModel(family, parameters, coefficients, fields)
        field._states, field._centre = states, centre
        size = width if states is None else 1
        field._scale = read_array(arrays, "scale", (size, size))
        for name in ("low", "high"):
            setattr(field, f"_{name}", read_array(arrays, name, (width,)))
        field._starts = read_array(arrays, "starts", (None, width))
        field.ess_, field.gains_ = (read_array(arrays, key, (n,)) for key in ("ess", "gains"))
        field._seed = read_number(header, "seed")
        field.constant_ = read_number(header, "constant", float, low=-np.inf)
        field._threshold = read_number(header, "threshold", float, low=-np.inf)
        field._partition = None
        if not np.isfinite(np.linalg.slogdet(field._scale)[1]):
            raise ValueError("scale without an inverse")
        if not n or not len(field._starts) or not width:
            raise ValueError(f"{n} features of {width} columns")
        return field

    @property
    def coefficients_(self) -> Floats:
        """Coefficients of the features."""
        return self._model.coefficients

    @property
    def parameters_(self) -> Floats:
        """Parameters of the features."""
        return self._model.parameters

    @property
    def n_rounds_(self) -> int:
        """Number of rounds."""
        return len(self._model.coefficients)

    @property
    def log_partition_error_(self) -> float:
        """Standard error of log Z."""
        return self._normaliser().error

    @property
    def offset_(self) -> float:
        """Log density below which a row is an outlier."""
        return self._threshold - self._log_partition()

    def _learn(
        self,
        points: Floats,
        kind: tuple[FeatureFamily, States],
        frame: tuple[Floats, Floats],
        progress: Progress | None,
    ) -> Self:
        """Add features in rounds, for rows in that frame unless they go on."""
        function_or_none(progress, "progress")
        n_rounds = positive_int(self.n_rounds, "n_rounds")
        contamination = share(self.contamination, "contamination")
        again = flag(self.warm_start, "warm_start") and hasattr(self, "_model")
        with one_blas_thread():
            if not again or points.shape[1] != len(self._centre):
                self._begin(points, kind, frame)
            self._check_states(points)
            rows = self._scaled(points)
            teach, held = self._held_out(len(rows))
            self._boost(rows[teach], rows[held], n_rounds, progress)
            energies = self._model.energy(rows)
            self._threshold = -float(np.quantile(energies, 1 - contamination))
            self._low, self._high = rows.min(axis=0), rows.max(axis=0)
            self._partition = None
        return self

    def _begin(
        self,
        points: Floats,
        kind: tuple[FeatureFamily, States],
        frame: tuple[Floats, Floats],
    ) -> None:
        """Take the family of features and the frame of the rows; the energy has no features."""
        family, self._states = kind
        self._centre, self._scale = frame
        fields = None
        if self._states is not None:
            total = self._scaled(points).sum(axis=0)
            fields = BASE_SHARE * np.arctanh(total / (len(points) + PRIOR_ROWS))
        self._model = BoostedModel(family, np.empty((0, 0)), np.empty(0), fields)
        self.ess_, self.gains_, self.constant_ = np.empty(0), np.empty(0), 0.0
        self._seed = int(generator(self.random_state).integers(2**62))

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
        units = isinstance(family, RBMFeatures)
        if chain == "auto":
            chain = "block" if units else "exact"
        elif chain == "block" and not isinstance(family, RBMFeatures | DimpleFeatures):
            raise ParameterError("chain", "be 'exact' for these features", chain)
        n_steps = 1 if signs or chain == "block" else METROPOLIS_STEPS
        if self.n_steps is not None:
            n_steps = positive_int(self.n_steps, "n_steps")
        penalty = 0.0 if units else float(np.sqrt(len(self._centre) / 2))
        if self.penalty is not None:
            penalty = non_negative_number(self.penalty, "penalty")
        return {
            "chain": chain,
            "n_steps": n_steps,
            "n_chains": SIGN_CHAINS if signs else NUMBER_CHAINS,
            "weighted": units if self.weighted is None else flag(self.weighted, "weighted"),
            "penalty": penalty,
            "min_ess": share(self.min_ess, "min_ess"),
            "resample": flag(self.resample, "resample"),
        }

    def _log_partition(self) -> float:
        """Return log Z of the rows in their own units."""
        value = self._normaliser().value
        return value if self._states else value - float(np.linalg.slogdet(self._scale)[1])

    def _normaliser(self) -> Partition:
        """Return log Z of scaled rows, which is computed once."""
        if self._partition is None:
            with one_blas_thread():
                width = len(self._centre)
                if self._states is None and width <= 2:
                    self._partition = grid_sum(self._model, self._low, self._high)
                else:
                    rng = np.random.default_rng([self._seed, 0, 1])
                    self._partition = annealed(self._model, width, self._starts, rng)
        return self._partition

    def _model_energy(self, rows: Floats) -> Floats:
        with one_blas_thread():
            return self._model.energy(rows)

    def _read(self, X: object) -> Floats:
        check_fitted(self, "_model")
        points = fit_points(self, X, reset=False).astype(np.float64)
        self._check_states(points)
        return self._scaled(points)

    def _check_states(self, points: Floats) -> None:
        if self._states is not None and not np.isin(points, self._states).all():
            rule = f"hold {self._states[0]} and {self._states[1]}, as the rows of fit"
            raise ParameterError("X", rule, got="other values")

    def _scaled(self, points: Floats) -> Floats:
        if self._states is not None:
            return (points - self._centre) * self._scale[0, 0]
        with np.errstate(over="ignore", invalid="ignore"):
            rows = (points - self._centre) @ self._scale
        far = ~(np.abs(rows).max(axis=1, initial=0) < FARTHEST)
        if far.any():
            rule = f"lie within {FARTHEST:g} standard deviations of the rows of fit"
            raise ParameterError("X", rule, got=f"row {far.argmax()}")
        return rows


def make_frame(points: Floats, states: States) -> tuple[Floats, Floats]:
    """Return what is subtracted from rows, and the matrix that they are then multiplied by.

    For rows of two states it has one entry.
    """
    width = points.shape[1]
    if states is None:
        if len(points) < 2:
            raise ParameterError("X", "have at least two rows of numbers", got="1 sample")
        scale = whitening(points)
        return points.mean(axis=0), scale
    return np.full(width, sum(states) / 2), np.array([[2 / (1 - states[0])]])
