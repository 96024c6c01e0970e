import pickle

import numpy as np
import pytest

from herder.learn import BoltzmannMachine
from tests.learn.plain import all_states, draw, objective, probabilities, random_machine


def test_a_stream_comes_as_near_to_the_machine_as_a_fit():
    couplings, biases = random_machine(6, 0)
    rows = draw(couplings, biases, 20_000, 1)
    machine = BoltzmannMachine(penalty=None)
    for start in range(0, len(rows), 1000):
        machine.partial_fit(rows[start : start + 1000])
    fitted = BoltzmannMachine(penalty=None).fit(rows)
    # weights that grow like s have 4/3 of the variance of the best average, and the errors are
    # norms of 15 couplings, whose ratio scatters by about a fifth
    error = np.linalg.norm(machine.couplings_ - couplings)
    assert error < 1.4 * np.linalg.norm(fitted.couplings_ - couplings)
    table = probabilities(couplings, biases)
    learnt = probabilities(machine.couplings_, machine.biases_)
    assert np.sum(table * np.log(table / learnt)) < 21 * 2 / len(rows)


def test_errors_fall_with_the_rows():
    couplings, biases = random_machine(5, 3)
    rows = draw(couplings, biases, 32_000, 2)
    machine = BoltzmannMachine(penalty=None)
    errors = []
    for start, stop in [(0, 500), (500, 4000), (4000, 32_000)]:
        machine.partial_fit(rows[start:stop])
        errors.append(np.linalg.norm(machine.couplings_ - couplings))
    # eight times the rows: errors should fall by sqrt(8) = 2.8
    assert errors[0] > 1.5 * errors[1] > 1.5**2 * errors[2]


@pytest.mark.parametrize("alpha", [0.1, 0.01])
def test_the_penalty_is_that_of_fit(alpha):
    rows = draw(*random_machine(5, 3), 20_000, 2)
    for states in ((0, 1), (-1, 1)):
        table = rows if states == (0, 1) else 2 * rows.astype(int) - 1
        fitted = BoltzmannMachine(alpha=alpha).fit(table)
        machine = BoltzmannMachine(alpha=alpha).partial_fit(table)
        assert machine.states_ == states
        scale = np.abs(fitted.couplings_).max()
        assert np.abs(machine.couplings_ - fitted.couplings_).max() < 0.1 * scale


def test_rows_of_one_kind_at_first_do_no_harm():
    rows = draw(*random_machine(4, 5), 3000, 5)
    order = np.argsort(rows[:, 0], kind="stable")
    machine = BoltzmannMachine(alpha=1e-3)
    for row in rows[order][:50]:
        machine.partial_fit(row[None])
    assert machine.diagnostics_.constant == ("0",)
    assert np.isfinite(machine.couplings_).all()
    machine.partial_fit(rows[order][50:])
    assert machine.diagnostics_.constant == ()
    assert np.isfinite(machine.biases_).all()
    weights = np.full(len(rows), 1 / len(rows))
    reached = objective(machine.couplings_, machine.biases_, rows, weights, 1e-3)
    means = rows.mean(axis=0)
    alone = objective(np.zeros((4, 4)), np.log(means / (1 - means)), rows, weights, 1e-3)
    assert reached < alone + 0.5


def test_a_weight_of_two_counts_twice_in_the_sums():
    rows = draw(*random_machine(4, 5), 100, 5)
    machine = BoltzmannMachine().partial_fit(rows, sample_weight=np.full(100, 2.0))
    assert machine.diagnostics_.n_rows == 200
    nothing = BoltzmannMachine().partial_fit(rows).partial_fit(rows, sample_weight=np.zeros(100))
    np.testing.assert_array_equal(
        nothing.couplings_, BoltzmannMachine().partial_fit(rows).couplings_
    )


def test_a_stream_goes_on_from_a_fit():
    couplings, biases = random_machine(6, 8)
    rows = draw(couplings, biases, 8000, 8)
    machine = BoltzmannMachine(penalty=None).fit(rows[:4000])
    before = machine.couplings_.copy()
    machine.partial_fit(rows[4000:4020])
    assert 0 < np.abs(machine.couplings_ - before).max() < 0.1
    machine.partial_fit(rows[4020:])
    assert machine.diagnostics_.n_rows == 8000
    whole = BoltzmannMachine(penalty=None).fit(rows)
    assert np.abs(machine.couplings_ - whole.couplings_).max() < 0.3


def test_a_stream_can_be_kept_and_is_whole_or_not_at_all():
    rows = draw(*random_machine(4, 5), 300, 5)
    machine = BoltzmannMachine().partial_fit(rows[:200])
    twin = pickle.loads(pickle.dumps(machine)).partial_fit(rows[200:])
    with pytest.raises(ValueError, match="X must hold 0 or 1 only, got 3"):
        machine.partial_fit([[0, 1, 1, 0], [3, 0, 0, 1]])
    with pytest.raises(ValueError, match="expecting 4 features"):
        machine.partial_fit([[0, 1, 1]])
    machine.partial_fit(rows[200:])
    np.testing.assert_array_equal(machine.couplings_, twin.couplings_)
    assert machine.n_iter_ == 15


@pytest.mark.parametrize(
    "options", [{"method": "cd"}, {"penalty": "l1"}, {"alpha": "cv"}, {"method": "pl-node"}]
)
def test_what_a_stream_cannot_do_is_told(options):
    with pytest.raises(ValueError, match="partial_fit needs method='pl'"):
        BoltzmannMachine(**options).partial_fit(all_states(3))


def test_the_report_of_a_stream_says_how_many_rows():
    machine = BoltzmannMachine().partial_fit(draw(*random_machine(4, 5), 300, 5))
    text = str(machine.diagnostics_)
    assert "pl, in a stream: 15 steps" in text
    assert "300 rows; 10 parameters, 30 rows for each" in text
