import numpy as np

from herder import MomentHerder
from herder.fields.number_columns import NumberColumn


def test_parts_give_the_numbers_of_the_whole():
    values = np.random.default_rng(0).lognormal(size=500)
    column = NumberColumn()
    for part in np.array_split(values, 7):
        column.add(part)
    expected = [values.mean(), values.std(), *np.quantile(values, [0.05, 0.5, 0.95])]
    np.testing.assert_allclose(column.values(), expected, rtol=1e-12)


def test_squares_that_are_no_floats_do_not_end_a_fit():
    table = {"x": 1e200 * np.random.default_rng(0).normal(size=200), "y": np.arange(200) % 2}
    made = MomentHerder().fit(table).synthesise(100)
    (chunk,) = made.chunks()
    assert len(chunk["x"]) == 100
    assert "100 rows of 2 columns" in str(made.summary())
