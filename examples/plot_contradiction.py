"""
Two contradictory tables
========================

Two reports on two groups of people. One has the table of smoking against coughing, the other that
of coughing against tiredness, and they disagree on how many people cough: 40 % or 42 %. No
rows can match both. Moment herding detects this, and generates rows that are as close to both as
possible.
"""

import csv
import io

import matplotlib.pyplot as plt
import numpy as np

from herder import MomentHerder, Moments

PUBLISHED = """\
variable_a,value_a,variable_b,value_b,count,total
smokes,0,coughs,0,160,300
smokes,0,coughs,1,50,300
smokes,1,coughs,0,20,300
smokes,1,coughs,1,70,300
coughs,0,tired,0,190,500
coughs,0,tired,1,100,500
coughs,1,tired,0,60,500
coughs,1,tired,1,150,500
"""
rows = list(csv.DictReader(io.StringIO(PUBLISHED)))

# %%
# Contradictions raise an error unless they are allowed. The worst is listed first.

moments = Moments.from_counts(rows, contradictions="allow")
for contradiction in moments.contradictions():
    print(contradiction)

# %%
# With ``contradictions="nearest"`` herding continues nevertheless. The file has no single columns,
# so the tables are matched cell by cell.

model = MomentHerder(contradictions="nearest").fit_moments(moments)
sample = model.sample(20_000)
print(model.diagnostics_)

# %%
# The generated rows lie half-way between the two: herding converges to the moments with the least
# sum of squared differences from all published proportions. ``distance`` is the square root of
# that sum, and does not decrease with more rows.

coughs = float(np.mean(sample["coughs"] == 1))
print(f"P(coughs): 0.40 and 0.42 published, {coughs:.4f} in the generated rows")
print(f"distance: {model.diagnostics_.distance:.4f}")

# %%
# Left: errors of all published cells, half a per cent for each. Right: the norm of the weights,
# which grows by the distance at every step. This growth reveals contradictions that no simple
# check finds.

reached = Moments.from_data(sample, cliques=moments.cliques)
gap = reached.probabilities() - moments.probabilities()
names = [
    f"{row['variable_a']}={row['value_a']}, {row['variable_b']}={row['value_b']}" for row in rows
]
trace, distance = model.diagnostics_.trace, model.diagnostics_.distance
figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.6), layout="constrained")
left.barh(names, gap, color=["#0f766e"] * 4 + ["#d97706"] * 4)
left.axvline(0, color="0.5", linewidth=1)
left.invert_yaxis()
left.set_xlabel("generated minus published proportion")
right.loglog(trace.t, trace.norm, "o-", markersize=4, color="#0f766e", label="norm of the weights")
right.loglog(trace.t, trace.t * distance, "--", color="0.6", label="distance times T")
right.set_xlabel("number of rows, T")
for ax in (left, right):
    ax.spines[["top", "right"]].set_visible(False)
right.legend(frameon=False)
