"""
One update, as a picture
========================

NHERD keeps a Gaussian over weight vectors. A row moves the whole herd of them by one linear map,
so that on average they classify the row rightly with a margin, and the herd comes closer together
where the row has spoken. This is figure 2 of the paper of Crammer and Lee.
"""

import numpy as np

from herder import AROW, NHERD, ConfidenceWeighted
from herder.plots import plot_update

# %%
# Two weights, before at N(0, I), and the row (1, 2) with the label +1. On the left every weight
# vector w goes to A w + b; A shrinks the direction of the row and no other. Those that had a
# negative margin (below the dashed line) go far, and those beyond the line of margin 1 come back.
# On the right, five forms of a diagonal covariance: all have the same mean and differ in how sure
# they are afterwards.

figure = plot_update([1.0, 2.0], 1, C=1.0)

# %%
# The flow in numbers: the covariance after the update is A A', and the precision has grown by
# 2 C + C^2 v = 7 in the direction of the row, where v = 5 is the variance of the margin before.

x = np.array([1.0, 2.0])
model = NHERD(covariance="full", fit_intercept=False).partial_fit([x], [1], classes=[-1, 1])
A = np.linalg.inv(np.eye(2) + np.outer(x, x))
print("mean", model.coef_[0].round(4))
print("covariance less A A', at most", np.abs(model.covariance_ - A @ A.T).max().round(12))
print("growth of the precision")
print((np.linalg.inv(model.covariance_) - np.eye(2)).round(9))

# %%
# Area of the ellipses: the smaller, the less the next row will move the mean.

for covariance in ("project", "exact", "drop", "full"):
    model = NHERD(covariance=covariance, fit_intercept=False)
    spread = model.partial_fit([x], [1], classes=[-1, 1]).covariance_
    area = np.pi * np.sqrt(np.linalg.det(spread) if len(spread) == 2 else spread.prod())
    print(f"NHERD {covariance:8} {area:.3f}")

# %%
# A small C moves less and stays wide. A confidence-weighted learner has no C: it goes as far as it
# must to be sure of the row, whatever it cost, and that is why it breaks under wrong labels.

small = plot_update(
    [1.0, 2.0],
    1,
    C=0.1,
    learners={
        "NHERD full": NHERD(0.1, covariance="full", fit_intercept=False),
        "AROW full": AROW(0.1, covariance="full", fit_intercept=False),
        "CW full": ConfidenceWeighted(0.9, covariance="full", fit_intercept=False),
    },
)
