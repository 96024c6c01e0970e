"""The herd of marginals with graph cuts as maximiser, for patches of one or two sites."""

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.fields.system import StepCounts
from herder.maximise.cut import maximise_by_cut
from herder.models.features import CliqueFeatures

__all__ = ["CutHerd"]


class CutHerd:
    """Live state of a herd whose states are found by `maximise_by_cut` from the last one.

    Parameters
    ----------
    features : CliqueFeatures
        Of single sites and pairs, all with one number of states.
    rates : ndarray of int64 of shape (n_features,)
        Rate of each feature.
    """

    def __init__(self, features: CliqueFeatures, rates: NDArray[np.int64]) -> None:
        layout = features.layout
        sizes = (layout.members >= 0).sum(axis=1)
        if sizes.max() > 2 or np.ptp(layout.n_values):
            rule = "be 'ascent' unless patches have one or two sites, all of as many states"
            raise ParameterError("maximiser", rule, "cut")
        k = int(layout.n_values[0])
        self._features, self._rates = features, rates
        self._single, self._pair = sizes == 1, sizes == 2
        self._site = layout.members[self._single, 0]
        self._edges = layout.members[self._pair]
        self._cells = [
            layout.offsets[:-1][own][:, None] + np.arange(size)
            for own, size in ((self._single, k), (self._pair, k * k))
        ]
        self._k = k
        self.weights = features.start_weights()
        self.state = np.zeros(features.n_variables, np.int16)
        self.step_counts = StepCounts()

    def run(self, states: NDArray[np.int16]) -> None:
        """Continue for ``len(states)`` steps and fill ``states``."""
        features, total = self._features, self._features.units.total
        violations = self.step_counts.violations
        for place in range(len(states)):
            self.state = states[place] = self._maximise()
            phi = features.features(self.state)
            residual = features.target - total * phi
            violations += float(self.weights.astype(float) @ residual) > 0
            self.weights += self._rates * residual
        self.step_counts = StepCounts(violations=int(violations))

    def _maximise(self) -> NDArray[np.int16]:
        features = self._features
        cells = (self.weights[features.feature] * features.coefficient) / features.units.total
        single, pair = (cells[own] for own in self._cells)
        fields = np.zeros((features.n_variables, self._k))
        np.add.at(fields, self._site, single)
        tables = pair.reshape(-1, self._k, self._k)
        return maximise_by_cut(fields, self._edges, tables, self.state).astype(np.int16)
