"""Every wrong argument is refused in words that begin with its name."""

from typing import Any

import numpy as np
import pytest

from herder import PairwiseModel, PottsModel, gibbs, herded_gibbs, swendsen_wang
from herder.samplers import SamplingPosition, stream
from tests.naming import refuses

GRID = PairwiseModel.grid((3, 3), 0.3)
POTTS = PottsModel.grid((3, 3), 3, 0.3)
SAMPLERS = [gibbs, herded_gibbs, swendsen_wang]


def words(rows):
    return ["word"] * len(rows)


def one_for_all(rows):
    return 1.0


def one_too_few(rows):
    return rows[1:, 0]


COMMON: list[tuple[str, list[Any]]] = [
    ("n_chains", [0, -1, 1.5, "two", None, True]),
    ("burn_in", [-1, 1.5, "none", None]),
    ("thinning", [0, -1, 0.5, "second", None]),
    ("keep", [0, 1, "all", None]),
    ("evidence", [5, 0, [], [(0, 1)], {0: 0}, {0: 2}, {0: "up"}, {9: 1}, {-1: 1}, {"a": 1}]),
    ("evidence", [{0.0: 1}, {True: 1}, {0: None}, {0: np.nan}, dict.fromkeys(range(9), 1)]),
    ("start", [1, [1] * 8, [0] * 9, [np.nan] * 9, "ones", ["1"] * 9, [[1] * 9] * 3]),
    ("start", [np.ones((1, 1, 9)), [], [None] * 9]),
    ("pairs", ["none", 5, [0, 1], [[0, 0]], [[0, 9]], [[-1, 0]], [[0, 1], [1, 0]]]),
    ("pairs", [[[0.5, 1.0]], [[0, 1, 2]]]),
    ("functions", [5, "energy", {"a": 5}, one_for_all, one_too_few, words]),
    ("resume", [5, "file", {}]),
    ("n_jobs", [0, -1, 1.5, "all"]),
    ("progress", [5, "bar"]),
]


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in COMMON for value in values]
)
def test_options_of_every_sampler(sampler, name, value):
    with refuses(name, (TypeError, ValueError)):
        sampler(GRID, 20, **{name: value})


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("value", [0, -3, 1.5, "ten", None, True])
def test_sweeps(sampler, value):
    with refuses("n_sweeps", (TypeError, ValueError)):
        sampler(GRID, value)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("value", [5, None, "grid", np.zeros((3, 3)), PairwiseModel])
def test_models(sampler, value):
    with refuses("model", TypeError):
        sampler(value, 20)


@pytest.mark.parametrize("sampler", [gibbs, herded_gibbs])
@pytest.mark.parametrize(
    "value", ["random", None, 5, [], [0, 1], [0.0] * 9, [[0] * 9], [*range(8), 9], [-1, *range(9)]]
)
@pytest.mark.parametrize("evidence", [None, {2: 1}])
def test_orders(sampler, value, evidence):
    with refuses("order", (TypeError, ValueError)):
        sampler(GRID, 20, order=value, evidence=evidence)


def test_orders_speak_of_the_sites_of_the_whole_model():
    with refuses("order", match="site 8"):
        gibbs(GRID, 20, evidence={0: 1}, order=range(1, 8))
    with refuses("order"):
        gibbs(GRID, 20, evidence={0: 1}, order=range(1, 10))
    # a held site need not be visited, and may be
    one = gibbs(GRID, 20, evidence={0: 1}, order=range(1, 9))
    np.testing.assert_array_equal(
        one.samples, gibbs(GRID, 20, evidence={0: 1}, order=range(9)).samples
    )


@pytest.mark.parametrize(
    "value",
    [5, (), "12", (2.0,), (1.0, 1.0), (1.0, 3.0, 2.0), (1.0, 0.5), (1.0, np.inf), (1.0, np.nan)],
)
def test_temperatures(value):
    with refuses("temperatures", (TypeError, ValueError)):
        gibbs(GRID, 20, temperatures=value)


@pytest.mark.parametrize("value", [("hot",), [[1.0, 2.0]], (1.0, None)])
def test_kinds_of_temperatures(value):
    with refuses("temperatures", (TypeError, ValueError)):
        gibbs(GRID, 20, temperatures=value)


@pytest.mark.parametrize("sampler", [gibbs, swendsen_wang])
@pytest.mark.parametrize("value", [-1, 1.5, "seed", True, [1, 2], np.random])
def test_random_states(sampler, value):
    with refuses("random_state", (TypeError, ValueError)):
        sampler(GRID, 20, random_state=value)


@pytest.mark.parametrize(
    ("name", "values"),
    [("initial", ["middle", None, 0]), ("max_contexts", [0, 1.5, "many", None])],
)
def test_options_of_herded_gibbs(name, values):
    for value in values:
        with refuses(name, (TypeError, ValueError)):
            herded_gibbs(GRID, 20, **{name: value})


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_unknown_options_name_the_sampler(sampler):
    with pytest.raises(TypeError, match=f"{sampler.__name__}.*n_sweep"):
        sampler(GRID, 20, n_sweep=5)


def test_states_of_a_potts_model():
    for evidence in ({0: 3}, {0: -1}, {0: 0.5}, {0: "a"}):
        with refuses("evidence"):
            gibbs(POTTS, 20, evidence=evidence)
    for start in ([3] * 9, [-1] * 9, [0.5] * 9):
        with refuses("start"):
            gibbs(POTTS, 20, start=start)


@pytest.mark.parametrize("value", ["metropolis", None, 3])
def test_streams(value):
    with refuses("method", (TypeError, ValueError)):
        stream(GRID, value)
    with refuses("model", TypeError):
        stream(5)  # type: ignore[arg-type]


OTHERS: dict[str, dict[str, Any]] = {
    "model": {"model": PairwiseModel.grid((3, 3), 0.31)},
    "biases": {"model": PairwiseModel.grid((3, 3), 0.3, 0.1)},
    "evidence": {"evidence": {0: 1}},
    "chains": {"n_chains": 3},
    "pairs": {"pairs": [[0, 2]]},
    "fewer pairs": {"pairs": None},
    "functions": {"functions": {"b": lambda rows: rows[:, 0]}},
    "no functions": {"functions": None},
}


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("other", list(OTHERS))
def test_a_run_cannot_go_on_as_another(sampler, other):
    options: dict[str, Any] = {
        "model": GRID,
        "n_chains": 2,
        "pairs": [[0, 1]],
        "functions": {"a": lambda rows: rows[:, 0]},
    }
    first = sampler(n_sweeps=20, **options)
    with refuses("resume"):
        sampler(n_sweeps=20, resume=first, **{**options, **OTHERS[other]})
    sampler(n_sweeps=20, resume=first, **options)


def test_orders_temperatures_and_samplers_are_part_of_a_position():
    first = gibbs(GRID, 20)
    with refuses("resume"):
        gibbs(GRID, 20, resume=first, order="reversed")
    with refuses("resume"):
        gibbs(GRID, 20, resume=first, temperatures=(1.0, 2.0))
    with refuses("resume"):
        swendsen_wang(GRID, 20, resume=first)
    with refuses("resume"):
        herded_gibbs(GRID, 20, resume=herded_gibbs(GRID, 20), initial="centre")
    with refuses("burn_in"):
        gibbs(GRID, 20, resume=first, burn_in=5)


def test_files_that_hold_no_position(tmp_path):
    with pytest.raises(FileNotFoundError, match="path must"):
        SamplingPosition.load(tmp_path / "nothing")
    (tmp_path / "text").write_text("no arrays", encoding="utf-8")
    with pytest.raises(ValueError, match="must"):
        SamplingPosition.load(tmp_path / "text")


def test_nothing_has_happened_after_a_refusal():
    """A function that is wrong on its second block leaves an earlier position as it was."""
    calls = []

    def late(rows):
        calls.append(len(rows))
        if len(calls) > 1:
            raise RuntimeError("second block")
        return rows[:, 0]

    first = gibbs(GRID, 50, functions={"late": lambda rows: rows[:, 0]})
    wanted = gibbs(GRID, 50, resume=first, functions={"late": lambda rows: rows[:, 0]})
    with pytest.raises(RuntimeError, match="second block"):
        gibbs(GRID, 20_000, resume=first, functions={"late": late})
    again = gibbs(GRID, 50, resume=first, functions={"late": lambda rows: rows[:, 0]})
    np.testing.assert_array_equal(again.samples, wanted.samples)
    assert again.averages == wanted.averages
