"""
Concept drift
=============

The steps of a second-order learner shrink as it sees more data. This makes it robust to noise, but
slow to follow concept drift. ``forget=f`` moves the variances a fraction f of the way back to
their initial values before each row, so that the steps never vanish.
"""

import numpy as np

from herder import AROW, NHERD, PassiveAggressive
from herder.plots import plot_progressive

# %%
# 12,000 rows of twenty features. Two in five of the true weights change their sign after every
# 4,000 rows, and a tenth of the labels is wrong throughout.

rng = np.random.default_rng(0)
n, d, chunk, noise = 12_000, 20, 200, 0.1
X = rng.normal(size=(n, d)) / np.sqrt(d)
truth = rng.normal(size=d)
y = np.empty(n, dtype=int)
for third in range(3):
    part = slice(third * n // 3, (third + 1) * n // 3)
    y[part] = X[part] @ truth > 0
    truth[rng.permutation(d)[: 2 * d // 5]] *= -1
y ^= rng.random(n) < noise

# %%
# Test, then train: ``partial_fit`` predicts each row before it learns it, and counts the errors
# (progressive error).

learners = {
    "NHERD": NHERD(0.1),
    "NHERD, forget=0.001": NHERD(0.1, forget=0.001),
    "AROW, forget=0.001": AROW(0.1, forget=0.001),
    "PA-I": PassiveAggressive(0.1),
}
histories = {name: [] for name in learners}
for low in range(0, n, chunk):
    rows = slice(low, low + chunk)
    for name, model in learners.items():
        model.partial_fit(X[rows], y[rows], classes=[0, 1])
        histories[name].append((model.n_seen_, model.progressive_error_))
for name, model in learners.items():
    print(f"{name:20} progressive error {model.progressive_error_:.1%}")

# %%
# The error within each chunk of 200 rows. All errors jump when the concept changes. Without
# forgetting that of NHERD falls slowly afterwards, and more slowly the second time.

figure = plot_progressive(histories, recent=True, noise=noise)

# %%
# Forgetting is not free. On a stationary stream it increases the error, the more so the larger
# ``forget`` is.

steady = X @ rng.normal(size=d) > 0
steady = steady ^ (rng.random(n) < noise)
for forget in (0.0, 0.0001, 0.001, 0.01, 0.1):
    calm = NHERD(0.1, forget=forget).partial_fit(X, steady, classes=[False, True])
    moved = NHERD(0.1, forget=forget).partial_fit(X, y, classes=[0, 1])
    print(
        f"forget {forget:<7g} stationary {calm.progressive_error_:.1%}, "
        f"drifting {moved.progressive_error_:.1%}"
    )
