"""Exhaustive search over all states: exact, for small spaces only."""

import math

import numpy as np
from numpy.typing import NDArray

from herder.models.features import CliqueFeatures

__all__ = ["MAX_STATES", "all_states", "best_state", "feature_table", "n_states"]

#: Spaces larger than this are not enumerated.
MAX_STATES = 2**20


def n_states(features: CliqueFeatures) -> int:
    """Count the states, as a Python integer that cannot overflow."""
    return math.prod(features.layout.n_values.tolist())


def all_states(features: CliqueFeatures) -> NDArray[np.int16]:
    """Return every state, in lexicographic order."""
    found, n_values = n_states(features), features.layout.n_values.tolist()
    if found > MAX_STATES:
        raise ValueError(f"the space must have at most {MAX_STATES} states, got {found}")
    return np.indices(n_values).reshape(len(n_values), -1).T.astype(np.int16, order="C")


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
        # members are padded, with strides of zero
        local = states[:, layout.members[c]].astype(np.intp) @ layout.strides[c]
        cells = layout.offsets[c] + local
        scores += weights[features.feature[cells]] * features.coefficient[cells]
    return states[int(np.argmax(scores))]
