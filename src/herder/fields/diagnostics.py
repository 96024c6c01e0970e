"""What a moment herd reached, and whether to trust it."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from herder._deprecated import renamed_attribute
from herder.core.diagnostics import Diagnosis, explain_growth, fit_rate, growth
from herder.data.variables import Codes
from herder.fields.live import MomentHerd, Trace
from herder.maximise.coordinate import ascend
from herder.maximise.exhaustive import best_state, n_states

__all__ = ["MomentDiagnostics", "RowIndex", "moment_diagnostics"]

#: Spaces up to this many states are searched exhaustively to tell why weights grow.
EXHAUSTIVE_STATES = 2**16

#: A moment error that falls more slowly than this power of t has not begun to fall.
SLOW_RATE = -0.3

#: Rows hashed at a time.
BLOCK = 65_536


@dataclass(frozen=True)
class MomentDiagnostics:
    """Moment error, rate, weight norm, restarts and verdict of a run.

    Parameters
    ----------
    n_steps : int
        States counted.
    exact : bool
        Whether the moments were herded as the counts they are; else they were rounded to
        multiples of ``1 / total``.
    total : int
        The unit: N for counts, 2^24 otherwise.
    moment_error : float
        Largest difference between the moment of a feature and its average over the states.
    moment_error_rms : float
        Root mean square of the differences.
    worst : tuple of str
        Columns of the worst moment.
    rate : float
        Fitted exponent of the moment error over the last half of the doublings; near -1 when
        all is well.
    trace : Trace
        Error and weight norm at doubling step counts.
    restarts : int
        Searches that had to start again.
    violations : int
        Steps that broke the PCT inequality all the same.
    growth : Diagnosis
        Whether the weights stay bounded, and if not, why.
    distance : float
        Euclidean distance between the moments and their averages, the distance to the
        nearest consistent moments when ``growth`` says that they contradict each other.
    contradictions : tuple of str
        What no table could have among the given moments, worst first.
    copied : float or None
        Share of the states that equal a data row.
    duplicate_share : float or None
        Share of the data rows that equal another data row: what chance gives.
    """

    n_steps: int
    exact: bool
    total: int
    moment_error: float
    moment_error_rms: float
    worst: tuple[str, ...]
    rate: float
    trace: Trace
    restarts: int
    violations: int
    growth: Diagnosis
    distance: float
    contradictions: tuple[str, ...] = ()
    copied: float | None = None
    duplicate_share: float | None = None

    twins = renamed_attribute("twins", "duplicate_share")

    @property
    def copies_stand_out(self) -> bool:
        """Whether more states copy a data row than data rows copy each other, by far."""
        if self.copied is None or self.duplicate_share is None:
            return False
        return self.copied > 0.01 and self.copied > 3 * self.duplicate_share

    def __str__(self) -> str:
        """Give a summary of a few lines."""
        unit = f"counts of {self.total} rows" if self.exact else f"rounded to 1/{self.total}"
        worst = f" ({', '.join(self.worst)})" if self.moment_error else ""
        pace = "" if np.isnan(self.rate) else f", falling like t^{self.rate:.2f}"
        if self.rate > SLOW_RATE:
            pace = f", hardly falling yet (t^{self.rate:.2f}): more states are needed"
        lines = [
            f"{self.n_steps} states; moments: {unit}",
            f"moment error: at most {self.moment_error:.2e}{worst}{pace}",
            f"searches started again: {self.restarts}; PCT violations: {self.violations}",
            f"weights: {self.growth.verdict} ({self.growth.reason})",
        ]
        if self.contradictions:
            lines.append(
                f"contradictions: {len(self.contradictions)}, the worst: {self.contradictions[0]}"
            )
        if self.growth.verdict != "bounded":
            lines.append(f"distance from the given moments: {self.distance:.2e}")
        if self.copied is not None:
            lines.append(
                f"states that equal a data row: {self.copied:.2%} "
                f"(data rows that equal another one: {self.duplicate_share:.2%})"
            )
        if self.copies_stand_out:
            lines.append(
                "warning: far more states copy a data row than chance explains; the counts "
                "single rows out, do not publish these states as anonymous"
            )
        return "\n".join(lines)


def moment_diagnostics(
    live: MomentHerd,
    samples: NDArray[np.integer] | None,
    *,
    index: "RowIndex | None" = None,
) -> MomentDiagnostics:
    """Sum up the counted steps of a live herd."""
    trace = live.trace
    errors = live.errors()
    features = live.features
    at = int(np.argmax(np.abs(errors)))
    cell = int(np.argmax(features.feature == at))
    clique = int(np.searchsorted(features.layout.offsets, cell, side="right")) - 1
    late = trace.t >= max(np.sqrt(trace.t[-1]), 1) if len(trace.t) else trace.t > 0
    usable = late & (trace.error > 0)
    rate = fit_rate(trace.t[usable], trace.error[usable]).slope if usable.sum() > 1 else np.nan
    tally = live.tally
    copied = None if index is None or samples is None else index.share(samples)
    return MomentDiagnostics(
        n_steps=live.n_counted,
        exact=features.units.exact,
        total=features.units.total,
        moment_error=float(np.abs(errors[at])),
        moment_error_rms=float(np.sqrt(np.mean(errors**2))),
        worst=tuple(live.moments.names[i] for i in live.moments.cliques[clique]),
        rate=float(rate),
        trace=trace,
        restarts=tally.restarts,
        violations=tally.violations,
        growth=_explain(live, trace),
        distance=float(np.linalg.norm(errors)),
        contradictions=tuple(str(found) for found in live.moments.contradictions()),
        copied=copied,
        duplicate_share=None if index is None else index.duplicate_share,
    )


def _explain(live: MomentHerd, trace: Trace) -> Diagnosis:
    # two statements of one count were averaged; what matters here is whether the means agree
    impossible = [found for found in live.moments.contradictions() if found.kind != "stated"]
    if impossible:
        distance = float(np.linalg.norm(live.errors()))
        return Diagnosis("inconsistent moments", str(impossible[0]), distance)
    if live.tally.violations == 0:
        return Diagnosis("bounded", "the PCT inequality held at every step")
    if len(trace.t) < 3:
        return Diagnosis("undecided", "too few steps to tell")
    # one weight that runs away hides in the norm of many: look at the largest as well
    paths = growth(trace.t, trace.norm), growth(trace.t, trace.t * trace.error)
    found = max(paths, key=lambda path: path.exponent)
    if not found.linear:
        return Diagnosis("bounded", f"no linear growth: weights go like t^{found.exponent:.2f}")
    features, position = live.features, live.position
    weights, total = position.weights, features.units.total
    state = ascend(features, weights, position.state)
    exact = None
    if n_states(features) <= EXHAUSTIVE_STATES:
        exact = features.features(best_state(features, weights)).astype(float)
    return explain_growth(
        found,
        weights / total,
        features.target / total,
        features.features(state).astype(float),
        exact=exact,
        from_data=live.moments.from_rows,
    )


@dataclass(frozen=True)
class RowIndex:
    """Hashes of data rows, to tell which samples copy one.

    Of a table too long for the memory limit only rows whose hash is divisible by ``one_in`` are
    kept, and samples are looked at by the same rule: equal rows have equal hashes, so the
    shares are those of a sample of the distinct rows.

    Parameters
    ----------
    hashes : ndarray of uint64
        Distinct hashes, sorted.
    duplicate_share : float
        Share of rows that equal another row.
    one_in : int
        A power of two; 1 keeps all.
    """

    hashes: NDArray[np.uint64]
    duplicate_share: float
    one_in: int = 1

    @classmethod
    def of(cls, codes: Codes) -> "RowIndex":
        """Hash every row of a table."""
        n_rows = codes.rows.shape[0]
        return cls.over(codes.dense(slice(k, k + BLOCK)) for k in range(0, n_rows, BLOCK))

    @classmethod
    def over(
        cls,
        blocks: Iterable[NDArray[np.integer]],
        *,
        n_rows: int = 0,
        max_memory: float = np.inf,
    ) -> "RowIndex":
        """Hash blocks of ``n_rows`` rows in all, with a quarter of ``max_memory`` bytes."""
        one_in = 1
        # kept once, sorted once, and counted: 8 bytes each
        while 24 * n_rows / one_in > max_memory / 4:
            one_in *= 2
        hashes = np.concatenate([_selected(block, one_in) for block in blocks])
        distinct, counts = np.unique(hashes, return_counts=True)
        return cls(distinct, float(counts[counts > 1].sum() / max(len(hashes), 1)), one_in)

    def count(self, samples: NDArray[np.integer]) -> tuple[int, int]:
        """Count the samples that equal a data row, and those that were looked at."""
        hashes = _selected(samples, self.one_in)
        if not len(self.hashes):
            return 0, len(hashes)
        place = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return int((self.hashes[place] == hashes).sum()), len(hashes)

    def share(self, samples: NDArray[np.integer]) -> float:
        """Share of ``samples`` that equal a data row."""
        copied, compared = self.count(samples)
        return copied / compared


def _selected(rows: NDArray[np.integer], one_in: int) -> NDArray[np.uint64]:
    hashes = row_hashes(rows)
    return hashes if one_in == 1 else hashes[hashes % np.uint64(one_in) == 0]


def row_hashes(codes: NDArray[np.integer]) -> NDArray[np.uint64]:
    """64-bit hash of each row: the sum of one fixed number per column and value."""
    total = np.zeros(len(codes), dtype=np.uint64)
    for j in range(codes.shape[1]):
        total += _mix(codes[:, j].astype(np.uint64) + np.uint64((j + 1) << 16))
    return total


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Splitmix64: every bit of the input changes half of the output."""
    x = x * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
