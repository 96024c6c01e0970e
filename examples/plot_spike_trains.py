"""
Couplings between a hundred neurons
===================================

A hundred cells are recorded, in bins so short that each holds a spike or none. Pairs of cells
fire together more or less often than chance. A pairwise model says which of these correlations
are direct. Here the recording comes from a known model, so that what is found can be held
against the truth.
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
# The recording: states of the model, far enough apart to be nearly independent.

spikes = gibbs(truth, 10 * n_bins // 4, n_chains=4, burn_in=100, thinning=10).samples
print(f"{spikes.shape[0]:,} bins of {n_cells} cells; a cell fires in {spikes.mean():.1%} of them")
print(f"bins in which all cells are silent: {(spikes.sum(axis=1) == 0).mean():.3f}")

# %%
# The fit
# -------
# Pseudo-likelihood, with a penalty chosen on bins that were left out in turn. The report says on
# what it rests.

machine = BoltzmannMachine(penalty="l1", alpha="cv", cv=3).fit(spikes)
print(machine.diagnostics_)

# %%
# Above the diagonal the truth, below it what was found.

figure = plot_couplings(machine, truth=truth)

# %%
# Most pairs are not coupled, and the penalty sets most of these to zero. What is missed are weak
# couplings, and negative ones: cells that fire rarely hardly ever meet, so that avoiding each
# other leaves no trace.

matrix: np.ndarray = truth.couplings.toarray()
wanted, found = matrix[first, second], machine.couplings_[first, second]
print(f"correlation of couplings, found and true: {np.corrcoef(wanted, found)[0, 1]:.2f}")
print(f"of {linked.sum()} couplings {np.mean(found[linked] != 0):.0%} were found")
print(
    f"of {(~linked).sum():,} pairs without one "
    f"{np.mean(found[~linked] != 0):.0%} were coupled by mistake"
)

figure_scatter, ax = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
ax.axline((0, 0), slope=1, color="0.7", linewidth=1)
ax.plot(wanted[~linked], found[~linked], ".", color="#d97706", markersize=3, label="not coupled")
ax.plot(wanted[linked], found[linked], ".", color="#0f766e", markersize=4, label="coupled")
ax.set_xlabel("true coupling")
ax.set_ylabel("coupling found")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)

# %%
# May it be trusted?
# ------------------
# ``check`` samples the fitted model and holds it against the recording: rates, pairs, and the
# number of cells that fire at once, which the model was never told.

check = machine.check(spikes)
print(check)

# %%
# Silence of all cells at once, and bursts of many, are what independent cells get wrong.

drawn = machine.sample(n_bins)
alone = np.ones(1)
for share in spikes.mean(axis=0):
    alone = np.convolve(alone, [1 - share, share])
counts = {
    "recording": count_distribution(spikes),
    "samples of the fit": count_distribution(drawn),
    "independent cells": alone,
}
for name, share in counts.items():
    print(
        f"{name:<20} P(silence) = {share[0]:.3f}, P(more than 12 cells) = {share[13:].sum():.4f}"
    )

figure_counts = plot_count_distribution(counts)
