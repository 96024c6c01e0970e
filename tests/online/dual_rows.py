"""Rows, rules and lessons for the tests of the dual learners."""

import numpy as np

from herder.online.rules import Rule

PHI = 1.2815515655446004  # quantile of the twin's confidence, 0.9

#: Name of the rule, and the twin's algorithm and form.
LEARNERS = {
    "NHERD": ("NHERD", ""),
    "AROW": ("AROW", ""),
    "second-order": ("SecondOrderPerceptron", ""),
    "stdev": ("ConfidenceWeighted", "stdev"),
    "variance": ("ConfidenceWeighted", "variance"),
    "soft-1": ("ConfidenceWeighted", "soft-1"),
    "soft-2": ("ConfidenceWeighted", "soft-2"),
}


def make_rows(n=300, d=6, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    places = rng.normal(size=(n_classes, d))
    labels = np.argmax(X @ places.T + rng.normal(size=(n, n_classes)), axis=1)
    return X, labels


def make_rule(name, forget=0.0):
    return Rule.named(name, "full", phi=PHI, forget=forget)


def signed(labels):
    return np.where(labels == 1, 1.0, -1.0)


def teach(weights, X, labels, name="NHERD", C=1.0, forget=0.0, order=None):
    given = labels if weights.together else signed(labels)
    # the rate of the hard forms is the weight of a row alone
    rates = np.full(X.shape[0], 1.0 if name in ("stdev", "variance") else C)
    return weights.learn(X, given, rates, make_rule(name, forget), order)
