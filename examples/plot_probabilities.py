"""
Are the probabilities right?
============================

The Gaussian over weights makes the score of a row a Gaussian, too, and ``predict_proba`` gives the
probability that it is above zero, with one unit of variance added for the row itself:
Phi(score / sqrt(1 + variance)). Whether these numbers are the shares they promise is a question to
the data.
"""

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import normalize

from herder import NHERD
from herder.plots import plot_calibration, plot_weights

digits = load_digits()
pixels = normalize(digits.data)
large = digits.target >= 5  # 0 to 4 against 5 to 9

# %%
# Probabilities for rows that were left out in turn, with right labels and with a fifth of the
# labels wrong, both judged by the labels of their kind.

rng = np.random.default_rng(0)
noisy = large ^ (rng.random(len(large)) < 0.2)


def left_out(model, labels):
    return cross_val_predict(model, pixels, labels, method="predict_proba", cv=5)[:, 1]


clean = {"as it is": left_out(NHERD(), large)}
clean["calibrated"] = left_out(CalibratedClassifierCV(NHERD(), cv=5), large)
right_labels = plot_calibration(clean, large)

# %%
# With right labels the numbers are too shy: where it says 0.65 it is right far more often. A
# margin of 1 is all that the learner asks of a row, and that is a probability of 0.84 even where
# it is quite sure of its weights. Their order is good, so that ``CalibratedClassifierCV`` mends
# the numbers.

noisy_given = {"as it is": left_out(NHERD(), noisy)}
noisy_given["calibrated"] = left_out(CalibratedClassifierCV(NHERD(), cv=5), noisy)
wrong_labels = plot_calibration(noisy_given, noisy)

# %%
# With a fifth of the labels wrong no probability beyond 0.2 and 0.8 is called for, and the numbers
# are nearer to the diagonal.


def brier(given, labels):
    return np.mean((given - labels) ** 2)


for title, given, labels in (("right", clean, large), ("a fifth wrong", noisy_given, noisy)):
    for name, values in given.items():
        error = np.mean((values > 0.5) != labels)
        print(f"labels {title:14} {name:11} Brier {brier(values, labels):.4f}, error {error:.3f}")

# %%
# What it has learnt: the strongest pixels, with a standard deviation to either side.

names = [f"row {j // 8}, column {j % 8}" for j in range(64)]
strongest = plot_weights(NHERD().fit(pixels, large), names=names, n_features=12)
