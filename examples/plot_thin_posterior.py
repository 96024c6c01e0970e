"""
Thinning a posterior to 200 draws
=================================

Metropolis sampling produced 20,000 draws of a hierarchical model. For the next step, a simulation
that takes an hour per draw or a file for a colleague, 200 are needed. The usual method keeps every
hundredth draw. ``thin`` selects the most representative draws and reports the error per column.
"""

import matplotlib.pyplot as plt
import numpy as np

from herder import mmd, thin
from herder.plots import plot_marginals

# %%
# Eight schools
# -------------
# Effects of coaching in eight schools, with their standard errors. The effects theta come from a
# normal distribution with unknown mean mu and standard deviation tau.

effect = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
error = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])


def log_density(z):
    """Of mu / 10, log tau and (theta - mu) / tau, one row per chain."""
    mu, log_tau, eta = 10 * z[:, :1], z[:, 1:2], z[:, 2:]
    theta = mu + np.exp(log_tau) * eta
    prior = -np.square(z[:, 0]) / 2 - np.exp(2 * log_tau[:, 0]) / 200 + log_tau[:, 0]
    return prior - np.square(eta).sum(1) / 2 - np.square((theta - effect) / error).sum(1) / 2


# %%
# Metropolis
# ----------
# Four chains from dispersed starting points; every tenth state is kept.

n_chains, n_draws, stride = 4, 5_000, 10
rng = np.random.default_rng(0)
state = rng.normal(size=(n_chains, 10))
height = log_density(state)
kept = np.empty((n_chains, n_draws, 10))
for t in range(-500 * stride, n_draws * stride):
    proposal = state + 0.55 * rng.normal(size=state.shape)
    other = log_density(proposal)
    accept = np.log(rng.random(n_chains)) < other - height
    state = np.where(accept[:, None], proposal, state)
    height = np.where(accept, other, height)
    if t >= 0:
        kept[:, t // stride] = state

mu, tau = 10 * kept[..., 0], np.exp(kept[..., 1])
posterior = {"mu": mu, "tau": tau, "theta": mu[..., None] + tau[..., None] * kept[..., 2:]}

# %%
# Thinning
# --------
# A dictionary of draws, an xarray data set or an ArviZ posterior is accepted as it is.

energy = thin(posterior, 200)
print(energy.summary())

# %%
# The summary ends with the error per column, the worst column first. Tau is concentrated near
# zero, with a long tail, where a smooth kernel with one bandwidth resolves little. The energy
# kernel, the default, has no bandwidth and resolves all scales.

gaussian = thin(posterior, 200, kernel="gaussian")
for name, choice in (("gaussian", gaussian), ("energy", energy)):
    errors = choice.column_errors()
    tau_distance = errors.distance[errors.names.index("tau")]
    print(
        f"{name:<9} distance of tau {tau_distance:.3f}, worst column {errors.distance.max():.3f}"
    )

# %%
# ``take`` returns the selected draws of anything that is aligned with the posterior, in the same
# format; ``locate`` returns the chain and draw number of each.

few = energy.take(posterior)
print({name: values.shape for name, values in few.items()})
chain, draw = energy.locate()
print("draws from each chain:", np.bincount(chain))

# %%
# The marginals. Those of 200 draws are rougher, but not biased to either side.

names = ["mu", "tau", *(f"theta[{j}]" for j in range(8))]
table = np.column_stack([mu.ravel(), tau.ravel(), posterior["theta"].reshape(-1, 8)])
figure = plot_marginals(table, energy, names=names, columns=[0, 1, 2, 3, 4, 9])

# %%
# Comparison with every hundredth draw
# ------------------------------------
# The expectations below were not used in the selection.

hundredth = np.arange(50, len(table), 100)
print(f"MMD, energy kernel: {energy.mmd:.3f} selected,", end=" ")
print(f"{mmd(table, table[hundredth]):.3f} every hundredth,", end=" ")
print(f"{energy.mmd_random:.3f} random (root mean square)")

theta = table[:, 2:]
questions = {
    "mean of mu": table[:, 0],
    "mean of tau": table[:, 1],
    "mean effect in school A": theta[:, 0],
    "P(effect in A above 15)": theta[:, 0] > 15,
    "P(A is the best school)": theta.argmax(axis=1) == 0,
    "P(tau below 2)": table[:, 1] < 2,
}
choices = {
    "gaussian": np.asarray(gaussian),
    "energy": np.asarray(energy),
    "every 100th": hundredth,
}
print(f"{'':<24}{'all':>8}" + "".join(f"{name:>15}" for name in choices))
for name, values in questions.items():
    means = "".join(f"{values[rows].mean():15.3f}" for rows in choices.values())
    print(f"{name:<24}{values.mean():8.3f}{means}")

# %%
# Errors
# ------
# The errors of averages of smooth functions are close to zero. Probabilities of sharp events, and
# tail quantiles, have the resolution of 200 draws, half a per cent per draw: the kernel is smooth,
# and controls only smooth functions. The bars show the range of 90 % of random subsets.

subsets = [rng.choice(len(table), 200, replace=False) for _ in range(300)]
styles = {
    "gaussian": ("^", "#7c3aed"),
    "energy": ("o", "#0f766e"),
    "every 100th": ("s", "#d97706"),
}
figure, ax = plt.subplots(figsize=(6.8, 3.4), layout="constrained")
for place, values in enumerate(questions.values()):
    standard_error = values.std() / np.sqrt(200)
    errors = [(values[rows].mean() - values.mean()) / standard_error for rows in subsets]
    low, high = np.quantile(errors, [0.05, 0.95])
    label = None if place else "90 % of random subsets"
    ax.plot([low, high], [place] * 2, color="#dfe3e8", lw=9, solid_capstyle="butt", label=label)
    for name, rows in choices.items():
        marker, colour = styles[name]
        shift = (values[rows].mean() - values.mean()) / standard_error
        ax.plot(shift, place, marker, color=colour, ms=5, label=None if place else name)
ax.set_yticks(range(len(questions)), list(questions))
ax.invert_yaxis()
ax.set_xlabel("error, in standard errors of 200 independent draws")
ax.spines[["top", "right"]].set_visible(False)
figure.legend(frameon=False, fontsize=8, loc="outside upper center", ncols=4)
