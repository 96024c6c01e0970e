import itertools

import numpy as np
import pytest

from herder import ParameterError
from herder.models.bernoulli import fit_bernoulli_mixture


def drawn(n: int = 400, random_state: int = 0) -> np.ndarray:
    rng = np.random.default_rng(random_state)
    means = rng.uniform(0.02, 0.98, (3, 9))
    return (rng.random((n, 9)) < means[rng.integers(3, size=n)]).astype(np.int8)


def test_em_raises_the_likelihood_and_beats_independent_columns() -> None:
    rows = drawn()
    values = [
        fit_bernoulli_mixture(rows, 3, n_iterations=n, prior=1e-9).log_likelihood(rows).mean()
        for n in (1, 2, 5, 20, 60)
    ]
    assert (np.diff(values) > -1e-9).all()
    assert values[-1] > fit_bernoulli_mixture(rows, 1).log_likelihood(rows).mean() + 0.3


def test_probabilities_of_all_states_add_up_to_one() -> None:
    mixture = fit_bernoulli_mixture(drawn(), 4)
    states = list(itertools.product((0, 1), repeat=9))
    assert np.exp(mixture.log_likelihood(states)).sum() == pytest.approx(1)
    assert mixture.shares.sum() == pytest.approx(1)


def test_order_and_copies_of_rows_do_not_move_the_start() -> None:
    rows = drawn()
    fit = fit_bernoulli_mixture(rows, 3)
    other = fit_bernoulli_mixture(np.repeat(rows[::-1], 2, axis=0), 3, prior=2.0)
    np.testing.assert_allclose(fit.means, other.means, atol=1e-9)


def test_distinct_rows_bound_the_components() -> None:
    mixture = fit_bernoulli_mixture([[0, 1]] * 5, 10)
    assert mixture.means.shape == (1, 2)
    assert np.isfinite(mixture.log_likelihood([[1, 0]])).all()


@pytest.mark.parametrize("rows", [[[0, 2]], [[0.5, 1]], [0, 1], np.zeros((0, 3)), [["a", "b"]]])
def test_bad_rows_are_refused_by_name(rows: object) -> None:
    with pytest.raises(ParameterError, match="rows must"):
        fit_bernoulli_mixture(rows, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["n_components", "n_iterations", "prior"])
def test_bad_numbers_are_refused_by_name(name: str) -> None:
    with pytest.raises(ParameterError, match=f"{name} must"):
        fit_bernoulli_mixture(**{"rows": [[0, 1]], "n_components": 2, name: 0})
