r"""A live moment herd: it advances, and has weights, a trace and a position.

Herding moments is the loop of [welling2009]_, equations 8 and 9,

.. math:: s_t = \arg\max_x \langle w, \phi(x) \rangle, \qquad
          w \leftarrow w + \bar\phi - \phi(s_t),

with coordinate ascent from the last state in place of the argmax (section 5 there). The
average of :math:`\phi(s_t)` over T steps misses the target by :math:`(w_T - w_0) / T`, so the
weights determine the moment error exactly, and bounded weights mean an error of order 1/T.
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from time import perf_counter
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import non_negative_int, of_kind, one_of, plain_array, real_array
from herder.core.plain import LARGEST_COUNT
from herder.core.units import largest
from herder.data.decoding import read_codes
from herder.data.variables import code_dtype
from herder.fields import atom, binary
from herder.fields.atom import AtomHerd
from herder.fields.binary import BinaryHerd
from herder.fields.clique import CliqueHerd
from herder.fields.engine import Engine
from herder.fields.position import Position
from herder.fields.system import Pool, Setup, StepCounts
from herder.models.features import CliqueFeatures
from herder.models.graph import finite_array
from herder.models.moments import Moments

__all__ = ["RESTARTS", "HerdSettings", "MomentHerd", "Position", "Trace", "check_codes"]

RESTARTS = ("auto", "rows", "visited", "none")

#: Visited states that are kept to restart from.
MEMORY = 128

#: Per-feature rates are integers in units of 1 / RATE_UNITS, so that weights stay integers.
RATE_UNITS = 1024

#: Start weights beyond this are a mistake, and would cost exactness.
MAX_START = 2**40

#: Weights that a herd continues from: whole numbers are exact in float64 up to this one.
MAX_WEIGHT = 2**53

#: Steps between two looks at the clock, at most.
STRIDE = 65_536

#: Seconds between two reports of progress, about.
BREATH = 0.1

#: States of a burn-in that are in memory at a time.
SKIPPED = 16_384

#: More steps are a mistake, and would not be counted exactly.
MAX_STEPS = 2**53


class HerdSettings(TypedDict, total=False):
    """Settings of a herd, which `MomentHerd` documents."""

    encoding: str
    restarts: str
    rows: ArrayLike | None
    scan: ArrayLike | None
    rates: ArrayLike | None
    start_weights: ArrayLike | None
    max_sweeps: int


@dataclass(frozen=True, eq=False)
class Trace:
    """The course of a run at doubling step counts.

    Parameters
    ----------
    t : ndarray of intp
        Steps since the start of the count (after burn-in).
    error : ndarray of float64
        Largest error of a cell of any table that is matched, after t steps.
    rms : ndarray of float64
        Root mean square of the errors of all cells.
    norm : ndarray of float64
        Euclidean norm of the weights.
    """

    t: NDArray[np.intp]
    error: NDArray[np.float64]
    rms: NDArray[np.float64]
    norm: NDArray[np.float64]


class MomentHerd:
    """A herd that matches moments; `advance` returns the next states.

    Parameters
    ----------
    moments : Moments
        What to match.
    encoding : {"indicator", "01", "+-1"}, default "indicator"
        Features (see `CliqueFeatures`).
    restarts : {"auto", "rows", "visited", "none"}, default "auto"
        Where an ascent starts again when it breaks the PCT inequality: at data rows, at
        states visited before, or not at all; "auto" takes rows where there are some.
    rows : array-like of int of shape (n, n_variables), optional
        Distinct data rows, as codes.
    scan : array-like of int, optional
        The order in which the ascent visits the variables.
    rates : array-like of shape (n_features,), optional
        Rate of each feature, from 1/1024 to 1024, rounded to 1/1024; ratios matter.
    start_weights : array-like of int of shape (n_features,), optional
        First weights, in units of 1/N, before rates.
    max_sweeps : int, default 0
        Limit on the sweeps of one ascent; 0 for none: until nothing improves.
    resume : Position, optional
        Continue from there: n then m steps equal n + m steps.
    """

    def __init__(
        self,
        moments: Moments,
        *,
        encoding: str = "indicator",
        restarts: str = "auto",
        rows: ArrayLike | None = None,
        scan: ArrayLike | None = None,
        rates: ArrayLike | None = None,
        start_weights: ArrayLike | None = None,
        max_sweeps: int = 0,
        resume: Position | None = None,
    ) -> None:
        self.moments = of_kind(moments, "moments", Moments, "Moments")
        self.features = CliqueFeatures.of(moments, encoding)
        start = self.features.start_weights()
        if start_weights is not None:
            start = _as_start(start_weights, self.features)
        known = None if rows is None else check_codes(rows, moments)
        self.restarts = _restarts(restarts, known)
        self.rates = _as_rates(rates, self.features.n_features)
        if self.rates is not None:
            start = start * self.rates
        nothing = np.zeros((1, moments.n_variables), dtype=np.int16)
        self._origin = self._digest()
        position = Position(0, start, nothing[0], nothing[:0], self._origin)
        if resume is not None:
            position = self._checked(resume)
        pool, order = self._pool(known, position.visited), _as_scan(scan, moments.n_variables)
        limit = min(non_negative_int(max_sweeps, "max_sweeps"), LARGEST_COUNT)
        setup = Setup(position.weights, position.state, position.t, pool, order, limit)
        plain = self.rates is None
        if plain and binary.serves(self.features, moments.is_complete, setup):
            self._engine: Engine = BinaryHerd(self.features, setup)
        elif plain and atom.serves(self.features):
            self._engine = AtomHerd(self.features, setup)
        else:
            self._engine = CliqueHerd(self.features, setup, rates=self.rates)
        self.t = position.t
        self._dtype = code_dtype(moments.variables)
        self._stride = 256
        self.reset_count()

    def reset_count(self) -> None:
        """Begin to count here: trace and step counts leave out all steps before."""
        self._since = self.t
        self._base = self._engine.weights
        self._counts_before = self._engine.step_counts
        self._points: list[tuple[int, float, float, float]] = []

    def advance(
        self, n_steps: int, *, on_progress: Callable[["MomentHerd"], None] | None = None
    ) -> NDArray[np.integer]:
        """Return the next ``n_steps`` states, as codes of shape (n_steps, n_variables).

        Parameters
        ----------
        n_steps : int
            How many.
        on_progress : callable, optional
            Called with the herd about ten times a second.
        """
        n_steps = non_negative_int(n_steps, "n_steps")
        states = np.empty((n_steps, self.moments.n_variables), dtype=self._dtype)
        done = 0
        while done < n_steps:
            counted = self.n_counted
            to_point = (1 << counted.bit_length()) - counted  # up to the next power of two
            stride = STRIDE if on_progress is None else self._stride
            stop = min(done + to_point, done + stride, n_steps)
            began = perf_counter()
            self._engine.run(states[done:stop])
            took = perf_counter() - began
            self.t += stop - done
            done = stop
            if self.n_counted & (self.n_counted - 1) == 0:
                self._points.append(self._point())
            if on_progress is not None:
                if took > 2 * BREATH:
                    self._stride = max(self._stride // 2, 1)
                elif took < BREATH / 2:
                    self._stride = min(2 * self._stride, STRIDE)
                on_progress(self)
        return states

    def skip(
        self, n_steps: int, *, on_progress: Callable[["MomentHerd"], None] | None = None
    ) -> None:
        """Advance without keeping the states, and begin to count after them."""
        if n_steps > MAX_STEPS:
            raise ParameterError("burn_in", "be at most 2**53", n_steps)
        for done in range(0, n_steps, SKIPPED):
            self.advance(min(SKIPPED, n_steps - done), on_progress=on_progress)
        self.reset_count()

    @property
    def weights(self) -> NDArray[np.int64]:
        """Current weights, in units of 1/N (times the rates in their smallest whole ratio)."""
        return self._engine.weights

    @property
    def position(self) -> Position:
        """The current position, to continue from later."""
        engine = self._engine
        kept = engine.visited if self.restarts == "visited" else engine.visited[:0]
        return Position(self.t, engine.weights, engine.state, kept, self._origin)

    @property
    def n_counted(self) -> int:
        """Steps since the count began."""
        return self.t - self._since

    @property
    def step_counts(self) -> StepCounts:
        """Flips, restarts and violations since the count began."""
        now, then = self._engine.step_counts, self._counts_before
        return StepCounts(*(a - b for a, b in zip(now, then, strict=True)))

    @property
    def trace(self) -> Trace:
        """The course of the run since the count began, the present included."""
        points = list(self._points)
        if self.n_counted and (not points or points[-1][0] != self.n_counted):
            points.append(self._point())
        columns = np.array(points, dtype=float).reshape(-1, 4).T
        return Trace(columns[0].astype(np.intp), columns[1], columns[2], columns[3])

    def errors(self) -> NDArray[np.float64]:
        """Return target minus average of each feature over the counted steps."""
        gap = (self._engine.weights - self._base).astype(float)
        if self.rates is not None:
            gap /= self.rates
        return gap / (self.features.units.total * max(self.n_counted, 1))

    def cell_errors(self) -> NDArray[np.float64]:
        """Return given minus herded share of every cell of every table that is matched.

        Their largest is the moment error, whatever the encoding.
        """
        return self.features.cell_errors(self.errors())

    @property
    def last_error(self) -> float:
        """The moment error when the number of counted steps was last a power of two."""
        return self._points[-1][1] if self._points else 0.0

    def _point(self) -> tuple[int, float, float, float]:
        errors = self.cell_errors()
        norm = float(np.linalg.norm(self._engine.weights.astype(float)))
        largest = float(np.abs(errors).max(initial=0.0))
        rms = float(np.sqrt(np.mean(errors**2)))
        return self.n_counted, largest, rms, norm / self.features.units.total

    def _digest(self) -> str:
        """Return a digest of the moments, encoding and rates that a position belongs to."""
        features = self.features
        parts = (features.layout.n_values, features.layout.members, features.target)
        found = sha256(f"{features.units.total} {features.encoding}".encode())
        for part in (*parts, np.zeros(0) if self.rates is None else self.rates):
            found.update(np.ascontiguousarray(part).tobytes())
        return found.hexdigest()

    def _checked(self, position: Position) -> Position:
        """Return a position of this herd that compiled code can use."""
        of_kind(position, "resume", Position, "a Position")
        if position.origin != self._origin:
            rule = "come from the same moments, encoding and rates"
            raise ParameterError(
                "resume", rule, got=f"one of {np.size(position.weights)} features"
            )
        n, weights = self.features.n_features, np.asarray(position.weights)
        if weights.shape != (n,) or weights.dtype != np.int64:
            found = f"shape {weights.shape} of {weights.dtype}"
            raise ParameterError("resume", f"hold {n} weights of int64", got=found)
        limit = MAX_WEIGHT if self.rates is None else 2**61 // self.features.layout.n_cliques
        if largest(weights) > limit:
            raise ParameterError("resume", f"hold weights within {limit}", largest(weights))
        if type(position.t) is not int or not 0 <= position.t <= LARGEST_COUNT:
            raise ParameterError("resume", "hold the number of steps", position.t)
        if np.shape(position.visited)[:1] > (MEMORY,):
            found = f"{len(position.visited)}"
            raise ParameterError("resume", f"hold at most {MEMORY} states visited", got=found)
        for codes in (np.asarray(position.state)[None], position.visited):
            check_codes(codes, self.moments, "resume")
        return position

    def _pool(self, rows: NDArray[np.integer] | None, visited: NDArray[np.integer]) -> Pool:
        width = self.moments.n_variables
        if self.restarts == "rows" and rows is not None:
            return Pool(rows)
        if self.restarts == "visited":
            return Pool(visited.reshape(-1, width), visited=True, size=MEMORY)
        return Pool(np.zeros((0, width), dtype=np.int16))


def _restarts(restarts: str, rows: NDArray[np.integer] | None) -> str:
    one_of(restarts, "restarts", RESTARTS)
    if restarts == "auto":
        return "visited" if rows is None else "rows"
    if restarts == "rows" and rows is None:
        rule = "be 'auto', 'visited' or 'none' without data rows"
        raise ParameterError("restarts", rule, restarts)
    return restarts


def _as_scan(scan: ArrayLike | None, width: int) -> NDArray[np.intp]:
    if scan is None:
        return np.arange(width)
    order = finite_array(scan, "scan")
    is_whole = np.asarray(scan).dtype.kind in "iu" and order.ndim == 1
    if not is_whole or not np.array_equal(np.sort(order), np.arange(width)):
        raise ParameterError("scan", f"be a permutation of 0 ... {width - 1}", scan)
    return order.astype(np.intp)


def _as_start(start_weights: ArrayLike, features: CliqueFeatures) -> NDArray[np.int64]:
    start = plain_array(start_weights, "start_weights", "be integers")
    if start.shape != (features.n_features,) or start.dtype.kind not in "iu":
        rule = f"be {features.n_features} integers in units of 1/{features.units.total}"
        raise ParameterError("start_weights", rule, got=f"shape {start.shape} of {start.dtype}")
    if len(start) and max(int(start.max()), -int(start.min())) > MAX_START:
        raise ParameterError("start_weights", "lie within 2^40", np.abs(start).max())
    return start.astype(np.int64)


def _as_rates(rates: ArrayLike | None, n_features: int) -> NDArray[np.int64] | None:
    if rates is None:
        return None
    values = real_array(rates, "rates")
    if values.shape != (n_features,):
        raise ParameterError("rates", f"have shape ({n_features},)", values.shape)
    wrong = ~((values >= 1 / RATE_UNITS) & (values <= RATE_UNITS))
    if wrong.any():
        raise ParameterError("rates", f"lie between 1/{RATE_UNITS} and 1024", values[wrong][0])
    units = np.rint(values * RATE_UNITS).astype(np.int64)
    return units // np.gcd.reduce(units)  # only ratios matter


def check_codes(rows: ArrayLike, moments: Moments, name: str = "rows") -> NDArray[np.integer]:
    """Return rows of codes, which must be codes of the moments' values."""
    return read_codes(rows, moments.variables, name, "the moments' values")
