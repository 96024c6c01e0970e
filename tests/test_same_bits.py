"""Public results are the same bits for any number of BLAS threads."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import herder
from herder.kernel.quadrature import optimal_weights, simplex_weights
from herder.learn.pseudo import log_pseudo_likelihood

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(1250, 5)), RNG.normal(size=(800, 5))
LABELS, WEIGHT = RNG.integers(0, 3, 1250), RNG.random(1250)
LONG = RNG.normal(size=(12_000, 2))
GRAM = X[:400] @ X[:400].T
BITS = RNG.integers(0, 2, (1250, 120)).astype(float)


def thinned(*names, rows=X, **options):
    chosen = herder.thin(rows, 30, **options)
    return [chosen.indices, chosen.weights, *(getattr(chosen, name) for name in names)]


def columns(rows, **options):
    found = herder.thin(rows, 10, **options).column_errors()
    return [
        np.asarray(values, float) for name, values in found.to_dict().items() if name != "column"
    ]


def merged():
    rows, labels = X.reshape(-1, 125), LABELS[:50] > 0
    halves = slice(0, 25), slice(25, 50)
    parts = [herder.NHERD(covariance="full").fit(rows[half], labels[half]) for half in halves]
    model = herder.merge_classifiers(parts)
    return model.coef_, model.covariance_, model.intercept_variance_, model.predict_proba(rows)


def learnt(model, width=125):
    rows = X.reshape(-1, width)
    model.fit(rows, LABELS[: len(rows)])
    found = [model.decision_function(rows)]
    return [*found, model.predict_proba(rows)] if hasattr(model, "predict_proba") else found


def potts():
    model = herder.PottsModel(herder.PairwiseModel.random(120).couplings, np.zeros((120, 2)))
    rest, _ = model.given(dict.fromkeys(range(60), 1))
    return model.energy(BITS.astype(int)), rest.fields, rest.offset


def filled():
    machine = herder.BoltzmannMachine().fit(BITS[:200])
    gaps = BITS.copy()
    gaps[:, 0] = np.nan
    return machine.conditional(gaps), machine.pseudo_likelihood(BITS)


CALLS = {
    "mmd": lambda: herder.mmd(X, Y, x_weight=WEIGHT),
    "mmd, long": lambda: herder.mmd(LONG, LONG[:300], kernel="energy"),
    "mmd, stein": lambda: herder.mmd(LONG[:2500], kernel="stein", score=-LONG[:2500]),
    "kernel_mean": lambda: herder.kernel_mean(X, sample_weight=WEIGHT),
    "kernel_mean at": lambda: herder.kernel_mean(LONG[:2500], X[:, :2], kernel="energy"),
    "optimal": lambda: thinned("mmd", weights="optimal", kernel="energy"),
    "simplex": lambda: thinned("mmd", weights="simplex", kernel="energy"),
    "optimal by class": lambda: thinned("mmd", weights="optimal", y=LABELS),
    "uniform, long": lambda: thinned("mmd", "mmd_random", "path", rows=LONG),
    "subsample": lambda: thinned("mmd", rows=LONG, approximate="subsample"),
    "features": lambda: thinned("mmd", rows=LONG, kernel="gaussian", approximate="features"),
    "column errors": lambda: columns(LONG, sample_weight=np.linspace(1, 2, len(LONG))),
    "kernel_herd": lambda: herder.kernel_herd(X, 20).scores,
    "transform": lambda: herder.KernelHerder(30).fit(X).transform(Y),
    "optimal_weights": lambda: optimal_weights(GRAM, GRAM[0]),
    "simplex_weights": lambda: simplex_weights(GRAM, GRAM.mean(axis=0)),
    "merge": merged,
    "linear": lambda: learnt(herder.AROW()),
    "full": lambda: learnt(herder.NHERD(covariance="full", max_iter=1), 25),
    "forgetting": lambda: learnt(herder.NHERD(covariance="full", forget=0.01, max_iter=1), 25),
    "voted": lambda: learnt(herder.VotedPerceptron(budget=20)),
    "boosted": lambda: herder.BoostedField(n_rounds=2).fit(X).energy(X),
    "boosted bits": lambda: herder.BoostedField(n_rounds=2).fit(BITS).energy(BITS),
    "boosted classes": lambda: learnt(
        herder.BoostedClassifier(herder.BoostedField("tree", n_rounds=2)), 25
    ),
    "moments": lambda: herder.Moments.from_data(BITS[:, :30], 3, sample_weight=WEIGHT).counts,
    "potts": potts,
    "machine": filled,
    "pseudo-likelihood": lambda: log_pseudo_likelihood(GRAM[:120, :120], GRAM[0, :120], BITS),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_same_bits_with_one_and_two_threads(name):
    found = []
    for number in (1, 2):
        with threadpool_limits(number, user_api="blas"):
            result = CALLS[name]()
        parts = result if isinstance(result, tuple | list) else [result]
        found.append([np.asarray(part).tobytes() for part in parts])
    assert found[0] == found[1]
