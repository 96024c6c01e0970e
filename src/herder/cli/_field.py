"""Random fields as the command line names them: model files, lists of edges, or words."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import require_memory
from herder.core.summary import counted
from herder.data import open_table
from herder.learn.boosting import BoostedField
from herder.models.pairwise import PairwiseModel
from herder.models.potts import PottsModel
from herder.models.rbm import RBMModel
from herder.samplers.orders import Field

__all__ = ["GivenField", "is_made", "read_evidence", "read_field"]

#: Files of edges; columns of a .npy have no names.
EDGE_SUFFIXES = (".csv", ".npz", ".parquet")

MODEL_SUFFIX = ".safetensors"

#: Bytes for an edge of a grid and for a state of a site while it is made and sampled.
EDGE_BYTES, STATE_BYTES = 450, 250

#: Bytes for a pair of sites of a restricted Boltzmann machine: dense couplings, and a copy.
PAIR_BYTES = 24

#: Sites that a note names.
N_NAMED = 8

#: Words such as ising:64x64, ising:64x64:periodic, potts:64x64:3 or potts:64x64:3:periodic.
_WORDS = re.compile(r"(?P<kind>ising|potts):(?P<rest>.*)", re.IGNORECASE)
_SHAPE = re.compile(r"[1-9][0-9]*(x[1-9][0-9]*)*")

_RULE = (
    "model must be a model file of herder (.safetensors), a list of edges (.csv, .npz, .parquet) "
    "or words such as ising:64x64:periodic or potts:64x64:3"
)


@dataclass(frozen=True, eq=False)
class GivenField:
    """A model to sample, and what is known of where it came from.

    Parameters
    ----------
    model : PairwiseModel or PottsModel
        The model.
    source : str
        File or words.
    shape : tuple of int or None
        Of a grid that was made from words.
    notes : tuple of str
        What its files make one doubt.
    n_visible : int or None
        Of a restricted Boltzmann machine: its first sites, those that are written.
    """

    model: Field
    source: str
    shape: tuple[int, ...] | None = None
    notes: tuple[str, ...] = ()
    n_visible: int | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the sites, as columns have them."""
        found = self.model.names
        return tuple(f"x{i}" for i in range(self.model.n_sites)) if found is None else found


def is_made(text: str) -> bool:
    """Whether a model is named by words, not by a file."""
    return _WORDS.fullmatch(text) is not None


def read_field(
    text: str, *, biases: Path | None, states: str | None, max_memory: int
) -> GivenField | BoostedField:
    """Read or make a model; a boosted field is returned as it is.

    Parameters
    ----------
    text : str
        A file, or words.
    biases : path or None
        Table with columns site and bias, for a list of edges.
    states : str or None
        ``"0,1"`` or ``"-1,1"``, for a list of edges.
    max_memory : int
        Bytes that a grid, or the rows of a file, may take.
    """
    path = Path(text)
    is_list = not is_made(text) and path.suffix.lower() in EDGE_SUFFIXES
    for option, value in (("biases", biases), ("states", states)):
        if value is not None and not is_list:
            raise ParameterError(option, "come with a list of edges", got=f"{value} for {text}")
    if is_list:
        return _read_edges(path, biases, _alphabet(states), max_memory)
    if is_made(text):
        return _make(text, max_memory)
    if path.suffix.lower() != MODEL_SUFFIX and not path.is_file():
        raise ValueError(f"{_RULE}, got {text!r}")
    return _load(path, max_memory)


def _load(path: Path, max_memory: int) -> GivenField | BoostedField:
    """Read a model file; a machine that was not to be trusted when it was learnt says so again."""
    from herder.io import read_model

    model, meta = read_model(path)
    if isinstance(model, BoostedField):
        return model
    found = getattr(model, "model_", model)
    if isinstance(found, RBMModel):
        n_sites = found.n_visible + found.n_hidden
        require_memory(PAIR_BYTES * n_sites**2, max_memory, f"the {n_sites:,} sites of {path}")
        names = _with_hidden(found, vars(model).get("feature_names_in_"))
        joint = replace(found.to_pairwise(), names=names)
        return GivenField(joint, path.name, n_visible=found.n_visible)
    if not isinstance(found, Field):
        raise ParameterError(
            "model", "be a random field to be sampled", got=f"the {type(model).__name__} of {path}"
        )
    doubts = ()
    if meta.get("trust") is False:
        doubts = (f"when {path.name} was learnt: {meta.get('verdict')}",)
    return GivenField(found, path.name, notes=doubts)


def _with_hidden(model: RBMModel, columns: Sequence[str] | None) -> list[str]:
    """Return names of all sites, those of the hidden ones unlike those of the columns."""
    visible = [f"x{i}" for i in range(model.n_visible)] if columns is None else list(columns)
    word = "hidden"
    while any(name.startswith(word) for name in visible):
        word += "_"
    return [*visible, *(f"{word}{k}" for k in range(model.n_hidden))]


def _make(text: str, max_memory: int) -> GivenField:
    kind, _, rest = text.partition(":")
    shape, *more = rest.split(":")
    is_potts = kind.lower() == "potts"
    periodic = bool(more) and more[-1].lower() == "periodic"
    numbers = more[: len(more) - periodic]
    if not _SHAPE.fullmatch(shape) or len(numbers) != is_potts:
        raise ValueError(f"{_RULE}, got {text!r}")
    sizes = tuple(int(size) for size in shape.split("x"))
    n_states = 2
    if is_potts:
        if not re.fullmatch(r"[0-9]{1,3}", numbers[0]) or not 2 <= int(numbers[0]) <= 127:
            raise ValueError(f"potts must have from 2 to 127 states, got {text!r}")
        n_states = int(numbers[0])
    n_sites = math.prod(sizes)
    needed = n_sites * (EDGE_BYTES * len(sizes) + STATE_BYTES * n_states)
    require_memory(needed, max_memory, f"the {n_sites:,} sites of {text}")
    if is_potts:
        return GivenField(PottsModel.grid(sizes, n_states, periodic=periodic), text, sizes)
    return GivenField(PairwiseModel.grid(sizes, periodic=periodic), text, sizes)


def _alphabet(states: str | None) -> tuple[int, int]:
    if states is None or states.replace(" ", "") == "0,1":
        return (0, 1)
    if states.replace(" ", "") in ("-1,1", "-1,+1"):
        return (-1, 1)
    raise ParameterError("states", "be 0,1 or -1,1", states)


def _read_edges(
    path: Path, biases: Path | None, states: tuple[int, int], max_memory: int
) -> GivenField:
    """Read edges and biases; sites are what either file names."""
    table = _columns(path, ("source", "target", "weight"), max_memory)
    ends = [_labels(path, "source", table), _labels(path, "target", table)]
    weights = _numbers(path, "weight", table)
    local: dict[str, float] = {}
    if biases is not None:
        values = _columns(biases, ("site", "bias"), max_memory)
        sites = _labels(biases, "site", values)
        for site, bias in zip(sites, _numbers(biases, "bias", values).tolist(), strict=True):
            if site in local:
                raise ValueError(f"{biases} must name each site once, got {site!r} twice")
            local[site] = bias
    pairs = list(zip(*ends, strict=True))
    names = _in_order([*local, *(end for pair in pairs for end in pair)])
    place = {name: k for k, name in enumerate(names)}
    seen: set[frozenset[str]] = set()
    for source, target in pairs:
        if source == target:
            raise ValueError(f"{path} must join two sites in every row, got {source!r} twice")
        if frozenset((source, target)) in seen:
            raise ValueError(
                f"{path} must have every edge once, got {source!r} to {target!r} twice: add up "
                "their weights"
            )
        seen.add(frozenset((source, target)))
    edges = np.array([[place[source], place[target]] for source, target in pairs], dtype=np.intp)
    values = [local.get(name, 0.0) for name in names]
    model = PairwiseModel.from_edges(len(names), edges, weights, values, states, names=names)
    joined = {end for pair in pairs for end in pair}
    loose = [site for site in local if site not in joined]
    return GivenField(model, path.name, notes=_loose(biases, loose))


def _loose(biases: Path | None, sites: Sequence[str]) -> tuple[str, ...]:
    """Say which sites have a bias but no edge: their names may be misspelt."""
    if biases is None or not sites:
        return ()
    named = ", ".join(sites[:N_NAMED]) + (", ..." if len(sites) > N_NAMED else "")
    verb = "has" if len(sites) == 1 else "have"
    return (f"{counted(len(sites), 'site')} of {biases.name} {verb} no edge: {named}",)


def _columns(path: Path, wanted: Sequence[str], max_memory: int) -> dict[str, NDArray[Any]]:
    source = open_table(path, max_memory=max_memory)
    lacking = [name for name in wanted if name not in source.names]
    if lacking:
        raise ValueError(
            f"{path} must have the columns {', '.join(wanted)}, got {', '.join(source.names[:8])}"
        )
    require_memory(source.n_rows * source.row_bytes, max_memory, f"the rows of {path}")
    table = source.whole()
    return {name: table[name] for name in wanted}


def _labels(path: Path, name: str, table: dict[str, NDArray[Any]]) -> list[str]:
    column = table[name]
    if column.dtype.kind == "f":
        raise ValueError(
            f"column {name!r} of {path} must hold whole numbers or names without gaps, got "
            f"{column.dtype}"
        )
    for row, label in enumerate(column.tolist()):
        if label is None:
            raise ValueError(
                f"column {name!r} of {path} must name a site in row {row + 1:,}, got none"
            )
    return [str(label) for label in column.tolist()]


def _numbers(path: Path, name: str, table: dict[str, NDArray[Any]]) -> NDArray[np.float64]:
    column = table[name]
    values = column.astype(np.float64) if column.dtype.kind in "biuf" else np.full(1, np.nan)
    if not np.isfinite(values).all():
        raise ValueError(f"column {name!r} of {path} must hold finite numbers, got others")
    return values


def _in_order(labels: Sequence[str]) -> list[str]:
    """Return labels once each: whole numbers by size, others as they come."""
    distinct = list(dict.fromkeys(labels))
    if all(re.fullmatch("-?[0-9]{1,1000}", label) for label in distinct):
        return sorted(distinct, key=int)
    return distinct


def read_evidence(texts: Sequence[str], given: GivenField) -> dict[int | str, int]:
    """Read ``site=value``; a site is named or, where sites have no names, counted from 0."""
    found: dict[int | str, int] = {}
    names = given.model.names
    for text in texts:
        name, _, value = text.rpartition("=")
        site = _site(name, given)
        if site is None or not re.fullmatch("[+-]?[0-9]+", value.strip()):
            known = ", ".join(given.names[:5])
            raise ParameterError("evidence", f"be SITE=VALUE with a site such as {known}", text)
        if int(value) not in given.model.states:
            states = given.model.states
            allowed = f"{states[0]} or {states[1]}" if len(states) == 2 else f"0 to {states[-1]}"
            raise ParameterError("evidence", f"be {allowed}", text)
        key = site if names is None else names[site]
        if key in found:
            raise ParameterError("evidence", "name each site once", got=f"{text!r} again")
        found[key] = int(value)
    if len(found) == given.model.n_sites:
        raise ParameterError("evidence", "leave a site free", got="all sites")
    return found


def _site(name: str, given: GivenField) -> int | None:
    if name in given.names:
        return given.names.index(name)
    counts = given.model.names is None and re.fullmatch("[0-9]{1,9}", name)
    return int(name) if counts and int(name) < given.model.n_sites else None
