import re
from dataclasses import replace

import numpy as np
import pytest

from herder import kernel_mean, thin
from herder.kernel import Gaussian
from herder.kernel.comparison import compare_columns
from herder.report import MmdPath, ThinningReport, mmd_path, thinning_page

X = np.random.default_rng(4).normal(size=(300, 3)) * [1, 2, 5]
KERNEL = Gaussian(3.0)


def naive_mmd(rows) -> float:
    """MMD of some rows of X to all of it, from the Gram matrix of everything."""
    gram = KERNEL(X, X)
    w = np.bincount(rows, minlength=len(X)) / len(rows) - 1 / len(X)
    return float(np.sqrt(w @ gram @ w))


@pytest.fixture(scope="module")
def report():
    chosen = thin(X, 30, kernel=KERNEL)
    target = kernel_mean(X, X[chosen], kernel=KERNEL)
    sizes, path = mmd_path(X[chosen], KERNEL, target, chosen.mmd, keep_order=False)
    return ThinningReport(
        source="draws.npy",
        values=X,
        indices=chosen.indices,
        weights=chosen.weights,
        losses=compare_columns(X, chosen.indices, names=["a<b", "b", "c"]),
        mmd=chosen.mmd,
        mmd_random=chosen.mmd_random,
        path=MmdPath(sizes, path, chosen.mmd_random * np.sqrt(30 / sizes)),
        how=[("kernel", "gaussian", "what makes rows alike")],
        notes=["a note"],
        command="herder thin draws.npy -n 30",
        version="1.2.3",
    )


def test_the_path_of_a_nested_choice_is_the_mmd_of_its_parts():
    chosen = thin(X, 40, kernel=KERNEL, refine=False)
    target = kernel_mean(X, X[chosen], kernel=KERNEL)
    sizes, path = mmd_path(X[chosen], KERNEL, target, chosen.mmd, keep_order=True)
    assert sizes[0] == 1
    assert sizes[-1] == 40
    expected = [naive_mmd(chosen.indices[:t]) for t in sizes]
    # squares differ by rounding of terms near one
    assert np.allclose(path, expected, atol=1e-7)


def test_an_exchanged_choice_is_put_into_an_order_that_falls():
    chosen = thin(X, 40, kernel=KERNEL)
    target = kernel_mean(X, X[chosen], kernel=KERNEL)
    sizes, path = mmd_path(X[chosen], KERNEL, target, chosen.mmd, keep_order=False)
    assert path[-1] == pytest.approx(naive_mmd(chosen.indices))
    given = mmd_path(X[chosen], KERNEL, target, chosen.mmd, keep_order=True)[1]
    assert path[sizes == 10] < given[sizes == 10] * 1.5
    single = min(naive_mmd([row]) for row in chosen.indices)
    assert path[0] == pytest.approx(single)


def test_the_page_tells_what_was_chosen_and_lost(report):
    html = thinning_page(report).html()
    better = report.mmd_random / report.mmd
    for words in (
        "30 of the 300 rows of draws.npy",
        f"{better:,.1f} times nearer to all rows",
        f"as near as about {30 * better**2:,.0f} independent draws",
        f"{report.mmd:.3e}",
        f"{report.mmd_random:.3e}",
        "every chosen row counts the same",
        "a&lt;b",
        f"{report.losses.mean_change[0]:+.4f}",
        f"{report.losses.random_change:.4f} standard deviations",
        "in the order herding takes them",
        "a note",
        "herder thin draws.npy -n 30",
        "herder 1.2.3",
    ):
        assert words in html
    assert html.count("<img ") == 3


def test_the_page_is_self_contained(report):
    html = thinning_page(report).html()
    assert not re.search(r"https?:|//[a-z]|<link|<script|@import|url\(", html)
    assert set(re.findall(r'src="([a-z]+:)', html)) == {"data:"}


def test_the_page_of_a_bad_choice_warns(report):
    html = thinning_page(replace(report, mmd=0.5, mmd_random=0.1, path=None)).html()
    assert "no nearer to all rows than a random subset" in html
    assert "More rows, less error" not in html


def test_the_page_without_an_mmd(report):
    html = thinning_page(replace(report, mmd=None, mmd_random=None, path=None)).html()
    assert "maximum mean discrepancy" not in html
    assert "Column by column" in html


def test_weighted_modes_and_labels(report):
    weights = np.linspace(-0.01, 0.07, 30)
    path = MmdPath(np.array([1, 30]), np.empty(0), np.array([0.5, 0.1]))
    changed = replace(report, weights=weights, mode="optimal", path=path)
    html = thinning_page(replace(changed, classes={"fir": (0.25, 7, 7 / 30)})).html()
    assert "may be negative" in html
    assert "follows the weight of its row" in html
    assert "The MMD of random subsets, by their size" in html
    assert '<td class="number">25.00%</td>' in html
    assert "the density" in thinning_page(replace(report, whole="the density")).html()


def test_many_columns_are_cut_short():
    wide = np.random.default_rng(0).normal(size=(50, 40))
    losses = compare_columns(wide, [0, 1, 2])
    report = ThinningReport("w", wide, np.arange(3), np.full(3, 1 / 3), losses)
    html = thinning_page(report).html()
    assert "25 more columns lost less" in html
    assert "x10, x11, ..." in html
