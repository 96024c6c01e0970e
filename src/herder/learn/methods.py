"""Fit rows by any method: its options, the choice of the penalty, and constant columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import generator, one_of, plain_array, positive_int, positive_number
from herder.learn.fit import Fit, FitReport
from herder.learn.penalty_choice import choose_alpha, default_alphas
from herder.learn.pseudo import Start, fit_pl, symmetrise
from herder.learn.rows import DistinctRows, constant_bias, find_duplicate_columns, merge_rows

__all__ = ["DETAILS", "Learnt", "Method", "find_runaway", "learn"]

#: Names of the methods: symmetric and node-wise pseudo-likelihood, contrastive divergence, its
#: persistent form, and likelihood.
METHODS = ("pl", "pl-node", "cd", "pcd", "ml")

#: Weight of 0/1 couplings for a unit weight of couplings in the rows' own states: those of -1/+1
#: states are a quarter of those of 0/1 states.
SCALES = {("l2", 0): 1.0, ("l2", -1): 1 / 16, ("l1", 0): 1.0, ("l1", -1): 1 / 4}

#: Couplings of 0/1 states that hardly any rows support: odds of three millions to one.
HUGE = 15.0

#: Attributes of a machine that only some methods set.
DETAILS = ("alphas_", "cv_scores_", "node_couplings_", "node_biases_")


@dataclass(frozen=True)
class Method:
    """A method of fitting, with its options checked.

    Parameters
    ----------
    name : str
        One of METHODS.
    penalty : str
        "l2" or "l1".
    alpha : float or None
        Weight of the penalty; None if it is to be chosen.
    alphas : sequence of float or None
        The weights to choose from, if they are given.
    cv : int or splitter
        The folds to choose it by.
    low : int
        The lower state of the rows, 0 or -1.
    max_iter, tol
        When the optimiser of "pl", "pl-node" and "ml" stops.
    descent : mapping
        Options of "cd" and "pcd".
    """

    name: str
    penalty: str
    alpha: float | None
    alphas: Sequence[float] | None
    cv: Any
    low: int
    max_iter: int
    tol: float
    descent: Mapping[str, Any]

    @classmethod
    def of(cls, machine: Any, low: int) -> "Method":
        """Check the parameters of an estimator; ``low`` is the lower state of its rows."""
        name = one_of(machine.method, "method", METHODS)
        generator(machine.random_state)  # checked here, wherever it is used
        penalty = one_of(machine.penalty, "penalty", ("l2", "l1", None)) or "l2"
        if penalty == "l1" and name not in ("pl", "pl-node"):
            raise ParameterError("penalty", f"be 'l2' or None for method={name!r}", "l1")
        counts = ("n_steps", "n_epochs", "batch_size", "n_particles")
        descent: dict[str, Any] = {key: positive_int(getattr(machine, key), key) for key in counts}
        descent["learning_rate"] = positive_number(machine.learning_rate, "learning_rate")
        descent["random_state"] = machine.random_state
        alphas = machine.alphas
        if alphas is not None:
            if np.ndim(plain_array(alphas, "alphas", "be a list of numbers")) != 1:
                raise ParameterTypeError("alphas", "be a list of numbers", alphas)
            if not len(alphas):
                raise ParameterError("alphas", "hold a number", got="none")
            alphas = [_moderate(positive_number(one, "alphas"), "alphas") for one in alphas]
        return cls(
            name,
            penalty,
            _check_alpha(machine, name),
            alphas,
            machine.cv,
            low,
            positive_int(machine.max_iter, "max_iter"),
            _moderate(positive_number(machine.tol, "tol"), "tol"),
            descent,
        )

    @property
    def scale(self) -> float:
        """Weight of 0/1 couplings for a unit weight of couplings in the rows' own states."""
        return SCALES[self.penalty, self.low]

    def fit(
        self,
        sample: DistinctRows,
        *,
        alpha: float | None = None,
        start: Start | None = None,
        tol: float | None = None,
    ) -> Fit:
        """Fit rows without constant columns; "pl-node" is not symmetric yet."""
        weight = self.scale * float((self.alpha or 0.0) if alpha is None else alpha)
        stop: dict[str, Any] = {"max_iter": self.max_iter, "tol": tol or self.tol}
        if self.name in ("pl", "pl-node"):
            stop |= {"nodewise": self.name == "pl-node", "penalty": self.penalty}
            return fit_pl(sample, alpha=weight, start=start, **stop)
        rows, shares = sample.rows, sample.weights
        if self.name == "ml":
            from herder.learn.likelihood import MAX_SITES, fit_ml

            if start is None and rows.shape[1] <= MAX_SITES:
                near = fit_pl(sample, alpha=weight)
                start = near.couplings, near.biases
            return fit_ml(rows, shares, alpha=weight, start=start, **stop)
        from herder.learn.contrastive import fit_cd

        chains = {"persistent": self.name == "pcd", **self.descent}
        return fit_cd(rows, shares, alpha=weight, start=start, **chains)

    def fit_symmetric(self, sample: DistinctRows, **options: Any) -> Fit:
        """Fit as `fit` does, with symmetric couplings."""
        found = self.fit(sample, **options)
        return symmetrise(found, sample) if self.name == "pl-node" else found


def _moderate(number: float, name: str) -> float:
    """Return a number whose products with others are floats."""
    if number > 1e100:
        raise ParameterError(name, "be at most 1e100", number)
    return number


def _check_alpha(machine: Any, name: str) -> float | None:
    """Return the weight of the penalty, None if it is to be chosen."""
    alpha, penalty = machine.alpha, machine.penalty
    if not isinstance(alpha, str):
        if isinstance(alpha, bool) or not isinstance(alpha, int | float | np.number):
            raise ParameterTypeError("alpha", "be a number or 'cv'", alpha)
        number = 0.0 if alpha == 0 else _moderate(positive_number(alpha, "alpha"), "alpha")
        return 0.0 if penalty is None else number
    if alpha != "cv":
        raise ParameterError("alpha", "be a number or 'cv'", alpha)
    if penalty is None or name not in ("pl", "pl-node"):
        rule = f"be a number for method={name!r} with penalty={penalty!r}"
        raise ParameterError("alpha", rule, alpha)
    return None


@dataclass(frozen=True, eq=False)
class Learnt:
    """A fit to all columns.

    Parameters
    ----------
    fit : Fit
        Symmetric couplings and biases of 0/1 states.
    report : FitReport
        How the fit went.
    sample : DistinctRows
        The rows.
    details : dict
        The DETAILS that there are.
    """

    fit: Fit
    report: FitReport
    sample: DistinctRows
    details: dict[str, NDArray[np.float64]]


def learn(
    codes: NDArray[np.uint8],
    sample_weight: object,
    method: Method,
    *,
    start: Start | None = None,
    names: Sequence[str],
) -> Learnt:
    """Fit rows that may have constant columns, and choose the penalty if asked for.

    Parameters
    ----------
    codes : ndarray of shape (n_rows, n) of 0 and 1
        The rows.
    sample_weight : array-like of shape (n_rows,), optional
        How often each row counts.
    method : Method
        How to fit them.
    start : (couplings, biases), optional
        Where to start.
    names : sequence of str
        What to call the columns.
    """
    sample = merge_rows(codes, sample_weight)
    varying = sample.varying()
    choice, details = None, {}
    if method.alpha is None:
        alphas = method.alphas or default_alphas(sample, method.penalty, method.scale)
        seed = method.descent["random_state"]
        choice = choose_alpha(
            codes,
            sample_weight,
            method.fit_symmetric,
            alphas=alphas,
            cv=method.cv,
            random_state=seed,
        )
        details = {"alphas_": choice.alphas, "cv_scores_": choice.scores}
        method = replace(method, alpha=choice.alpha)
    if start is not None:
        start = start[0][np.ix_(varying, varying)], start[1][varying]
    inner = sample.columns(varying)
    found = method.fit(inner, start=start) if varying.any() else None
    if method.name == "pl-node":
        nodes = _spread(found, sample, varying)
        couplings, biases = nodes.couplings, nodes.biases
        if method.low == -1:
            couplings, biases = couplings / 4, biases / 2 + couplings.sum(axis=1) / 4
        details |= {"node_couplings_": couplings, "node_biases_": biases}
        found = found and symmetrise(found, inner)
    fit = _spread(found, sample, varying)
    n, alpha, least = int(varying.sum()), method.alpha or 0.0, sample.weights.min() / 2
    report = FitReport(
        method=method.name,
        n_rows=sample.total,
        n_distinct=len(sample.rows),
        n_parameters=n * (n + 1) // 2,
        n_couplings=int(np.count_nonzero(np.triu(fit.couplings))),
        converged=fit.converged,
        n_iter=fit.n_iter,
        gradient_norm=fit.gradient_norm,
        penalty=method.penalty if alpha else "none",
        alpha=alpha,
        constant=tuple(names[i] for i in np.flatnonzero(~varying).tolist()),
        duplicate_columns=find_duplicate_columns(sample.means, sample.pairs, names, least=least),
        runaway="" if alpha else find_runaway(sample, fit.couplings, varying, names),
        held_out=choice and choice.held_out,
        held_out_independent=choice and choice.held_out_independent,
        tried=choice and (float(choice.alphas[-1]), float(choice.alphas[0])),
    )
    return Learnt(fit, report, sample, details)


def _spread(fit: Fit | None, sample: DistinctRows, varying: NDArray[np.bool_]) -> Fit:
    """Return the fit of the varying columns among all columns."""
    n = len(varying)
    couplings, biases = np.zeros((n, n)), constant_bias(sample)
    if fit is None:
        return Fit(couplings, biases, 0, True, 0.0, 0.0)
    couplings[np.ix_(varying, varying)] = fit.couplings
    biases[varying] = fit.biases
    return replace(fit, couplings=couplings, biases=biases)


def find_runaway(
    sample: DistinctRows,
    couplings: NDArray[np.float64],
    varying: NDArray[np.bool_],
    names: Sequence[str],
) -> str:
    """Report two columns that never show one of their four joint states, if there are any.

    Without a penalty their coupling has no finite optimum: the stronger it is, the likelier are
    the rows. Huge couplings are a sign of columns that several others determine together.
    """
    both, means = sample.pairs, sample.means
    least = sample.weights.min() / 2
    tables = {
        "1 and 1": np.triu(both < least, 1),
        "1 and 0": means[:, None] - both < least,
        "0 and 0": np.triu(1 - means[:, None] - means + both < least, 1),
    }
    n_empty, example = 0, ""
    for text, empty in tables.items():
        empty &= np.outer(varying, varying)
        np.fill_diagonal(empty, False)
        n_empty += int(empty.sum())
        if empty.any() and not example:
            i, j = np.argwhere(empty)[0].tolist()
            example = f"columns {names[i]} and {names[j]} are never {text}"
    if n_empty:
        cases = f" ({n_empty} such cases)" if n_empty > 1 else ""
        return f"couplings without a finite best value: {example}{cases}; give a penalty"
    if np.abs(couplings).max(initial=0.0) > HUGE:
        return "couplings that seem to have no finite best value; give a penalty"
    return ""
