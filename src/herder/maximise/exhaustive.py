"""Exhaustive search over all states: exact, for small spaces only."""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from herder.models.features import CliqueFeatures

__all__ = ["MAX_STATES", "all_states", "best_state", "feature_table", "n_states"]

#: Spaces larger than this are not enumerated.
MAX_STATES = 2**20


def n_states(features: CliqueFeatures) -> int:
    """Count the states, as a Python integer that cannot overflow."""
    total = 1
    for k in features.layout.n_values.tolist():
        total *= k
    return total


def all_states(features: CliqueFeatures) -> NDArray[np.int16]:
    """Every state, in lexicographic order."""
    if n_states(features) > MAX_STATES:
        raise ValueError(
            f"the space must have at most {MAX_STATES} states, got {n_states(features)}"
        )
    ranges = [range(k) for k in features.layout.n_values.tolist()]
    return np.array(list(product(*ranges)), dtype=np.int16)


def feature_table(
    features: CliqueFeatures, states: NDArray[np.integer] | None = None
) -> NDArray[np.int64]:
    """Return phi of every state: shape (n_states, n_features)."""
    rows = all_states(features) if states is None else states
    return np.array([features.features(state) for state in rows])


def best_state(features: CliqueFeatures, weights: NDArray[np.int64]) -> NDArray[np.int16]:
    """Return the state of highest score, the first one where several tie."""
    states = all_states(features)
    scores = np.zeros(len(states), dtype=np.asarray(weights).dtype)
    layout = features.layout
    for c in range(layout.n_cliques):
        members = layout.members[c]
        inside = members >= 0
        cells = (
            layout.offsets[c]
            + states[:, members[inside]].astype(np.intp) @ layout.strides[c, inside]
        )
        scores += weights[features.feature[cells]] * features.coefficient[cells]
    return states[int(np.argmax(scores))]
