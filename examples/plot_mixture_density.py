"""
Herding a mixture of twenty Gaussians
=====================================

Twenty random draws from a density leave some of its modes without a point and give others too
many. Herding places each new point where the density is least represented so far, without
randomness (figures 4.7 and 4.8 of Chen's thesis).
"""

import matplotlib.pyplot as plt
import numpy as np

from herder import GaussianMixture, herd_density
from herder.core import fit_rate

rng = np.random.default_rng(4)
angle = rng.uniform(0, np.pi, size=20)
turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]).T
axes = rng.uniform(0.15, 0.9, size=(20, 1, 2))
mixture = GaussianMixture(
    rng.uniform(-5, 5, size=(20, 2)),
    turn * axes**2 @ np.swapaxes(turn, 1, 2),
    rng.dirichlet(np.full(20, 5.0)),
)

# %%
# The kernel mean of a mixture of Gaussians under a Gaussian kernel is known in closed form, so
# that the density itself is herded, not a sample of it. A bandwidth of the size of the modes
# resolves them; the default, the median distance, represents the overall shape first.

herding = herd_density(mixture, 2000, bandwidth=1.0)
drawn = mixture.sample(2000, random_state=0)

# %%
# The first twenty herded points, and twenty random ones.

low, high = -7.0, 7.0
grid = np.stack(np.meshgrid(*2 * [np.linspace(low, high, 200)]), axis=-1)
density = mixture.density(grid.reshape(-1, 2)).reshape(200, 200)

figure, ax = plt.subplots(figsize=(6.0, 5.6), layout="constrained")
levels = density.max() * np.geomspace(0.01, 0.8, 8)
ax.contour(grid[..., 0], grid[..., 1], density, levels=levels, colors="0.7", linewidths=0.8)
ax.plot(*drawn[:20].T, "o", color="#7e22ce", fillstyle="none", markersize=7, label="random")
ax.plot(*herding.points[:20].T, "s", color="#dc2626", markersize=6, label="herded")
ax.set_aspect("equal")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper left")

# %%
# The distance of the points to the density, the MMD, is known in closed form as well. For random
# points it falls as 1/sqrt(T), for herded points nearly as 1/T: its inverse grows almost linearly.

t = np.arange(1, 2001)
expected = np.sqrt((1 - herding.squared_norm) / t)  # root of the mean square
late = t >= 20
print(f"the error of herding falls as T^{fit_rate(t[late], herding.errors[late]).slope:.2f}")
print(f"error after 20 points: {herding.errors[19]:.3f}, random {expected[19]:.3f}")
print(f"error after 2,000 points: {herding.mmd:.5f}, random {expected[-1]:.5f}")

figure, ax = plt.subplots(figsize=(6.0, 3.6), layout="constrained")
ax.plot(t, 1 / herding.errors, "s-", markevery=0.1, color="#dc2626", label="herded")
ax.plot(t, 1 / expected, "o-", markevery=0.1, color="#7e22ce", label="random")
ax.set_xlabel("number of points, T")
ax.set_ylabel("1 / MMD")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
