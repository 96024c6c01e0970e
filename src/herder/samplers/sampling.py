"""The result of a sampler, and the position that a run resumes from."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder._validation import of_kind
from herder.core.files import PathLike
from herder.core.plain import Arrays, Header
from herder.core.state import State, load_as, nest, unnest, write_state
from herder.core.summary import Block, Fact, Facts, Picture, Section, Summary, Table, Text, counted
from herder.models.graph import check_shape
from herder.samplers.orders import Field

__all__ = ["ChainPosition", "Sampling", "SamplingPosition"]

#: Names of the samplers in summaries.
NAMES = {
    "gibbs": "Gibbs sampling",
    "herded-gibbs": "herded Gibbs",
    "swendsen-wang": "Swendsen-Wang",
}

#: Diagnostics of samplers: name, format and meaning; each is the mean over chains.
DIAGNOSTICS = {
    "swaps": ("swaps accepted", ".0%", "between neighbouring temperatures"),
    "n_weights": ("weights", ",.0f", "of herded Gibbs: one for each site and neighbour state"),
    "cluster_size": ("cluster size", ".4g", "sites, on average"),
}

#: Sites that a table shows; states of a model whose exact marginals are shown with the run's;
#: edges beyond which a picture of couplings shows nothing.
N_SITES, EXACT_STATES, MAX_EDGES = 15, 2**16, 200_000


@dataclass(frozen=True, eq=False)
class ChainPosition:
    """Position of one chain: its arrays, its random generators, and what it has counted."""

    arrays: Mapping[str, NDArray[Any]]
    generators: tuple[Mapping[str, Any], ...]
    counted: Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class SamplingPosition:
    """Position of a run; all that is needed to continue it, bit for bit.

    Parameters
    ----------
    method : str
        The sampler.
    origin : str
        Digest of the model and the options of the run.
    chains : tuple of ChainPosition
        One for each chain.
    """

    method: str
    origin: str
    chains: tuple[ChainPosition, ...]

    def save(self, path: PathLike) -> None:
        """Write the position to a file, whole or not at all."""
        write_state(path, self)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read a position that `save` wrote."""
        return load_as(cls, path)

    def to_state(self) -> State:
        """Return the arrays of all chains, and a header that JSON can hold."""
        arrays: Arrays = {}
        for k, chain in enumerate(self.chains):
            arrays |= nest(f"{k}/at/", chain.arrays) | nest(f"{k}/counted/", chain.counted)
        generators = [list(chain.generators) for chain in self.chains]
        return arrays, {"method": self.method, "origin": self.origin, "generators": generators}

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Return the position that `to_state` described; chains check it when they resume."""
        chains = []
        for k, generators in enumerate(header["generators"]):
            at, counts = unnest(f"{k}/at/", arrays), unnest(f"{k}/counted/", arrays)
            chains.append(ChainPosition(at, tuple(generators), counts))
        return cls(str(header["method"]), str(header["origin"]), tuple(chains))


@dataclass(frozen=True, eq=False)
class Sampling:
    """States of a model, their averages, and the errors of these.

    Parameters
    ----------
    samples : ndarray of shape (n_chains * n_kept, n_sites)
        The states that were kept, int8, chain after chain.
    marginals : ndarray of shape (n_sites,) or (n_sites, n_states)
        Share of all sweeps at the upper state; of a Potts model, at each state.
    errors : ndarray of the same shape
        Standard errors of the marginals, by batch means, or where R-hat is above 1.1 by the means
        of the chains.
    r_hat : ndarray of shape (n_sites,)
        Near 1 when all chains, and both halves of each, agree; NaN where a site was always in one
        state, infinite where chains are stuck in different ones. ``np.nanmax`` is the worst.
    ess : ndarray of shape (n_sites,)
        Independent draws with the same errors; more than sweeps where states avoid each other,
        as herded ones do.
    edges : ndarray of shape (n_edges, 2) or None
        Pairs that were counted.
    pair_marginals : ndarray of shape (n_edges, n_states, n_states) or None
        Share of the sweeps at each pair of states; 1 is the upper one.
    averages : dict
        Averages of the functions that were given, by name.
    n_chains, n_sweeps : int
        Chains, and sweeps of each that were averaged.
    method : str
        The sampler.
    diagnostics : dict
        What the sampler reports: swap rates, number of weights, mean size of clusters.
    position : SamplingPosition
        Position of the chains, for ``resume=``.
    model : PairwiseModel or PottsModel
        What was sampled.
    names : tuple of str or None
        Names of the sites.
    burn_in : int
        Sweeps that were discarded at the start of each chain.
    held : ndarray
        Sites that were held by evidence.
    notes : tuple of str
        Warnings about the averages; ``print(run.summary())`` shows all.
    average_errors : dict
        Standard errors of ``averages``, by batch means.
    """

    samples: NDArray[np.int8]
    marginals: NDArray[np.float64]
    errors: NDArray[np.float64]
    r_hat: NDArray[np.float64]
    ess: NDArray[np.float64]
    edges: NDArray[np.intp] | None
    pair_marginals: NDArray[np.float64] | None
    averages: dict[str, Any]
    n_chains: int
    n_sweeps: int
    method: str
    diagnostics: dict[str, Any]
    position: SamplingPosition = field(repr=False)
    model: Field = field(repr=False)
    names: tuple[str, ...] | None = None
    burn_in: int = 0
    held: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))
    notes: tuple[str, ...] = ()
    average_errors: dict[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return True  # though no state may have been kept

    def __repr__(self) -> str:
        return (
            f"Sampling({self.method}, {self.n_chains} x {self.n_sweeps} sweeps of "
            f"{self.samples.shape[1]} sites, {len(self.samples)} samples kept)"
        )

    def __len__(self) -> int:
        return len(self.samples)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.samples, dtype=dtype, copy=copy)

    def summary(self, *, shape: tuple[int, ...] | None = None) -> Summary:
        """Return the settings, how far chains agree, and the marginals of the sites.

        Parameters
        ----------
        shape : tuple of two int, optional
            Rows and columns of a grid; a page then shows it as a map.
        """
        sizes = () if shape is None else check_shape(shape)
        if sizes and math.prod(sizes) != self.model.n_sites:
            raise ParameterError("shape", f"have {self.model.n_sites} sites", shape)
        grid = sizes if len(sizes) == 2 else None
        sections = [Section("Site by site", self._sites(grid))]
        if len(self):
            sections.append(Section("Energies", self._energies(grid)))
        if len(self.model.edges):
            sections.append(Section("Couplings", self._couplings()))
        what = counted(len(self), "state") if len(self) else "marginals"
        title = f"{what} of {counted(self.model.n_sites, 'site')} by {NAMES[self.method]}"
        warnings = [Text(note, "warning") for note in self.notes]
        return Summary(title, [Facts(self._facts(grid)), *warnings], sections)

    def table(self) -> dict[str, NDArray[np.float64]]:
        """Return marginals, standard errors, R-hat and effective sample size as columns."""
        if self.marginals.ndim == 1:
            table = {"probability": self.marginals, "error": self.errors}
        else:
            table = {}
            for k, columns in enumerate(zip(self.marginals.T, self.errors.T, strict=True)):
                table[f"probability_{k}"], table[f"error_{k}"] = columns
        return table | {"r_hat": self.r_hat, "ess": self.ess}

    def _facts(self, grid: tuple[int, ...] | None) -> list[Fact]:
        sweeps = f"of {counted(self.n_sweeps, 'sweep')} each"
        if self.burn_in:
            sweeps += f", after {self.burn_in:,} of burn-in"
        facts = [Fact("chains", self.n_chains, "", sweeps)]
        if len(self.held):
            facts.append(Fact("sites held", len(self.held), "", "by evidence"))
        if not np.isnan(self.r_hat).all():
            worst, least = int(np.nanargmax(self.r_hat)), int(np.nanargmin(self.ess))
            size = f"at least, at {self._name(least, grid)}; median {np.nanmedian(self.ess):,.0f}"
            facts += [
                Fact("R-hat", self.r_hat[worst], ".4g", f"at most, at {self._name(worst, grid)}"),
                Fact("effective sample size", self.ess[least], ",.0f", size),
                Fact("standard error", np.nanmax(self.errors), ".2g", "of a marginal, at most"),
            ]
        for name, values in self.diagnostics.items():
            label, spec, meaning = DIAGNOSTICS[name]
            means = np.atleast_1d(np.mean(values, axis=0)).tolist()
            facts.append(Fact(label, ", ".join(format(m, spec) for m in means), "", meaning))
        for name, value in self.averages.items():
            if np.ndim(value) == 0:
                error = self.average_errors.get(name, np.nan)
                facts.append(Fact(name, value, ".6g", f"standard error {error:.2g}"))
        return facts

    def _sites(self, grid: tuple[int, ...] | None) -> list[Block]:
        what = "the upper state" if self.marginals.ndim == 1 else "each state"
        text = f"Probability of {what} of each site with two standard errors, and R-hat by site."
        exact = None
        if self.model.n_states**self.model.n_sites <= EXACT_STATES and not len(self.held):
            exact = self.model.exact()
            error = float(np.abs(self.marginals - exact.marginals).max())
            text += (
                " The model is small enough for exact marginals: the largest error is "
                f"{error:.2e}, and the points on the left should lie on the line."
            )
        description = "Marginals of the sites with their errors, and R-hat of the sites."
        options = {"exact": exact, "shape": grid}
        return [
            Text(text),
            Picture("marginals", self, description, "", options),
            self._worst(grid),
        ]

    def _worst(self, grid: tuple[int, ...] | None) -> Table:
        """Return the sites with the largest R-hat."""
        n = len(self.r_hat)
        marginals, errors = self.marginals.reshape(n, -1), self.errors.reshape(n, -1)
        rows = []
        for site in np.argsort(-np.nan_to_num(self.r_hat, nan=0.0), kind="stable")[:N_SITES]:
            pairs = zip(marginals[site], errors[site], strict=True)
            shown = [f"{p:.3f} ± {error:.3f}" for p, error in pairs]
            rows.append((self._name(int(site), grid), *shown, self.r_hat[site], self.ess[site]))
        states = ["upper"] if self.marginals.ndim == 1 else range(marginals.shape[1])
        site = "site" if grid is None or self.names is not None else "site (row, column)"
        header = (site, *(f"P({state})" for state in states), "R-hat", "effective sample size")
        more = f"; {n - len(rows):,} more" if n > len(rows) else ""
        specs = ("", *[""] * len(states), ".3f", ",.0f")
        return Table(header, rows, specs, f"Sites with the largest R-hat{more}")

    def _energies(self, grid: tuple[int, ...] | None) -> list[Block]:
        text = (
            "Energies of the states: their distribution, and their trace. A trace that still "
            "rises or falls at its end, or stays at one level for long, comes from chains that "
            "have not converged."
        )
        picture = Picture("energies", self, "Histogram of energies, and their trace.")
        if grid is None:
            return [Text(text), picture]
        description = "The last state, one pixel a site."
        last = Picture("state", self, description, "The last state.", {"shape": grid})
        return [Text(text), picture, last]

    def _couplings(self) -> list[Block]:
        weights = self.model.edge_weights
        low, high = float(weights.min()), float(weights.max())
        span = f"of {low:.4g}" if low == high else f"from {low:.4g} to {high:.4g}"
        text = f"{len(weights):,} couplings {span}; a positive coupling favours equal states."
        if low == high or len(weights) > MAX_EDGES:
            return [Text(text)]
        picture = Picture("couplings", self.model, "Couplings as a matrix of colours.")
        return [Text(text), picture]

    def _name(self, site: int, grid: tuple[int, ...] | None) -> str:
        """Return the name of a site; of a grid without names its row and column, from 0."""
        if self.names is not None:
            return self.names[site]
        return f"x{site}" if grid is None else f"({site // grid[1]}, {site % grid[1]})"

    @property
    def chains(self) -> NDArray[np.int8]:
        """The samples as (n_chains, n_kept, n_sites)."""
        return self.samples.reshape(self.n_chains, -1, self.samples.shape[1])

    def to_arviz(self, name: str = "x") -> Any:
        """Return the samples as a posterior group of ArviZ, with dimensions chain, draw and site.

        A tree of arviz-base where that is installed, else the ``InferenceData`` of ArviZ 0.x.

        Parameters
        ----------
        name : str
            Name of the variable.
        """
        of_kind(name, "name", str, "a text")
        if not len(self.samples):
            raise ValueError("samples must have been kept for ArviZ: run with keep=True")
        site = f"{name}_site"
        names = range(self.samples.shape[1]) if self.names is None else self.names
        labels: dict[str, Any] = {"dims": {name: [site]}, "coords": {site: list(names)}}
        try:
            import arviz_base
        except ImportError:
            try:
                import arviz
            except ImportError:
                raise ImportError("to_arviz needs ArviZ: pip install arviz") from None
            return arviz.from_dict(posterior={name: self.chains}, **labels)
        return arviz_base.from_dict({"posterior": {name: self.chains}}, **labels)
