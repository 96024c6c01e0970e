"""A slow, plain twin of the online learners: formulas on whole matrices, nothing else.

Two classes are one weight vector mu and f = y x; K classes are K blocks in one long vector, and f
holds x in the block of the label and -x in that of its strongest rival. In both cases the margin
is mu.f, so that one loop is enough. The covariance is always a whole matrix: the diagonal forms
have zeros off its diagonal.
"""

from dataclasses import dataclass, field
from statistics import NormalDist

import numpy as np

import herder

#: Learner, form of its rule, form of its covariance.
NHERD = [("NHERD", "", form) for form in ("project", "exact", "drop", "full")]
AROW = [("AROW", "", form) for form in ("project", "drop", "full")]
CW = [
    ("ConfidenceWeighted", form, covariance)
    for form in ("stdev", "variance", "soft-1", "soft-2")
    for covariance in ("project", "drop", "full")
]
PA = [("PassiveAggressive", form, "none") for form in ("PA", "PA-I", "PA-II")]
SECOND = [("SecondOrderPerceptron", "", form) for form in ("project", "full")]
GAUSSIAN = NHERD + AROW + CW + SECOND
EVERY = [*GAUSSIAN, *PA, ("Perceptron", "", "none")]


def cw_step(form, m, v, phi, C):
    """The textbook roots of confidence weighted learning: step and gain of precision."""
    if form == "variance":
        q = 1 + 2 * phi * m
        alpha = (-q + np.sqrt(q**2 - 8 * phi * (m - phi * v))) / (4 * phi * v)
        return max(0.0, alpha), 2 * max(0.0, alpha) * phi
    if form == "soft-2":
        n = v + 1 / (2 * C)
        root = np.sqrt(phi**2 * m**2 * v**2 + 4 * n * v * (n + v * phi**2))
        alpha = (-(2 * m * n + phi**2 * m * v) + phi * root) / (2 * (n**2 + n * v * phi**2))
    else:
        psi, xi = 1 + phi**2 / 2, 1 + phi**2
        alpha = (-m * psi + np.sqrt(m**2 * phi**4 / 4 + v * phi**2 * xi)) / (v * xi)
    alpha = max(0.0, alpha)
    if form == "soft-1":
        alpha = min(alpha, C)
    deviation = 2 * v / (alpha * v * phi + np.sqrt(alpha**2 * v**2 * phi**2 + 4 * v))
    return alpha, alpha * phi / deviation


def rule_step(algorithm, form, m, v, C, weight, phi):
    """Step and gain of precision of one row, or None if it changes nothing."""
    Ci = C * weight
    if weight == 0:
        return None
    if algorithm in ("NHERD", "AROW"):
        gain = 2 * Ci + Ci**2 * v if algorithm == "NHERD" else Ci
        return ((1 - m) / (v + 1 / Ci), gain) if m <= 1 else None
    if algorithm == "SecondOrderPerceptron":
        return ((1 - m) / (v + 1 / Ci), Ci) if m <= 0 else None
    if algorithm in ("Perceptron", "VotedPerceptron"):
        return (weight, 0.0) if m <= 0 else None
    if v == 0:
        return None
    if algorithm == "PassiveAggressive":
        hinge = max(0.0, 1 - m)
        alpha = {
            "PA": hinge / v,
            "PA-I": min(Ci, hinge / v),
            "PA-II": hinge / (v + 1 / (2 * Ci)),
        }[form]
        return (alpha, 0.0) if alpha > 0 else None
    if form in ("stdev", "variance"):
        phi = phi * weight
    alpha, gain = cw_step(form, m, v, phi, Ci)
    return (alpha, gain) if alpha > 0 else None


def narrow(S, f, gain, covariance, Ci):
    """The covariance after a row, by the definition of its form."""
    if covariance == "exact":
        return np.diag(np.diag(S) / (1 + Ci * f**2 * np.diag(S)) ** 2)
    if covariance == "project":
        return np.diag(1 / (1 / np.diag(S) + gain * f**2))
    Sf = S @ f
    full = S - np.outer(Sf, Sf) * gain / (1 + gain * (f @ Sf))
    return np.diag(np.diag(full)) if covariance == "drop" else full


@dataclass
class Plain:
    """One machine: K blocks of D weights each (one block for two classes)."""

    algorithm: str
    n_features: int
    form: str = ""
    covariance: str = "none"
    C: float = 1.0
    confidence: float = 0.9
    n_blocks: int = 1
    intercept: bool = False
    forget: float = 0.0
    class_weight: dict = field(default_factory=dict)
    n_seen: int = 0
    n_updates: int = 0
    n_wrong: int = 0

    def __post_init__(self):
        self.width = self.n_features + self.intercept
        self.mean = np.zeros(self.n_blocks * self.width)
        self.S = np.eye(self.n_blocks * self.width)
        self.sum = np.zeros_like(self.mean)
        self.history = []

    def place(self, x, label):
        """The vector f of a row and its label, and whether the row would be told rightly."""
        x = np.append(x, 1.0) if self.intercept else x
        if self.n_blocks == 1:
            return (x if label == 1 else -x), (self.mean @ x > 0) == (label == 1)
        scores = self.mean.reshape(self.n_blocks, -1) @ x
        right = int(np.argmax(scores)) == label
        scores[label] = -np.inf
        f = np.zeros((self.n_blocks, self.width))
        f[label], f[int(np.argmax(scores))] = x, -x
        return f.ravel(), right

    def learn(self, x, label, weight=1.0):
        """Learn one row; labels count from 0."""
        weight = weight * self.class_weight.get(label, 1.0)
        if self.covariance != "none":
            self.S = (1 - self.forget) * self.S + self.forget * np.eye(len(self.S))
        f, right = self.place(np.asarray(x, dtype=float), label)
        phi = NormalDist().inv_cdf(self.confidence)
        m, v = self.mean @ f, f @ self.S @ f
        found = rule_step(self.algorithm, self.form, m, v, self.C, weight, phi)
        if found is not None:
            alpha, gain = found
            before, Ci = self.S, self.C * weight
            if gain > 0:
                self.S = narrow(self.S, f, gain, self.covariance, Ci)
            if self.algorithm == "SecondOrderPerceptron" and self.covariance == "project":
                old, new = np.diag(before), np.diag(self.S)
                self.mean = new * (self.mean / old + Ci * f)
            else:
                self.mean = self.mean + alpha * (before @ f)
            self.n_updates += 1
        self.n_wrong += not right
        self.n_seen += 1
        self.sum += self.mean
        self.history.append(self.mean.copy())

    def learn_all(self, X, labels, weights=None):
        """Learn rows in their order."""
        weights = np.ones(len(labels)) if weights is None else weights
        for x, label, weight in zip(X, labels, weights, strict=True):
            self.learn(x, int(label), float(weight))
        return self

    def blocks(self, vector):
        """A long vector as one row for each block, without the bias, and the bias apart."""
        rows = vector.reshape(self.n_blocks, self.width)
        bias = rows[:, -1] if self.intercept else np.zeros(self.n_blocks)
        return rows[:, : self.n_features], bias

    @property
    def features(self):
        """Places of the features, the biases left out."""
        grid = np.arange(len(self.mean)).reshape(self.n_blocks, self.width)
        return grid[:, : self.n_features].ravel()


def options_of(kind):
    """Parameters of a learner, none of them its default."""
    name, form, covariance = kind
    options = {} if name == "Perceptron" else {"C": 0.6}
    if form:
        options["form"] = form
    if covariance != "none":
        options["covariance"] = covariance
    if name == "ConfidenceWeighted":
        options["confidence"] = 0.8
    return options


def build(kind, **options):
    """The learner of the library."""
    return getattr(herder, kind[0])(**options_of(kind), **options)


def twin(kind, K, d=5, **options):
    """The twin of `build` for K classes."""
    name, form, covariance = kind
    return Plain(
        name,
        d,
        form=form,
        covariance=covariance,
        C=0.6,
        confidence=0.8,
        n_blocks=1 if K == 2 else K,
        **options,
    )
