"""A fitted boosted field: its energies, densities, outliers and samples, and its state.

`herder.learn.boosting` fits it.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OutlierMixin

from herder._errors import ParameterTypeError
from herder._validation import (
    check_fitted,
    fit_points,
    flag,
    function_or_none,
    generator,
    positive_int,
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
from herder.core.state import State, nest, unnest
from herder.core.summary import Fact, Facts, Picture, Section, Summary, counted
from herder.learn.boosted_base import GaussianBase, SignBase
from herder.learn.boosted_features import FAMILIES, FeatureFamily
from herder.learn.boosted_frame import RowFrame
from herder.learn.boosted_model import BLOCK, BoostedModel
from herder.learn.boosted_partition import Partition, annealed, grid_sum

__all__ = ["FittedField"]

Floats = NDArray[np.float64]

#: Captions of the pictures.
ROUNDS = ("gain of log density and effective sample size in each round",)
DENSITY = (
    "log density, and samples of the field",
    "Dots are samples of the field, not rows of the table; ellipses are the dimples with the "
    "largest coefficients.",
)

#: Steps of the chains of a sample.
SAMPLE_STEPS = 200


class FittedField(OutlierMixin, BaseEstimator):
    """The methods of a fitted field: see `BoostedField`."""

    n_features_in_: int
    features: str | FeatureFamily
    constant_: float
    ess_: Floats
    gains_: Floats
    _model: BoostedModel
    _frame: RowFrame
    _partition: Partition | None
    _seed: int
    _starts: Floats
    _low: Floats
    _high: Floats
    _threshold: float

    def energy(self, X: object) -> Floats:
        """Return the energy of each row: minus its log density, up to a constant."""
        return self._model_energy(self._read(X))

    def staged_energy(self, X: object) -> Iterator[Floats]:
        """Yield the energy of each row after each round."""
        rows = self._read(X)
        stages = self._model.staged(rows)
        next(stages)
        yield from stages

    def score_samples(
        self, X: object, *, normalise: bool = True, progress: Progress | None = None
    ) -> Floats:
        """Return the log density of each row, of rows of two states the log probability.

        Parameters
        ----------
        X : array-like or frame
            The rows.
        normalise : bool
            Whether to subtract log Z. It is computed once: on a grid for one or two columns of
            numbers, otherwise by annealed importance sampling. ``log_partition_error_`` is its
            standard error, the same for all rows.
        progress : callable, optional
            Called with the share done, and a word on what is done, while log Z is computed.
        """
        energies, normalise = self.energy(X), flag(normalise, "normalise")
        function_or_none(progress, "progress")
        return -energies - self._log_partition(progress) if normalise else -energies

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
        return self._frame.unscaled(np.concatenate(parts))

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
        n, signs = len(self._model.base.logs), self._model.signs
        kind = "independent columns" if signs else "Gaussians"
        facts.insert(0, Fact("first energy", f"mixture of {n}", "", f"of {kind}, by BIC"))
        sections = [Section("Rounds", [Picture("rounds", self, *ROUNDS)])]
        if not signs and self.n_features_in_ == 2:
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
        frame, states = self._frame.to_state()
        header |= {"family": kinds[0], "setting": asdict(cast(Any, family)), "seed": self._seed}
        header |= {**states, "constant": self.constant_, "threshold": self._threshold}
        known = self._partition
        header["log_partition"] = None if known is None else known._asdict()
        arrays = {"parameters": self.parameters_, "coefficients": self.coefficients_}
        arrays |= {"ess": self.ess_, "gains": self.gains_, "starts": self._starts}
        arrays |= {"low": self._low, "high": self._high}
        return arrays | frame | nest("base.", self._model.base.to_arrays()), header

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Return the field that `to_state` described."""
        family = read_record(FAMILIES[header["family"]], header["setting"])
        frame = RowFrame.from_state(arrays, header)
        width = len(frame.centre)
        coefficients = read_array(arrays, "coefficients", (None,), low=0)
        n = len(coefficients)
        parameters = read_array(arrays, "parameters", (n, family.n_parameters(width)))
        field = read_estimator(cls, header, width)
        if field.features is None:
            field.features = family
        kind = SignBase if frame.states else GaussianBase
        base = kind.from_arrays(unnest("base.", arrays), width)
        field._frame = frame
        field._model = BoostedModel(family, parameters, coefficients, base)
        for name in ("low", "high"):
            setattr(field, f"_{name}", read_array(arrays, name, (width,)))
        field._starts = read_array(arrays, "starts", (None, width))
        field.ess_, field.gains_ = (read_array(arrays, key, (n,)) for key in ("ess", "gains"))
        field._seed = read_number(header, "seed")
        field.constant_ = read_number(header, "constant", float, low=-np.inf)
        field._threshold = read_number(header, "threshold", float, low=-np.inf)
        known = header["log_partition"]
        field._partition = None
        if known is not None:
            value = read_number(known, "value", float, low=-np.inf)
            field._partition = Partition(value, read_number(known, "error", float))
        if not n or not len(field._starts):
            raise ValueError(f"{n} features, and {len(field._starts)} rows to start from")
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

    def _log_partition(self, progress: Progress | None = None) -> float:
        """Return log Z of the rows in their own units."""
        return self._normaliser(progress).value - self._frame.log_volume()

    def _normaliser(self, progress: Progress | None = None) -> Partition:
        """Return log Z of scaled rows, which is computed once."""
        if self._partition is None:
            with one_blas_thread():
                if not self._model.signs and len(self._low) <= 2:
                    self._partition = grid_sum(self._model, self._low, self._high)
                else:
                    rng = np.random.default_rng([self._seed, 0, 1])
                    self._partition = annealed(self._model, self._starts, rng, progress)
        return self._partition

    def _model_energy(self, rows: Floats) -> Floats:
        with one_blas_thread():
            return self._model.energy(rows)

    def _read(self, X: object) -> Floats:
        check_fitted(self, "_model")
        return self._frame.scaled(fit_points(self, X, reset=False).astype(np.float64, order="C"))
