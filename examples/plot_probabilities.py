"""
Calibration of predicted probabilities
======================================

With a Gaussian over the weights, the score of a row is Gaussian, too, and ``predict_proba``
returns the probability that it is above zero, with one unit of variance added for the row itself:
Phi(score / sqrt(1 + variance)). This example checks the calibration of these probabilities.
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
# Cross-validated probabilities, with correct labels and with 20 % label noise, each evaluated on
# labels of the same kind.

rng = np.random.default_rng(0)
noisy = large ^ (rng.random(len(large)) < 0.2)


def held_out(model, labels):
    return cross_val_predict(model, pixels, labels, method="predict_proba", cv=5)[:, 1]


clean = {"uncalibrated": held_out(NHERD(), large)}
clean["calibrated"] = held_out(CalibratedClassifierCV(NHERD(), cv=5), large)
right_labels = plot_calibration(clean, large)

# %%
# With correct labels the probabilities are underconfident: predictions with a probability of 0.65
# are correct far more often. Updates stop at a margin of 1, which is a probability of 0.84 even
# where the variances of the weights are small. Their ranking is good, so that
# ``CalibratedClassifierCV`` can correct them.

noisy_given = {"uncalibrated": held_out(NHERD(), noisy)}
noisy_given["calibrated"] = held_out(CalibratedClassifierCV(NHERD(), cv=5), noisy)
wrong_labels = plot_calibration(noisy_given, noisy)

# %%
# With 20 % label noise no probability below 0.2 or above 0.8 is justified, and the curve
# is closer to the diagonal.


def brier(given, labels):
    return np.mean((given - labels) ** 2)


for title, given, labels in (("correct", clean, large), ("20 % noise", noisy_given, noisy)):
    for name, values in given.items():
        error = np.mean((values > 0.5) != labels)
        print(f"labels {title:11} {name:13} Brier {brier(values, labels):.4f}, error {error:.3f}")

# %%
# The pixels with the largest weights, with plus and minus one standard deviation.

names = [f"row {j // 8}, column {j % 8}" for j in range(64)]
strongest = plot_weights(NHERD().fit(pixels, large), names=names, n_features=12)
