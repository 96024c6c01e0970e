"""
Convergence rate: 1/T against 1/sqrt(T)
=======================================

How far are the averages over T rows from the target moments? For random rows, drawn
from the target distribution, the error falls as 1/sqrt(T). For herded rows it falls as 1/T:
a hundred times as many rows reduce the error by a factor of a hundred, not ten.
"""

import matplotlib.pyplot as plt
import numpy as np

from herder import Moments, moment_herd
from herder.core import fit_rate
from herder.datasets import load_digits_binary

# eight pixels from the middle of the digits
table = load_digits_binary().X[:, [10, 18, 20, 26, 28, 34, 42, 50]].astype(float)
moments = Moments.from_data(table.astype(int))

# %%
# Herding computes its own error, since the weights accumulate the residuals. The error is recorded
# after 1, 2, 4, 8, ... rows.

n_rows = 2**17
trace = moment_herd(moments, n_rows).diagnostics.trace

# %%
# Random rows: drawn from the table with replacement, so that their expected moments are correct.

rng = np.random.default_rng(0)
target = table.T @ table / len(table)
drawn = table[rng.integers(len(table), size=n_rows)]


def worst_cell(both):
    """Largest error of a cell, from those of P(both columns are 1)."""
    one = both.diagonal()
    neither = one[:, None] + one - both
    return max(np.abs(both).max(), np.abs(one - both).max(), np.abs(neither).max())


random_error = np.array([worst_cell(drawn[:t].T @ drawn[:t] / t - target) for t in trace.t])

# %%
late = trace.t >= 64
slopes = [fit_rate(trace.t[late], error[late]).slope for error in (trace.error, random_error)]
print("the error falls as T^{:.2f} (herded) and T^{:.2f} (random rows)".format(*slopes))

# %%
# With more columns, especially with nearly duplicate columns, the weights take longer to
# reach their bounds, and until then the error falls more slowly: see :doc:`/moments`.

t = trace.t.astype(float)
figure, ax = plt.subplots(figsize=(6.0, 4.0), layout="constrained")
ax.loglog(t, random_error, "s-", markersize=4, color="#d97706", label="random rows")
ax.loglog(t, trace.error, "o-", markersize=4, color="#0f766e", label="herded rows")
ax.loglog(t, 0.5 / np.sqrt(t), "--", color="0.6", label=r"$1/\sqrt{T}$")
ax.loglog(t, 1.0 / t, ":", color="0.6", label="$1/T$")
ax.set_xlabel("number of rows, T")
ax.set_ylabel("largest moment error")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
