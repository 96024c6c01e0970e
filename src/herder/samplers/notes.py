"""Warnings about the averages of a run."""

import numpy as np
from numpy.typing import NDArray

from herder.core.summary import counted
from herder.samplers.monitor import FEW_DRAWS, LARGEST_R_HAT, Monitor
from herder.samplers.orders import Field

__all__ = ["MOSTLY", "USED_ONCE", "run_notes"]

#: Share of positive couplings from which Swendsen-Wang is recommended.
MOSTLY = 0.9

#: Why herded Gibbs is of no use for a model with many neighbours.
USED_ONCE = (
    "nearly every neighbourhood occurs once, so that the weights of herded Gibbs are hardly ever "
    "used again: it takes memory, and is no better than Gibbs sampling; use that"
)


def run_notes(
    method: str,
    field: Field,
    monitors: list[Monitor],
    r_hat: NDArray[np.float64],
    ess: NDArray[np.float64],
    used_once: bool,
) -> tuple[str, ...]:
    """Return warnings about the averages of a run, and what to do.

    Parameters
    ----------
    method : str
        The sampler.
    field : PairwiseModel or PottsModel
        The model of the free sites.
    monitors : list of Monitor
        What the chains counted.
    r_hat, ess : ndarray of shape (n_sites, n_columns)
        Of all sites, held ones too.
    used_once : bool
        Whether hardly any weight of herded Gibbs was used again.
    """
    notes = []
    worst = np.fmax.reduce(r_hat, axis=1)
    apart = int((worst > LARGEST_R_HAT).sum())
    few = int((np.fmin.reduce(ess, axis=1) < FEW_DRAWS).sum())
    if apart:
        who = "chains" if len(monitors) > 1 else "the two halves of the chain"
        notes.append(
            f"R-hat is up to {np.nanmax(worst):.3g}, above {LARGEST_R_HAT} at "
            f"{counted(apart, 'site')}: "
            f"{who} do not agree; take {_remedies(method, field)}"
        )
    elif few:
        notes.append(
            f"fewer than {FEW_DRAWS} effective draws at {counted(few, 'site')}: take more sweeps"
        )
    n_held = len(worst) - field.n_sites
    still = int(np.isnan(worst).sum()) - n_held
    if still > 0 and monitors[0].n_sweeps > 1:
        notes.append(f"only one state at {counted(still, 'site')}: very probable, or stuck")
    if len(monitors) == 1:
        notes.append("one chain cannot show modes that it never reached; take several chains")
    n_pairs = field.n_sites * (field.n_sites - 1) // 2
    if used_once:
        notes.append(USED_ONCE)
    elif method == "herded-gibbs" and len(field.edges) not in (0, n_pairs):
        notes.append(
            "herded Gibbs has no guarantee on this graph, and its errors do not include a bias: "
            "compare with Gibbs sampling"
        )
    return tuple(notes)


def _remedies(method: str, field: Field) -> str:
    """Return what may help chains that do not agree."""
    ways = ["more sweeps", "a burn-in"]
    if method == "gibbs":
        ways.append("tempering")
    n_positive = np.count_nonzero(field.edge_weights > 0)
    if method != "swendsen-wang" and n_positive > MOSTLY * len(field.edge_weights):
        ways.append("Swendsen-Wang")
    return f"{', '.join(ways[:-1])} or {ways[-1]}"
