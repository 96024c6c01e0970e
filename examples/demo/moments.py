"""Moments: a table from its pair counts, and the loop on three states."""

import time
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from herder import (
    EnumeratedSystem,
    Moments,
    count_distribution,
    herd,
    kl_divergence,
    moment_herd,
)
from herder.core.summary import (
    Fact,
    Facts,
    Picture,
    Section,
    Summary,
    Table,
    Text,
    lowest_marked,
)
from herder.datasets import load_breast_cancer_binary
from herder.plots import (
    plot_agreement,
    plot_count_distribution,
    plot_moment_error,
    plot_tipi,
)

__all__ = ["job"]

COMPARED = ("job", "measured", "herder", "alternative")

N_ROWS = 20_000

#: Steps of the small loop that the page shows.
N_STEPS = 10


def job() -> Summary:
    """Generate a table from pair counts, compare with independent columns, show the loop."""
    data = load_breast_cancer_binary()
    moments = Moments.from_data(dict(zip(data.names, data.X.T, strict=True)))
    began = time.perf_counter()
    herding = moment_herd(moments, N_ROWS)
    seconds = time.perf_counter() - began
    found = herding.diagnostics
    rows = herding.samples.astype(data.X.dtype)
    reached = Moments.from_data(dict(zip(data.names, rows.T, strict=True)))
    shares = {
        "table": count_distribution(data.X),
        "herded, from pairs": count_distribution(rows),
        "independent columns": independent_counts(data.X.mean(axis=0)),
    }
    alone = "independent columns"
    error_alone = _independent_error(moments)
    divergence, divergence_alone = (
        kl_divergence(shares["table"], shares[name]) for name in ("herded, from pairs", alone)
    )
    section = Section(
        "A table from its pair counts",
        [
            Text(
                f"{data.X.shape[0]} tumours, {data.X.shape[1]} measurements, each 1 where it is "
                "above its mean. Only the counts of ones of each column and of each pair of "
                f"columns were used. Herding generated {N_ROWS:,} rows in {seconds:.1f} s "
                "(compilation included). The baseline keeps the proportion of ones of each "
                "column and draws the columns independently."
            ),
            Facts(
                [
                    Fact(
                        "largest error of a cell",
                        f"{found.moment_error:.4f}",
                        meaning=f"{error_alone:.4f} ({alone})",
                    ),
                    Fact(
                        "divergence of P(k) from the table",
                        f"{divergence:.3f}",
                        meaning=f"{divergence_alone:.3f} ({alone}); Kullback-Leibler, nats; 0 if "
                        "equal",
                    ),
                    Fact("weights", found.growth.verdict, meaning=found.growth.reason),
                ]
            ),
            Picture(
                "counts",
                plot_count_distribution(shares),
                "Distribution of the number of ones per row: table, herded rows and independent "
                "columns.",
                "Distribution of the number of ones per row. This was not fitted: it follows from "
                "the pairs as far as pairs determine it.",
            ),
            Picture(
                "agreement",
                plot_agreement(moments, reached),
                "Proportions in the generated rows against proportions in the table.",
                "Every single column and pair: proportion in the table against proportion in the "
                "generated rows.",
            ),
            Table(
                ("columns and values", "table", "rows", "difference"),
                worst_pairs(moments, reached, 5),
                ("", ".4%", ".4%", "+.4%"),
                "The five pairs that agree least",
            ),
            Picture(
                "error",
                plot_moment_error(found.trace),
                "Moment error against the number of rows on logarithmic axes.",
                f"The error falls as T^{found.rate:.2f}; that of independent random rows falls as "
                "T^-0.5 at best.",
            ),
        ],
    )
    what = "a table from pair counts"
    errors = lowest_marked({"": found.moment_error}, {alone: error_alone}, ".4f")
    divergences = lowest_marked({"": divergence}, {alone: divergence_alone}, ".3f")
    compared = [
        (what, "largest error of a cell", *errors),
        (what, "KL of P(k)", *divergences),
    ]
    return Summary("Moments", [Table(COMPARED, compared)], [section, _three_states()])


def independent_counts(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(k) of independent columns that are 1 with these probabilities.

    Examples
    --------
    >>> independent_counts(np.array([0.5, 0.5]))
    array([0.25, 0.5 , 0.25])
    """
    counts = np.ones(1)
    for share in shares.tolist():
        counts = np.convolve(counts, [1 - share, share])
    return counts


def _independent_error(moments: Moments) -> float:
    """Largest error of a cell of a pair when columns are drawn independently."""
    total = float(moments.totals[0])
    single = [moments.table((i,))[1] / total for i in range(moments.n_variables)]
    gaps = [
        abs(moments.table((i, j))[1, 1] / total - single[i] * single[j])
        for i, j in (clique for clique in moments.cliques if len(clique) == 2)
    ]
    return float(max(gaps))


def worst_pairs(
    moments: Moments, reached: Moments, n: int
) -> list[tuple[str, float, float, float]]:
    """Return the pairs that agree least: the worst cell of each, worst first."""
    rows = []
    for pair in (clique for clique in moments.cliques if len(clique) == 2):
        wanted, got = (part.table(pair) / part.table(pair).sum() for part in (moments, reached))
        cell = np.unravel_index(np.abs(got - wanted).argmax(), wanted.shape)
        what = ", ".join(f"{moments.names[i]} = {v}" for i, v in zip(pair, cell, strict=True))
        rows.append((what, wanted[cell], got[cell], got[cell] - wanted[cell]))
    return sorted(rows, key=lambda row: -abs(row[3]))[:n]


def _three_states() -> Section:
    names = ("neither", "first", "second")
    system = EnumeratedSystem([[0, 0], [1, 0], [0, 1]], counts=[5, 3, 2])
    steps = list(islice(herd(system, system.target), N_STEPS))
    return Section(
        "The loop, step by step",
        [
            Text(
                "Three states with probabilities 5/10, 3/10 and 2/10, two features. At each step "
                "the state with the largest score is emitted, and the weights move by the target "
                "minus its features. After ten steps the states have been emitted exactly 5, 3 "
                "and 2 times."
            ),
            Table(
                ("step", "state", "weights afterwards, in tenths"),
                [(step.t, names[step.state], str(step.weights.tolist())[1:-1]) for step in steps],
            ),
            Picture(
                "tipi",
                plot_tipi(system, steps, start=system.target, labels=names),
                "The plane of weights, coloured by the state emitted, with the path of the "
                "weights.",
                "The plane of weights. Colours show the state emitted there; lines are contours "
                "of the Tipi function, shaped like a tent with its top at the origin. Every step "
                "is a gradient step on it that overshoots.",
            ),
        ],
    )


if __name__ == "__main__":
    print(job())
