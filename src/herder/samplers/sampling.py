"""What a sampler returns, and where it stands."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from herder.core.state import load_arrays, save_arrays

__all__ = ["ChainPosition", "Sampling", "SamplingPosition"]

#: What a file of a position says it is.
POSITION = "herder sampling position 1"


@dataclass(frozen=True, eq=False)
class ChainPosition:
    """Where one chain stands: its arrays, its random generators, and what it has counted."""

    arrays: Mapping[str, NDArray[Any]]
    generators: tuple[Mapping[str, Any], ...]
    counted: Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class SamplingPosition:
    """Where a run stands; all that is needed to go on, bit for bit.

    Parameters
    ----------
    method : str
        The sampler.
    origin : str
        Digest of the model and of the options that it belongs to.
    chains : tuple of ChainPosition
        One for each chain.
    """

    method: str
    origin: str
    chains: tuple[ChainPosition, ...]

    def save(self, path: str | PathLike[str]) -> None:
        """Write the position to a file, whole or not at all."""
        arrays = {}
        for number, chain in enumerate(self.chains):
            for kind, found in (("at", chain.arrays), ("counted", chain.counted)):
                for name, values in found.items():
                    arrays[f"{number}/{kind}/{name}"] = values
        header = {
            "kind": POSITION,
            "method": self.method,
            "origin": self.origin,
            "generators": [list(chain.generators) for chain in self.chains],
        }
        save_arrays(path, arrays, header)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a position that `save` wrote."""
        arrays, header = load_arrays(path)
        if not isinstance(header, dict) or header.get("kind") != POSITION:
            raise ValueError(f"{path} must hold the position of a sampler")
        parts: list[dict[str, dict[str, NDArray[Any]]]] = [
            {"at": {}, "counted": {}} for _ in header["generators"]
        ]
        for key, values in arrays.items():
            number, kind, name = key.split("/", 2)
            parts[int(number)][kind][name] = values
        chains = tuple(
            ChainPosition(part["at"], tuple(generators), part["counted"])
            for part, generators in zip(parts, header["generators"], strict=True)
        )
        return cls(header["method"], header["origin"], chains)


@dataclass(frozen=True, eq=False)
class Sampling:
    """States of a model, what they average to, and how far to trust it.

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
        Independent draws that would give the same errors; more than sweeps where states avoid
        each other, as herded ones do.
    edges : ndarray of shape (n_edges, 2) or None
        Pairs that were counted.
    pair_marginals : ndarray of shape (n_edges, n_states, n_states) or None
        Share of the sweeps at each pair of states; 1 is the upper one.
    averages : dict
        Averages of the functions that were given.
    n_chains, n_sweeps : int
        Chains, and sweeps of each that were averaged.
    method : str
        The sampler.
    diagnostics : dict
        What the sampler has to say: swap rates, number of weights, mean size of clusters.
    position : SamplingPosition
        Where the chains stand, for ``resume=``.
    names : tuple of str or None
        Names of the sites.
    held : ndarray
        Sites that were held by evidence.
    notes : tuple of str
        What speaks against trusting the averages; ``print(run.summary())`` shows all.
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
    names: tuple[str, ...] | None = None
    held: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))
    notes: tuple[str, ...] = ()

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

    def summary(self) -> str:
        """Give the run in words: what was done, how far chains agree, what to mind."""
        free = np.setdiff1d(np.arange(len(self.r_hat)), self.held)
        r_hat, ess = self.r_hat[free], self.ess[free]
        lines = [
            f"{self.method}: {self.n_chains} chain(s) of {self.n_sweeps} sweeps, "
            f"{len(self)} states kept"
        ]
        if not np.isnan(r_hat).all():
            lines.append(
                f"R-hat at most {np.nanmax(r_hat):.4g}, effective draws at least "
                f"{np.nanmin(ess):,.0f}, standard errors at most {np.nanmax(self.errors):.2g}"
            )
        numbers = {name: value for name, value in self.averages.items() if np.ndim(value) == 0}
        lines += [f"{name}: {value:.6g}" for name, value in numbers.items()]
        return "\n".join([*lines, *(f"Mind: {note}" for note in self.notes)])

    @property
    def chains(self) -> NDArray[np.int8]:
        """The samples as (n_chains, n_kept, n_sites)."""
        return self.samples.reshape(self.n_chains, -1, self.samples.shape[1])

    def to_arviz(self, name: str = "x") -> Any:
        """Give the samples as a posterior group of ArviZ, with dimensions chain, draw and site.

        Parameters
        ----------
        name : str
            Name of the variable.
        """
        try:
            from arviz_base import from_dict
        except ImportError:
            raise ImportError("to_arviz needs ArviZ: pip install arviz-base") from None
        if not len(self.samples):
            raise ValueError("samples must have been kept for ArviZ: run with keep=True")
        site = f"{name}_site"
        names = range(self.samples.shape[1]) if self.names is None else self.names
        return from_dict(
            {"posterior": {name: self.chains}}, dims={name: [site]}, coords={site: list(names)}
        )
