import numpy as np
import pytest
from scipy import sparse

from herder import VotedPerceptron


def noisy_rows(n=200, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1, -1)
    return X, y


def vote_by_hand(X, y, new, *, bias):
    """Freund and Schapire's figure 1, vectors and counts kept one by one."""
    rows, others = (np.hstack([A, np.ones((len(A), 1))]) if bias else A for A in (X, new))
    vectors, counts = [np.zeros(rows.shape[1])], [0]
    for x, label in zip(rows, y, strict=True):
        if label * (vectors[-1] @ x) > 0:
            counts[-1] += 1
        else:
            vectors.append(vectors[-1] + label * x)
            counts.append(1)
    votes = np.sign(others @ np.array(vectors).T) @ np.array(counts, float)
    return votes / sum(counts[1:]), len(vectors) - 1


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_votes_are_those_of_the_vectors(bias, kind):
    X, y = noisy_rows()
    new = noisy_rows(50, seed=1)[0]
    model = VotedPerceptron(shuffle=False, max_iter=1, fit_intercept=bias).fit(kind(X), y)
    votes, mistakes = vote_by_hand(X, y, new, bias=bias)
    assert model.n_mistakes_.tolist() == [mistakes]
    assert np.allclose(model.decision_function(kind(new)), votes, atol=1e-12)
    assert np.array_equal(model.predict(kind(new)), np.where(votes > 0, 1, -1))


def test_batches_are_one_stream():
    X, y = noisy_rows()
    whole = VotedPerceptron(shuffle=False, max_iter=1).fit(X, y)
    fed = VotedPerceptron()
    for low in range(0, 200, 33):
        rows = sparse.csr_array(X[low : low + 33]) if low % 2 else X[low : low + 33]
        fed.partial_fit(rows, y[low : low + 33], classes=[-1, 1])
    assert np.allclose(whole.decision_function(X), fed.decision_function(X), atol=1e-12)


def test_a_budget_folds_the_oldest_vectors_into_one():
    X, y = noisy_rows(400)
    wide = VotedPerceptron(shuffle=False, max_iter=1).fit(X, y)
    narrow = VotedPerceptron(shuffle=False, max_iter=1, budget=20).fit(X, y)
    assert wide.n_mistakes_[0] > 40
    assert narrow.n_mistakes_[0] == 20
    agree = np.mean(wide.predict(X) == narrow.predict(X))
    assert 0.8 < agree <= 1.0
    votes = narrow._weights.voters[0]
    lives = 401 - votes.births[0]
    first = wide._weights.voters[0].births[0]
    assert votes.base_votes + lives == 401 - first


def test_voting_bears_noise_better_than_the_last_vector():
    from herder import Perceptron

    X, y = noisy_rows(3000, 20)
    new, labels = noisy_rows(3000, 20, seed=0)
    last = Perceptron(max_iter=2).fit(X[:1500], y[:1500]).score(new[1500:], labels[1500:])
    voted = VotedPerceptron(max_iter=2).fit(X[:1500], y[:1500]).score(new[1500:], labels[1500:])
    assert voted > last + 0.02


def test_there_are_no_coefficients():
    X, y = noisy_rows()
    model = VotedPerceptron().fit(X, y)
    assert not hasattr(model, "coef_")
    with pytest.raises(AttributeError, match="use Perceptron"):
        _ = model.intercept_
