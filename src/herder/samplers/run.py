"""One runner for all samplers: chains on threads, states kept, averages on the fly.

A sampler supplies chains. A chain fills a block with the states after each of its sweeps; all
else, burn-in, evidence, averages, diagnostics and resuming, is the same for all and is here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, Protocol, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._deprecated import warn_renamed
from herder._errors import ParameterError, ParameterTypeError
from herder._validation import non_negative_int, positive_int
from herder.core.lanes import Progress, run_lanes
from herder.core.plain import Arrays, Header
from herder.core.state import FAULTS, State
from herder.models.graph import check_edges
from herder.models.pairwise import PairwiseModel
from herder.models.potts import PottsModel
from herder.samplers.condition import ConditionedModel, check_start
from herder.samplers.monitor import Functions, Monitor, batch_errors, split_r_hat
from herder.samplers.notes import run_notes
from herder.samplers.orders import Field
from herder.samplers.sampling import ChainPosition, Sampling, SamplingPosition

__all__ = [
    "Chain",
    "ChainFactory",
    "RunOptions",
    "check_options",
    "run_chains",
    "stream_chain",
]

#: Numbers that a block of sweeps holds: it should stay in the cache of a core.
BLOCK = 2**16

#: Parts of a long run, after each of which progress is told: about this many.
UNITS = 1000


class Chain(Protocol):
    """One chain of a sampler, on the free sites."""

    def advance(self, out: NDArray[np.uint8]) -> None:
        """Fill each row with the codes of the state after one more sweep."""
        ...

    def to_state(self) -> State:
        """Return the arrays that it goes on from, and the states of its random generators."""
        ...

    def restore(self, arrays: Arrays, header: Header) -> None:
        """Go on from what `to_state` gave, if that makes sense for this chain."""
        ...

    def diagnostics(self) -> dict[str, float]:
        """Return what it has to say of itself."""
        ...


class ChainFactory(NamedTuple):
    """What a sampler gives to be run."""

    #: Makes chain number k, at a start or where the sampler likes.
    make: Callable[[int, NDArray[np.uint8] | None], Chain]
    #: What a run that goes on must have in common with the first, beside the model.
    options: tuple[Any, ...]


class RunOptions(TypedDict, total=False):
    """How chains are run, the same for all samplers.

    Parameters
    ----------
    n_chains : int, default 1
        Chains, each with its own start.
    burn_in : int, default 0
        Sweeps at the beginning that count for nothing.
    thinning : int, default 1
        Keep each ``thinning``-th state in ``samples``. Averages use all sweeps.
    keep : bool, default True
        Whether to keep states at all; False leaves ``samples`` empty.
    start : array-like of shape (n_sites,) or (n_chains, n_sites), optional
        First states; those of held sites do not matter.
    pairs : {"edges", "all"} or array-like of shape (n, 2), optional
        Pairs of sites whose joint states are counted.
    functions : callable or mapping of str to callable, optional
        Called with states (n, n_sites), each gives n values; their averages are in ``averages``.
        Chains call them from several threads, with blocks of any length.
    resume : Sampling or SamplingPosition, optional
        Go on from an earlier run with the same model and options: n then m sweeps are n + m
        sweeps, bit for bit, and averages go over all of them; those of functions are the same
        but for rounding. ``samples`` are the new ones.
    n_jobs : int, optional
        Threads; all cores by default. It changes no result.
    progress : callable, optional
        Called with the share done and a word on what is done.
    """

    n_chains: int
    burn_in: int
    thinning: int
    keep: bool
    start: ArrayLike | None
    pairs: str | ArrayLike | None
    functions: Callable[..., Any] | Functions | None
    resume: Sampling | SamplingPosition | None
    n_jobs: int | None
    progress: Progress | None


def check_options(function: str, run: RunOptions) -> tuple[int, RunOptions]:
    """Return the number of chains and the options of a run; refuse those that no run has."""
    options: Any = dict(run)
    if "every" in options:
        warn_renamed("every", "thinning, or keep=False for every=0", depth=2)
        every = non_negative_int(options.pop("every"), "every")
        options |= {"thinning": every} if every else {"keep": False}
    for name in options:
        if name not in RunOptions.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
    return positive_int(options.get("n_chains", 1), "n_chains"), options


def run_chains(
    method: str,
    condition: ConditionedModel,
    factory: ChainFactory,
    n_sweeps: int,
    *,
    n_chains: int = 1,
    burn_in: int = 0,
    thinning: int = 1,
    keep: bool = True,
    start: ArrayLike | None = None,
    pairs: str | ArrayLike | None = None,
    functions: Callable[..., Any] | Functions | None = None,
    resume: Sampling | SamplingPosition | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Sampling:
    """Run the chains of a factory; see `RunOptions`."""
    n_sweeps = positive_int(n_sweeps, "n_sweeps")
    n_chains = positive_int(n_chains, "n_chains")
    burn_in = non_negative_int(burn_in, "burn_in")
    thinning = positive_int(thinning, "thinning")
    if not isinstance(keep, bool):
        raise ParameterTypeError("keep", "be True or False", keep)
    model = condition.model
    edges = _pairs_of(model, pairs)
    named = _check_functions(functions)
    if start is not None and resume is not None:
        raise ParameterError(
            "start", "be left out with resume: the run goes on from where it stood"
        )
    if progress is not None and not callable(progress):
        raise ParameterTypeError("progress", "be a callable or None", got=type(progress).__name__)
    starts = check_start(condition, start, n_chains)
    chains = [factory.make(k, starts[k]) for k in range(n_chains)]
    monitors = [Monitor(model.n_sites, model.n_states, edges, named) for _ in chains]
    origin = _digest(method, condition, factory.options)
    if resume is not None:
        if burn_in:
            raise ParameterError("burn_in", "be 0 with resume", burn_in)
        _go_on(resume, method, origin, chains, monitors)
    before = monitors[0].n_sweeps
    n_kept = (before + n_sweeps) // thinning - before // thinning if keep else 0
    kept = _room(n_chains, n_kept, model.n_sites)
    ends = [0] * n_chains

    def work(lane: int, unit: tuple[int, int]) -> None:
        """Run one chain over sweeps, counted from the beginning of the burn-in."""
        for begin in range(*unit, size):
            run_block(lane, begin, min(begin + size, unit[1]))

    def run_block(lane: int, begin: int, end: int) -> None:
        codes = np.empty((end - begin, condition.field.n_sites), np.uint8)
        chains[lane].advance(codes)
        counted = condition.whole(codes[max(0, burn_in - begin) :])
        if not len(counted):
            return
        monitor = monitors[lane]
        states = condition.values(counted if named or keep else counted[:0])
        before = monitor.n_sweeps
        states.setflags(write=False)  # functions see them before they are kept
        monitor.add(counted, states)
        if keep:
            picked = states[thinning - 1 - before % thinning :: thinning]
            kept[lane, ends[lane] : ends[lane] + len(picked)] = picked
            ends[lane] += len(picked)

    size = max(1, min(4096, BLOCK // condition.field.n_sites))
    total = burn_in + n_sweeps
    stride = size * max(1, total // (size * UNITS))
    units = [(begin, min(begin + stride, total)) for begin in range(0, total, stride)]
    run_lanes(work, n_chains, units, n_jobs=n_jobs, progress=progress, note=method)
    samples = kept.reshape(-1, model.n_sites)
    return _summarise(method, condition, chains, monitors, samples, origin, burn_in)


def stream_chain(condition: ConditionedModel, chain: Chain) -> Iterator[NDArray[np.int8]]:
    """Yield the states of a chain after each sweep, for ever."""
    size = max(1, min(64, BLOCK // condition.field.n_sites))
    while True:
        block = np.empty((size, condition.field.n_sites), dtype=np.uint8)
        chain.advance(block)
        yield from condition.values(condition.whole(block))


def _room(n_chains: int, n_kept: int, n_sites: int) -> NDArray[np.int8]:
    try:
        return np.empty((n_chains, n_kept, n_sites), np.int8)
    except MemoryError:
        raise MemoryError(
            f"{n_chains} x {n_kept} states of {n_sites} sites do not fit into memory: "
            "keep=False keeps none of them, thinning=k each k-th"
        ) from None


def _summarise(
    method: str,
    condition: ConditionedModel,
    chains: Sequence[Chain],
    monitors: list[Monitor],
    samples: NDArray[np.int8],
    origin: str,
    burn_in: int,
) -> Sampling:
    model = condition.model
    n = sum(monitor.n_sweeps for monitor in monitors)
    marginals = np.sum([monitor.totals for monitor in monitors], axis=0) / n
    errors, ess = batch_errors(monitors)
    r_hat = split_r_hat(monitors)
    binary = model.n_states == 2
    joint = np.sum([monitor.pairs for monitor in monitors], axis=0) / n
    facts = [chain.diagnostics() for chain in chains]
    states = [chain.to_state() for chain in chains]
    places = tuple(
        ChainPosition(arrays, tuple(header["generators"]), monitor.arrays())
        for (arrays, header), monitor in zip(states, monitors, strict=True)
    )
    if isinstance(model, PottsModel) and binary:  # both states are shown, one is counted
        marginals = np.concatenate([1 - marginals, marginals], axis=1)
        errors = np.concatenate([errors, errors], axis=1)
    return Sampling(
        samples=samples,
        marginals=marginals[:, 0] if isinstance(model, PairwiseModel) else marginals,
        errors=errors[:, 0] if isinstance(model, PairwiseModel) else errors,
        r_hat=_worst(r_hat, np.fmax),
        ess=_worst(ess, np.fmin),
        edges=monitors[0].edges,
        pair_marginals=None if monitors[0].edges is None else joint,
        averages={
            name: _scalar(np.sum([monitor.sums[name] for monitor in monitors], axis=0) / n)
            for name in monitors[0].sums
        },
        n_chains=len(chains),
        n_sweeps=monitors[0].n_sweeps,
        method=method,
        diagnostics={key: [fact[key] for fact in facts] for key in facts[0]},
        position=SamplingPosition(method, origin, places),
        model=model,
        names=model.names,
        burn_in=burn_in,
        held=condition.held,
        notes=run_notes(method, condition.field, monitors, r_hat, ess),
    )


def _worst(columns: NDArray[np.float64], pick: Any) -> NDArray[np.float64]:
    """Return the worst over the states of each site; NaN where a state never came or went."""
    return pick.reduce(columns, axis=1)


def _scalar(value: NDArray[np.float64]) -> Any:
    return float(value) if value.ndim == 0 else value


def _pairs_of(model: Field, pairs: str | ArrayLike | None) -> NDArray[np.intp] | None:
    if pairs is None:
        return None
    if not isinstance(pairs, str):
        return check_edges(pairs, model.n_sites, "pairs")
    if pairs == "edges":
        return model.edges
    if pairs == "all":
        return np.column_stack(np.triu_indices(model.n_sites, 1))
    raise ParameterError("pairs", "be 'edges', 'all', None or an array of pairs", pairs)


def _check_functions(functions: Callable[..., Any] | Functions | None) -> Functions:
    if functions is None:
        return {}
    if callable(functions):
        return {getattr(functions, "__name__", "function"): functions}
    if not isinstance(functions, Mapping) or not all(callable(f) for f in functions.values()):
        kind = type(functions).__name__
        raise ParameterTypeError("functions", "be a callable or a mapping of callables", got=kind)
    named = {str(name): function for name, function in functions.items()}
    if len(named) < len(functions):
        raise ParameterError("functions", "have different names", list(functions))
    return named


def _digest(method: str, condition: ConditionedModel, options: tuple[Any, ...]) -> str:
    """Name a model and options, so that a position cannot be taken for another's."""
    model = condition.model
    found = sha256(repr((method, model.states, model.n_sites, options)).encode())
    field = model.biases if isinstance(model, PairwiseModel) else model.fields
    for part in (model.edges, model.edge_weights, field, condition.held):
        found.update(np.ascontiguousarray(part).tobytes())
    if len(condition.held):
        found.update(condition.template.tobytes())
    return found.hexdigest()


def _go_on(
    resume: Sampling | SamplingPosition,
    method: str,
    origin: str,
    chains: Sequence[Chain],
    monitors: Sequence[Monitor],
) -> None:
    position = resume.position if isinstance(resume, Sampling) else resume
    if not isinstance(position, SamplingPosition):
        kind = type(resume).__name__
        raise ParameterTypeError("resume", "be a Sampling or its position", got=kind)
    if position.method != method or position.origin != origin:
        raise ParameterError(
            "resume",
            f"come from {method} with the same model and options",
            got=f"one from {position.method}",
        )
    if len(position.chains) != len(chains):
        raise ParameterError(
            "resume", f"have {len(chains)} chains", got=f"{len(position.chains)}: set n_chains"
        )
    for chain, monitor, at in zip(chains, monitors, position.chains, strict=True):
        monitor.check_same(at.counted)
        try:
            chain.restore(dict(at.arrays), {"generators": at.generators})
            monitor.restore(dict(at.counted))
        except FAULTS as error:
            raise ParameterError(
                "resume", f"hold all that {method} goes on from", got=str(error)
            ) from error
