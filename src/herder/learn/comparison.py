"""A fitted model compared with rows: differences in standard errors, and a verdict."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from herder._validation import of_kind
from herder.core.summary import Fact, Facts, Picture, Section, Summarised, Summary, Table, Text
from herder.learn.fit import FitReport
from herder.learn.verdict import NEGLIGIBLE, judge
from herder.models.pairwise import PairwiseModel

__all__ = ["Comparison", "FitCheck"]

#: Chains whose R-hat is above this disagree; the usual limit.
LARGEST_R_HAT = 1.1

#: Rows of tables.
N_ROWS = 15

#: Models of more columns get no picture of all pairs, which would overlap.
MAX_COLUMNS = 250

#: What differences are measured in.
UNITS = {
    "means": "standard deviations",
    "pairs": "as a correlation",
    "triples": "as a correlation",
    "numbers of ones": "of all rows",
}


@dataclass(frozen=True, eq=False)
class Comparison:
    """Statistics of the rows and of the model.

    Parameters
    ----------
    what : str
        Such as ``"means"``.
    labels : ndarray of shape (m, 1), (m, 2) or (m, 3)
        Columns, pairs of columns, triples, or numbers of ones.
    rows, model : ndarray of shape (m,)
        The probabilities; of triples, the log odds ratio of their interaction.
    z : ndarray of shape (m,)
        Their difference in standard errors.
    size : float
        The largest difference, or for the numbers of ones the total variation, in units that do
        not depend on the number of rows.
    threshold : float
        Quantile that the largest z of a right field, of all comparisons, stays below with
        probability 99 %.
    """

    what: str
    labels: NDArray[np.intp]
    rows: NDArray[np.float64]
    model: NDArray[np.float64]
    z: NDArray[np.float64]
    size: float
    threshold: float

    @property
    def worst(self) -> int:
        """Index of the largest difference in standard errors."""
        return int(np.argmax(np.abs(self.z)))

    @property
    def largest(self) -> float:
        """The largest difference, in standard errors; zero where there is none."""
        return float(np.abs(self.z).max(initial=0.0))

    @property
    def agrees(self) -> bool:
        """Whether the differences are within sampling error."""
        return self.largest <= self.threshold

    @property
    def good_enough(self) -> bool:
        """Whether the differences are within sampling error, or too small to matter."""
        return self.agrees or self.size <= NEGLIGIBLE


@dataclass(frozen=True, eq=False)
class FitCheck(Summarised):
    """A model compared with rows, and whether to trust it.

    Parameters
    ----------
    n_rows : float
        Rows, or the sum of their weights.
    n_samples : int
        Samples of the field; zero when its probabilities are exact.
    means, pairs, triples, counts : Comparison
        Of ones in each column, of two ones in each pair of columns, of the interaction of three
        columns (empty for more than 16 columns), and of k ones in a row.
    r_hat : float
        The worst of all columns; near 1 when the chains agree, NaN when there are none.
    names : tuple of str
        Names of the columns.
    report : FitReport or None
        How the field was fitted, if that is known; else it counts as fitted to these rows.
    held_out : bool
        Whether the rows are others than those of the fit.
    score : float
        Log pseudo-likelihood of a held-out row, on average; NaN when the rows were not held out.
    gain, gain_error : float
        The score less that of independent columns with the means of the rows of the fit, and its
        standard error.
    matched : Comparison or None
        Numbers of ones compared with the field that has their mean and variance, when ``counts``
        differ.
    drift : Comparison or None
        Means of held-out rows compared with those of the rows of the fit.
    model : PairwiseModel or None
        The field, for tables and pictures of its parameters.
    """

    n_rows: float
    n_samples: int
    means: Comparison
    pairs: Comparison
    triples: Comparison
    counts: Comparison
    r_hat: float
    names: tuple[str, ...]
    report: FitReport | None = None
    held_out: bool = False
    score: float = float("nan")
    gain: float = float("nan")
    gain_error: float = float("nan")
    matched: Comparison | None = field(default=None, repr=False)
    drift: Comparison | None = field(default=None, repr=False)
    model: PairwiseModel | None = field(default=None, repr=False)

    @property
    def parts(self) -> list[Comparison]:
        """All comparisons that there are."""
        return [p for p in (self.means, self.pairs, self.triples, self.counts) if len(p.z)]

    @property
    def worst(self) -> Comparison:
        """The comparison with the largest difference in standard errors."""
        return max(self.parts, key=lambda part: part.largest)

    @property
    def n_learnt(self) -> float:
        """Rows that the field was fitted to, as far as is known."""
        return self.n_rows if self.report is None else self.report.n_rows

    @property
    def n_parameters(self) -> int:
        """Couplings and biases of the columns that vary."""
        if self.report is not None:
            return self.report.n_parameters
        n = int(np.count_nonzero((self.means.rows > 0) & (self.means.rows < 1)))
        return n * (n + 1) // 2

    @property
    def mixed(self) -> bool:
        """Whether the chains agree with each other, or there are none."""
        return not self.r_hat > LARGEST_R_HAT

    @property
    def trust(self) -> bool:
        """Whether there is evidence for the field, and none against it."""
        return judge(self)[0]

    @property
    def verdict(self) -> str:
        """Whether to trust the field, why, and what to do, in a few sentences."""
        return judge(self)[1]

    def summary(self) -> Summary:
        """Return the differences, the verdict, and for a page couplings and biases too."""
        source = f"{self.n_samples:,} samples" if self.n_samples else "exact probabilities"
        mixing = "" if np.isnan(self.r_hat) else f", R-hat {self.r_hat:.3f}"
        facts = [self._difference(part) for part in self.parts]
        if self.held_out:
            what = f"of a held-out row; with independent columns: {self.score - self.gain:.4f}"
            facts.append(Fact("score", self.score, ".4f", f"log pseudo-likelihood {what}"))
            meaning = f"over independent columns; standard error {self.gain_error:.4f}"
            facts.append(Fact("gain", self.gain, "+.4f", meaning))
        verdict = Text(self.verdict, "good" if self.trust else "warning")
        sections = [self._compared()]
        if self.model is not None:
            sections += [_couplings(self.model, self.names), self._biases(self.model)]
        title = f"{self.n_rows:,.6g} rows compared with the model: {source}{mixing}"
        return Summary(title, [Facts(facts), verdict], sections)

    def _difference(self, part: Comparison) -> Fact:
        unit = UNITS[part.what]
        chance = f"up to {part.threshold:.1f} is chance"
        meaning = f"standard errors off at most ({self.show(part)}; {chance})"
        return Fact(part.what, part.largest, ".1f", f"{meaning}; {part.size:.3f} {unit}")

    def _compared(self) -> Section:
        text = (
            "How often each column is in its upper state, how often two are together, and how "
            "many are in one row: among the rows, and in the model."
        )
        description = "Distribution of the number of upper states in a row, of rows and model."
        pictures = [Picture("counts", self, description)]
        if 2 <= len(self.names) <= MAX_COLUMNS:
            description = "Scatter of shares in the model against shares in the rows."
            caption = "One dot for each combination of values; samples are those of the model."
            pictures.insert(0, Picture("agreement", self, description, caption))
        tables = [self._worst()] if len(self.pairs.z) else []
        return Section("Rows and model compared", [Text(text), *pictures, *tables])

    def _worst(self) -> Table:
        part = self.pairs
        rows = [
            (self._place(part, k), part.rows[k], part.model[k], part.z[k])
            for k in _strongest(part.z)
        ]
        header = ("both in the upper state", "in the rows", "in the model", "standard errors")
        return Table(header, rows, ("", ".4f", ".4f", "+.1f"), "The pairs that agree least")

    def _biases(self, model: PairwiseModel) -> Section:
        constant = () if self.report is None else self.report.constant
        known = np.array([name not in constant for name in self.names])
        means = self.means
        rows = [
            (self.names[i], model.biases[i], means.rows[i], means.model[i])
            for i in _strongest(model.biases * known)  # those of constants mean little
        ]
        low, high = model.states
        others = "all others are in their lower one" if low == 0 else "couplings cancel"
        text = (
            f"States are {low} and {high}. A positive bias favours the upper state of a column "
            f"when {others}."
        )
        header, specs = (
            ("column", "bias", "upper in the rows", "in the model"),
            ("", "+.4f", ".4f", ".4f"),
        )
        return Section("Biases", [Text(text), Table(header, rows, specs, "The strongest biases")])

    def _place(self, part: Comparison, at: int) -> str:
        if part.what == self.counts.what:
            return f"k = {part.labels[at, 0]}"
        return ", ".join(self.names[i] for i in part.labels[at])

    def show(self, part: Comparison) -> str:
        """Return where a comparison differs most."""
        of_kind(part, "part", Comparison, "a comparison of this check")
        at, kind = part.worst, "log odds " if part is self.triples else ""
        shares = f"{part.rows[at]:.4f} in the rows, {part.model[at]:.4f} in the model"
        return f"{self._place(part, at)}: {kind}{shares}"


def _couplings(model: PairwiseModel, names: tuple[str, ...]) -> Section:
    if not len(model.edge_weights):
        return Section("Couplings", [Text("There are none: all columns are independent.")])
    rows = [
        (", ".join(names[site] for site in model.edges[edge]), model.edge_weights[edge])
        for edge in _strongest(model.edge_weights)
    ]
    text = (
        "A positive coupling makes two columns agree, a negative one makes them differ, when all "
        "other columns are held: a pair that only follows a third one has none."
    )
    picture = Picture("couplings", model, "Couplings of all pairs as a matrix of colours.")
    table = Table(("columns", "coupling"), rows, ("", "+.4f"), "The strongest couplings")
    return Section("Couplings", [Text(text), picture, table])


def _strongest(values: NDArray[np.float64]) -> NDArray[np.intp]:
    return np.argsort(-np.abs(values), kind="stable")[:N_ROWS]
