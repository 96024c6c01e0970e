"""
A table from its pair counts
============================

A table is counted, its pair counts are written to a file that a person can read, and from that
file alone 10,000 rows are made. How well do they follow something that they were never told:
the number of ones in a row?
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from herder import MomentHerder, Moments, count_distribution, kl_divergence
from herder.datasets import load_breast_cancer_binary
from herder.plots import plot_agreement, plot_count_distribution

data = load_breast_cancer_binary()
table = dict(zip(data.names, data.X.T, strict=True))
print(data.description)

# %%
# The counts
# ----------
# One line per column and per pair of columns: of ``total`` rows, ``count`` have a one in both.

folder = TemporaryDirectory()
pairs = Path(folder.name, "pairs.csv")
Moments.from_data(table).save(pairs)
lines = pairs.read_text().splitlines()
print("\n".join([*lines[:3], "...", *lines[31:34], "..."]))

# %%
# The rows
# --------
# From here on the table is not used. ``fit_moments`` takes the counts, ``sample`` gives rows, and
# the diagnostics say how closely they match.

moments = Moments.load(pairs)
folder.cleanup()
model = MomentHerder().fit_moments(moments)
rows = model.sample(10_000)
print(model.diagnostics_)

# %%
# All 465 counts agree, to about one part in a thousand.

matrix = np.column_stack(list(rows.values()))
figure = plot_agreement(moments, Moments.from_data(rows))

# %%
# What was not told
# -----------------
# P(k), the share of rows with k ones, depends on more than pairs. Rows that match all pairs
# follow it far better than independent columns, which match the single columns only. How well
# depends on the encoding: products of 0/1 favour the row of all zeros here, products of -1/+1 do
# not. The pairs cannot tell which is right, so try both when such a thing matters.

alone = np.ones(1)
for share in data.X.mean(axis=0):
    alone = np.convolve(alone, [1 - share, share])
other = MomentHerder(encoding="+-1").fit_moments(moments).sample(10_000)
counts = {
    "table": count_distribution(data.X),
    "herd, 0/1 features": count_distribution(matrix),
    "herd, -1/+1 features": count_distribution(np.column_stack(list(other.values()))),
    "independent columns": alone,
}
for name, share in counts.items():
    print(f"{name:<22} KL divergence {kl_divergence(counts['table'], share):.3f} nats")

figure = plot_count_distribution(counts)
