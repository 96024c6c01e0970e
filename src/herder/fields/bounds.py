r"""Sharp bounds on what moments do not determine: a linear programme and its dual.

Moments rarely fix the quantity one asks for. Over all distributions that have the given
tables, an expectation E[f] fills an interval, whose ends are linear programmes over the
probabilities q(x) of all states:

.. math:: \min_q / \max_q \; \sum_x q(x) f(x)
          \quad\text{with}\quad q \ge 0, \qquad \sum_{x : x_\alpha = a} q(x) = p_\alpha(a)
          \;\;\text{for all cliques } \alpha \text{ and cells } a.

This is the *joint* programme, for small spaces only. For 0/1 columns and the number of
ones K, the *binomial* programme of [boros1989]_ has D + 1 unknowns, P(K = k), and keeps of
the moments only their sums over all sets of m columns, the binomial moments

.. math:: S_m = \sum_{i_1 < \dots < i_m} P(x_{i_1} = \dots = x_{i_m} = 1)
          = \sum_{k=0}^D \binom km P(K = k), \qquad m = 1, \dots, \text{order}.

Its bounds hold for any number of columns, are never tighter than the joint ones, and agree
with them when the distribution is exchangeable. For P(K > 0) and pairs they are the lower
bound of [dawson1967]_ and the upper bound :math:`S_1 - 2 S_2 / D` of [kwerel1975]_.

Any vector y yields a valid bound by weak duality, since q sums to one:

.. math:: \min_q \sum_x q(x) f(x) \;\ge\; \langle y, p \rangle + \min_x [f(x) - (A^T y)(x)].

We report this number for the y of the solver, so that a loose solver could widen a bound
but not make it false; the rows of A are scaled to a largest entry of one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import check_function, flag, of_kind, one_of, real_array
from herder.core.summary import Summarised, Summary, Table
from herder.data.variables import code_dtype
from herder.models.moments import Moments

__all__ = ["Bounds", "count_bounds", "expectation_bounds"]

#: Moments are first taken as they are. If no distribution has them, each probability (in
#: the binomial programme: the mean over all sets of m columns) may be off by this much.
WIDTH = 1e-9

#: Spaces larger than this are not enumerated: D = 14 with pairs takes half a minute.
MAX_STATES = 2**14

#: ``method="auto"`` takes the joint programme up to this many cliques times states:
#: a few seconds for D = 12 with pairs or D = 11 with triples.
AUTO_SIZE = 2**19

#: The tightest feasibility that HiGHS accepts.
SOLVER_TOL = 1e-10


@dataclass(frozen=True, slots=True)
class Bounds(Summarised):
    """Lower and upper bounds on expectations, each entry on its own.

    Parameters
    ----------
    lower, upper : ndarray of float64
        No distribution with the moments lies outside them (to about 1e-9).
    method : str
        ``"joint"`` or ``"binomial"``.
    sharp : bool
        Whether every single bound is attained by some distribution with all the given
        moments, so that the moments alone imply nothing tighter. Different entries may need
        different distributions. False for binomial bounds, which are sharp only given the
        sums of the moments.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    method: str
    sharp: bool

    def summary(self) -> Summary:
        """Return the bounds of each entry, and whether they are sharp."""
        sharp = "sharp" if self.sharp else "sharp only given the sums of the moments"
        table = entry_table({"lower bound": self.lower, "upper bound": self.upper})
        return Summary(f"Bounds given the moments, {self.method} programme: {sharp}", [table])


def entry_table(columns: Mapping[str, NDArray[np.float64]]) -> Table:
    """Return a table with a row for each entry of some arrays of equal length."""
    values = np.column_stack([np.ravel(column) for column in columns.values()])
    rows = [(k, *row) for k, row in enumerate(values.tolist())]
    return Table(("k", *columns), rows, ("", *[".4f"] * len(columns)))


def count_bounds(moments: Moments, *, tail: bool = False, method: str = "auto") -> Bounds:
    """Bound the distribution of the number of ones, given binary moments alone.

    Parameters
    ----------
    moments : Moments
        Moments of two-valued columns; the second label of each column counts as a one.
    tail : bool, default False
        Bound P(K > k) instead of P(K = k): entry 5 is then the probability that more than
        five things happen together.
    method : {"auto", "joint", "binomial"}, default "auto"
        Programme over all states (exact use of the moments, small D), over the counts (any
        D, uses the sums of the moments), or the first where it takes a few seconds.

    Returns
    -------
    Bounds
        Arrays of shape (D + 1,), for k = 0, ..., D.

    Raises
    ------
    ValueError
        If no distribution has these moments.

    Examples
    --------
    >>> from herder.models.moments import Moments
    >>> singles = Moments.from_data([[0, 1], [1, 1], [0, 0], [1, 1]], 1)
    >>> count_bounds(singles, tail=True).upper
    array([1. , 0.5, 0. ])
    """
    _require_exact(of_kind(moments, "moments", Moments, "Moments"))
    one_of(method, "method", ("auto", "joint", "binomial"))
    tail = flag(tail, "tail")
    if not moments.is_binary:
        got = f"alphabets of {sorted(set(moments.n_values))} values; see expectation_bounds"
        raise ParameterError("moments", "be of columns with two values each", got=got)
    # sums of the moments could hide contradictions; those within rounding are ignored
    known = [found for found in moments.contradictions() if found.kind != "stated"]
    if any(found.size > 10 * WIDTH for found in known):
        raise _inconsistent()
    width = moments.n_variables
    if method == "auto":
        small = 2**width <= MAX_STATES and len(moments.cliques) * 2**width <= AUTO_SIZE
        method = "joint" if small else "binomial"
    k = np.arange(width + 1)
    if method == "joint":
        states = _all_states(moments)
        ones, programme = states.sum(axis=1, dtype=np.intp), _joint_programme(moments, states)
    else:
        ones, programme = k, _binomial_programme(moments)
    values = ones[:, None] > k if tail else ones[:, None] == k
    lower, upper = _bound_all(programme, values.astype(float))
    return Bounds(lower, upper, method, method == "joint")


def expectation_bounds(
    moments: Moments, function: Callable[[NDArray[np.integer]], ArrayLike]
) -> Bounds:
    """Bound the expectation of any function of the state, given the moments alone.

    Parameters
    ----------
    moments : Moments
        Moments of columns with any alphabets, over at most ``MAX_STATES`` states in all.
    function : callable
        Takes an array of codes of shape (n_states, D) and returns one value for each state, or
        several: shape (n_states,) or (n_states, n_functions).

    Returns
    -------
    Bounds
        Arrays of shape () or (n_functions,), always sharp.

    Raises
    ------
    ValueError
        If no distribution has these moments, or if there are too many states.

    Examples
    --------
    >>> from herder.models.moments import Moments
    >>> singles = Moments.from_data([[0, 1], [1, 1], [0, 0], [1, 1]], 1)
    >>> bounds = expectation_bounds(singles, lambda x: x[:, 0] == x[:, 1])
    >>> float(bounds.lower), float(bounds.upper)
    (0.25, 0.75)
    """
    _require_exact(of_kind(moments, "moments", Moments, "Moments"))
    check_function(function, "function")
    states = _all_states(moments)
    rule = f"return one value or one row for each of {len(states)} states"
    values = real_array(function(states), "function", rule)
    if values.ndim not in (1, 2) or len(values) != len(states):
        raise ParameterError("function", rule, got=f"shape {values.shape}")
    if not np.isfinite(values).all():
        raise ParameterError("function", "return finite values", got="NaN or infinity")
    lower, upper = _bound_all(_joint_programme(moments, states), values.reshape(len(states), -1))
    shape = values.shape[1:]
    return Bounds(lower.reshape(shape), upper.reshape(shape), "joint", True)


class _Programme:
    """Distributions q with ``rows @ q = target``; the first row is the sum of q, one."""

    def __init__(self, rows: Any, target: NDArray[np.float64]) -> None:
        self.rows = rows
        self.target = target
        self.width = np.zeros(len(target))
        self.found: list[NDArray[np.float64]] = []
        if not np.isfinite(target).all():
            raise _inconsistent()
        self._solve(np.zeros(rows.shape[1]))

    def least(self, values: NDArray[np.float64]) -> float:
        """Return the least expectation of ``values``, which lie between 0 and 1."""
        # A known distribution that attains the trivial bound spares a programme.
        if values.max() == 0 or any((q[values > 0] == 0).all() for q in self.found):
            return 0.0
        y = self._solve(values)
        slack = float((values - self.rows.T @ y).min())
        bound = float(y @ self.target - np.abs(y) @ self.width) + slack
        return min(max(bound, 0.0), 1.0)

    def _solve(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return dual weights of the rows, and keep the distribution that was found."""
        result = self._run(values)
        if result.status == 2 and not self.width.any():
            self.width[1:] = WIDTH
            result = self._run(values)
        if result.status == 2:
            raise _inconsistent()
        if result.status != 0:
            raise RuntimeError(f"the solver failed: {result.message}")
        self.found.append(result.x)
        if not self.width.any():
            return result.eqlin.marginals
        upper, lower = np.split(result.ineqlin.marginals, 2)
        return np.concatenate([result.eqlin.marginals, upper - lower])

    def _run(self, values: NDArray[np.float64]) -> Any:
        from scipy.optimize import linprog
        from scipy.sparse import vstack

        if self.width.any():
            some, low, high = self.rows[1:], self.target - self.width, self.target + self.width
            constraints = {
                "A_ub": vstack([some, -some]),
                "b_ub": np.concatenate([high[1:], -low[1:]]),
                "A_eq": self.rows[:1],
                "b_eq": self.target[:1],
            }
        else:
            constraints = {"A_eq": self.rows, "b_eq": self.target}
        kinds = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
        options = dict.fromkeys(kinds, SOLVER_TOL)
        result: Any = None
        # Now and then the simplex method fails and the interior point method does not.
        for solver in ("highs-ds", "highs-ipm"):
            result = linprog(values, **constraints, method=solver, options=options)
            if result.status in (0, 2):
                break
        return result


def _require_exact(moments: Moments) -> None:
    if moments.rounding:
        got = f"counts rounded to multiples of {moments.rounding:g}"
        raise ParameterError("moments", "be exact, to imply bounds", got=got)


def _inconsistent() -> ValueError:
    got = f"tables that no distribution has within {WIDTH:g}; see Moments.contradictions()"
    return ParameterError("moments", "be consistent", got=got)


def _bound_all(
    programme: _Programme, values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bound the expectation of every column of ``values``."""
    low, high = values.min(axis=0), values.max(axis=0)
    span = high - low
    unit = (values - low) / np.where(span > 0, span, 1.0)
    ends = np.zeros((2, values.shape[1]))
    for j in np.flatnonzero(span):
        ends[0, j] = programme.least(unit[:, j])
        ends[1, j] = 1.0 - programme.least(1.0 - unit[:, j])
    # Where the moments fix the answer, rounding can swap the two ends.
    ends.sort(axis=0)
    return low + span * ends[0], low + span * ends[1]


def _all_states(moments: Moments) -> NDArray[np.integer]:
    """Return every state as a row of codes, in lexicographic order."""
    n_states = prod(moments.n_values)
    if n_states > MAX_STATES:
        rule = f"be over at most {MAX_STATES} states for the joint programme"
        got = f'{n_states}; for counts of ones take method="binomial"'
        raise ParameterError("moments", rule, got=got)
    grid = np.indices(moments.n_values).reshape(moments.n_variables, -1)
    return grid.T.astype(code_dtype(moments.variables))


def _joint_programme(moments: Moments, states: NDArray[np.integer]) -> _Programme:
    """Constrain the states by one row for each set of columns and codes other than 0.

    Together with the sum these rows span the same space as all cells of all tables, without
    their linear dependences.
    """
    from scipy.sparse import csr_array

    n_values = moments.n_values
    row_parts, column_parts, targets = [], [], []
    start = 0
    for columns, cells in _marginals(moments).items():
        codes = states[:, columns].astype(np.intp)
        inside = np.flatnonzero((codes > 0).all(axis=1))
        cell = np.zeros(len(inside), dtype=np.intp)
        for m, i in enumerate(columns):
            cell = cell * (n_values[i] - 1) + codes[inside, m] - 1
        row_parts.append(start + cell)
        column_parts.append(inside)
        targets.append(cells)
        start += len(cells)
    row, column = np.concatenate(row_parts), np.concatenate(column_parts)
    rows = csr_array((np.ones(len(row)), (row, column)), shape=(start, len(states)))
    return _Programme(rows, np.concatenate(targets))


def _marginals(moments: Moments) -> dict[tuple[int, ...], NDArray[np.float64]]:
    """Return probabilities of the codes other than 0 for each set in a clique, () first."""
    sets: dict[tuple[int, ...], NDArray[np.float64]] = {(): np.ones(1)}
    for c, clique in enumerate(moments.cliques):
        # A constant column has no code but 0, and rows over it are empty.
        table = moments.table(clique) / moments.totals[c]
        for size in range(len(clique) + 1):
            for kept in combinations(range(len(clique)), size):
                summed = table.sum(axis=tuple(set(range(len(clique))) - set(kept)))
                cells = summed[(slice(1, None),) * size].ravel()
                known = sets.setdefault(tuple(clique[m] for m in kept), cells)
                # Not "> 2 * WIDTH": NaN must fail too.
                if not (np.abs(known - cells) <= 2 * WIDTH).all():
                    raise _inconsistent()
    return sets


def _binomial_programme(moments: Moments) -> _Programme:
    """Constrain P(K = k) by the binomial moments, divided by the number of sets."""
    from scipy.sparse import csr_array

    width = moments.n_variables
    k = np.arange(width + 1.0)
    rows, targets = [np.ones(width + 1)], [1.0]
    for size in range(1, moments.order + 1):
        together = _mean_of_ones(moments, size)
        if together is None:
            break
        # binom(k, m) / binom(D, m), by a product that does not overflow
        rows.append(rows[-1] * np.maximum(k - (size - 1), 0) / (width - (size - 1)))
        targets.append(together)
    return _Programme(csr_array(np.array(rows)), np.array(targets))


def _mean_of_ones(moments: Moments, size: int) -> float | None:
    """Return the mean of P(all ones) over all sets of ``size`` columns; None if not known."""
    wanted = comb(moments.n_variables, size)
    lengths = np.array([len(clique) for clique in moments.cliques])
    exact = lengths == size
    if exact.sum() == wanted:
        last = moments.layout.offsets[1:][exact] - 1
        return float((moments.counts[last] / moments.totals[exact]).mean())
    if sum(comb(int(length), size) for length in lengths) < wanted:
        return None
    known: dict[tuple[int, ...], float] = {}
    for c in np.flatnonzero(lengths >= size):
        clique = moments.cliques[c]
        table = moments.table(clique) / moments.totals[c]
        for kept in combinations(range(len(clique)), size):
            ones = tuple(1 if m in kept else slice(None) for m in range(len(clique)))
            known.setdefault(tuple(clique[m] for m in kept), float(table[ones].sum()))
    return float(np.mean(list(known.values()))) if len(known) == wanted else None
