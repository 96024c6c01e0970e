"""
Label noise, and how to choose C
================================

Some labels of a stream are wrong: typing errors, accidental clicks, predictions of another
program. A learner that fits each of them exactly loses what it has learnt. NHERD and AROW maintain
a covariance of the weights and move less along features that they have seen often, which makes
them robust to label noise. Here fifteen pairs of handwritten digits are classified with 0, 10 or
30 % label noise; test labels are correct.
"""

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from herder import AROW, NHERD, ConfidenceWeighted, PassiveAggressive, Perceptron

digits = load_digits()
pixels = normalize(digits.data)  # rows of length 1
pairs = list(combinations(range(10), 2))[::3]
noises = (0.0, 0.1, 0.3)
rates = np.array([0.001, 0.01, 0.1, 1.0, 10.0, 100.0])


def task(pair, noise):
    """Two thirds of the rows of two digits with noisy labels, the others with correct ones."""
    rng = np.random.default_rng([*pair, 0])
    rows = rng.permutation(np.flatnonzero(np.isin(digits.target, pair)))
    labels = digits.target[rows] == pair[1]
    n = 2 * len(rows) // 3
    wrong = rng.random(n) < noise
    return pixels[rows[:n]], labels[:n] ^ wrong, pixels[rows[n:]], labels[n:]


# %%
# Error against C
# ---------------
# Each learner makes five passes with each C. We record the test error and the *progressive* error:
# the proportion of rows that were misclassified before they were learnt, in the first pass, with
# respect to the noisy labels.

learners = {
    "NHERD": NHERD,
    "AROW": AROW,
    "SCW-I": lambda C: ConfidenceWeighted(form="soft-1", C=C),
    "PA-I": PassiveAggressive,
    "PA-II": lambda C: PassiveAggressive(C, form="PA-II"),
}
shape = (len(learners), len(noises), len(rates), len(pairs))
test_error, progressive_error = np.empty(shape), np.empty(shape)
perceptron_error = np.empty((len(noises), len(pairs)))
for k, noise in enumerate(noises):
    for p, pair in enumerate(pairs):
        X, y, unseen, right = task(pair, noise)
        perceptron_error[k, p] = np.mean(Perceptron().fit(X, y).predict(unseen) != right)
        for a, learner in enumerate(learners.values()):
            for c, C in enumerate(rates):
                model = learner(C).fit(X, y)
                test_error[a, k, c, p] = np.mean(model.predict(unseen) != right)
                progressive_error[a, k, c, p] = model.progressive_error_

print("mean test error in %, by C")
print(" " * 18 + "".join(f"{C:8g}" for C in rates))
for k, noise in enumerate(noises):
    for a, name in enumerate(learners):
        line = "".join(f"{error:8.1f}" for error in 100 * test_error[a, k].mean(axis=1))
        print(f"{noise:4.0%} noise {name:>7}{line}")

# %%
# Without noise all learners work, except with the smallest C. With noise, the passive-aggressive
# learners have a low error only in a narrow range of C: with a larger C they fit every wrong
# label. The same holds for SCW-I, the soft confidence-weighted learner, whose minimum is deep.
# NHERD and AROW have a low error over a wide range. The optimal C is smaller the more noise there
# is.

looks = ("o#0f766e", "s#d97706", "^#1f2933", "D#7c3aed", "v#be123c")  # marker and colour
figure, axes = plt.subplots(1, 3, figsize=(9.0, 3.4), sharey=True, layout="constrained")
for k, (ax, noise) in enumerate(zip(axes, noises, strict=True)):
    for a, (name, look) in enumerate(zip(learners, looks, strict=True)):
        errors = 100 * test_error[a, k].mean(axis=1)
        ax.loglog(rates, errors, f"{look[0]}-", color=look[1:], markersize=4, label=name)
    level = 100 * perceptron_error[k].mean()
    ax.axhline(level, color="0.5", linestyle="--", linewidth=1, label="perceptron")
    ax.set_title(f"{noise:.0%} label noise", fontsize=10)
    ax.set_xlabel("C")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("test error, %")
axes[0].legend(frameon=False, fontsize=8)
axes[0].set_yticks([0.5, 1, 2, 5, 10, 20, 50], ["0.5", "1", "2", "5", "10", "20", "50"])

# %%
# Choosing C without correct labels
# ---------------------------------
# In practice C must be chosen with noisy labels. There are two ways. The progressive error needs
# no held-out rows and no second pass: train with several values of C in parallel, and keep the
# model with the lowest error. Cross-validation takes at least three times as long, and chooses
# better.


def cross_validated(learner, X, y):
    """The C with the least error on held-out noisy rows, three folds."""
    fold = np.arange(len(y)) % 3
    errors = np.zeros(len(rates))
    for c, C in enumerate(rates):
        for k in range(3):
            model = learner(C).fit(X[fold != k], y[fold != k])
            errors[c] += np.mean(model.predict(X[fold == k]) != y[fold == k])
    return errors.argmin()


everyone = np.arange(len(pairs))
print("mean test error in %, 30% label noise, C chosen")
print(f"{'':8}{'by the progressive error':>28}{'by cross-validation':>24}{'best single C':>18}")
for a, (name, learner) in enumerate(learners.items()):
    watched = progressive_error[a, 2].argmin(axis=0)
    crossed = [cross_validated(learner, *task(pair, 0.3)[:2]) for pair in pairs]
    by_progress = test_error[a, 2][watched, everyone].mean()
    by_folds = test_error[a, 2][crossed, everyone].mean()
    best = test_error[a, 2].mean(axis=1).min()
    print(f"{name:8}{100 * by_progress:28.1f}{100 * by_folds:24.1f}{100 * best:18.1f}")
print(f"perceptron, which has no C: {100 * perceptron_error[2].mean():.1f}")

# %%
# A wide minimum makes the choice of C less critical, and with noisy labels the choice is often not
# optimal. Other learners with C chosen by cross-validation are close, or better, on such tasks.
