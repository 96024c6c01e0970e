"""Conditional herding obeys the laws of the loop, for any features and any rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from herder.fields.conditional import (
    ConditionalSystem,
    HiddenLabelFeatures,
    LabelFeatures,
    class_codes,
)
from herder.testing import check_system

ROWS = arrays(np.float64, (5, 2), elements=st.floats(-100, 100))
LABELS = st.lists(st.integers(0, 2), min_size=5, max_size=5)


class SquaredFeatures:
    """Features of a user's own: squares of the inputs for each class, one bit of a hidden unit."""

    n_classes = 3

    def features(self, row, label, hidden):
        table = np.zeros((3, 3))
        table[label] = [*np.square(row), hidden]
        return table.ravel()

    def complete(self, weights, row, label):
        return float(weights[3 * label + 2] > 0)


@given(ROWS, LABELS, st.sampled_from([None, 1, 2]), st.integers(0, 2))
def test_laws(rows, labels, batch_size, kind):
    codes = class_codes(3)
    model = (LabelFeatures(codes), HiddenLabelFeatures(codes, 2), SquaredFeatures())[kind]
    system = ConditionalSystem(model, rows, labels, batch_size=batch_size)
    size = model.features(rows[0], 0, np.ones(2) if kind == 1 else 1.0).size
    check_system(system, np.linspace(-1, 1, size), exact=True, n_steps=30)
