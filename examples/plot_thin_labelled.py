"""
Five exemplars of each digit
============================

A labelled data set is represented by five rows of each class: to show what is in it, to replay it
when new classes are learnt, or to classify by the nearest exemplar. With ``y=`` rows are compared
only within their class.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from herder import thin

digits = load_digits()
half = len(digits.data) // 2
pixels, labels = digits.data[:half], digits.target[:half]
new_pixels, new_labels = digits.data[half:], digits.target[half:]

# %%
# The exemplars
# -------------
# ``allocation="equal"`` selects the same number of each class. The default, "proportional",
# follows the class proportions; a dictionary such as ``{0: 10, 1: 5}`` sets the numbers; with
# "joint" the distance decides.

chosen = thin(pixels, 50, y=labels, allocation="equal")
print({label: rows.tolist() for label, rows in chosen.by_class.items()})
print(f"MMD {chosen.mmd:.3f}, random subset {chosen.mmd_random:.3f}")

# %%
figure, axes = plt.subplots(5, 10, figsize=(6.8, 3.6), layout="constrained")
for column, rows in zip(axes.T, chosen.by_class.values(), strict=True):
    for ax, row in zip(column, rows, strict=True):
        ax.imshow(pixels[row].reshape(8, 8), cmap="gray_r")
        ax.set_axis_off()

# %%
# Weights
# -------
# Equal numbers from classes of unequal size are not a representative sample. The weights
# compensate: each class has its proportion of the data, divided among its exemplars.

for label in (1, 8):
    share = (labels == label).mean()
    weight = chosen.weights[labels[chosen] == label].sum()
    print(f"class {label}: proportion of rows {share:.4f}, weight of exemplars {weight:.4f}")

# %%
# Classification by exemplars
# ---------------------------
# Classify the held-out half of the data by the nearest class mean, where the mean is that of the
# exemplars: the rule of iCaRL, which also selects its exemplars by herding. The mean of all rows
# of a class gives the limit.


def accuracy(rows):
    centres = np.array([pixels[rows][labels[rows] == c].mean(axis=0) for c in range(10)])
    nearest = ((new_pixels[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
    return (nearest == new_labels).mean()


def random_rows(rng, n):
    return np.concatenate(
        [rng.choice(np.flatnonzero(labels == c), n, replace=False) for c in range(10)]
    )


rng = np.random.default_rng(0)
sizes = np.array([1, 2, 3, 5, 8, 12, 20])
herded = [accuracy(np.asarray(thin(pixels, 10 * n, y=labels, allocation="equal"))) for n in sizes]
drawn = np.array([[accuracy(random_rows(rng, n)) for _ in range(100)] for n in sizes])
limit = accuracy(np.arange(half))
for n, ours, theirs in zip(sizes, herded, drawn, strict=True):
    print(f"{n:2} of each: {ours:.3f} selected, {theirs.mean():.3f} random")
print(f"all rows:  {limit:.3f}")

# %%
figure, ax = plt.subplots(figsize=(6.0, 3.6), layout="constrained")
low, high = np.quantile(drawn, [0.05, 0.95], axis=1)
ax.fill_between(sizes, low, high, color="#d97706", alpha=0.2, label="90 % of random subsets")
ax.plot(sizes, drawn.mean(axis=1), "s-", color="#d97706", ms=4, label="random, mean")
ax.plot(sizes, herded, "o-", color="#0f766e", ms=4, label="selected")
ax.axhline(limit, color="0.5", linestyle="--", linewidth=1, label="all rows")
ax.set_xscale("log")
ax.set_xticks(sizes, [str(n) for n in sizes])
ax.minorticks_off()
ax.set_xlabel("exemplars per class")
ax.set_ylabel("accuracy on held-out rows")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
