"""A fitted Boltzmann machine: its methods, and its state.

`herder.learn.boltzmann` fits it.
"""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from herder._errors import ParameterError
from herder._validation import check_fitted, flag, generator, one_of, positive_int
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
from herder.data.states import read_codes
from herder.learn.fit import Fit, FitReport
from herder.learn.methods import DETAILS
from herder.learn.online import OnlineFit
from herder.learn.pseudo import log_pseudo_likelihood
from herder.learn.rows import merge_rows
from herder.models.pairwise import PairwiseModel

if TYPE_CHECKING:
    from herder.learn.comparison import FitCheck

__all__ = ["FittedMachine"]

#: Numbers of every fit, in the order of `Fit`, and what they must be.
NUMBERS = {"n_iter_": int, "converged_": bool, "gradient_norm_": float, "objective_": float}

#: Shares may be above 1 by rounding.
ROUNDING = 1e-9

#: Sites up to which rows are drawn from the table of all states by default.
EXACT_SITES = 16

#: Sites up to which there is such a table.
TABLE_SITES = 20

#: Chains, sweeps before the first row, and sweeps from one row of a chain to the next.
N_CHAINS, BURN_IN, THINNING = 10, 1000, 10


class FittedMachine(BaseEstimator):
    """The methods of a fitted machine: see `BoltzmannMachine`."""

    n_features_in_: int
    alphas_: NDArray[np.float64]
    cv_scores_: NDArray[np.float64]
    node_couplings_: NDArray[np.float64]
    node_biases_: NDArray[np.float64]
    binarize: float | None
    random_state: int | np.random.Generator | None
    _stream: OnlineFit | None
    _sums: tuple[float, NDArray[np.float64], NDArray[np.float64]]

    def pseudo_likelihood(self, X: object) -> float:
        """Return the log pseudo-likelihood of a row, summed over columns, on average over rows."""
        check_fitted(self, "model_")
        return float(log_pseudo_likelihood(*self._binary(), self._codes(X)).mean())

    def score(self, X: object, y: object = None) -> float:
        """Return `pseudo_likelihood`, for scikit-learn."""
        return self.pseudo_likelihood(X)

    def score_samples(self, X: object) -> NDArray[np.float64]:
        """Return the log probabilities of rows.

        The partition function is exact where `PairwiseModel.exact` can compute it, and else
        estimated by annealed importance sampling: ``log_partition_error_`` is its standard error,
        the same for all rows.
        """
        from herder.samplers.annealing import log_partition

        check_fitted(self, "model_")
        rows = self._values(self._codes(X))
        if self._partition is None:
            found = log_partition(self.model_, random_state=self.random_state)
            self._partition = found.value
            self.log_partition_error_ = found.error
        return -self.model_.energy(rows) - self._partition

    def sample(
        self,
        n_samples: int = 1,
        *,
        method: str = "auto",
        random_state: int | np.random.Generator | None = 0,
    ) -> NDArray[np.int8]:
        """Draw rows from the machine.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        method : {"auto", "exact", "gibbs", "herded-gibbs"}
            From the table of all states; by chains that visit the columns one after the other;
            by such a chain without random numbers. "auto" is exact up to 16 columns, else Gibbs.
        random_state : int, Generator or None
            Draws the rows; herded Gibbs needs none.

        Rows of Gibbs chains come in turn, so that neighbours are of different chains.
        """
        check_fitted(self, "model_")
        model, n_samples = self.model_, positive_int(n_samples, "n_samples")
        one_of(method, "method", ("auto", "exact", "gibbs", "herded-gibbs"))
        if method == "exact" or (method == "auto" and model.n_sites <= EXACT_SITES):
            return _draw(model, n_samples, generator(random_state))
        if method == "herded-gibbs":
            from herder.samplers.herded import herded_gibbs

            return herded_gibbs(model, n_samples, burn_in=BURN_IN).samples
        from herder.samplers.gibbs import gibbs

        n_chains = min(N_CHAINS, n_samples)
        n_sweeps = THINNING * -(-n_samples // n_chains)
        options: Any = {"n_chains": n_chains, "burn_in": BURN_IN, "thinning": THINNING}
        chains = gibbs(model, n_sweeps, random_state=random_state, **options).chains
        return chains.transpose(1, 0, 2).reshape(-1, model.n_sites)[:n_samples]

    def conditional(self, X: object) -> NDArray[np.float64]:
        """Return the probability of the upper state of each entry; NaN entries are unknown.

        Entries that are known have probability 0 or 1.
        """
        from herder.learn.missing import conditional_probabilities

        check_fitted(self, "model_")
        rows = self._values(self._codes(X, missing=True))
        return conditional_probabilities(self.model_, rows, random_state=self.random_state)

    def impute(
        self, X: object, *, random_state: int | np.random.Generator | None = None
    ) -> NDArray[np.float64]:
        """Fill the NaN of rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n)
            Rows, NaN where they are unknown.
        random_state : int, Generator or None
            With a seed or generator the unknown entries of a row are drawn together, given the
            known ones. By default each gets its more probable state, which needs no random
            numbers but makes rows less varied than they are.
        """
        from herder.learn.missing import impute

        check_fitted(self, "model_")
        rows = self._values(self._codes(X, missing=True))
        draw = random_state is not None
        seed = random_state if draw else self.random_state
        return impute(self.model_, rows, draw=draw, random_state=seed)

    def check(
        self,
        X: object,
        *,
        sample_weight: ArrayLike | None = None,
        held_out: bool = False,
        n_samples: int = 10_000,
        random_state: int | np.random.Generator | None = 0,
    ) -> "FitCheck":
        """Sample the machine and compare its rows with ``X``: see `herder.FitCheck`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n)
            Rows that the machine should resemble: those of `fit`, or better, others.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts.
        held_out : bool, default False
            Whether they are others. Fewer rows than parameters are matched whatever they are, so
            that only held-out rows can then support the machine.
        n_samples : int
            Rows to sample.
        random_state : int, Generator or None
            Draws them.
        """
        from herder.learn.check import check_fit

        check_fitted(self, "model_")
        learnt = None
        if flag(held_out, "held_out"):
            stream = self._stream
            learnt = self._sums[:2] if stream is None else (stream.n_seen or 1.0, stream.means)
        return check_fit(
            self.model_,
            merge_rows(self._codes(X), sample_weight),
            n_samples=n_samples,
            report=self.diagnostics_,
            learnt=learnt,
            random_state=random_state,
        )

    def to_state(self) -> State:
        """Return the machine, how its fit went and its stream, and a header that JSON can hold."""
        check_fitted(self, "model_")
        own = vars(self)
        arrays = {"couplings": self.couplings_, "biases": self.biases_}
        arrays |= {name: own[name] for name in DETAILS if name in own}
        header = {
            **plain_estimator(self),
            "states": list(self.states_),
            "numbers": {name: kind(own[name]) for name, kind in NUMBERS.items()},
            "report": asdict(self.diagnostics_),
            "stream": None,
        }
        if self._stream is not None:
            parts, header["stream"] = self._stream.to_state()
            arrays |= nest("stream.", parts)
        if "_sums" in own:
            total, arrays["sums.means"], arrays["sums.pairs"] = self._sums
            header["total"] = float(total)
        return arrays, header

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Return the machine that `to_state` described."""
        biases = read_array(arrays, "biases", (None,))
        n = len(biases)
        machine = read_estimator(cls, header, n)
        couplings = read_array(arrays, "couplings", (n, n))
        numbers = [
            read_number(header["numbers"], name, kind, low=0 if kind is int else None)
            for name, kind in NUMBERS.items()
        ]
        report = read_record(FitReport, header["report"])
        if not report.alpha >= 0 or not np.isfinite([report.alpha, report.n_rows]).all():
            raise ValueError(f"a report of {report.n_rows} rows, alpha {report.alpha}")
        model = PairwiseModel(couplings, biases, header["states"])
        machine._keep(model, Fit(couplings, biases, *numbers), report)
        if "alphas_" in arrays or "cv_scores_" in arrays:
            machine.alphas_ = read_array(arrays, "alphas_", (None,))
            machine.cv_scores_ = read_array(arrays, "cv_scores_", (len(machine.alphas_), None))
        if "node_couplings_" in arrays or "node_biases_" in arrays:
            machine.node_couplings_ = read_array(arrays, "node_couplings_", (n, n))
            machine.node_biases_ = read_array(arrays, "node_biases_", (n,))
        machine._stream = None
        if header["stream"] is not None:
            machine._stream = OnlineFit.from_state(unnest("stream.", arrays), header["stream"])
            if len(machine._stream.biases) != n:
                raise ValueError(f"a stream of {len(machine._stream.biases)} columns, not {n}")
        elif "total" not in header:
            raise ValueError("neither sums nor a stream")
        if "total" in header:
            machine._sums = (
                read_number(header, "total", float),
                read_array(arrays, "sums.means", (n,), low=0, high=1 + ROUNDING),
                read_array(arrays, "sums.pairs", (n, n), low=0, high=1 + ROUNDING),
            )
        return machine

    def _adopt(self, fit: Fit, report: FitReport, states: tuple[int, int]) -> None:
        """Set the parameters of a fit, in the states of the rows."""
        self._keep(PairwiseModel(fit.couplings, fit.biases).to_states(states), fit, report)

    def _keep(self, model: PairwiseModel, fit: Fit, report: FitReport) -> None:
        names = vars(self).get("feature_names_in_")
        self.model_ = PairwiseModel(model.couplings, model.biases, model.states, names=names)
        self.couplings_ = np.array(self.model_.couplings)
        self.biases_ = self.model_.biases.copy()
        self.states_ = self.model_.states
        self.alpha_ = report.alpha
        self.n_iter_, self.converged_ = fit.n_iter, fit.converged
        self.gradient_norm_, self.objective_ = fit.gradient_norm, fit.objective
        self.diagnostics_ = report
        self._partition: float | None = None
        for name in DETAILS:
            vars(self).pop(name, None)

    def _binary(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return couplings and biases of 0/1 states."""
        model = self.model_.to_states((0, 1))
        return np.asarray(model.couplings), model.biases

    def _codes(self, X: object, *, missing: bool = False) -> NDArray[Any]:
        """Return rows as 0/1 codes, as wide as those of `fit`."""
        options: Any = {"reset": False, "missing": missing, "binarize": self.binarize}
        return read_codes(self, X, self.states_, **options)[0]

    def _values(self, codes: NDArray[Any]) -> NDArray[np.float64]:
        low, high = self.states_
        return low + (high - low) * codes.astype(np.float64)


def _draw(model: PairwiseModel, n_samples: int, rng: np.random.Generator) -> NDArray[np.int8]:
    """Draw states by their exact probabilities."""
    if model.n_sites > TABLE_SITES:
        rule = f"be 'gibbs' or 'herded-gibbs' for more than {TABLE_SITES} columns"
        raise ParameterError("method", rule, got=f"'exact' for {model.n_sites}")
    table: Any = model.exact(method="enumerate").probabilities
    sums = np.cumsum(table)
    places = np.searchsorted(sums, rng.random(n_samples) * sums[-1], side="right")
    bits = (places[:, None] >> np.arange(model.n_sites)) & 1
    return np.where(bits, model.states[1], model.states[0]).astype(np.int8)
