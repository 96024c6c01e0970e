"""
Scan order of herded Gibbs
==========================

Herded Gibbs keeps one weight for every site and every state of its neighbours, and uses no random
numbers. On a complete graph its states converge to the target distribution, and the distance falls
as 1/T. On other graphs there is no such theorem: here are four sites for which convergence
depends on the scan order (figure 4.6 of the thesis of Chen, 2014).
"""

import matplotlib.pyplot as plt
import numpy as np

from herder import PairwiseModel, gibbs, herded_gibbs, total_variation

rng = np.random.default_rng(1)
pairs = np.array([(0, 1), (1, 2), (2, 3), (0, 3), (0, 2), (1, 3)])
couplings, biases = rng.normal(scale=0.7, size=6), rng.normal(scale=0.7, size=4)


def four(n_edges: int) -> PairwiseModel:
    """Four sites with the first edges: none, the cycle 1-2-3-4-1, or all six."""
    return PairwiseModel.from_edges(
        4, pairs[:n_edges], couplings[:n_edges], biases, states=(-1, 1)
    )


# %%
# All four cases have the same biases, and the same couplings on the edges of their graph. The
# distance is the total variation between the frequencies of the sixteen states and their
# probabilities.

cases = {
    "no edges": (four(0), [0, 1, 2, 3]),
    "all edges": (four(6), [0, 1, 2, 3]),
    "cycle, order 1-3-2-4": (four(4), [0, 2, 1, 3]),
    "cycle, order 1-2-3-4": (four(4), [0, 1, 2, 3]),
}
sweeps = np.unique(np.geomspace(10, 1_000_000, 60).astype(int))


def distances(samples: np.ndarray, model: PairwiseModel) -> list[float]:
    """Total variation of the first T states, for each T."""
    number = (samples > 0) @ (1 << np.arange(4))
    exact = model.exact().probabilities
    return [total_variation(np.bincount(number[:t], minlength=16) / t, exact) for t in sweeps]


figure, axes = plt.subplots(1, 4, figsize=(11.0, 3.0), sharey=True, layout="constrained")
print(f"distance after {sweeps[-1]:,} sweeps   herded Gibbs      Gibbs")
for ax, (name, (model, order)) in zip(axes, cases.items(), strict=True):
    herded = distances(
        herded_gibbs(model, sweeps[-1], order=order, initial="centre").samples, model
    )
    random = distances(gibbs(model, sweeps[-1], order=order).samples, model)
    ax.loglog(sweeps, random, color="#d97706", label="Gibbs")
    ax.loglog(sweeps, herded, color="#0f766e", label="herded Gibbs")
    ax.set_title(name, fontsize=9)
    ax.set_xlabel("number of sweeps, T")
    ax.spines[["top", "right"]].set_visible(False)
    print(f"{name:<33}{herded[-1]:12.1e}{random[-1]:11.1e}")
axes[0].set_ylabel("total variation distance")
axes[0].legend(frameon=False, fontsize=8)

# %%
# In the last case the distance stops falling, however long the run: more sweeps do not help,
# another order does. ``check_scan_orders`` compares orders on small subgraphs of a model, where
# the exact answer can be computed.
