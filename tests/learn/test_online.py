import pickle

import numpy as np
import pytest

from herder.learn import BoltzmannMachine
from herder.learn.online import OnlineFit
from tests.learn.plain import all_states, draw, objective, probabilities, random_machine
from tests.naming import refuses


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
    assert machine.diagnostics_.constant == ("x0",)
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
    with refuses("X"):
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
    assert ["rows", "300"] in [line.split() for line in text.splitlines()]
    assert "couplings and biases; 30 rows for each" in text


def test_the_average_counts_the_batch_k_like_k():
    rows = draw(*random_machine(4, 5), 200, 5)
    stream = OnlineFit.begin(4)
    places = []
    for k in range(10):
        stream.learn(rows[20 * k : 20 * k + 20], np.ones(20))
        places.append((stream.latest_couplings.copy(), stream.latest_biases.copy()))
    weights = np.arange(1, 11) / 55
    for found, index in ((stream.couplings, 0), (stream.biases, 1)):
        expected = sum(w * place[index] for w, place in zip(weights, places, strict=True))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_batches_are_scored_before_they_are_learnt():
    rows = draw(*random_machine(4, 5), 80, 5)
    counts = np.random.default_rng(0).uniform(0.5, 2.0, 80)
    stream, scores, totals = OnlineFit.begin(4), [], []
    for k in range(4):
        part, weights = rows[20 * k : 20 * k + 20], counts[20 * k : 20 * k + 20]
        total = weights.sum()
        if k:
            couplings, biases = stream.couplings, stream.biases
            scores.append(-objective(couplings, biases, part, weights / total, 0.0))
            totals.append(total)
        stream.learn(part, weights)
    # rows count like their number among those that were scored, up to the end of their batch
    kept = 0.0
    for k, (score, total) in enumerate(zip(scores, totals, strict=True)):
        share = min(1.0, 2 * total / (sum(totals[: k + 1]) + total))
        kept = (1 - share) * kept + share * score
    report = stream.report(0.0, list("abcd"))
    assert report.held_out == pytest.approx(kept, rel=1e-12)
    ones, n = counts @ rows, counts.sum()
    shares = (ones + 0.5) / (n + 1)
    alone = np.sum(ones * np.log(shares) + (n - ones) * np.log(1 - shares)) / n
    assert report.held_out_independent == pytest.approx(alone, rel=1e-12)


def test_rows_in_order_of_their_kind_raise_a_doubt():
    kinds = np.repeat(np.arange(5), 200)
    rng = np.random.default_rng(2)
    rows = (rng.random((1000, 20)) < np.where(np.arange(20) // 4 == kinds[:, None], 0.6, 0.05)) * 1
    sorted_rows = BoltzmannMachine(alpha=0.01).partial_fit(rows)
    assert "no likelier than with independent columns" in str(sorted_rows.diagnostics_)
    mixed = BoltzmannMachine(alpha=0.01).partial_fit(rows[rng.permutation(1000)])
    assert "independent columns: " in str(mixed.diagnostics_)
    assert "no likelier" not in str(mixed.diagnostics_)


def test_one_batch_has_no_score():
    machine = BoltzmannMachine().partial_fit(draw(*random_machine(4, 5), 20, 5))
    assert machine.diagnostics_.held_out is None


def test_results_depend_on_the_cut_unless_it_is_at_a_batch():
    rows = draw(*random_machine(4, 5), 100, 5)
    whole = BoltzmannMachine().partial_fit(rows).couplings_
    even = BoltzmannMachine().partial_fit(rows[:40]).partial_fit(rows[40:]).couplings_
    np.testing.assert_array_equal(even, whole)
    odd = BoltzmannMachine().partial_fit(rows[:50]).partial_fit(rows[50:]).couplings_
    assert (odd != whole).any()


def test_constant_columns_are_seen_through_rounded_weights():
    rows = draw(*random_machine(3, 5), 300, 5)
    table = np.column_stack([rows, np.ones(300, int), rows[:, 0]])
    machine = BoltzmannMachine()
    machine.partial_fit(table, sample_weight=np.full(300, 0.1))
    report = machine.diagnostics_
    assert len(report.constant) == 1
    assert report.n_parameters == 10
    assert [how for _, _, how in report.duplicate_columns] == ["equal"]


@pytest.mark.parametrize("n_rows", [0, 100])
def test_a_stream_is_its_state(n_rows):
    rows = draw(*random_machine(4, 5), 200, 5)
    stream = OnlineFit.begin(4)
    stream.alpha = 0.01
    stream.learn(rows[:n_rows], np.ones(n_rows))
    stream.learn(rows[:5], np.zeros(5))
    twin = OnlineFit.from_state(*stream.to_state())
    for one in (stream, twin):
        one.learn(rows[100:], np.ones(100))
    left, right = stream.to_state(), twin.to_state()
    assert left[0].keys() == right[0].keys()
    assert left[1] == right[1]
    for name, value in left[0].items():
        np.testing.assert_array_equal(right[0][name], value, err_msg=name)


@pytest.mark.parametrize(
    ("arrays", "numbers", "error", "message"),
    [
        ({"ones": np.zeros(3)}, {}, ValueError, r"ones of shape \(3,\)"),
        ({"ones": np.full(4, -1.0)}, {}, ValueError, "ones from -1.0 to"),
        ({"ones": np.full(4, 101.0)}, {}, ValueError, "more ones than 100 rows"),
        ({"biases": np.full(4, np.nan)}, {}, ValueError, "biases with values"),
        ({"operator.values": np.zeros(4)}, {}, ValueError, "operator.values from 0.0"),
        ({"operator.vectors": None}, {}, KeyError, "operator.vectors"),
        ({}, {"n_seen": float("nan")}, ValueError, "n_seen = nan"),
        ({}, {"n_steps": -1}, ValueError, "n_steps = -1"),
        ({}, {"n_steps": True}, ValueError, "n_steps = True"),
        ({}, {"n_seen": "many"}, ValueError, "n_seen = 'many'"),
        ({}, {"alpha": None}, KeyError, "alpha"),
    ],
)
def test_a_state_that_makes_no_sense_is_refused(arrays, numbers, error, message):
    stream = OnlineFit.begin(4)
    stream.learn(draw(*random_machine(4, 5), 100, 5), np.ones(100))
    own, other = stream.to_state()
    own = {k: v for k, v in (own | arrays).items() if v is not None}
    other = {k: v for k, v in (other | numbers).items() if v is not None}
    with pytest.raises(error, match=message):
        OnlineFit.from_state(own, other)
