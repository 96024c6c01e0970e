"""
The Ising model at three temperatures
=====================================

An Ising model of 64 x 64 spins below, at and above its critical temperature, sampled in two ways.
Herded Gibbs updates one spin at a time, without random numbers. Swendsen-Wang flips whole
clusters of equal spins at once, which is necessary at the critical temperature, where there are
clusters of all sizes.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ellipk

from herder import PairwiseModel, herded_gibbs, swendsen_wang
from herder.plots import plot_state

side, n_sweeps, thinning = 64, 10_000, 4
critical = 2 / np.log(1 + np.sqrt(2))
heats = {"cold": 0.9 * critical, "critical": critical, "warm": 1.3 * critical}
magnets = {
    name: PairwiseModel.grid((side, side), periodic=True, temperature=heat)
    for name, heat in heats.items()
}

# %%
# Ten thousand sweeps each, of which every fourth state is kept. All spins start down, and the
# first thousand sweeps are discarded as burn-in.

samplers = {"herded Gibbs": herded_gibbs, "Swendsen-Wang": swendsen_wang}
down = -np.ones(side**2)
runs = {
    (name, word): sampler(magnet, n_sweeps, burn_in=1000, thinning=thinning, start=down)
    for name, magnet in magnets.items()
    for word, sampler in samplers.items()
}

# %%
# The last states, of herded Gibbs above and of Swendsen-Wang below. Cold: nearly all spins are
# equal. Warm: small clusters. At the critical temperature: clusters of every size.

last = {word: [runs[name, word].samples[-1] for name in magnets] for word in samplers}
figure_herded = plot_state((side, side), last["herded Gibbs"], titles=list(magnets))
figure_clusters = plot_state((side, side), last["Swendsen-Wang"], titles=list(magnets))


# %%
# The energy per spin of the infinite lattice is known exactly :cite:p:`onsager1944`; that of a
# small periodic lattice is slightly lower near the critical temperature.


def infinite(heat: float) -> float:
    """Energy per spin of the infinite lattice."""
    double = 2 / heat
    m = 4 * np.sinh(double) ** 2 / np.cosh(double) ** 4
    bend = 2 * np.tanh(double) ** 2 - 1
    # at the critical temperature bend is zero and the integral infinite: their product is zero
    rest = 0.0 if abs(bend) < 1e-9 else 2 / np.pi * bend * ellipk(m)
    return -(1 + rest) / np.tanh(double)


figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.2), layout="constrained")
print("energy per spin" + "".join(f"{word:>16}" for word in (*samplers, "infinite")))
for ax, (name, magnet) in zip(axes, magnets.items(), strict=True):
    energy = {
        word: heats[name] * magnet.energy(runs[name, word].samples) / side**2 for word in samplers
    }
    bins = np.histogram_bin_edges(np.concatenate(list(energy.values())), 40)
    for (word, values), colour in zip(energy.items(), ("#0f766e", "#d97706"), strict=True):
        ax.hist(values, bins, histtype="step", color=colour, linewidth=1.5, label=word)
    exact = infinite(heats[name])
    ax.axvline(exact, color="0.6", linestyle="--", linewidth=1, label="infinite lattice")
    ax.set_title(f"{name}, T = {heats[name]:.2f}", fontsize=9)
    ax.set_xlabel("energy per spin")
    ax.set_yticks([])
    ax.spines[["top", "right", "left"]].set_visible(False)
    means = [np.mean(values) for values in energy.values()]
    print(f"{name:<15}" + "".join(f"{value:16.4f}" for value in (*means, exact)))
axes[0].legend(frameon=False, fontsize=8)

# %%
# How fast do the samplers mix? The figure shows the magnetisation, the mean of all spins. With
# single-spin updates at the critical temperature it drifts for thousands of sweeps; with cluster
# updates it changes sign every few sweeps. At the low temperature herded Gibbs never leaves the
# mode where it started.

figure_memory, axes = plt.subplots(1, 3, figsize=(9.6, 2.8), sharey=True, layout="constrained")
for ax, name in zip(axes, magnets, strict=True):
    for word, colour in zip(reversed(samplers), ("#d97706", "#0f766e"), strict=True):
        spins = runs[name, word].samples[:250].mean(axis=1)
        ax.plot(thinning * np.arange(250), spins, color=colour, linewidth=0.8, label=word)
    ax.set_title(name, fontsize=9)
    ax.set_xlabel("sweep")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("magnetisation")
axes[0].legend(frameon=False, fontsize=8)
