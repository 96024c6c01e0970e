import sys
import warnings

import arviz_base
import numpy as np
import pytest
import xarray as xr

from herder import PairwiseModel, gibbs, thin
from tests.naming import refuses

RNG = np.random.default_rng(3)
MU, THETA = RNG.normal(size=(4, 50)), RNG.normal(size=(4, 50, 3))
ENERGY, LIKELIHOOD = RNG.normal(size=(4, 50)), RNG.normal(size=(4, 50, 6))
GROUPS = {
    "posterior": {"mu": MU, "theta": THETA},
    "sample_stats": {"energy": ENERGY},
    "log_likelihood": {"y": LIKELIHOOD},
    "prior": {"mu": RNG.normal(size=(4, 50))},
    "observed_data": {"y": np.arange(6.0)},
}


@pytest.fixture(scope="module")
def arviz():
    with warnings.catch_warnings():
        # its announcement of arviz-base, once a day
        warnings.filterwarnings("ignore", "\nArviZ is undergoing", FutureWarning)
        import arviz

    return arviz


@pytest.fixture(params=["InferenceData", "DataTree"])
def posterior(request, arviz):
    if request.param == "DataTree":
        return arviz_base.from_dict(GROUPS)
    return arviz.from_dict(**GROUPS)


def group(tree, name: str) -> xr.Dataset:
    """A group of either kind."""
    return tree[name].to_dataset() if isinstance(tree, xr.DataTree) else tree[name]


def test_the_same_kind_comes_back_with_all_groups_of_draws_thinned(posterior):
    chosen = thin(posterior, 12)
    assert chosen.column_errors().names == ("mu", "theta[0]", "theta[1]", "theta[2]")
    few = chosen.take(posterior)
    assert type(few) is type(posterior)
    at = chosen.locate()
    for name, variable, draws in (
        ("posterior", "mu", MU),
        ("posterior", "theta", THETA),
        ("sample_stats", "energy", ENERGY),
        ("log_likelihood", "y", LIKELIHOOD),
    ):
        found = group(few, name)
        np.testing.assert_array_equal(found[variable].values, draws[at][None])
        assert found[variable].dims == group(posterior, name)[variable].dims
        assert found["chain"].values.tolist() == [0]
        assert found["draw"].values.tolist() == list(range(12))
        np.testing.assert_array_equal(found["original_chain"].values, at[0][None])
        np.testing.assert_array_equal(found["original_draw"].values, at[1][None])
    for whole in ("prior", "observed_data"):
        assert group(few, whole).identical(group(posterior, whole))
    assert group(few, "posterior").attrs == group(posterior, "posterior").attrs


def test_coordinates_of_draws_are_those_of_the_posterior(posterior):
    kept = (
        group(posterior, "posterior").isel(draw=slice(10, None)).assign_coords(chain=list("abcd"))
    )
    chosen = thin(kept, 7)
    chain, draw = chosen.locate()
    few = chosen.take(xr.DataTree.from_dict({"posterior": kept}))["posterior"].to_dataset()
    assert few["original_draw"].values.tolist() == [(draw + 10).tolist()]
    assert few["original_chain"].values.tolist() == [[list("abcd")[c] for c in chain]]


def test_summaries_run_on_what_comes_back(arviz):
    posterior = arviz.from_dict(**GROUPS)
    chosen = thin(posterior, 40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # R-hat of one chain, which the page says means nothing
        table = arviz.summary(chosen.take(posterior), round_to="none")
    assert table.loc["mu", "mean"] == pytest.approx(MU[chosen.locate()].mean())


def test_what_is_not_aligned_is_refused(posterior):
    chosen = thin(MU[:, 1:, None], 5)
    with refuses("table", match=r"chains and draws of X, \(4, 49\)"):
        chosen.take(posterior)


def test_a_branch_of_a_tree_is_a_tree():
    tree = arviz_base.from_dict(GROUPS)
    few = thin(tree, 5).take(tree["sample_stats"])
    assert isinstance(few, xr.DataTree)
    assert few["energy"].shape == (1, 5)


def test_samplers_make_what_is_installed(arviz, monkeypatch):
    run = gibbs(PairwiseModel.grid(2, 2, 0.3), 20, n_chains=2)
    assert isinstance(run.to_arviz(), xr.DataTree)
    monkeypatch.setitem(sys.modules, "arviz_base", None)
    made = run.to_arviz("spin")
    assert isinstance(made, arviz.InferenceData)
    assert made.posterior["spin"].dims == ("chain", "draw", "spin_site")
    np.testing.assert_array_equal(made.posterior["spin"].values, run.chains)
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match="pip install arviz"):
        run.to_arviz()
