"""The model of a restricted Boltzmann machine, against sums over all its states."""

import itertools

import numpy as np
import pytest

from herder import ParameterError, RBMModel

ALPHABETS = [(0, 1), (-1, 1)]


def small(states, seed=0, n_visible=4, n_hidden=3):
    rng = np.random.default_rng(seed)
    couplings = rng.normal(size=(n_visible, n_hidden))
    return RBMModel(couplings, rng.normal(size=n_visible), rng.normal(size=n_hidden), states)


def all_states(n_sites, states):
    return np.array(list(itertools.product(states, repeat=n_sites)), float)


def joint(model):
    """Unnormalised probabilities of all (visible, hidden), by the formula of the energy."""
    visible = all_states(model.n_visible, model.states)
    hidden = all_states(model.n_hidden, model.states)
    energy = np.array(
        [
            [
                -(v @ model.visible_biases + h @ model.hidden_biases + v @ model.couplings @ h)
                for h in hidden
            ]
            for v in visible
        ]
    )
    return visible, hidden, np.exp(-energy)


@pytest.mark.parametrize("states", ALPHABETS)
class TestAgainstEnumeration:
    def test_free_energy_sums_over_the_hidden_sites(self, states):
        model = small(states)
        visible, _, table = joint(model)
        np.testing.assert_allclose(model.free_energy(visible), -np.log(table.sum(axis=1)))

    @pytest.mark.parametrize("sizes", [(4, 3), (3, 5)])
    def test_partition_function_sums_over_the_smaller_side(self, states, sizes):
        model = small(states, 1, *sizes)
        assert model.exact_log_partition() == pytest.approx(np.log(joint(model)[2].sum()))

    def test_conditionals(self, states):
        model = small(states, 2)
        visible, hidden, table = joint(model)
        upper = hidden == states[1]
        expected = table @ upper / table.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.hidden_probabilities(visible), expected)
        upper = visible == states[1]
        expected = table.T @ upper / table.sum(axis=0)[:, None]
        np.testing.assert_allclose(model.visible_probabilities(hidden), expected)

    def test_energy_and_the_pairwise_model(self, states):
        model = small(states, 3)
        visible, hidden, table = joint(model)
        pairs = np.repeat(visible, len(hidden), axis=0), np.tile(hidden, (len(visible), 1))
        np.testing.assert_allclose(model.energy(*pairs), -np.log(table.ravel()))
        np.testing.assert_allclose(
            model.to_pairwise().energy(np.hstack(pairs)), -np.log(table.ravel())
        )

    def test_the_other_alphabet_has_the_same_distribution(self, states):
        model = small(states, 4)
        other = model.to_states(ALPHABETS[1 - ALPHABETS.index(states)])
        visible = all_states(4, model.states)
        same = all_states(4, other.states)
        ours = -model.free_energy(visible) - model.exact_log_partition()
        theirs = -other.free_energy(same) - other.exact_log_partition()
        np.testing.assert_allclose(ours, theirs)
        assert other.to_states(states).couplings == pytest.approx(model.couplings)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("couplings", {"couplings": [1.0, 2.0]}),
        ("couplings", {"couplings": np.empty((0, 3))}),
        ("couplings", {"couplings": [[np.nan]]}),
        ("visible_biases", {"couplings": [[1.0]], "visible_biases": [1.0, 2.0]}),
        ("hidden_biases", {"couplings": [[1.0]], "hidden_biases": [[1.0]]}),
        ("states", {"couplings": [[1.0]], "states": (0, 2)}),
    ],
)
def test_errors_name_the_parameter(name, given):
    with pytest.raises(ParameterError, match=name):
        RBMModel(**given)


def test_states_of_the_other_alphabet_are_refused():
    with pytest.raises(ParameterError, match="visible"):
        small((0, 1)).free_energy([[-1, 1, 1, -1]])


def test_a_large_model_is_not_summed():
    with pytest.raises(ParameterError, match="20 sites"):
        RBMModel(np.zeros((30, 21))).exact_log_partition()


def test_parameters_cannot_be_changed():
    model = small((0, 1))
    for part in (model.couplings, model.visible_biases, model.hidden_biases):
        with pytest.raises(ValueError, match="read-only"):
            part[...] = 0.0
