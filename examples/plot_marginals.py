"""
When the marginals disagree
===========================

No distribution has marginals that contradict each other. The averages of a herd then go to the
nearest ones that some distribution has.
"""

from itertools import islice

import numpy as np
from matplotlib.figure import Figure

from herder import EnumeratedSystem, PatchTables, herd, herd_marginals
from herder.plots import plot_marginal_distance

# %%
# Moments outside the polytope
# ----------------------------
# Two features, and a dot for the features of each state: means lie within their convex hull. The
# target, a cross, lies outside. The averages of the states go to its projection.

corners = [[-1.0, -0.8], [1.2, -0.6], [1.5, 0.9], [0.2, 1.4], [-1.2, 0.9]]
features = np.array([*corners, [0.3, 0.1], [-0.2, -0.3]])
target = np.array([2.1, 0.0])
states = [step.state for step in islice(herd(EnumeratedSystem(features, target), target), 400)]
averages = features[states].cumsum(axis=0) / np.arange(1, 401)[:, None]

figure = Figure(figsize=(5.6, 4.2), layout="constrained")
ax = figure.subplots()
ax.fill(*np.transpose(corners), color="#e4e7eb")
ax.plot(*features.T, "o", color="#9aa5b1", label="states")
ax.plot(*averages.T, "-", color="#0f766e", linewidth=1, label="averages")
ax.plot(*averages[-1], "o", color="#0f766e", label="after 400 steps")
ax.plot([target[0], averages[-1, 0]], [target[1], averages[-1, 1]], ":", color="#1f2933")
ax.plot(*target, "x", color="#d97706", markersize=9, markeredgewidth=2, label="target")
ax.set_aspect("equal")
ax.legend(frameon=False, fontsize=9)
polytope = figure

# %%
# Two surveys
# -----------
# Of the same people, one survey says that 65 % do not smoke, the other that 75 % do not.

surveys = {
    ("sex", "smoker"): [[30, 20], [35, 15]],
    ("smoker", "drinker"): [[55, 20], [10, 15]],
}
reached = herd_marginals(surveys, 10_000)
distance = plot_marginal_distance(reached)
print(reached)

# %%
# A noisy picture
# ---------------
# A fifth of the pixels of a disc and a bar was flipped. Each pixel is probably what it seems,
# and neighbours probably agree: the two contradict each other at all boundaries and all errors.

size, rng = 40, np.random.default_rng(4)
down, across = np.mgrid[:size, :size]
truth = ((down - 14) ** 2 + (across - 14) ** 2 < 90) | ((down > 28) & (down < 34))
noisy = truth ^ (rng.random((size, size)) < 0.2)
sites = np.arange(size * size).reshape(size, size)
right = np.column_stack([sites[:, :-1].ravel(), sites[:, 1:].ravel()])
below = np.column_stack([sites[:-1].ravel(), sites[1:].ravel()])
edges = np.vstack([right, below])
black = np.where(noisy, 0.8, 0.2).ravel()
marginals = {
    "pixels": PatchTables(sites.reshape(-1, 1), np.column_stack([1 - black, black])),
    "edges": PatchTables(edges, np.full(len(edges), 0.05), "differ"),
}
found = herd_marginals(marginals, 300, rates={"edges": 10})

figure = Figure(figsize=(7.2, 2.6), layout="constrained")
images = {
    "truth": truth,
    "noisy": noisy,
    "herded marginals": found.marginals[:, 1].reshape(size, size),
}
for ax, (title, image) in zip(figure.subplots(1, 3), images.items(), strict=True):
    ax.imshow(image, cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
    ax.set_title(title, fontsize=10)
    ax.set_axis_off()
restored = figure
wrong = (images["herded marginals"] > 0.5) != truth
print(f"wrong pixels: {np.mean(noisy != truth):.1%} before, {wrong.mean():.1%} after")
