"""Density estimation by boosting: the estimator from rows to scores, samples and files."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import base
from sklearn.exceptions import NotFittedError

from herder import BoostedField, DimpleFeatures, RBMFeatures, TreeFeatures, load, save
from herder.learn.boosted_base import GaussianBase, fit_gaussians
from herder.learn.boosted_frame import whitening
from tests.naming import refuses

clone: Any = base.clone  # which is typed as any container


def ring(n=200, seed=0):
    rng = np.random.default_rng(seed)
    angles = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(angles), np.sin(angles)]) + rng.normal(0, 0.1, (n, 2))


def bits(n=300, width=5, seed=0):
    """Rows in which each column repeats the one before, but for some noise."""
    rng = np.random.default_rng(seed)
    first = rng.random((n, 1)) < 0.4
    return (first ^ (rng.random((n, width)) < 0.15)).astype(float)


ROWS = {"bits": bits(), "signs": 2 * bits() - 1, "numbers": ring()}


def quick(*features: Any, **settings: Any) -> BoostedField:
    """Return a field that tries few mixtures."""
    return BoostedField(*features, **{"max_components": 3, **settings})


#: Kinds of features, and the rows that they are for.
KINDS = [
    ("rbm", "bits"),
    ("rbm", "signs"),
    ("tree", "bits"),
    ("tree", "numbers"),
    ("dimple", "numbers"),
    ("dimple", "bits"),
]


def parts(field):
    names = ("coefficients_", "parameters_", "ess_", "gains_", "constant_", "n_rounds_")
    return {name: getattr(field, name) for name in names}


def assert_same(one, other, rows):
    for name, value in parts(one).items():
        np.testing.assert_array_equal(value, parts(other)[name], err_msg=name)
    np.testing.assert_array_equal(one.energy(rows), other.energy(rows))
    np.testing.assert_array_equal(one.predict(rows), other.predict(rows))
    np.testing.assert_array_equal(one.sample(4), other.sample(4))


@pytest.mark.parametrize(("features", "kind"), KINDS)
def test_warm_start_goes_on_as_one_fit(features, kind):
    rows = ROWS[kind]
    whole = quick(features, n_rounds=4).fit(rows)
    warm = quick(features, n_rounds=2, warm_start=True).fit(rows)
    warm.set_params(n_rounds=4).fit(rows)
    assert_same(whole, warm, rows)
    assert_same(whole, quick(features, n_rounds=4).fit(rows), rows)
    afresh = warm.set_params(warm_start=False).fit(rows)
    assert_same(whole, afresh, rows)
    assert len(whole.coefficients_) == whole.n_rounds_ == 4
    other = quick(features, n_rounds=4, random_state=1).fit(rows)
    assert not np.array_equal(other.coefficients_, whole.coefficients_)


def test_warm_start_with_other_rows():
    field = quick(n_rounds=2, warm_start=True).fit(bits())
    with refuses("X", match="0 and 1"):
        field.set_params(n_rounds=4).fit(ROWS["signs"])
    assert field.n_rounds_ == 2
    assert field.fit(ring()).parameters_.shape == (4, 4)  # of another width: afresh


@pytest.mark.parametrize(("features", "kind"), KINDS)
def test_energies_after_each_round(features, kind):
    rows = ROWS[kind]
    field = quick(features, n_rounds=4).fit(rows)
    stages = list(field.staged_energy(rows))
    assert len(stages) == 4
    np.testing.assert_allclose(stages[-1], field.energy(rows), rtol=1e-10, atol=1e-10)
    short = quick(features, n_rounds=2).fit(rows)
    np.testing.assert_allclose(stages[1], short.energy(rows), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("chain", ["exact", "block"])
@pytest.mark.parametrize("weighted", [False, True])
def test_learns_a_known_distribution_of_bits(chain, weighted):
    rows, new = bits(1500), bits(1500, seed=1)
    field = quick(n_rounds=40, chain=chain, weighted=weighted).fit(rows)
    states = np.array(list(itertools.product((0, 1), repeat=5)), float)
    logs = field.score_samples(states)
    assert abs(np.logaddexp.reduce(logs)) < 4 * field.log_partition_error_
    alone = np.log(np.where(new > 0, rows.mean(axis=0), 1 - rows.mean(axis=0))).sum(axis=1)
    first = np.prod(np.where(states > 0, 0.85, 0.15), axis=1)
    second = np.prod(np.where(states > 0, 0.15, 0.85), axis=1)
    truth = dict(zip(map(tuple, states), np.log(0.4 * first + 0.6 * second), strict=True))
    best = np.mean([truth[tuple(row)] for row in new])
    lost = 0.4 if weighted else 0.1  # the weighted loss has another minimum
    assert best - lost < field.score(new) < best + 0.05
    assert field.score(new) > alone.mean() + 0.3


@pytest.mark.parametrize("features", ["dimple", "tree"])
def test_learns_a_ring(features):
    one = {"max_components": 1}
    field = quick(features, n_rounds=15, **one).fit(ring(300))
    normal = quick("dimple", n_rounds=1, penalty=1000.0, **one).fit(ring(300))
    assert field.score(ring(500, 1)) > normal.score(ring(500, 1)) + 0.3
    assert field.energy([[0.0, 0.0]])[0] > field.energy([[1.0, 0.0]])[0] + 1
    assert field.gains_.sum() > 0.3


@pytest.mark.parametrize("features", ["dimple", "tree"])
def test_densities_sum_to_1_in_the_units_of_the_data(features):
    """Columns of very different scale, and almost the same: the Jacobian is not 1."""
    units = np.array([[1e-3, 2e4], [0.0, 3e3]])
    rows = ring() @ units + [5.0, -1e5]
    field = quick(features, n_rounds=6).fit(rows)
    line = np.linspace(-6, 6, 301)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    cell = (line[1] - line[0]) ** 2 * abs(np.linalg.det(units))
    total = np.exp(field.score_samples(grid @ units + [5.0, -1e5])).sum() * cell
    assert total == pytest.approx(1, abs=0.02)


def test_density_of_one_column_and_of_many():
    rows = np.random.default_rng(0).normal(3.0, 50.0, (300, 1))
    field = quick(n_rounds=3).fit(rows)
    grid = np.linspace(-500, 500, 20_001)[:, None]
    assert np.exp(field.score_samples(grid)).sum() * 0.05 == pytest.approx(1, abs=1e-3)
    assert field.log_partition_error_ < 1e-3
    rows = np.random.default_rng(0).normal(3.0, 50.0, (300, 4))
    field = quick(n_rounds=3).fit(rows)
    exact = -0.5 * (((rows - 3) / 50) ** 2 + np.log(2 * np.pi * 2500)).sum(axis=1)
    assert field.score(rows) == pytest.approx(exact.mean(), abs=0.3)
    assert 0 < field.log_partition_error_ < 0.2


def test_log_z_belongs_to_the_last_fit():
    rng = np.random.default_rng(1)
    field = quick(n_rounds=3).fit(rng.normal(size=(200, 4)))
    before = field.log_partition_error_
    field.fit(rng.normal(size=(200, 4)) ** 3)
    assert (
        field.log_partition_error_
        == quick(n_rounds=3)
        .fit((np.random.default_rng(1).normal(size=(2, 200, 4))[1]) ** 3)
        .log_partition_error_
    )
    assert field.log_partition_error_ != before


def test_the_constant_is_that_of_the_rounds_that_are_kept():
    rows = np.random.default_rng(2).normal(size=(200, 2))
    settings = {"weighted": True, "penalty": 0.0, "n_iter_no_change": 5}
    stopped = quick(n_rounds=100, early_stopping=True, **settings).fit(rows)
    assert stopped.n_rounds_ < 90
    same = quick(n_rounds=stopped.n_rounds_, early_stopping=True, **settings).fit(rows)
    np.testing.assert_array_equal(same.coefficients_, stopped.coefficients_)
    assert same.constant_ == stopped.constant_ != 0


def test_many_columns_of_two_states_take_little_memory():
    rows = np.random.default_rng(3).integers(0, 2, (20, 3000))
    arrays, _ = quick(n_rounds=1).fit(rows).to_state()
    assert sum(array.nbytes for array in arrays.values()) < 8 * 3000**2 / 2  # no square table


def test_scores_without_log_z():
    field = quick(n_rounds=2).fit(ring())
    plain = field.score_samples(ring(), normalise=False)
    assert field._partition is None  # it was not computed
    np.testing.assert_array_equal(plain, -field.energy(ring()))
    assert np.ptp(plain - field.score_samples(ring())) < 1e-10
    with refuses("normalise", TypeError):
        field.score_samples(ring(), normalise="a")  # pyright: ignore


@pytest.mark.parametrize(("features", "kind"), KINDS)
@pytest.mark.parametrize("contamination", [0.0, 0.05, 0.3])
def test_outliers(features, kind, contamination):
    rows = ROWS[kind]
    field = quick(features, n_rounds=2, contamination=contamination).fit(rows)
    found, decisions = field.predict(rows), field.decision_function(rows)
    assert set(found) <= {-1, 1}
    np.testing.assert_array_equal(found == -1, decisions < 0)
    np.testing.assert_allclose(decisions, field.score_samples(rows) - field.offset_, atol=1e-9)
    if kind == "numbers":  # energies of bits tie
        assert np.mean(found == -1) == pytest.approx(contamination, abs=0.01)
    assert np.mean(found == -1) <= contamination + 1e-12
    np.testing.assert_array_equal(clone(field).fit_predict(rows), found)


@pytest.mark.parametrize(("features", "kind"), KINDS)
def test_samples_are_rows(features, kind):
    rows = ROWS[kind]
    field = quick(features, n_rounds=10).fit(rows)
    drawn = field.sample(600)
    assert drawn.shape == (600, rows.shape[1])
    np.testing.assert_array_equal(drawn, field.sample(600))
    assert not np.array_equal(drawn, field.sample(600, random_state=1))
    assert field.sample().shape == (1, rows.shape[1])
    if features != "dimple" and kind != "numbers":
        assert drawn.dtype == np.int8
        assert set(np.unique(drawn)) == set(np.unique(rows))
    atol = 0.2 * np.ptp(rows)
    np.testing.assert_allclose(drawn.mean(axis=0), rows.mean(axis=0), atol=atol)
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(rows.T), atol=atol)
    for n in (0, -1, 2.5, None):
        with refuses("n_samples", (ValueError, TypeError)):
            field.sample(n)  # pyright: ignore


def test_samples_in_parts(monkeypatch):
    field = quick(n_rounds=2).fit(ring())
    monkeypatch.setattr("herder.learn.boosted_fitted.BLOCK", 200 * 2 * 7)
    drawn = field.sample(50)
    assert len(np.unique(drawn, axis=0)) == 50


def test_early_stopping_keeps_the_best_number_of_rounds():
    rows, told = bits(60, 8), []
    field = quick(n_rounds=60, early_stopping=True, validation_fraction=0.3, n_iter_no_change=4)
    field.fit(rows, progress=lambda share, note: told.append(share))
    n = field.n_rounds_
    assert n < 60
    assert field.gains_.cumsum().argmax() == n - 1
    assert len(field.ess_) == len(field.coefficients_) == n
    assert told[-1] == 1
    assert len(told) == n + 4
    one = quick(n_rounds=n).fit(rows)
    assert not np.array_equal(one.coefficients_, field.coefficients_)  # taught by fewer rows


@pytest.mark.parametrize("kind", ["bits", "numbers"])
def test_the_first_energy_is_a_mixture(kind):
    rows = ROWS[kind]
    settings = {"n_rounds": 1, "penalty": 1000.0}
    field = quick(**settings).fit(rows)
    first = f"mixture of {len(field._model.base.logs)}"
    assert first != "mixture of 1"
    assert first in str(field.summary())
    one = quick(max_components=1, **settings).fit(rows)
    assert len(one._model.base.logs) == 1
    assert field.score(rows) > one.score(rows) + 0.2
    none, weighted = (
        quick(n_rounds=1, **start).fit(rows)._model.base
        for start in ({"max_components": 0}, {"weighted": True})
    )
    assert len(none.logs) == 1
    for name, value in none.to_arrays().items():
        np.testing.assert_array_equal(value, weighted.to_arrays()[name])
    if kind == "bits":  # equal probabilities
        assert not none.to_arrays()["fields"].any()


def test_held_out_rows_do_not_teach_the_first_energy():
    rows = ring(60)
    stopped = quick(n_rounds=1, early_stopping=True).fit(rows)
    teach, held = stopped._held_out(60)
    assert len(held) == 6
    frame, base = stopped._frame, stopped._model.base
    assert isinstance(base, GaussianBase)
    same = fit_gaussians(frame.scaled(rows)[teach], frame, 3, stopped._seed)
    np.testing.assert_array_equal(base.means, same.means)


def test_rounds_without_a_feature_stop_it():
    rows = np.random.default_rng(0).normal(size=(300, 2))
    field = quick(n_rounds=40, penalty=50.0, n_iter_no_change=3).fit(rows)
    assert field.n_rounds_ == 3
    assert not field.coefficients_.any()
    np.testing.assert_allclose(field.gains_, 0, atol=1e-12)
    expected = -np.log(2 * np.pi) - np.linalg.slogdet(np.cov(rows.T, bias=True))[1] / 2 - 1
    assert field.score(rows) == pytest.approx(expected, abs=1e-4)


def test_effective_sample_sizes_and_resampling():
    for resample in (False, True):
        field = quick(n_rounds=8, min_ess=0.9, resample=resample).fit(bits())
        assert field.ess_.min() >= 0.9 - 1e-9
        assert (field.coefficients_ >= 0).all()


@pytest.mark.parametrize("low", [0, -1])
def test_bits_and_signs_are_the_same_field(low):
    field = quick(n_rounds=4).fit(ROWS["bits"])
    other = quick(n_rounds=4).fit(ROWS["signs"])
    np.testing.assert_array_equal(field.energy(ROWS["bits"]), other.energy(ROWS["signs"]))
    for rows in (ROWS["bits"] > 0, ROWS["bits"].astype(np.int8), ROWS["bits"].tolist()):
        np.testing.assert_array_equal(field.energy(rows), field.energy(ROWS["bits"]))
    with refuses("X", match="0 and 1"):
        field.energy(ROWS["bits"] + 0.5)
    with refuses("X", match="-1 and 1"):
        other.predict(ROWS["bits"])


def test_forms_of_rows():
    rows = ring()
    field = quick(n_rounds=2).fit(rows)
    single = quick(n_rounds=2).fit(rows.astype(np.float32))
    assert single.energy(rows.astype(np.float32)).dtype == np.float64
    np.testing.assert_allclose(single.energy(rows), field.energy(rows), rtol=0.05, atol=0.05)
    frame = pd.DataFrame(rows, columns=["east", "north"])
    named: Any = quick(n_rounds=2).fit(frame)
    assert named.feature_names_in_.tolist() == ["east", "north"]
    np.testing.assert_allclose(named.energy(frame), field.energy(rows), rtol=1e-9)
    with pytest.raises(ValueError, match="feature names"):
        named.energy(frame[["north", "east"]])
    for make in (sp.csr_matrix, sp.csr_array):
        with refuses("X", TypeError, match="dense data is required"):
            quick().fit(make(rows))
    with pytest.raises(ValueError, match="features"):
        field.energy(rows[:, :1])


def test_summary():
    text = str(quick(n_rounds=3).fit(ring()).summary())
    assert text.startswith("BoostedField, 2 columns, 3 rounds")
    for word in ("DimpleFeatures", "gain", "effective sample size"):
        assert word in text


def test_before_fit():
    field = quick()
    for call in (
        *(field.energy, field.score_samples, field.score, field.decision_function),
        *(field.predict, lambda rows: list(field.staged_energy(rows))),
    ):
        with pytest.raises(NotFittedError):
            call(ring())
    for call in (field.sample, field.summary, field.to_state):
        with pytest.raises(NotFittedError):
            call()


@dataclass(frozen=True)
class Radii:
    """A feature that is small within some distance of the mean."""

    scale: float = 1.0

    def fit(self, rows, signs, weights, rng):
        radii = np.linalg.norm(rows, axis=1)
        bounds = np.quantile(radii, np.linspace(0.05, 0.95, 19))
        gains = [(signs * weights) @ np.tanh((radii - bound) / 0.3) for bound in bounds]
        best = int(np.abs(gains).argmax())
        return np.array([bounds[best], np.sign(gains[best])])

    def values(self, parameters, rows):
        radii = np.linalg.norm(rows, axis=1)[:, None]
        return self.scale * parameters[:, 1] * np.tanh((radii - parameters[:, 0]) / 0.3)


@pytest.mark.parametrize("kind", ["numbers", "bits"])
def test_a_family_of_a_user(tmp_path, kind):
    rows = ROWS[kind]
    field = quick(Radii(), n_rounds=10).fit(rows)
    assert field.parameters_.shape == (field.n_rounds_, 2)
    assert np.isfinite(field.score_samples(rows)).all()
    assert field.sample(3).shape == (3, rows.shape[1])
    if kind == "numbers":
        assert field.coefficients_.any()
        assert field.energy([[0.0, 0.0]])[0] > field.energy([[1.0, 0.0]])[0]
    with refuses("features", TypeError, match="Radii"):
        save(field, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []
    with refuses("chain", match="exact"):
        quick(Radii(), chain="block").fit(rows)


@pytest.mark.parametrize(
    ("family", "kind"),
    [
        (RBMFeatures(bound=3.0, n_ascent=np.int64(4)), "signs"),  # pyright: ignore
        (DimpleFeatures(min_width=0.5, n_starts=2), "numbers"),
        (TreeFeatures(max_depth=2), "bits"),
    ],
)
def test_families_with_settings_come_back(tmp_path, family, kind):
    rows = ROWS[kind]
    field = quick(family, n_rounds=3, warm_start=True).fit(rows)
    save(field, tmp_path / "a")
    back = load(tmp_path / "a")
    assert back.features == family
    assert_same(field, back, rows)
    assert back.score(rows) == field.score(rows)
    for one in (field, back):
        one.set_params(n_rounds=4).fit(rows)
    assert_same(field, back, rows)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("n_rounds", value) for value in (0, -3, 2.5, "a", None, True)),
        *(("weighted", value) for value in ("a", 2, 0.5)),
        *(("max_components", value) for value in (-1, 2.5, None)),
        *(("penalty", value) for value in (-0.1, np.nan, np.inf, "a")),
        *(("chain", value) for value in ("gibbs", None, 3)),
        *(("n_steps", value) for value in (0, -1, 1.5, "a")),
        *(("min_ess", value) for value in (-0.1, 1.0, np.nan, "a", None)),
        *(("resample", value) for value in ("a", None, 2)),
        *(("early_stopping", value) for value in ("a", None, 2)),
        *(("validation_fraction", value) for value in (-0.1, 1.0, "a", None)),
        *(("n_iter_no_change", value) for value in (0, -1, 1.5, None)),
        *(("contamination", value) for value in (-0.1, 1.0, "auto", None)),
        *(("warm_start", value) for value in ("a", None)),
        *(("random_state", value) for value in (-1, 0.5, "a")),
        ("features", "rbm "),
    ],
)
@pytest.mark.parametrize("kind", ["bits", "numbers"])
def test_bad_parameters(name, value, kind):
    given = {"n_rounds": 1, "early_stopping": name == "validation_fraction", name: value}
    field = quick(**given)
    with refuses(name, (ValueError, TypeError)):
        field.fit(ROWS[kind])
    assert not hasattr(field, "n_features_in_")


def test_blocks_are_not_for_trees():
    with refuses("chain", match="exact"):
        quick("tree", chain="block").fit(bits())
    with refuses("progress", TypeError):
        quick().fit(bits(), progress=3)  # pyright: ignore


LINE = np.random.default_rng(1).normal(size=(60, 2))

BAD_ROWS: dict[str, tuple[Any, str]] = {
    "NaN": (np.where(np.arange(120).reshape(60, 2) == 3, np.nan, LINE), "NaN"),
    "infinity": (np.where(np.arange(120).reshape(60, 2) == 3, np.inf, LINE), "infinity"),
    "empty": (np.empty((0, 2)), "0 sample"),
    "no column": (np.empty((3, 0)), r"0 feature\(s\)"),
    "one row": (LINE[:1], "1 sample"),
    "a constant": (np.column_stack([LINE, np.full(60, 3.0)]), "column 2 with one value"),
    "an offset": (LINE + 1e15, "column 0 with one value"),
    "beyond the floats": (LINE * 1e303, "numbers up to"),
    "subnormal": (LINE * 1e-310, "column 0 with one value"),
    "one dimension": (LINE[:, 0], "Expected 2D"),
    "texts": (np.array([["a", "b"]]), "convert string|numbers"),
}


@pytest.mark.parametrize("key", BAD_ROWS)
@pytest.mark.parametrize("features", ["auto", "tree"])
def test_rows_that_are_refused(features, key):
    rows, match = BAD_ROWS[key]
    with pytest.raises(ValueError, match=match):
        quick(features, n_rounds=2).fit(rows)


STRANGE_ROWS: dict[str, Any] = {
    "one column": LINE[:, :1],
    "two rows": LINE[:2],
    "duplicated": np.repeat(LINE[:3], 20, axis=0),
    "collinear": np.column_stack([LINE, LINE.sum(axis=1)]),
    "more columns than rows": np.random.default_rng(0).normal(size=(4, 9)),
    "far outlier": np.vstack([LINE, [1e6, 1e6]]),
    "farther": np.vstack([LINE, [1e12, 0.0]]),
    "large": LINE * 1e299,
    "small": LINE * 1e-290,
    "offset": LINE + 1e9,
    "one row of bits": [[0, 1, 1]],
    "ones": np.ones((5, 3)),
    "zeros": np.zeros((5, 3)),
    "signs of one value": -np.ones((5, 3)),
    "one bit": [[0], [1], [1]],
}


@pytest.mark.parametrize("key", STRANGE_ROWS)
@pytest.mark.parametrize("features", ["auto", "tree"])
def test_rows_that_are_strange(features, key):
    rows = STRANGE_ROWS[key]
    field = quick(features, n_rounds=4).fit(rows)
    assert np.isfinite(field.score_samples(rows)).all()
    assert np.isfinite(field.sample(5)).all()
    assert np.isfinite(field.parameters_).all()
    assert np.isfinite(field.gains_).all()
    assert (field.ess_ >= 0.6 - 1e-9).all()


@pytest.mark.parametrize("features", ["rbm", "tree"])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_rows_that_are_all_the_same(features, value):
    """No finite coefficient is the best one; probabilities still are.

    With a penalty c, other rows keep a share of about c / n.
    """
    rows = np.full((5, 3), value)
    field = quick(features, n_rounds=30).fit(rows)
    assert field.coefficients_.max() < 1e5
    score = field.score(rows)
    kept = np.sqrt(3 / 2) / 5 if features == "tree" else 0.1
    assert abs(score) < kept + 4 * field.log_partition_error_


def test_one_row_with_early_stopping():
    with refuses("X", match="two rows"):
        quick(n_rounds=2, early_stopping=True).fit([[0, 1]])
    field = quick(n_rounds=2, early_stopping=True).fit([[0, 1], [1, 0]])
    assert np.isfinite(field.score_samples([[0, 1]])).all()


def test_rows_to_be_scored_that_are_far_away():
    field = quick(n_rounds=3).fit(ring())
    near, far = field.decision_function([[1.0, 0.0], [1e6, -1e6]])
    assert far < -1e10 < near
    assert np.isfinite(field.score_samples([[1e90, 0.0]])).all()
    for row in ([1e300, 0.0], [1e308, -1e308]):
        with refuses("X", match="row 1"):
            field.predict([[0.0, 0.0], row])


@pytest.mark.parametrize("width", [1, 2, 6])
def test_whitening(width):
    rng = np.random.default_rng(width)
    rows = rng.normal(size=(100, width)) @ rng.normal(size=(width, width))
    rows = rows * 10.0 ** rng.uniform(-6, 6, width) + 100
    matrix = whitening(rows)
    found = np.cov(((rows - rows.mean(axis=0)) @ matrix).T, bias=True).reshape(width, width)
    np.testing.assert_allclose(found, np.eye(width), atol=1e-5)
    symmetric = rows.std(axis=0)[:, None] * matrix
    np.testing.assert_allclose(symmetric, symmetric.T, rtol=1e-5, atol=1e-8)
    collinear = np.column_stack([rows, rows[:, 0]])
    assert np.isfinite(whitening(collinear)).all()
