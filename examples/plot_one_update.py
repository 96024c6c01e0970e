"""
One update of NHERD
===================

NHERD maintains a Gaussian over weight vectors. A row moves all of them by one affine map, so that
on average they classify the row correctly with a margin, and their variance falls in the
direction of the row. This is figure 2 of the paper of Crammer and Lee.
"""

import numpy as np

from herder import AROW, NHERD, ConfidenceWeighted
from herder.plots import plot_update

# %%
# Two weights, initially N(0, I), and the row (1, 2) with the label +1. Left: every weight vector w
# is moved to A w + b; A shrinks the direction of the row and no other. Those with a negative
# margin (below the dashed line) move far, and those beyond the line of margin 1 move back. Right:
# five forms of a diagonal covariance. All have the same mean but different variances.

figure = plot_update([1.0, 2.0], 1, C=1.0)

# %%
# In numbers: the covariance after the update is A A', and the precision has grown by
# 2 C + C^2 v = 7 in the direction of the row, where v = 5 is the variance of the margin before.

x = np.array([1.0, 2.0])
model = NHERD(covariance="full", fit_intercept=False).partial_fit([x], [1], classes=[-1, 1])
A = np.linalg.inv(np.eye(2) + np.outer(x, x))
print("mean", model.coef_[0].round(4))
print("largest difference from A A'", np.abs(model.covariance_ - A @ A.T).max().round(12))
print("increase of the precision")
print((np.linalg.inv(model.covariance_) - np.eye(2)).round(9))

# %%
# Area of the ellipses. The smaller it is, the less the next row will move the mean.

for covariance in ("project", "exact", "drop", "full"):
    model = NHERD(covariance=covariance, fit_intercept=False)
    spread = model.partial_fit([x], [1], classes=[-1, 1]).covariance_
    area = np.pi * np.sqrt(np.linalg.det(spread) if len(spread) == 2 else spread.prod())
    print(f"NHERD {covariance:8} {area:.3f}")

# %%
# With a small C the mean moves less and the variances stay large. A confidence-weighted learner
# has no C: it moves as far as needed to reach its confidence on the row, and therefore fails under
# label noise.

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
