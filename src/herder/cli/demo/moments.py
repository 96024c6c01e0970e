"""The demo's part on moments: a table from its pair counts, and the loop on three states."""

import time
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from herder.cli.demo import Row
from herder.core.dynamics import Step, herd
from herder.core.enumerated import EnumeratedSystem
from herder.data.variables import Codes
from herder.datasets import load_breast_cancer_binary
from herder.fields.moment import moment_herd
from herder.metrics import count_distribution, kl_divergence
from herder.models.moments import Moments
from herder.plots import (
    plot_agreement,
    plot_count_distribution,
    plot_moment_error,
    plot_tipi,
)
from herder.report import Facts, Picture, Table, Text
from herder.report.synthesis import worst_cells

if TYPE_CHECKING:
    from herder.report import Page

__all__ = ["part"]

N_ROWS = 20_000

#: Steps of the small loop that the page shows.
N_STEPS = 10


def part(page: "Page") -> list[Row]:
    """Add a synthetic table and the loop, step by step."""
    rows = _synthesis(page)
    _three_states(page)
    return rows


def _synthesis(page: "Page") -> list[Row]:
    data = load_breast_cancer_binary()
    moments = Moments.from_data(dict(zip(data.names, data.X.T, strict=True)))
    began = time.perf_counter()
    herding = moment_herd(moments, N_ROWS)
    seconds = time.perf_counter() - began
    found = herding.diagnostics
    reached = Moments.from_codes(Codes(moments.variables, herding.samples))
    alone = independent_counts(data.X.mean(axis=0))
    table_counts = count_distribution(data.X)
    counts = count_distribution(herding.samples)
    ours, theirs = kl_divergence(table_counts, counts), kl_divergence(table_counts, alone)
    worst_alone = _independent_error(moments)
    page.add(
        "A table from its pair counts",
        Text(
            f"{data.X.shape[0]} tumours, {data.X.shape[1]} measurements, each 1 where it is above "
            f"its mean. The herd was given only how often each column and each pair of columns "
            f"is 1, and made {N_ROWS:,} rows in {seconds:.1f} s (compilation included). The "
            "obvious alternative keeps the share of each column and draws the columns "
            "independently."
        ),
        Facts(
            [
                (
                    "pairs off by at most",
                    f"{found.moment_error:.4f}",
                    f"independent columns: {worst_alone:.4f}",
                ),
                (
                    "P(k): divergence from the table",
                    f"{ours:.3f}",
                    f"independent columns: {theirs:.3f} (Kullback-Leibler, nats; 0 is equal)",
                ),
                ("weights", found.growth.verdict, found.growth.reason),
            ]
        ),
        Picture(
            plot_count_distribution(
                {"table": table_counts, "herd, from pairs": counts, "independent columns": alone}
            ),
            "Distribution of the number of ones in a row: table, herd and independent columns.",
            "How many of the columns are 1 in a row. No herd was told this: it follows from the "
            "pairs as far as pairs determine it.",
        ),
        Picture(
            plot_agreement(moments, reached),
            "Shares among the samples against shares in the table.",
            "Every single column and pair: share in the table against share among the rows.",
        ),
        Table(
            ("columns and values", "table", "rows", "difference"),
            worst_cells(moments, reached, 5),
            "The five pairs that agree least",
        ),
        Picture(
            plot_moment_error(found.trace),
            "Moment error against the number of samples on logarithmic axes.",
            f"The error falls like T^{found.rate:.2f}; independent random rows would fall like "
            "T^-0.5 at best.",
        ),
    )
    job = "synthesise a table from pairs"
    return [
        Row(
            job,
            "largest error of a pair",
            f"{found.moment_error:.4f}",
            f"{worst_alone:.4f} (independent columns)",
        ),
        Row(job, "KL of P(k)", f"{ours:.3f}", f"{theirs:.3f} (independent columns)"),
    ]


def independent_counts(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(k) of independent columns that are 1 with these shares.

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
    """Largest error of a pair's share of (1, 1) when columns are drawn independently."""
    total = float(moments.totals[0])
    single = [moments.table((i,))[1] / total for i in range(moments.n_variables)]
    gaps = [
        abs(moments.table((i, j))[1, 1] / total - single[i] * single[j])
        for i, j in (clique for clique in moments.cliques if len(clique) == 2)
    ]
    return float(max(gaps))


def _three_states(page: "Page") -> None:
    names = ("neither", "first", "second")
    system = EnumeratedSystem([[0, 0], [1, 0], [0, 1]], counts=[5, 3, 2])
    steps = list(islice(herd(system, system.target), N_STEPS))
    page.add(
        "The loop, step by step",
        Text(
            "Three states with probabilities 5/10, 3/10 and 2/10, two features. At each step the "
            "state with the largest score is emitted, and the weights move by the target minus "
            "its features. After ten steps the states have come exactly 5, 3 and 2 times."
        ),
        Table(("step", "state", "weights after it, in tenths"), _step_rows(steps, names)),
        Picture(
            plot_tipi(system, steps, start=system.target, labels=names),
            "The plane of weights, coloured by the state emitted, with the path of the weights.",
            "The plane of weights. Its colour is the state emitted there; lines are heights of "
            "the Tipi function, a tent with its top at the origin that the weights keep "
            "climbing and overshooting.",
        ),
    )


def _step_rows(steps: list[Step[int]], names: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [
        (str(step.t), names[step.state], ", ".join(str(w) for w in step.weights.tolist()))
        for step in steps
    ]
