"""
One over T against one over the root of T
=========================================

How far are the averages over T rows from the moments they should have? For random rows, drawn
from the very distribution, the error falls like the root of 1/T. For a herd it falls like 1/T:
a hundred times as many rows give a hundred times the precision, not ten times.
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
# The herd knows its own error, since the weights add up what is still missing. It is looked at
# after 1, 2, 4, 8, ... rows.

n_rows = 2**17
trace = moment_herd(moments, n_rows).diagnostics.trace

# %%
# Random rows: drawn from the table with replacement, so that their expected moments are right.

rng = np.random.default_rng(0)
target = table.T @ table / len(table)
drawn = table[rng.integers(len(table), size=n_rows)]
random_error = np.array([np.abs(drawn[:t].T @ drawn[:t] / t - target).max() for t in trace.t])

# %%
late = trace.t >= 64
slopes = [fit_rate(trace.t[late], error[late]).slope for error in (trace.error, random_error)]
print("the error falls like T^{:.2f} (herd) and T^{:.2f} (random rows)".format(*slopes))

# %%
# With more columns, above all with columns that nearly copy each other, the weights take longer to
# reach their bounds, and until then the error falls more slowly: see
# :doc:`/moments`.

t = trace.t.astype(float)
figure, ax = plt.subplots(figsize=(6.0, 4.0), layout="constrained")
ax.loglog(t, random_error, "s-", markersize=4, color="#d97706", label="random rows")
ax.loglog(t, trace.error, "o-", markersize=4, color="#0f766e", label="herd")
ax.loglog(t, 0.5 / np.sqrt(t), "--", color="0.6", label=r"$1/\sqrt{T}$")
ax.loglog(t, 1.0 / t, ":", color="0.6", label="$1/T$")
ax.set_xlabel("rows, T")
ax.set_ylabel("error of the worst moment")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
