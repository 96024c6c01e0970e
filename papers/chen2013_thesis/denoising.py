"""Denoising of a binary image on a grid: herded Gibbs, Gibbs and mean field.

The image has pixels -1 and 1 and is seen with Gaussian noise of standard deviation s. With an
Ising prior of couplings J, the pixels given what is seen have couplings J and fields y / s^2.
Mean field solves m_i = tanh(J sum_j m_j + y_i / s^2), one colour of the chessboard at a time.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from herder import PairwiseModel, datasets, gibbs, herded_gibbs
from papers.chen2013_thesis import data, pictures
from papers.chen2013_thesis.curves import counts_to, mean_and_spread
from papers.claims import Row

Floats = NDArray[np.float64]

#: Digits per row and column of the image, and the factor by which pixels are enlarged.
N_DIGITS, N_QUICK_DIGITS, ENLARGED = 5, 2, 2

NOISE, COUPLING = 1.5, 0.6

N_IMAGES, N_SWEEPS, N_REFERENCE = 10, 1000, 50_000
N_QUICK_IMAGES, N_QUICK_SWEEPS, N_QUICK_REFERENCE = 2, 200, 4000

#: Sweeps after which errors are reported.
AFTER = 30

NAMES = ("herded", "gibbs", "field")


class Errors(NamedTuple):
    """Errors against sweeps: of probabilities to the reference, and of the image itself."""

    probability: Floats
    image: Floats
    pixels: Floats


def run(quick: bool, folder: Path) -> list[Row]:
    """Denoise several noisy copies; compute the errors of the three methods."""
    n_images, n_sweeps = (N_QUICK_IMAGES, N_QUICK_SWEEPS) if quick else (N_IMAGES, N_SWEEPS)
    prefix = "quick." if quick else ""
    truth = picture(N_QUICK_DIGITS if quick else N_DIGITS)
    counts = counts_to(n_sweeps)
    found: dict[str, list[Errors]] = {name: [] for name in NAMES}
    noisy, best, own, shown = [], [], [], (truth, truth, truth)
    for k in range(n_images):
        seen = truth + NOISE * np.random.default_rng([data.SEED, 41, k]).normal(size=truth.shape)
        model = _posterior(seen)
        reference, error = _reference(model, N_QUICK_REFERENCE if quick else N_REFERENCE, k)
        means = _running_means(model, seen, n_sweeps, k)
        for name in NAMES:
            found[name].append(_errors(means[name][counts - 1], reference, truth.ravel()))
        own.append(error)
        noisy.append(np.mean(np.sign(seen) != truth))
        best.append(np.mean(np.sign(reference) != truth.ravel()))
        shown = (truth, seen, means["herded"][AFTER - 1].reshape(truth.shape))
    _draw(shown, counts, found, folder / "denoising.png")
    note = f"Standard error of the reference: {np.mean(own):.1e}."
    return [
        Row(f"{prefix}noisy", *mean_and_spread(noisy)),
        Row(f"{prefix}best", *mean_and_spread(best), note=note),
        *_rows(prefix, counts, found),
    ]


def picture(n_digits: int) -> Floats:
    """Digits of scikit-learn, enlarged and side by side, as -1 and 1."""
    digits = datasets.load_digits_binary().X[: n_digits**2].reshape(n_digits, n_digits, 8, 8)
    pixels = digits.transpose(0, 2, 1, 3).reshape(8 * n_digits, 8 * n_digits)
    large = pixels.repeat(ENLARGED, axis=0).repeat(ENLARGED, axis=1)
    return np.where(large > 0, 1.0, -1.0)


def mean_field(seen: Floats, n_sweeps: int) -> Floats:
    """Means after each sweep, flat; a sweep updates the two colours of a chessboard in turn."""
    field = seen / NOISE**2
    colour = np.indices(seen.shape).sum(axis=0) % 2
    means, path = np.zeros_like(seen), []
    for _ in range(n_sweeps):
        for turn in (0, 1):
            around = np.pad(means, 1)
            pull = around[:-2, 1:-1] + around[2:, 1:-1] + around[1:-1, :-2] + around[1:-1, 2:]
            means = np.where(colour == turn, np.tanh(COUPLING * pull + field), means)
        path.append(means.ravel())
    return np.array(path)


def _posterior(seen: Floats) -> PairwiseModel:
    prior = PairwiseModel.grid(seen.shape, coupling=COUPLING)
    return PairwiseModel(prior.couplings, seen.ravel() / NOISE**2, states=(-1, 1))


def _reference(model: PairwiseModel, n_sweeps: int, k: int) -> tuple[Floats, float]:
    """Means by a long run of Gibbs, and the standard error of the probabilities."""
    random = np.random.default_rng([data.SEED, 42, k])
    found = gibbs(model, n_sweeps, burn_in=n_sweeps // 20, keep=False, random_state=random)
    return 2 * found.marginals - 1, float(np.sqrt(np.square(found.errors).mean()))


def _running_means(model: PairwiseModel, seen: Floats, n_sweeps: int, k: int) -> dict[str, Floats]:
    """Averages over the first T sweeps; both samplers start from the noisy image."""
    start = np.where(seen.ravel() > 0, 1, -1)
    random = np.random.default_rng([data.SEED, 43, k])
    states = {
        "herded": herded_gibbs(model, n_sweeps, start=start).samples,
        "gibbs": gibbs(model, n_sweeps, start=start, random_state=random).samples,
    }
    sweeps = np.arange(1, n_sweeps + 1)[:, None]
    means = {name: np.cumsum(x, axis=0, dtype=float) / sweeps for name, x in states.items()}
    return {**means, "field": mean_field(seen, n_sweeps)}


def _errors(means: Floats, reference: Floats, truth: Floats) -> Errors:
    # A probability is half of one plus the mean, so its error is half of that of the mean.
    probability = np.sqrt(np.square(means - reference).mean(axis=1)) / 2
    image = np.sqrt(np.square(means - truth).mean(axis=1))
    return Errors(probability, image, np.mean((means > 0) != (truth > 0), axis=1))


def _rows(prefix: str, counts: NDArray[np.intp], found: dict[str, list[Errors]]) -> list[Row]:
    at, rows = int(np.searchsorted(counts, AFTER)), []
    for name in NAMES:
        for what in Errors._fields:
            values = [getattr(errors, what)[at] for errors in found[name]]
            rows.append(Row(f"{prefix}{name}.{what}", *mean_and_spread(values)))
        last = [errors.probability[-1] for errors in found[name]]
        rows.append(Row(f"{prefix}{name}.last", *mean_and_spread(last)))
    ours = np.array([errors.probability for errors in found["herded"]])
    for name in ("gibbs", "field"):
        other = np.array([errors.probability for errors in found[name]])
        ratio = ours.mean(axis=0) / other.mean(axis=0)
        note = f"At the end {ratio[-1]:.2f}."
        rows.append(Row(f"{prefix}herded/{name}", float(ratio[at]), note=note))
    return rows


def _draw(
    shown: tuple[Floats, Floats, Floats],
    counts: NDArray[np.intp],
    found: dict[str, list[Errors]],
    path: Path,
) -> None:
    figure = Figure(figsize=(9.6, 5.6), layout="constrained")
    grid = figure.subplots(2, 3)
    titles = ("image", "with noise", f"means, {AFTER} sweeps of herded Gibbs")
    for axes, image, title in zip(grid[0], shown, titles, strict=True):
        axes.imshow(image, cmap="gray", interpolation="nearest")
        axes.set_title(title, fontsize=10, loc="left")
        axes.set_axis_off()
    looks = {
        "herded": ("herded Gibbs", pictures.HERDED),
        "gibbs": ("Gibbs", pictures.RANDOM),
        "field": ("mean field", pictures.TRUE),
    }
    labels = ("RMSE of probabilities", "RMSE of the image", "share of wrong pixels")
    for axes, what, label in zip(grid[1], Errors._fields, labels, strict=True):
        for name, (legend, colour) in looks.items():
            curve = np.mean([getattr(errors, what) for errors in found[name]], axis=0)
            axes.semilogx(counts, curve, color=colour, label=legend)
        if what == "probability":
            axes.set_yscale("log")
            axes.legend(frameon=False, fontsize=8)
        pictures.tidy(axes, "sweeps", label)
    pictures.save(figure, path)
