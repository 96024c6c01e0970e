"""Random fields: a grid sampled in two ways, and imputation of missing pixels.

The grid has ten rows, so that its marginals can be computed exactly. The pixels are those of
held-out digits; some of them are missing and imputed by a Boltzmann machine.
"""

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from herder import BoltzmannMachine, PairwiseModel, gibbs, herded_gibbs
from herder.core.summary import (
    Fact,
    Facts,
    Picture,
    Section,
    Summary,
    Table,
    Text,
    lowest_marked,
)
from herder.datasets import load_digits_binary
from herder.plots import plot_convergence, plot_couplings, plot_state

__all__ = ["job"]

COMPARED = ("job", "measured", "herder", "alternative")

#: Sweeps after which the error is computed; the table of the demo shows the last.
SWEEPS = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)

#: Number of training digits; the others are held out.
N_LEARN = 1400

#: Missing pixels in each held-out digit, and number of digits shown on the page.
N_HIDDEN, N_SHOWN = 8, 6

#: Rows and columns of a digit, and the colours of background, ink and missing pixels.
SHAPE = (8, 8)
COLOURS = ("#f5f7fa", "#1f2933", "#d97706")


class Filled(NamedTuple):
    """Digits, the mask of missing pixels, and two imputations."""

    digits: NDArray[np.int8]
    hidden: NDArray[np.bool_]
    by_machine: NDArray[np.int8]
    by_majority: NDArray[np.int8]

    def error(self, guess: NDArray[np.int8]) -> float:
        """Proportion of missing pixels that are imputed wrongly."""
        return float(np.mean(guess[self.hidden] != self.digits[self.hidden]))


def job() -> Summary:
    """Sample a field by herded Gibbs and by Gibbs, and learn one to impute pixels."""
    (sampled, sampling), (filled, filling) = _sampling(), _filling()
    return Summary("Random fields", [Table(COMPARED, [sampled, filled])], [sampling, filling])


def _sampling() -> tuple[tuple[str, ...], Section]:
    model = PairwiseModel.random(100, graph="grid", coupling_sd=0.3, bias_sd=0.3)
    exact = model.exact().marginals
    errors: dict[str, list[float]] = {}
    for name, sampler in (("herded Gibbs", herded_gibbs), ("Gibbs", gibbs)):
        errors[name], run, done = [], None, 0
        for sweeps in SWEEPS:
            run = sampler(model, sweeps - done, keep=False, resume=run)
            done = sweeps
            errors[name].append(float(np.sqrt(np.mean((run.marginals - exact) ** 2))))
    ours, theirs = (errors[name][-1] for name in ("herded Gibbs", "Gibbs"))
    section = Section(
        "Sampling a random field",
        [
            Text(
                "A grid of 10 x 10 sites with random couplings, small enough for exact marginals. "
                "Gibbs sampling draws one site after the other at random. Herded Gibbs replaces "
                "each draw by a herding step, with one weight for each state of the neighbours "
                "and no random numbers. Its error is smaller; on models with stronger couplings "
                "it reaches a bias floor, which Gibbs sampling does not have."
            ),
            Facts(
                [
                    Fact(
                        f"error of the marginals after {SWEEPS[-1]:,} sweeps",
                        f"{ours:.1e}",
                        meaning=f"{theirs:.1e} (Gibbs); root mean square over the sites",
                    )
                ]
            ),
            Picture(
                "convergence",
                plot_convergence({name: (SWEEPS, line) for name, line in errors.items()}),
                "Error of the marginals against the number of sweeps, for herded Gibbs and Gibbs.",
                "Error of the marginals against the number of sweeps.",
            ),
        ],
    )
    cells = lowest_marked({"": ours}, {"Gibbs": theirs}, ".1e")
    return ("sample a random field", "error of the marginals", *cells), section


def _filling() -> tuple[tuple[str, ...], Section]:
    X = load_digits_binary().X
    seen = X[:N_LEARN].sum(axis=0) > 0  # pixels without ink have no couplings
    began = time.perf_counter()
    machine = BoltzmannMachine().fit(X[:N_LEARN, seen])
    seconds = time.perf_counter() - began
    filled = fill_pixels(machine, X[:N_LEARN, seen], X[N_LEARN:, seen])
    ours, theirs = filled.error(filled.by_machine), filled.error(filled.by_majority)
    usual = "more frequent value"
    section = Section(
        "Imputing missing pixels",
        [
            Text(
                f"A Boltzmann machine was fitted to {seen.sum()} pixels of {N_LEARN:,} "
                f"handwritten digits by pseudo-likelihood, in {seconds:.1f} s (compilation "
                f"included). In each of the {len(filled.digits)} held-out digits {N_HIDDEN} "
                "pixels were removed and imputed with their more probable value given all others. "
                "The baseline is the more frequent value of the pixel."
            ),
            Facts(
                [Fact("pixels imputed wrongly", f"{ours:.1%}", meaning=f"{theirs:.1%} ({usual})")]
            ),
            _pictures(filled, seen),
            Picture(
                "couplings",
                plot_couplings(machine),
                "The matrix of couplings between the pixels.",
                "Couplings between pixels, numbered row by row. Those of neighbours are mostly "
                "positive.",
            ),
        ],
    )
    cells = lowest_marked({"": ours}, {usual: theirs}, ".1%")
    return ("impute missing pixels", "wrong pixels", *cells), section


def fill_pixels(
    machine: BoltzmannMachine, learnt: NDArray[np.integer], others: NDArray[np.integer]
) -> Filled:
    """Remove pixels of digits and impute them by a machine, and by the training majority."""
    order = np.random.default_rng(0).random(others.shape).argsort(axis=1)
    hidden = order < N_HIDDEN
    chance = machine.conditional(np.where(hidden, np.nan, others))
    usual = np.broadcast_to(learnt.mean(axis=0) > 0.5, others.shape)
    return Filled(
        others.astype(np.int8),
        hidden,
        np.where(hidden, chance > 0.5, others).astype(np.int8),
        np.where(hidden, usual, others).astype(np.int8),
    )


def _pictures(filled: Filled, seen: NDArray[np.bool_]) -> Picture:
    """Draw some digits with missing pixels, and the same digits imputed."""
    n = N_SHOWN // 2
    gaps = np.where(filled.hidden, 2, filled.digits)[:n]
    both = np.concatenate([gaps, filled.by_machine[:n]])
    whole = np.zeros((len(both), seen.size), dtype=np.int8)
    whole[:, seen] = both
    titles = ["missing"] * n + ["imputed"] * n
    return Picture(
        "digits",
        plot_state(SHAPE, whole, titles=titles, colours=COLOURS),
        "Digits with missing pixels, and the same digits imputed.",
        "Digits with missing pixels (orange), and imputed by the machine.",
    )


if __name__ == "__main__":
    print(job())
