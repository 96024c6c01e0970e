r"""Herding of marginals that may contradict each other.

.. math:: s_t = \arg\max_x \langle w, \phi(x) \rangle, \qquad
          w \leftarrow w + \eta \, (\bar\phi - \phi(s_t)),

with features :math:`\phi` of patches of sites (`herder.models.marginals`). If no distribution
has the moments :math:`\bar\phi`, the weights grow without end, but the averages of
:math:`\phi(s_t)` go, at rate 1/T, to the moments of a distribution that minimise
:math:`\sum_k \eta_k (\phi_k - \bar\phi_k)^2` ([chen2014]_, proposition 3.4).

Weights are whole numbers: step counts times targets less what fired, so that nothing is lost
however large they become.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import function_or_none, one_of, positive_int
from herder.core.lanes import Progress
from herder.core.summary import Fact, Facts, Picture, Section, Summarised, Summary, Table, counted
from herder.fields.clique import CliqueHerd
from herder.fields.marginals_cut import CutHerd
from herder.fields.system import Pool, Setup
from herder.models._moments_jit import count_cells
from herder.models.features import CliqueFeatures
from herder.models.marginals import MOST_STEPS, Given, read_marginals

__all__ = ["MarginalHerding", "herd_marginals"]

#: Numbers of states that are held at a time, and looks at the distance on the way.
MOST_HELD, N_LOOKS = 2**22, 40

#: Steps times distance is bounded for consistent marginals. It counts as growing when it is this
#: many times its largest value in the first tenth of the steps.
GROWTH = 3.0

#: Patches that a summary lists.
N_LISTED = 8


@dataclass(frozen=True, eq=False)
class MarginalHerding(Summarised):
    """Averages of a herd of marginals.

    Parameters
    ----------
    tables : dict
        Average tables of the states, by the keys that were given: one that sums to 1 for each
        patch, of shape (n_patches, n_states, ..., n_states); of a table by names in the form it
        was given.
    marginals : ndarray of shape (n_sites, n_states)
        Average of each site at each of its states; 0 where it has fewer than others.
    distance : float
        Root of the sum, over all that is matched, of squared differences between averages and
        what was given. Without rates it goes to the distance to the nearest consistent marginals.
    distances : dict
        The same for each patch, by key.
    path : ndarray of shape (n_looks, 2)
        Steps, and the distance after them.
    contradictory : bool
        Whether the marginals contradict each other as far as these steps show: steps times
        distance, which is bounded for consistent marginals, has grown. False is no proof that
        they do not.
    satisfied : float
        Share of the steps that kept the inequality <w, phi(s)> >= <w, target>. It fails where the
        given marginals contradict each other, or the maximiser missed the best state.
    state : ndarray of shape (n_sites,)
        The last state.
    """

    tables: dict[Any, Any]
    marginals: NDArray[np.float64]
    distance: float
    distances: dict[Any, NDArray[np.float64]]
    path: NDArray[np.float64]
    contradictory: bool
    satisfied: float
    state: NDArray[np.int16]

    def __repr__(self) -> str:
        n = counted(len(self.marginals), "site")
        return f"MarginalHerding({n}, {self._n_steps:,} steps, distance {self.distance:.3g})"

    @property
    def _n_steps(self) -> int:
        return int(self.path[-1, 0])

    def summary(self) -> Summary:
        """Return how far the averages are from what was given, and where most."""
        half = float(np.interp(self._n_steps / 2, *self.path.T))
        facts = [
            Fact("distance", self.distance, ".3g", "of the averages to the given marginals"),
            Fact("half way", half, ".3g", "the same after half of the steps"),
            Fact("satisfied", self.satisfied, ".1%", "of the steps, <w, phi(s)> >= <w, target>"),
        ]
        verdict = "no contradiction shows"
        if self.contradictory:
            verdict = "the marginals contradict each other"
        rows = [
            (_title(key, place, own), float(own[place]))
            for key, own in self.distances.items()
            for place in np.argsort(-own, kind="stable")[:N_LISTED].tolist()
        ]
        rows = sorted(rows, key=lambda row: -row[1])[:N_LISTED]
        table = Table(["marginal", "distance"], rows, ["", ".3g"], "Largest distances")
        size = f"{counted(len(self.marginals), 'site')}, {counted(self._n_steps, 'step')}"
        title = f"{size}: {verdict}"
        picture = Picture("distance", self, "Distance to the given marginals by step.")
        return Summary(title, [Facts(facts), table], [Section("Convergence", [picture])])


def _title(key: Any, place: int, own: NDArray[np.float64]) -> str:
    name = ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)
    return name if len(own) == 1 else f"{name} {place}"


def herd_marginals(
    marginals: object,
    n_steps: int = 1000,
    *,
    rates: object = None,
    maximiser: str = "ascent",
    progress: Progress | None = None,
) -> MarginalHerding:
    """Return averages that are as near to given marginals as those of any distribution.

    Parameters
    ----------
    marginals : mapping
        Tables by the names of their sites: a key is a name, or a tuple of names, a value an array
        or frame with an axis for each, of probabilities or counts; the rows and columns of frames
        are labels of states. For many sites: `PatchTables` by any key.
    n_steps : int, default 1000
        Number of steps; the averages are those of their states.
    rates : mapping, optional
        How much a marginal counts, by key: numbers above 0, or an array with one for each patch.
        Default: 1.
    maximiser : {"ascent", "cut"}, default "ascent"
        How states are found: by coordinate ascent from the last one, or by graph cuts and
        alpha-expansion, for patches of one or two sites (extra ``cut``).
    progress : callable, optional
        Called with the share done, and a word on what is done.

    Examples
    --------
    Two surveys do not agree on how many smoke:

    >>> from herder import herd_marginals
    >>> one, other = [[30, 20], [35, 15]], [[55, 20], [10, 15]]
    >>> reached = herd_marginals({("sex", "smoker"): one, ("smoker", "drinker"): other})
    >>> reached.tables["smoker", "drinker"].round(2)
    array([[0.52, 0.18],
           [0.12, 0.18]])
    """
    n_steps = positive_int(n_steps, "n_steps")
    if n_steps > MOST_STEPS:
        raise ParameterError("n_steps", f"be at most {MOST_STEPS:,}", n_steps)
    function_or_none(progress, "progress")
    given = read_marginals(marginals, rates)
    features = given.features
    if one_of(maximiser, "maximiser", ("ascent", "cut")) == "cut":
        run: CliqueHerd | CutHerd = CutHerd(features, given.rates)
    else:
        run = CliqueHerd(features, _start(features), rates=given.rates)
    looks = np.unique(np.rint(np.geomspace(1, n_steps, N_LOOKS))).astype(int)
    most = max(1, MOST_HELD // features.n_variables)
    cells, done, path = np.zeros(len(features.feature)), 0, []
    totals = np.zeros((features.n_variables, int(features.layout.n_values.max())))
    for look in looks.tolist():
        while done < look:
            states = np.empty((min(most, look - done), features.n_variables), np.int16)
            run.run(states)
            _count(features, states, cells, totals)
            done += len(states)
        path.append((look, float(np.sqrt(_squares(given, cells / done).sum()))))
        if progress is not None:
            progress(done / n_steps, "herding")
    averages, offsets = cells / n_steps, features.layout.offsets
    each = np.sqrt(np.bincount(given.patch, _squares(given, averages)))
    tables, distances, first = {}, {}, 0
    for key, own in given.patches.items():
        shape, stop = features.layout.shape(first), first + len(own)
        part = averages[offsets[first] : offsets[stop]].reshape(len(own), *shape)
        tables[key], distances[key] = given.in_form(key, part), each[first:stop]
        first = stop
    satisfied = 1 - run.step_counts.violations / n_steps
    steps, way = np.array(path).T
    early = (steps * way)[steps <= max(n_steps // 10, 1)].max()
    rounding = np.sqrt(features.n_features) / features.units.total
    contradictory = bool(way[-1] > rounding and n_steps * way[-1] > GROWTH * early)
    marginals_ = totals / n_steps
    return MarginalHerding(
        tables,
        marginals_,
        path[-1][1],
        distances,
        np.array(path),
        contradictory,
        satisfied,
        run.state,
    )


def _start(features: CliqueFeatures) -> Setup:
    """Start from the targets as weights, and all sites in their first state."""
    width = features.n_variables
    state, none = np.zeros(width, np.int16), Pool(np.zeros((0, width), np.int16))
    return Setup(features.start_weights(), state, 0, none, np.arange(width))


def _count(
    features: CliqueFeatures,
    states: NDArray[np.int16],
    cells: NDArray[np.float64],
    totals: NDArray[np.float64],
) -> None:
    """Add states to the cells of their patches, and to the states of each site."""
    layout, n = features.layout, len(states)
    members, strides, offsets = layout.members, layout.strides, layout.offsets
    columns = np.ascontiguousarray(states.T)
    count_cells(columns, members, strides, offsets, np.empty(0), cells, np.empty(n, np.intp))
    for value in range(totals.shape[1]):
        totals[:, value] += (columns == value).sum(axis=1)


def _squares(given: Given, cells: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared difference of each feature."""
    features = given.features
    reached = np.bincount(features.feature, features.coefficient * cells, features.n_features)
    # what was rounded to whole units is what is herded
    return (reached - features.target / features.units.total) ** 2
