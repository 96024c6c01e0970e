"""
Couplings between a hundred neurons
===================================

A hundred cells are recorded, in bins so short that each contains at most one spike. Pairs of cells
fire together more or less often than expected by chance. A pairwise model shows which of these
correlations are direct. Here the recording is simulated from a known model, so that the estimates
can be compared with the true couplings.
"""

import matplotlib.pyplot as plt
import numpy as np

from herder import BoltzmannMachine, PairwiseModel, count_distribution, gibbs
from herder.plots import plot_count_distribution, plot_couplings

n_cells, n_bins = 100, 30_000
rng = np.random.default_rng(0)
first, second = np.triu_indices(n_cells, 1)
linked = rng.random(len(first)) < 0.08
weights = rng.normal(0.4, 0.5, linked.sum())
truth = PairwiseModel.from_edges(
    n_cells,
    np.column_stack([first, second])[linked],
    weights,
    biases=rng.normal(-3.6, 0.5, n_cells),
)

# %%
# The recording: Gibbs samples of the model, thinned so as to be nearly independent.

spikes = gibbs(truth, 10 * n_bins // 4, n_chains=4, burn_in=100, thinning=10).samples
print(f"{spikes.shape[0]:,} bins of {n_cells} cells; a cell fires in {spikes.mean():.1%} of them")
print(f"bins in which all cells are silent: {(spikes.sum(axis=1) == 0).mean():.3f}")

# %%
# The fit
# -------
# Pseudo-likelihood, with a penalty chosen by cross-validation. The diagnostics report
# convergence, the penalty and the held-out score.

machine = BoltzmannMachine(penalty="l1", alpha="cv", cv=3).fit(spikes)
print(machine.diagnostics_)

# %%
# True couplings above the diagonal, estimates below it.

figure = plot_couplings(machine, truth=truth)

# %%
# Most pairs are not coupled, and the penalty sets most of these to zero. Weak couplings are
# missed, and so are negative ones: cells that fire rarely hardly ever fire together by chance, so
# that inhibition leaves no trace.

matrix: np.ndarray = truth.couplings.toarray()
wanted, found = matrix[first, second], machine.couplings_[first, second]
print(f"correlation of estimated and true couplings: {np.corrcoef(wanted, found)[0, 1]:.2f}")
print(f"of {linked.sum()} couplings {np.mean(found[linked] != 0):.0%} were found")
print(
    f"of {(~linked).sum():,} uncoupled pairs "
    f"{np.mean(found[~linked] != 0):.0%} were estimated as coupled"
)

figure_scatter, ax = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
ax.axline((0, 0), slope=1, color="0.7", linewidth=1)
ax.plot(wanted[~linked], found[~linked], ".", color="#d97706", markersize=3, label="not coupled")
ax.plot(wanted[linked], found[linked], ".", color="#0f766e", markersize=4, label="coupled")
ax.set_xlabel("true coupling")
ax.set_ylabel("estimated coupling")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)

# %%
# Checking the fit
# ----------------
# ``check`` samples the fitted model and compares it with the recording: firing rates, pairs, and
# the number of cells that fire at once, which was not fitted.

check = machine.check(spikes)
print(check)

# %%
# A model of independent cells misestimates how often all cells are silent, and how often many fire
# at once.

drawn = machine.sample(n_bins)
alone = np.ones(1)
for share in spikes.mean(axis=0):
    alone = np.convolve(alone, [1 - share, share])
counts = {
    "recording": count_distribution(spikes),
    "fitted model": count_distribution(drawn),
    "independent cells": alone,
}
for name, share in counts.items():
    print(
        f"{name:<20} P(silence) = {share[0]:.3f}, P(more than 12 cells) = {share[13:].sum():.4f}"
    )

figure_counts = plot_count_distribution(counts)
