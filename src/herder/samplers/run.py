"""The runner of all samplers: chains on threads, states kept, averages on the fly.

A sampler supplies chains. A chain fills a block with the states after each of its sweeps; all
else, burn-in, evidence, averages, diagnostics and resuming, is the same for all and is here.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, Protocol, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._deprecated import warn_renamed
from herder._errors import ParameterError, ParameterTypeError
from herder._validation import non_negative_int, positive_int
from herder.core.lanes import Progress, run_lanes
from herder.core.plain import Arrays
from herder.core.state import FAULTS
from herder.models.graph import check_edges, graph_edges
from herder.models.pairwise import PairwiseModel
from herder.samplers.condition import ConditionedModel
from herder.samplers.monitor import Functions, Monitor, batch_errors, function_errors, split_r_hat
from herder.samplers.notes import run_notes
from herder.samplers.orders import Field
from herder.samplers.sampling import ChainPosition, Sampling, SamplingPosition

__all__ = ["BLOCK", "Chain", "ChainFactory", "RunOptions", "check_options", "run_chains"]

#: Numbers that a block of sweeps holds: it should stay in the cache of a core.
BLOCK = 2**16

#: Parts of a long run, after each of which progress is reported: about this many.
UNITS = 1000

#: More sweeps are a mistake, and would not be counted exactly.
MAX_SWEEPS = 2**53


class Chain(Protocol):
    """One chain of a sampler, on the free sites."""

    @property
    def generators(self) -> Sequence[np.random.Generator]:
        """What it draws from."""
        ...

    def advance(self, out: NDArray[np.uint8]) -> None:
        """Fill each row with the codes of the state after one more sweep."""
        ...

    def arrays(self) -> Arrays:
        """Return the arrays that it resumes from; they change as it advances."""
        ...

    def restore(self, arrays: Arrays) -> None:
        """Resume from what `arrays` returned, if that makes sense for this chain."""
        ...

    def diagnostics(self) -> dict[str, Any]:
        """Return what it reports of itself."""
        ...


class ChainFactory(NamedTuple):
    """The chains of a sampler."""

    #: Makes chain number k, at a given state or at one of the sampler's choice.
    make: Callable[[int, NDArray[np.uint8] | None], Chain]
    #: What a resumed run must have in common with the first, besides the model.
    options: tuple[Any, ...]


class RunOptions(TypedDict, total=False):
    """How chains are run, the same for all samplers.

    Parameters
    ----------
    n_chains : int, default 1
        Chains, each with its own start.
    burn_in : int, default 0
        Sweeps at the beginning that are discarded.
    thinning : int, default 1
        Keep each ``thinning``-th state in ``samples``. Averages use all sweeps.
    keep : bool, default True
        Whether to keep states at all; False leaves ``samples`` empty.
    start : array-like of shape (n_sites,) or (n_chains, n_sites), optional
        First states; those of held sites do not matter.
    pairs : {"edges", "all"} or array-like of shape (n, 2), optional
        Pairs of sites whose joint states are counted.
    functions : callable or mapping of str to callable, optional
        Called with states (n, n_sites), each returns n values, whose means are in ``averages`` and
        the standard errors of these in ``average_errors``.
        Chains call them from several threads, with blocks of any length.
    resume : Sampling or SamplingPosition, optional
        Continue an earlier run with the same model and options: n then m sweeps are n + m
        sweeps, bit for bit, and averages go over all of them; those of functions are the same
        up to rounding. ``samples`` are the new ones.
    n_jobs : int, optional
        Threads; all cores by default. It changes no result.
    progress : callable, optional
        Called with the fraction done and a word on what is done.
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


def check_options(function: str, run: RunOptions) -> RunOptions:
    """Return the options of a run; refuse those that no run has."""
    options: Any = dict(run)
    if "every" in options:
        warn_renamed("every", "thinning, or keep=False for every=0", depth=2)
        every = non_negative_int(options.pop("every"), "every")
        options |= {"thinning": every} if every else {"keep": False}
    for name in options:
        if name not in RunOptions.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")
    return options


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
    if progress is not None and not callable(progress):
        raise ParameterTypeError("progress", "be a callable or None", got=type(progress).__name__)
    for name, number in (("n_sweeps", n_sweeps), ("burn_in", burn_in)):
        if number > MAX_SWEEPS:
            raise ParameterError(name, "be at most 2**53", number)
    if resume is not None and start is not None:
        raise ParameterError("start", "be None with resume", got=type(start).__name__)
    if resume is not None and burn_in:
        raise ParameterError("burn_in", "be 0 with resume", burn_in)
    model, n_free = condition.model, condition.field.n_sites
    size = max(1, min(4096, BLOCK // n_free))
    edges, named = _pairs_of(model, pairs), _check_functions(functions)
    starts = condition.starts(start, n_chains)
    chains = [factory.make(k, starts[k]) for k in range(n_chains)]
    monitors = [Monitor(model.n_sites, model.n_states, edges, named) for _ in chains]
    origin = _digest(method, condition, factory.options)
    if resume is not None:
        _restore(resume, method, origin, chains, monitors)
    before = monitors[0].n_sweeps
    n_kept = (before + n_sweeps) // thinning - before // thinning if keep else 0
    try:
        kept = np.empty((n_chains, n_kept, model.n_sites), np.int8)
    except MemoryError:
        raise MemoryError(
            f"{n_chains} x {n_kept} states of {model.n_sites} sites do not fit into memory: "
            "pass thinning=10 or keep=False"
        ) from None

    def work(number: int, unit: tuple[int, int]) -> None:
        """Run one chain over sweeps, counted from the beginning of the burn-in."""
        monitor = monitors[number]
        for begin in range(*unit, size):
            codes = np.empty((min(size, unit[1] - begin), n_free), np.uint8)
            chains[number].advance(codes)
            counted = condition.whole(codes[max(0, burn_in - begin) :])
            if not len(counted):
                continue
            states = condition.values(counted if named or keep else counted[:0])
            states.setflags(write=False)  # functions see them before they are kept
            done = monitor.n_sweeps
            monitor.add(counted, states)
            if keep:
                picked = states[thinning - 1 - done % thinning :: thinning]
                first = done // thinning - before // thinning
                kept[number, first : first + len(picked)] = picked

    total = burn_in + n_sweeps
    stride = size * max(1, total // (size * UNITS))
    units = [(begin, min(begin + stride, total)) for begin in range(0, total, stride)]
    run_lanes(work, n_chains, units, n_jobs=n_jobs, progress=progress, note=method)
    samples = kept.reshape(-1, model.n_sites)
    return _summarise(method, condition, chains, monitors, samples, origin, burn_in)


def _summarise(
    method: str,
    condition: ConditionedModel,
    chains: Sequence[Chain],
    monitors: list[Monitor],
    samples: NDArray[np.int8],
    origin: str,
    burn_in: int,
) -> Sampling:
    model, edges = condition.model, monitors[0].edges
    n = sum(monitor.n_sweeps for monitor in monitors)
    marginals = np.sum([monitor.totals for monitor in monitors], axis=0) / n
    errors, ess = batch_errors(monitors)
    r_hat = split_r_hat(monitors)
    if isinstance(model, PairwiseModel):
        marginals, errors = marginals[:, 0], errors[:, 0]
    elif model.n_states == 2:  # both states are shown, one is counted
        marginals = np.concatenate([1 - marginals, marginals], axis=1)
        errors = np.concatenate([errors, errors], axis=1)
    joint = np.sum([monitor.pairs for monitor in monitors], axis=0) / n
    sums = {key: np.sum([m.sums[key] for m in monitors], axis=0) for key in monitors[0].sums}
    facts = [chain.diagnostics() for chain in chains]
    used_once = any(getattr(chain, "used_once", False) for chain in chains)
    places = tuple(
        ChainPosition(
            {name: value.copy() for name, value in chain.arrays().items()},
            tuple(generator.bit_generator.state for generator in chain.generators),
            monitor.arrays(),
        )
        for chain, monitor in zip(chains, monitors, strict=True)
    )
    return Sampling(
        samples=samples,
        marginals=marginals,
        errors=errors,
        r_hat=np.fmax.reduce(r_hat, axis=1),  # NaN where a state never came or went
        ess=np.fmin.reduce(ess, axis=1),
        edges=edges,
        pair_marginals=None if edges is None else joint,
        averages={k: total / n if total.ndim else float(total / n) for k, total in sums.items()},
        n_chains=len(chains),
        n_sweeps=monitors[0].n_sweeps,
        method=method,
        diagnostics={key: [fact[key] for fact in facts] for key in facts[0]},
        position=SamplingPosition(method, origin, places),
        model=model,
        names=model.names,
        burn_in=burn_in,
        held=condition.held,
        notes=run_notes(method, condition.field, monitors, r_hat, ess, used_once),
        average_errors=function_errors(monitors),
    )


def _pairs_of(model: Field, pairs: str | ArrayLike | None) -> NDArray[np.intp] | None:
    if pairs is None:
        return None
    if not isinstance(pairs, str):
        return check_edges(pairs, model.n_sites, "pairs")
    if pairs not in ("edges", "all"):
        raise ParameterError("pairs", "be 'edges', 'all', None or an array of pairs", pairs)
    return model.edges if pairs == "edges" else graph_edges("complete", model.n_sites)


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
    """Return a digest of model and options, to refuse the position of another run."""
    model = condition.model
    found = sha256(repr((method, model.states, model.n_sites, options)).encode())
    field = model.biases if isinstance(model, PairwiseModel) else model.fields
    for part in (model.edges, model.edge_weights, field, condition.held):
        found.update(np.ascontiguousarray(part).tobytes())
    if len(condition.held):
        found.update(condition.template.tobytes())
    return found.hexdigest()


def _restore(
    resume: Sampling | SamplingPosition,
    method: str,
    origin: str,
    chains: Sequence[Chain],
    monitors: Sequence[Monitor],
) -> None:
    """Bring chains and their counts to where an earlier run stopped."""
    position = resume.position if isinstance(resume, Sampling) else resume
    if not isinstance(position, SamplingPosition):
        kind = type(resume).__name__
        raise ParameterTypeError("resume", "be a Sampling or its position", got=kind)
    if position.method != method or position.origin != origin:
        rule = f"come from {method} with the same model and options"
        raise ParameterError("resume", rule, got=f"one from {position.method}")
    try:
        if len(position.chains) != len(chains):
            found = f"{len(position.chains)}: set n_chains"
            raise ParameterError("resume", f"have {len(chains)} chains", got=found)
        for chain, monitor, at in zip(chains, monitors, position.chains, strict=True):
            monitor.check_same(at.counted)
            chain.restore(dict(at.arrays))
            for generator, state in zip(chain.generators, at.generators, strict=True):
                _set_generator(generator, state)
            monitor.restore(dict(at.counted))
        if len({monitor.n_sweeps for monitor in monitors}) > 1:
            raise ValueError("chains of different lengths")
    except ParameterError:
        raise
    except FAULTS as error:
        rule = f"hold the whole state of {method}"
        raise ParameterError("resume", rule, got=str(error)) from error


def _set_generator(generator: np.random.Generator, state: Any) -> None:
    """Set the state of a generator, which must be one that a PCG64 can have."""
    seed, left = state["state"], (state["has_uint32"], state["uinteger"])
    numbers = (seed["state"], seed["inc"], *left)
    limits = (2**128, 2**128, 2, 2**32)
    whole = all(type(n) is int and 0 <= n < m for n, m in zip(numbers, limits, strict=True))
    if not whole or not seed["inc"] % 2:  # with an even one numbers would soon repeat
        raise ValueError(f"a random generator at {seed}")
    generator.bit_generator.state = dict(state)
