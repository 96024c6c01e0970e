"""The page that goes with a run of a sampler: marginals, energies, and whether chains agree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from herder.models.exact import Exact
from herder.models.pairwise import PairwiseModel
from herder.plots.fields import (
    MAX_SITES,
    plot_couplings,
    plot_energies,
    plot_sampling,
    plot_state,
)
from herder.report.page import Block, Facts, Page, Picture, Table, Text
from herder.samplers.orders import Field
from herder.samplers.sampling import Sampling

__all__ = ["SamplingReport", "sampling_page"]

#: Rows of the table of sites.
N_SITES = 15

#: What samplers tell of themselves, in words; of each the mean over the chains.
DIAGNOSTICS = {
    "swaps": ("exchanges", "share that was taken, between neighbouring temperatures"),
    "n_weights": (
        "weights",
        "that herded Gibbs keeps: one for each site and state of its neighbours",
    ),
    "cluster_size": ("sites in a cluster", "on average"),
}

#: Models of more edges get no picture of couplings, which would be an even grey.
MAX_EDGES = 200_000


@dataclass(frozen=True)
class SamplingReport:
    """A finished run, for `sampling_page`.

    Parameters
    ----------
    source : str
        The model that was given.
    model : PairwiseModel or PottsModel
        What was sampled, at its temperature.
    sampling : Sampling
        The run.
    n_states : int
        States given out.
    names : sequence of str
        Names of the sites.
    energies : ndarray, optional
        Of states in their order.
    last : ndarray of shape (n_sites,), optional
        The last state, of a grid.
    shape : tuple of int, optional
        Rows and columns of the grid.
    exact : Exact, optional
        Of a model small enough to be summed.
    evidence : mapping of str to int
        Sites that were held, by name.
    burn_in : int
        Sweeps that were left out at the start of each chain.
    temperature : float
        What the energies of the given model were divided by.
    notes : sequence of str
        What speaks against trusting the run.
    command, version : str
        What to type to get the same states, and with which herder.
    """

    source: str
    model: Field
    sampling: Sampling
    n_states: int
    names: Sequence[str]
    energies: NDArray[np.float64] | None = None
    last: NDArray[np.int8] | None = None
    shape: tuple[int, ...] | None = None
    exact: Exact | None = None
    evidence: Mapping[str, int] = field(default_factory=dict)
    burn_in: int = 0
    temperature: float = 1.0
    notes: Sequence[str] = ()
    command: str = ""
    version: str = ""


def sampling_page(report: SamplingReport) -> Page:
    """Build the page of a run.

    Parameters
    ----------
    report : SamplingReport
        The finished run.
    """
    page = Page(
        "States of a random field",
        f"{report.n_states:,} states of {report.source}, drawn by {_spelt(report.sampling)}. This "
        "page says how often each site is in each state, how sure that is, and whether the "
        "chains agree.",
    )
    page.add("How far to trust it", *_trust(report))
    page.add("Site by site", *_sites(report))
    if report.energies is not None:
        page.add("Energies", *_energies(report))
    if 0 < len(report.model.edges) <= MAX_EDGES:
        page.add("Couplings", *_couplings(report))
    page.add("To repeat it", *_repeat(report))
    return page


def _spelt(sampling: Sampling) -> str:
    known = {"gibbs": "Gibbs sampling", "herded-gibbs": "herded Gibbs"}
    return known.get(sampling.method, "the Swendsen-Wang algorithm")


def _trust(report: SamplingReport) -> list[Block]:
    run, model = report.sampling, report.model
    blocks: list[Block] = [Text(note, "warning") for note in report.notes]
    if not blocks:
        blocks.append(Text("Nothing speaks against the run: its chains agree.", "good"))
    after = f"after {report.burn_in:,} that were left out" if report.burn_in else "from the start"
    rows = [
        ("sites", f"{model.n_sites:,}", f"with {len(model.edges):,} couplings"),
        ("chains", f"{run.n_chains}", f"of {run.n_sweeps:,} sweeps each, {after}"),
    ]
    if report.temperature != 1:
        rows.append(("temperature", f"{report.temperature:g}", "all energies are divided by it"))
    if report.evidence:
        held = [f"{name} = {value}" for name, value in list(report.evidence.items())[:8]]
        more = ", ..." if len(report.evidence) > 8 else ""
        rows.append(("sites held", f"{len(report.evidence)}", ", ".join(held) + more))
    rows += _numbers(run)
    for name, values in run.diagnostics.items():
        shown = ", ".join(map(_plain, np.atleast_1d(np.mean(values, axis=0)).tolist()))
        what, meaning = DIAGNOSTICS.get(name, (name.replace("_", " "), "mean over the chains"))
        rows.append((what, shown, meaning))
    return [*blocks, Facts(rows)]


def _plain(value: float) -> str:
    """Write a number without powers of ten."""
    return f"{value:,.0f}" if value == round(value) or abs(value) >= 1000 else f"{value:.4g}"


def _numbers(run: Sampling) -> list[tuple[str, str, str]]:
    if np.isnan(run.r_hat).all():
        return []
    return [
        (
            "R-hat",
            f"{np.nanmax(run.r_hat):.4f}",
            "the largest of all sites; near 1 when the chains, and both halves of each, agree",
        ),
        (
            "effective draws",
            f"{np.nanmin(run.ess):,.0f}",
            "the fewest of all sites: independent draws that would be as good as the run",
        ),
        ("largest standard error", f"{np.nanmax(run.errors):.2e}", "of a marginal"),
    ]


def _sites(report: SamplingReport) -> list[Block]:
    run, exact = report.sampling, report.exact
    what = "How often each site is in " + (
        "its upper state" if isinstance(report.model, PairwiseModel) else "each of its states"
    )
    text = f"{what}, with two standard errors, and R-hat by site."
    shape = report.shape if len(report.shape or ()) == 2 else None
    if len(report.names) > MAX_SITES and exact is None:
        drawn = "a map of the grid" if shape else "in order of size"
        text = f"{what}, and R-hat, of {len(report.names):,} sites: {drawn}."
    if exact is not None:
        gap = float(np.abs(run.marginals - exact.marginals).max())
        text += (
            " The model is small enough to be summed exactly: the largest error of a marginal is "
            f"{gap:.2e}, and the points on the left should lie on the line."
        )
    return [
        Text(text),
        Picture(
            plot_sampling(run, exact=exact, shape=shape),
            "Marginals of the sites with their errors, and R-hat of the sites.",
        ),
        _worst(report),
    ]


def _worst(report: SamplingReport) -> Table:
    run = report.sampling
    marginals = run.marginals.reshape(len(report.names), -1)
    errors = run.errors.reshape(len(report.names), -1)
    states = ["upper"] if run.marginals.ndim == 1 else list(range(marginals.shape[1]))
    order = np.argsort(-np.nan_to_num(run.r_hat, nan=0.0), kind="stable")[:N_SITES]
    rows: list[tuple[str, ...]] = [
        (
            report.names[site],
            *(f"{p:.4f} +- {e:.4f}" for p, e in zip(marginals[site], errors[site], strict=True)),
            f"{run.r_hat[site]:.4f}",
            f"{run.ess[site]:,.0f}",
        )
        for site in map(int, order)
    ]
    more = len(report.names) - len(rows)
    caption = "Sites, those with the largest R-hat first" + (f"; {more:,} more" if more else "")
    header = ("site", *(f"P({state})" for state in states), "R-hat", "effective draws")
    return Table(header, rows, caption)


def _energies(report: SamplingReport) -> list[Block]:
    energies, exact = report.energies, report.exact
    if energies is None:
        return []
    mean = None if exact is None else exact.mean_energy
    blocks: list[Block] = [
        Text(
            "Energies of the states: how often each occurs, and in their order. A trace that "
            "still climbs or falls at its end, or that keeps to one level for long, comes from "
            "chains that have not forgotten where they began."
        ),
        Picture(
            plot_energies({report.sampling.method: energies}, exact=mean),
            "Histogram of energies, and energies in the order of the states.",
        ),
    ]
    if report.last is not None and report.shape is not None:
        picture = plot_state(report.shape, report.last)
        blocks.append(Picture(picture, "The last state, one pixel a site.", "The last state."))
    return blocks


def _couplings(report: SamplingReport) -> list[Block]:
    weights = report.model.edge_weights
    many = f"{len(weights):,} couplings"
    rule = "two sites with a positive one like to be equal."
    if weights.min() == weights.max():
        return [Text(f"{many} of {weights[0]:.4g}; {rule}")]
    return [
        Text(f"{many} from {weights.min():.4g} to {weights.max():.4g}; {rule}"),
        Picture(plot_couplings(report.model), "Couplings as a matrix of colours."),
    ]


def _repeat(report: SamplingReport) -> list[Block]:
    text = (
        f"Made by herder {report.version}. The same model, options, version and machine give the "
        "same states, with any number of threads."
    )
    blocks: list[Block] = [Text(text)]
    if report.command:
        blocks.append(Text(report.command, "code"))
    return blocks
