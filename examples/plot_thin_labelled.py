"""
Five exemplars of each digit
============================

A labelled data set is to be remembered by five rows of each class: to show a person what is in
it, to replay it when new classes are learnt, or to classify by the nearest exemplar. With ``y=``
rows are compared only within their class.
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
# ``allocation="equal"`` takes as many of each class. The default, "proportional", follows the
# shares of the classes; a dictionary such as ``{0: 10, 1: 5}`` sets the numbers; "joint" lets the
# distance decide.

chosen = thin(pixels, 50, y=labels, allocation="equal")
print({label: rows.tolist() for label, rows in chosen.by_class.items()})
print(f"MMD {chosen.mmd:.3f}, of a random subset {chosen.mmd_random:.3f}")

# %%
figure, axes = plt.subplots(5, 10, figsize=(6.8, 3.6), layout="constrained")
for column, rows in zip(axes.T, chosen.by_class.values(), strict=True):
    for ax, row in zip(column, rows, strict=True):
        ax.imshow(pixels[row].reshape(8, 8), cmap="gray_r")
        ax.set_axis_off()

# %%
# Weights
# -------
# Equal numbers of unequal classes are not a fair sample. The weights make up for it: each class
# has its share of the data, divided among its exemplars.

for label in (1, 8):
    share = (labels == label).mean()
    weight = chosen.weights[labels[chosen] == label].sum()
    print(f"class {label}: share of the rows {share:.4f}, weight of its exemplars {weight:.4f}")

# %%
# Are they good exemplars?
# ------------------------
# Classify the other half of the data by the nearest mean of a class, where the mean is that of
# its exemplars: the rule of iCaRL, which chose its exemplars by herding, too. All rows of a class
# give the limit.


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
    print(f"{n:2} of each: {ours:.3f} chosen, {theirs.mean():.3f} at random")
print(f"all rows:  {limit:.3f}")

# %%
figure, ax = plt.subplots(figsize=(6.0, 3.6), layout="constrained")
low, high = np.quantile(drawn, [0.05, 0.95], axis=1)
ax.fill_between(sizes, low, high, color="#d97706", alpha=0.2, label="90 % of random choices")
ax.plot(sizes, drawn.mean(axis=1), "s-", color="#d97706", ms=4, label="random, mean")
ax.plot(sizes, herded, "o-", color="#0f766e", ms=4, label="chosen")
ax.axhline(limit, color="0.5", linestyle="--", linewidth=1, label="all rows")
ax.set_xscale("log")
ax.set_xticks(sizes, [str(n) for n in sizes])
ax.minorticks_off()
ax.set_xlabel("exemplars of each class")
ax.set_ylabel("accuracy on the other half")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
