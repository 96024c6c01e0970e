import numpy as np
import pytest

from herder.models.tables import check_labels, check_tables, total_score
from tests.naming import refuses

FIELDS, EDGES, TABLES = np.zeros((3, 2)), [(0, 1), (2, 1)], np.zeros((2, 2, 2))


def test_the_score_is_the_sum_over_sites_and_edges():
    fields, tables = np.arange(6.0).reshape(3, 2), np.arange(8.0).reshape(2, 2, 2)
    parts = check_tables(fields, EDGES, tables)
    # sites 1 + 2 + 5, edges in the states (1, 0) and (1, 0)
    assert total_score(*parts, np.array([1, 0, 1])) == 8 + 2 + 6


def test_arrays_are_copies_and_no_edges_are_fine():
    parts = check_tables(FIELDS, [], np.zeros((0, 2, 2)))
    assert parts[1].shape == (0, 2)
    parts[0][0] = 7.0
    assert not FIELDS.any()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (([0.0, 1.0], EDGES, TABLES), "fields"),
        ((np.zeros((3, 1)), EDGES, np.zeros((2, 1, 1))), "fields"),
        ((np.full((3, 2), np.nan), EDGES, TABLES), "fields"),
        ((FIELDS, [(0, 3), (0, 1)], TABLES), "edges"),
        ((FIELDS, [(0, -1), (0, 1)], TABLES), "edges"),
        ((FIELDS, [(1, 1), (0, 1)], TABLES), "edges"),
        ((FIELDS, [0, 1], TABLES), "edges"),
        ((FIELDS, [(0.0, 1.0), (1.0, 2.0)], TABLES), "edges"),
        ((FIELDS, EDGES, np.zeros((1, 2, 2))), "tables"),
        ((FIELDS, EDGES, np.full((2, 2, 2), -np.inf)), "tables"),
    ],
)
def test_what_is_no_graph_is_refused(arguments, name):
    with refuses(name):
        check_tables(*arguments)


@pytest.mark.parametrize("labels", [[0, 1], [0, 1, 2], [0, -1, 0], [0.0, 1.0, 0.0]])
def test_labels_are_states_of_the_sites(labels):
    with refuses("start"):
        check_labels(labels, 3, 2, "start")
