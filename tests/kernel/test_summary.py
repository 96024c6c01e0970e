import re

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from herder import thin
from herder.kernel import Gaussian
from herder.report import page_html

X = np.random.default_rng(4).normal(size=(300, 3)) * [1, 2, 5]
KERNEL = Gaussian(3.0)


def naive_mmd(rows) -> float:
    """MMD of some rows of X to all of it, from the Gram matrix of everything."""
    gram = KERNEL(X, X)
    w = np.bincount(rows, minlength=len(X)) / len(rows) - 1 / len(X)
    return float(np.sqrt(w @ gram @ w))


@pytest.fixture(scope="module")
def chosen():
    return thin({"a<b": X[:, 0], "b": X[:, 1], "c": X[:, 2]}, 30, kernel=KERNEL)


def test_the_path_of_a_nested_choice_is_the_mmd_of_its_parts():
    nested = thin(X, 40, kernel=KERNEL, refine=False)
    sizes, path, random = nested.herded_path()
    assert sizes[0] == 1
    assert sizes[-1] == 40
    expected = [naive_mmd(nested.indices[:t]) for t in sizes]
    # squares differ by rounding of terms near one
    assert np.allclose(path, expected, atol=1e-7)
    assert random[-1] == pytest.approx(nested.mmd_random)
    spread = KERNEL(X, X).diagonal().mean() - KERNEL(X, X).mean()
    assert random[0] == pytest.approx(np.sqrt(spread))


def test_an_exchanged_choice_is_put_into_an_order_that_falls():
    refined = thin(X, 40, kernel=KERNEL)
    sizes, path, _ = refined.herded_path()
    assert path[-1] == pytest.approx(naive_mmd(refined.indices))
    given = [naive_mmd(refined.indices[:t]) for t in sizes]
    assert path[sizes == 10] < np.array(given)[sizes == 10] * 1.5
    assert path[0] == pytest.approx(min(naive_mmd([row]) for row in refined.indices))


def test_the_text_has_the_numbers_of_the_choice(chosen):
    lines = str(chosen.summary()).splitlines()
    assert lines[0] == "30 of 300 rows"
    better = chosen.mmd_random / chosen.mmd
    beside = f"a random subset has {chosen.mmd_random:.3g}: {better:,.1f}x closer"
    assert re.split("  +", lines[1]) == ["MMD to all rows", f"{chosen.mmd:.3g}", beside]
    errors = chosen.column_errors()
    worst = errors.worst(1)
    first = lines[lines.index(next(line for line in lines if line.startswith("column "))) + 1]
    assert first.split()[:3] == [
        worst.names[0],
        f"{worst.mean_change[0]:+.3f}",
        f"{worst.sd_change[0]:+.3f}",
    ]
    largest = np.abs(errors.mean_change).max()
    assert f"at most {largest:.3g} standard deviations" in lines[-2]
    assert f"±{errors.random_change:.3g}" in lines[-2]
    assert lines[-1] == f"{errors.worth}, at least all 300 for the functions of the kernel (MMD)"
    few = thin(X, 5, kernel=KERNEL)
    # m random rows of n, drawn without replacement, are those of m (n - 1) / (n - m) draws
    draws = 5 * 299 / 295 * (few.mmd_random / few.mmd) ** 2
    assert draws < 300
    assert str(few.summary()).endswith(f", {draws:.0f} for the functions of the kernel (MMD)")


def test_the_page_shows_the_choice_and_is_self_contained(chosen):
    html = page_html(chosen.summary(), command="herder thin draws.npy -n 30")
    for words in (
        "30 of 300 rows",
        "a&lt;b",
        "Where the chosen rows lie",
        "in the order of herding",
        "herder thin draws.npy -n 30",
    ):
        assert words in html
    assert html.count("<img ") == 3
    assert not re.search(r"https?:|//[a-z]|<link|<script|@import|url\(", html)
    assert set(re.findall(r'src="([a-z]+:)', html)) == {"data:"}


def test_a_bad_choice_warns():
    rows = np.concatenate([np.zeros((150, 1)), np.ones((150, 1))])
    bad = thin(rows, 10, kernel=Gaussian(0.1), include=np.arange(10))
    assert bad.mmd > bad.mmd_random
    assert "no closer to all rows than a random subset" in str(bad.summary())


def test_the_mmd_may_be_left_out(chosen):
    summary = chosen.summary(mmd=False)
    assert "MMD to" not in str(summary)
    assert [section.title for section in summary.sections] == [
        "Where the chosen rows lie",
        "Error per column",
    ]
    unknown = thin(X, 5, kernel_mean=np.ones(len(X)))
    assert "MMD to" not in str(unknown.summary())


def test_weighted_modes_and_labels():
    weighted = thin(X, 12, weights="optimal")
    low, high = weighted.weights.min(), weighted.weights.max()
    assert f"from {low:.2e} to {high:.2e}, may be negative" in str(weighted.summary())
    sizes, path, random = weighted.herded_path()
    assert len(path) == 0
    assert len(random) == len(sizes)
    assert "proportional to the weight of its row" in page_html(weighted.summary())
    labels = np.repeat(["fir", "oak"], [75, 225])
    table = str(thin(X, 8, y=labels).summary())
    assert re.search(r"fir +25\.00% +2 +25\.00%", table)
    density = thin(X, 6, kernel="stein", score=-X)
    assert "MMD to the density" in str(density.summary())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"refine": False}, r"order +nested"),
        ({}, r"columns +3 +of numbers, divided by their standard deviations"),
        ({"standardise": False}, r"columns +3 +of numbers, as they are"),
        ({"bandwidth": [1.0, 2.0, 3.0]}, r"bandwidth +one for each column +in its standard dev"),
        ({"kernel": "gaussian", "bandwidth": 0.7}, r"bandwidth +0\.7 +in standard deviations$"),
        ({"kernel": "gaussian", "standardise": False}, r"bandwidth .* median distance"),
        ({"bandwidth": [1.0, 2.0, 3.0], "standardise": False}, r"one for each column +as given"),
        ({"approximate": "chunks"}, r"approximation +chunks"),
        ({"kernel": "energy"}, r"kernel +energy"),
        ({"kernel": "laplace", "bandwidth": 2.5, "standardise": False}, r"bandwidth +2.5"),
        ({"kernel": KERNEL}, r"kernel +Gaussian"),
    ],
)
def test_settings_are_reported(options, words):
    assert re.search(words, str(thin(X, 6, **options).summary()), re.MULTILINE)


def test_the_median_distance_is_shown():
    median = np.median(pdist(X / X.std(axis=0)))
    words = rf"bandwidth +{median:.4g} +median distance of two rows, in standard deviations"
    weight = np.linspace(1, 2, len(X))  # which the median does not know
    chosen = thin(X, 6, kernel="gaussian", sample_weight=weight)
    assert re.search(words, str(chosen.summary()))
    mixed = {"wet": X[:, 0] > 0, "b": X[:, 1]}
    indicators = np.column_stack([X[:, 0] > 0, X[:, 0] <= 0, X[:, 1] / X[:, 1].std()])
    median = np.median(pdist(indicators))
    assert re.search(rf"bandwidth +{median:.4g} ", str(thin(mixed, 6, kernel="laplace").summary()))


def test_many_columns_are_cut_short():
    wide = np.random.default_rng(0).normal(size=(50, 40))
    html = page_html(thin(wide, 3).summary())
    assert "The next columns, and 25 more columns with smaller errors" in html
    errors = thin(wide, 3).column_errors()
    for name in errors.worst(15).names:  # each once
        assert html.count(f"<td>{name}</td>") == 1
    narrow = page_html(thin(wide[:, :3], 3).summary())
    assert [narrow.count(f"<td>x{j}</td>") for j in range(3)] == [1, 1, 1]
    assert "next columns" not in narrow
    assert "and 32 more columns with smaller errors" in str(thin(wide, 3).column_errors())
    assert "and 32 more columns with smaller errors" in str(thin(wide, 3).summary())
