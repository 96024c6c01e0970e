"""Reports on scan orders: the errors in them are those of runs, and the advice follows."""

import numpy as np
import pytest

from herder import PairwiseModel, PottsModel, check_scan_orders, gibbs, herded_gibbs
from herder.core.summary import Picture
from herder.plots import draw
from tests.naive import dense
from tests.naming import refuses
from tests.samplers.plain import (
    COMPLETE_4,
    distribution,
    draw_pairwise,
    draw_potts,
    frequencies,
    marginals_of,
    total_variation,
    true_marginals,
)

LOOP_4 = [(0, 1), (1, 2), (2, 3), (0, 3)]


def errors_by_hand(model, run):
    truth = true_marginals(model)
    gap = marginals_of(model, run.samples) - truth
    joint = total_variation(frequencies(model, run.samples), distribution(model))
    return np.sqrt(np.mean(gap**2)), joint


@pytest.mark.parametrize(
    "model",
    [
        draw_pairwise(4, LOOP_4, 1, strength=1.0),
        draw_pairwise(5, [(0, 1), (1, 2)], 2, states=(0, 1)),
        draw_potts(4, 3, COMPLETE_4, 3),
    ],
    ids=["+-1", "0/1", "potts"],
)
def test_a_small_model_is_its_own_piece(model):
    """The errors of the report, from the samples and a sum over all states."""
    report = check_scan_orders(model, n_sweeps=300)
    assert (report.n_pieces, report.piece_size, report.n_sweeps) == (1, model.n_sites, 300)
    assert {one.order for one in report.orders} == {"sequential", "reversed", "checkerboard"}
    for one in report.orders:
        short = herded_gibbs(model, 300, order=one.order)
        long = herded_gibbs(model, 3000, order=one.order)
        plain = gibbs(model, 3000, order=one.order)
        assert one.error == pytest.approx(errors_by_hand(model, short)[0])
        assert (one.final_error, one.joint) == pytest.approx(errors_by_hand(model, long))
        assert (one.gibbs_error, one.gibbs_joint) == pytest.approx(errors_by_hand(model, plain))


def test_the_order_that_stalls_comes_last_and_is_warned_of():
    """Figure 4.6: around the loop the error stays, across it falls."""
    loop = draw_pairwise(4, LOOP_4, 1, strength=1.0)
    report = check_scan_orders(loop, orders=[[0, 1, 2, 3], [0, 2, 1, 3]], n_sweeps=30_000)
    assert report.best == "[0, 2, 1, 3]"
    best, worst = report.orders
    assert (best.stalled, worst.stalled) == (0, 1)
    assert worst.joint > 10 * best.joint
    assert any("avoid the order [0, 1, 2, 3]" in text for text in report.warnings)


def test_a_complete_graph_raises_no_alarm():
    report = check_scan_orders(draw_pairwise(5, [(i, j) for j in range(5) for i in range(j)], 4))
    assert report.warnings == ()
    assert all(one.stalled == 0 for one in report.orders)
    assert report.orders[0].final_error < report.orders[0].gibbs_error / 5
    errors = [one.final_error for one in report.orders]
    assert errors == sorted(errors)


def test_pieces_of_a_large_model_are_connected_and_apart():
    model = PairwiseModel.grid((12, 12), 0.3)
    report = check_scan_orders(model, n_pieces=3, n_sweeps=50)
    assert (report.n_pieces, report.piece_size) == (3, 10)  # 2^10 states
    assert any("pieces are small" in text for text in report.warnings)
    potts = check_scan_orders(PottsModel.grid((6, 6), 4, 0.5), n_pieces=2, n_sweeps=50)
    assert potts.piece_size == 5  # 4^5 states


def test_the_strongest_site_is_in_a_piece():
    """Twenty sites in a row; only the pair in the middle is strong, and its error shows."""
    model = PairwiseModel.from_edges(
        20, [(k, k + 1) for k in range(19)], [2.0 if k == 9 else 0.01 for k in range(19)]
    )
    report = check_scan_orders(model, orders=["sequential"], n_pieces=1, n_sweeps=100)
    couplings = dense(model.couplings)
    around = range(4, 14)  # nearest first, from the left of two equally strong sites
    piece = PairwiseModel(couplings[np.ix_(around, around)], model.biases[:10])
    assert report.orders[0].error == pytest.approx(
        errors_by_hand(piece, herded_gibbs(piece, 100))[0]
    )


def test_many_neighbours_are_warned_of():
    report = check_scan_orders(PairwiseModel.random(30, random_state=0), n_sweeps=50, n_pieces=1)
    assert any("29 neighbours" in text for text in report.warnings)


def test_a_report_reads_as_a_table():
    report = check_scan_orders(
        draw_pairwise(4, LOOP_4, 1), orders=["checkerboard", "reversed"], n_sweeps=99
    )
    lines = str(report).splitlines()
    assert "1 piece of up to 4 sites" in lines[0]
    assert "99 and 990 sweeps" in lines[1]
    for one in report.orders:
        row = next(line for line in lines if line.startswith(one.order))
        assert f"{one.final_error:.1e}" in row.split()
    assert sum(line.startswith("Warning") for line in lines) == len(report.warnings)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"n_sweeps": 0}, "n_sweeps"),
        ({"n_pieces": -1}, "n_pieces"),
        ({"orders": []}, "orders"),
        ({"orders": ["random"]}, "order"),
        ({"orders": [[0, 1]]}, "order"),
    ],
)
def test_bad_arguments_are_named(options, name):
    with refuses(name, (TypeError, ValueError)):
        check_scan_orders(draw_pairwise(4, LOOP_4, 1), **options)


def test_models_of_another_kind_are_refused():
    with refuses("model", TypeError):
        check_scan_orders(np.zeros((3, 3)))  # type: ignore[arg-type]


def test_a_report_has_its_picture():
    report = check_scan_orders(draw_pairwise(4, LOOP_4, 1), n_sweeps=20)
    (section,) = report.summary().sections
    (picture,) = section.blocks
    assert isinstance(picture, Picture)
    (axes,) = draw(picture).axes
    assert [tick.get_text() for tick in axes.get_yticklabels()][-1] == report.best
