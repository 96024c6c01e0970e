"""The result of every method that fits couplings and biases, and a report on the fit."""

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from herder._deprecated import renamed_attribute
from herder.core.summary import Fact, Facts, Summarised, Summary, Text, counted, listed

__all__ = ["Fit", "FitReport", "warn_of_fit"]

#: With fewer rows than this for a free parameter, the penalty matters more than the rows.
FEW_ROWS = 10.0

#: Columns, or pairs of columns, that a warning names.
NAMED = 5


@dataclass(frozen=True, eq=False)
class Fit:
    """Parameters of a field over 0/1 states, and how the search for them ended.

    Parameters
    ----------
    couplings : ndarray of shape (n, n)
        Symmetric, with a zero diagonal.
    biases : ndarray of shape (n,)
        One for each site.
    n_iter : int
        Iterations of the optimiser, or epochs of a stochastic one.
    converged : bool
        Whether the gradient fell below the tolerance; True for a stochastic method, which cannot
        check it, when it ran all its epochs.
    gradient_norm : float
        Norm of the gradient at the end divided by that at the start; NaN where there is none.
    objective : float
        The least value of the objective, penalty included; NaN where there is none.
    """

    couplings: NDArray[np.float64]
    biases: NDArray[np.float64]
    n_iter: int
    converged: bool
    gradient_norm: float
    objective: float


@dataclass(frozen=True)
class FitReport(Summarised):
    """How a machine was fitted, and warnings about the fit.

    Parameters
    ----------
    method : str
        How it was fitted.
    n_rows : float
        Rows, or the sum of their weights.
    n_distinct : int or None
        Different rows; None if they came in a stream.
    n_parameters : int
        Couplings and biases of the columns that vary.
    n_couplings : int
        Pairs whose coupling is not zero.
    converged : bool
        Whether the gradient fell below the tolerance.
    n_iter : int
        Iterations, epochs or batches.
    gradient_norm : float
        Of the end, relative to independent columns; NaN where there is none.
    penalty : str
        "l2", "l1" or "none".
    alpha : float
        Weight of the penalty.
    constant : tuple of str
        Columns with one value only.
    duplicate_columns : tuple of (str, str, str)
        Two columns that are ``"equal"``, or ``"opposite"``, in all rows.
    runaway : str
        Why couplings have no finite optimum; empty if nothing shows it.
    held_out : float or None
        Log pseudo-likelihood of a held-out row, if the penalty was chosen by such rows.
    held_out_independent : float or None
        The same if the columns were independent.
    tried : (float, float) or None
        The least and the largest weight that were tried, if it was chosen.
    """

    method: str
    n_rows: float
    n_distinct: int | None
    n_parameters: int
    n_couplings: int
    converged: bool
    n_iter: int
    gradient_norm: float
    penalty: str
    alpha: float
    constant: tuple[str, ...] = ()
    duplicate_columns: tuple[tuple[str, str, str], ...] = ()
    runaway: str = ""
    held_out: float | None = None
    held_out_independent: float | None = None
    tried: tuple[float, float] | None = None

    #: Names of fields in files of version 0.1.0.
    old_names: ClassVar = {"twins": "duplicate_columns"}
    twins = renamed_attribute("twins", "duplicate_columns")

    @property
    def rows_per_parameter(self) -> float:
        """Rows for each coupling and bias."""
        return self.n_rows / self.n_parameters if self.n_parameters else float("inf")

    @property
    def foresees(self) -> bool | None:
        """Whether held-out rows are likelier than with independent columns; None without any."""
        if self.held_out is None or self.held_out_independent is None:
            return None
        return self.held_out > self.held_out_independent

    @property
    def copies(self) -> str:
        """Which columns are copies of others, and what to do; empty if none is."""
        n = len(self.duplicate_columns)
        if not n:
            return ""
        texts = [f"{a} and {b} are {how}" for a, b, how in self.duplicate_columns[:NAMED]]
        rest = f", and {counted(n - NAMED, 'pair')} more" if n > NAMED else ""
        remedy = "drop one" if n == 1 else "drop one of each pair"
        return f"columns {', '.join(texts)}{rest}: {remedy}"

    @property
    def edge(self) -> str:
        """Whether the best weight is the least or largest tried, and what to do; else empty."""
        if self.tried is None or self.alpha not in self.tried or self.tried[0] == self.tried[1]:
            return ""
        least, largest = self.tried
        end = "least" if self.alpha == least else "largest"
        return (
            f"the best penalty is the {end} of those tried, {least:.3g} to {largest:.3g}: try "
            f"alphas beyond {self.alpha:.3g} too"
        )

    @property
    def doubts(self) -> tuple[str, ...]:
        """Warnings about the fit, and what to do."""
        found = [] if self.converged else ["not converged: raise the penalty, or raise max_iter"]
        found.append(self.runaway)
        if self.rows_per_parameter < FEW_ROWS and self.held_out is None:
            how = "choose it by held-out rows"
            if self.method in ("pl", "pl-node"):
                how += " (pass alpha='cv')"
            few = f"{self.rows_per_parameter:.2g} rows for each parameter"
            found.append(f"{few}: the penalty decides much; {how}")
        if self.foresees is False:
            found.append("held-out rows are no likelier than with independent columns")
        found += [self.edge, self.copies]
        if self.constant:
            n_constant = counted(len(self.constant), "constant column")
            found.append(f"{n_constant}, without couplings: {listed(self.constant, NAMED)}")
        return tuple(text for text in found if text)

    def summary(self) -> Summary:
        """Return how the search ended, its size, and warnings about the fit."""
        ending = "converged" if self.converged else "stopped"
        course = f"{ending} after {self.n_iter:,} iterations, gradient {self.gradient_norm:.1e}"
        if np.isnan(self.gradient_norm):
            course = f"{self.n_iter:,} {'steps' if self.n_distinct is None else 'epochs'}"
        distinct = "" if self.n_distinct is None else f"{self.n_distinct:,} of them different"
        per_parameter = f"couplings and biases; {self.rows_per_parameter:.3g} rows for each"
        weight = "" if self.penalty == "none" else f"alpha {self.alpha:.3g}"
        facts = [
            Fact("rows", self.n_rows, ",.6g", distinct),
            Fact("parameters", self.n_parameters, "", per_parameter),
            Fact("couplings", self.n_couplings, "", "that are not zero"),
            Fact("penalty", self.penalty, "", weight),
        ]
        if self.held_out is not None and self.held_out_independent is not None:
            baseline = f"with independent columns: {self.held_out_independent:.4f}"
            meaning = f"log pseudo-likelihood of a row; {baseline}"
            facts.append(Fact("held-out rows", self.held_out, ".4f", meaning))
        warnings = [Text(doubt, "warning") for doubt in self.doubts]
        return Summary(f"{self.method}: {course}", [Facts(facts), *warnings])


def warn_of_fit(report: FitReport, couplings: NDArray[np.float64]) -> None:
    """Warn that the search did not converge, or that couplings diverge, and what to do."""
    if report.converged and not report.runaway:
        return
    from sklearn.exceptions import ConvergenceWarning

    reason = report.runaway or "raise the penalty, or raise max_iter"
    warnings.warn(
        f"{report.method} ended after {report.n_iter} iterations with a relative gradient of "
        f"{report.gradient_norm:.1e} and couplings up to {np.abs(couplings).max():.3g}: {reason}"
        f"{'; ' if report.copies else ''}{report.copies}",
        ConvergenceWarning,
        stacklevel=3,
    )
