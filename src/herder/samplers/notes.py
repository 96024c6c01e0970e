"""Warnings about the averages of a run."""

import numpy as np
from numpy.typing import NDArray

from herder.samplers.monitor import FEW_DRAWS, LARGEST_R_HAT, Monitor
from herder.samplers.orders import Field

__all__ = ["run_notes"]


def run_notes(
    method: str,
    field: Field,
    monitors: list[Monitor],
    r_hat: NDArray[np.float64],
    ess: NDArray[np.float64],
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
    """
    notes = []
    worst = np.fmax.reduce(r_hat, axis=1)
    apart = int((worst > LARGEST_R_HAT).sum())
    few = int((np.fmin.reduce(ess, axis=1) < FEW_DRAWS).sum())
    if apart:
        who = "chains" if len(monitors) > 1 else "the two halves of the chain"
        notes.append(
            f"R-hat is up to {np.nanmax(worst):.3g}, above {LARGEST_R_HAT} at {apart} site(s): "
            f"{who} do not agree; take more sweeps, a burn-in, temperatures, or swendsen_wang"
        )
    elif few:
        notes.append(
            f"{few} site(s) have fewer than {FEW_DRAWS} effective draws: take more sweeps"
        )
    n_held = len(worst) - field.n_sites
    still = int(np.isnan(worst).sum()) - n_held
    if still > 0 and monitors[0].n_sweeps > 1:
        notes.append(f"{still} site(s) were in one state all the time: very probable, or stuck")
    if len(monitors) == 1:
        notes.append("one chain cannot show modes that it never reached: take n_chains=4")
    n_pairs = field.n_sites * (field.n_sites - 1) // 2
    if method == "herded-gibbs" and len(field.edges) not in (0, n_pairs):
        notes.append(
            "herded Gibbs has no guarantee on this graph, and its errors do not include a bias: "
            "compare with gibbs, or see check_scan_orders(model)"
        )
    return tuple(notes)
