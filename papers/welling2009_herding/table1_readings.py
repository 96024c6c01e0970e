"""Table 1 read in other ways: MARG by sampling, and herding with indicator features."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from herder import MomentHerder, count_distribution, kl_divergence
from papers.claims import Row
from papers.welling2009_herding import data
from papers.welling2009_herding.table1 import FLOOR, N_SAMPLES

#: Added to every cell of a sampled MARG; chosen, like k >= 1, with the paper's numbers in view.
SAMPLED_FLOOR = 1e-13

#: Independent samples, to show the spread.
N_REPEATS = 10


def run(quick: bool, pictures: Path) -> list[Row]:
    """Measure MARG from samples as the paper does, and herding with indicator features."""
    if quick:
        return _cells("quick", data.neighbours(), 3000)
    tables = {
        "bowling": data.bowling(),
        "abalone": data.abalone(),
        "digits": data.digits()[0],
        "news": data.news(),
    }
    return [row for name, table in tables.items() for row in _cells(name, table, N_SAMPLES)]


def _cells(name: str, X: NDArray[np.uint8], n_samples: int) -> list[Row]:
    truth, drawn = count_distribution(X), sampled_counts(X, n_samples)
    # Both are divided by their sums, so that rows without a one are left out of either.
    alone = np.array([kl_divergence(truth[1:], q[1:], floor=SAMPLED_FLOOR) for q in drawn])
    usual = [kl_divergence(truth, share, floor=FLOOR) for share in drawn]
    note = f"{N_REPEATS} samples. All k, floor {FLOOR:.0e}: {np.mean(usual):.3g}."
    rows = [Row(f"{name}.MARG", float(alone.mean()), float(alone.std(ddof=1)), note=note)]
    for order, label in ((3, "H.XXX"), (2, "H.XX")):
        herder = MomentHerder(order, encoding="indicator", restarts="none").fit(X)
        found = herder.herd(n_samples)
        share = count_distribution(found.samples)
        note = (
            f"PCT violations: {found.diagnostics.violations} of {n_samples} steps; "
            f"moment error {found.diagnostics.moment_error:.0e}."
        )
        rows.append(Row(f"{name}.{label}", kl_divergence(truth, share, floor=FLOOR), note=note))
    return rows


def sampled_counts(X: NDArray[np.uint8], n_samples: int) -> list[NDArray[np.float64]]:
    """P(k) of rows whose columns are drawn independently, from ten samples."""
    found = []
    for k in range(N_REPEATS):
        random, ones = np.random.default_rng([data.SEED, 1, k]), np.zeros(n_samples, np.intp)
        for mean in X.mean(axis=0):
            ones += random.random(n_samples) < mean
        found.append(np.bincount(ones, minlength=X.shape[1] + 1) / n_samples)
    return found
