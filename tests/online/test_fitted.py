import numpy as np
import pytest

from herder import NHERD, PassiveAggressive, VotedPerceptron
from herder._errors import ParameterError
from herder.core.summary import Summary, Table
from herder.models.pairwise import PairwiseModel

rng = np.random.default_rng(8)
X = rng.normal(size=(60, 4))
Y = np.where(X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=60) > 0, 1, 0)


def tables(summary: Summary) -> list[Table]:
    return [block for block in summary.blocks if isinstance(block, Table)]


@pytest.mark.parametrize("covariance", ["project", "full"])
@pytest.mark.parametrize("average", [False, True])
def test_features_that_come_later_are_as_if_known_from_the_start(covariance, average):
    wide = np.hstack([X, rng.normal(size=(60, 3))])
    narrow = np.hstack([X[:30], np.zeros((30, 3))])
    params = {"covariance": covariance, "average": average}
    grown = NHERD(**params).partial_fit(X[:30], Y[:30], classes=[0, 1]).widen(7)
    grown.partial_fit(wide[30:], Y[30:])
    whole = NHERD(**params).partial_fit(narrow, Y[:30], classes=[0, 1])
    whole.partial_fit(wide[30:], Y[30:])
    np.testing.assert_allclose(grown.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(grown.covariance_, whole.covariance_, rtol=1e-9, atol=1e-12)


def test_names_go_when_there_are_more_features_than_names():
    import pandas as pd

    model = NHERD().fit(pd.DataFrame(X, columns=list("abcd")), Y)
    assert vars(model.widen(4))["feature_names_in_"].tolist() == list("abcd")
    assert not hasattr(model.widen(5), "feature_names_in_")
    assert model.n_features_in_ == 5


@pytest.mark.parametrize(
    ("model", "width"),
    [(NHERD(), 3), (VotedPerceptron(), 5), (NHERD(kernel="rbf", covariance="full"), 5)],
)
def test_what_cannot_be_widened_is_refused(model, width):
    model.fit(X, Y)
    with pytest.raises(ParameterError) as caught:
        model.widen(width)
    assert caught.value.name == "n_features"
    assert model.n_features_in_ == 4


def test_rows_seen_before_need_not_count():
    model = NHERD().partial_fit(X, Y, classes=[0, 1])
    error, first = model.progressive_error_, model.last_batch_
    assert first.n_wrong == round(error * 60)
    assert first.n_updates == model.n_updates_
    model.partial_fit(X, Y, count=False)
    assert model.progressive_error_ == error
    assert model.n_seen_ == 120
    assert model.n_updates_ == first.n_updates + model.last_batch_.n_updates
    twice = NHERD().partial_fit(X, Y, classes=[0, 1]).partial_fit(X, Y)
    np.testing.assert_array_equal(model.coef_, twice.coef_)
    assert twice.progressive_error_ == (first.n_wrong + twice.last_batch_.n_wrong) / 120


@pytest.mark.parametrize(
    ("params", "n_classes", "numbers"),
    [
        ({}, 2, 2 * 100),
        ({"average": True}, 2, 3 * 100),
        ({}, 3, 2 * 300),
        ({"new_classes": "add"}, 2, 2 * 200),
        ({"covariance": "full"}, 2, 2 * 100 + 101**2),
        ({"covariance": "full"}, 3, 2 * 300 + 303**2),
        ({"covariance": "full", "multi_class": "one-vs-rest"}, 3, 2 * 300 + 3 * 101**2),
        ({"covariance": "full", "fit_intercept": False}, 2, 2 * 100 + 100**2),
    ],
)
def test_memory_is_that_of_the_arrays_twice(params, n_classes, numbers):
    assert NHERD(**params).memory(100, n_classes) == 2 * 8 * numbers


def test_a_summary_lists_the_strongest_features():
    model = NHERD().fit(X, Y)
    (table,) = tables(model.summary(top=2))
    order = np.argsort(-np.abs(model.coef_[0]))[:2]
    assert [row[-1] for row in table.rows] == [*map(str, order), "(intercept)"]
    assert [row[0] for row in table.rows[:2]] == model.coef_[0, order].tolist()
    deviation = np.sqrt(model.covariance_[0, order])
    assert [row[1] for row in table.rows[:2]] == deviation.tolist()
    assert f"progressive error {model.progressive_error_:.4f}" in str(model.summary())
    (named,) = tables(model.summary(top=2, name=lambda place: (f"word {place}", -1)))
    assert named.rows[0][0] == -model.coef_[0, order[0]]
    assert named.rows[0][-1] == f"word {order[0]}"
    with pytest.raises(ParameterError) as caught:
        PassiveAggressive().fit(X, Y).summary(by="confidence")
    assert caught.value.name == "by"


def test_a_summary_of_a_field_lists_couplings_and_biases():
    model = PairwiseModel([[0, 2.0, -3], [2, 0, 0.5], [-3, 0.5, 0]], [0.1, -1, 0.2], names="abc")
    couplings, biases = (list(table.rows) for table in tables(model.summary(top=2)))
    assert couplings == [(-3.0, "a, c"), (2.0, "a, b")]
    assert biases == [(-1.0, "b"), (0.2, "c")]
