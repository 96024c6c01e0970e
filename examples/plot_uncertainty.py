"""
The probability of more than five of twenty events
==================================================

Pair counts of twenty events are known. What is the probability that more than five of them occur
together? Pairs do not determine it. Three numbers describe the uncertainty: the moment error, the
spread over other runs that match the same pairs, and the bounds that hold for every
distribution with these pairs.
"""

import matplotlib.pyplot as plt
import numpy as np

from herder import Moments, count_estimate
from herder.datasets import load_breast_cancer_binary

data = load_breast_cancer_binary()
twenty = data.X[:, :20]
moments = Moments.from_data(dict(zip(data.names, twenty.T, strict=False)))

# %%
# ``count_estimate`` runs herding with the default settings and with variants: other encodings,
# other scan orders, the two halves of the run. With ``tail=True`` entry k is the probability of
# more than k ones.

result = count_estimate(moments, 50_000, tail=True)
print(f"P(more than five of twenty) = {result.value[5]:.3f}")
print(f"moment error: {result.moment_error:.1e}")
print(f"spread: {result.lowest[5]:.3f} to {result.highest[5]:.3f}")
print(f"bounds: {result.bounds.lower[5]:.3f} to {result.bounds.upper[5]:.3f}")
print(f"in the table: {(twenty.sum(axis=1) > 5).mean():.3f}")

# %%
# All variants match the pairs equally well.

for name, value in result.variants.items():
    print(f"{name:<20} {value[5]:.4f}")

# %%
# The bounds are wide because they are attained: some distribution with the same sums of pairs has
# each of those probabilities. The spread is narrow, but it is not a confidence interval: it shows
# how much the free choices of the algorithm matter. Rely on the spread if you can assume that the
# distribution has no more structure than the pairs imply; otherwise rely only on the bounds.

k = np.arange(20)
truth = [(twenty.sum(axis=1) > j).mean() for j in k]
figure, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
low, high = result.bounds.lower[:20], result.bounds.upper[:20]
ax.fill_between(k, low, high, color="0.9", label="bounds")
ax.fill_between(
    k, result.lowest[:20], result.highest[:20], color="#0f766e", alpha=0.35, label="spread"
)
ax.plot(k, result.value[:20], "o-", color="#0f766e", markersize=4, linewidth=1, label="herding")
ax.plot(k, truth, "x", color="black", label="table (not used)")
ax.axvline(5, color="0.5", linewidth=1, linestyle="--")
ax.set_xticks(k[::5])
ax.set_xlabel("k")
ax.set_ylabel("P(more than k of twenty)")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
