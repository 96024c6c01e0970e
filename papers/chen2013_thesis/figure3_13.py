"""Figures 3.12 to 3.14: several labels, by local classifiers that look at 0 to 3 neighbours."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy import sparse
from skimage.color import rgb2lab
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from herder import datasets
from herder.apps.segment.boundaries import boundary_cues, boundary_probabilities
from herder.apps.segment.superpixels import borders_of, means_of, superpixels
from papers.chen2013_thesis import data, pictures
from papers.chen2013_thesis.segments import Floats, Indices, Superpixels, herd, linear, logs
from papers.claims import Row

#: Labels of an image, the share of superpixels whose label is given, images.
N_LABELS, GIVEN, N_IMAGES = 8, 0.1, 10
N_QUICK_LABELS, N_QUICK_IMAGES = 3, 2

#: Neighbours at a distance of at most so many steps are looked at.
HOPS, QUICK_HOPS = (0, 1, 2, 3), (0,)

#: Lambdas that are tried.
WEIGHTS = {
    "local": (0.0,),
    "crf": (0.03, 0.1, 0.3, 1.0, 3.0),
    "linear": (0.1, 0.3, 1.0, 3.0, 30.0),
    "herd": (1.0, 4.0, 16.0, 64.0),
}
NAMES = {"local": "local", "crf": "CRF", "linear": "CRF, linear", "herd": "herding"}

#: Titles of pictures of probabilities.
GREY = ("herding, largest average", "herding, P(boundary)")


class Scene(NamedTuple):
    """An image, its superpixels, their labels, and which labels are given."""

    image: NDArray[np.uint8]
    places: Indices
    labels: Indices
    sizes: Indices
    given: NDArray[np.bool_]
    features: list[Floats]
    pairs: Indices
    differ: Floats

    def chances(self, place: int) -> Superpixels:
        """Return local probabilities, learnt from the labels that are given."""
        model = make_pipeline(StandardScaler(), LogisticRegression())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(self.features[place][self.given], self.labels[self.given])
        chances = model.predict_proba(self.features[place])
        return Superpixels(chances, self.pairs, self.differ)

    def scores(self, found: Indices) -> tuple[float, float]:
        """Return mean recall and mean overlap of the labels, in per cent of pixels."""
        free = ~self.given
        n = int(self.labels.max()) + 1
        cells = self.labels[free] * n + found[free]
        counts = np.bincount(cells, self.sizes[free], n * n).reshape(n, n)
        hits, true, claimed = counts.diagonal(), counts.sum(axis=1), counts.sum(axis=0)
        recall = hits / np.maximum(true, 1)
        overlap = hits / np.maximum(true + claimed - hits, 1)
        return 100 * float(recall.mean()), 100 * float(overlap.mean())


def run(quick: bool, folder: Path) -> list[Row]:
    """Compare four methods; lambda is tuned on every second image, for the others."""
    prefix, hops = ("quick.", QUICK_HOPS) if quick else ("", HOPS)
    scenes = _drawn() if quick else _segmented()
    rows, curves = [], {name: [] for name in NAMES}
    for place, hop in enumerate(hops):
        local = [scene.chances(place) for scene in scenes]
        for name in NAMES:
            scores, weights = _tested(scenes, local, name, quick)
            curves[name].append(scores.mean(axis=0))
            low, high = min(weights), max(weights)
            note = "" if name == "local" else f"Lambda {low:g} and {high:g} on the two halves."
            rows += [
                Row(f"{prefix}{name}.{hop}.{kind}", float(own.mean()), float(own.std()), note=note)
                for kind, own in zip(("recall", "overlap"), scores.T, strict=True)
            ]
    _draw(curves, hops, scenes[-1], folder / "figure3_13.png")
    return rows


def _tested(
    scenes: list[Scene], local: list[Superpixels], name: str, quick: bool
) -> tuple[Floats, list[float]]:
    """Return recall and overlap of each image, and the two lambdas."""
    weights = WEIGHTS[name][1:2] if quick and name != "local" else WEIGHTS[name]
    scores = np.array(
        [
            [
                scene.scores(_found(own, name, weight))
                for scene, own in zip(scenes, local, strict=True)
            ]
            for weight in weights
        ]
    )
    halves = np.arange(len(scenes)) % 2
    best = [int(scores[:, halves != k, 0].mean(axis=1).argmax()) for k in range(2)]
    chosen = np.where(halves == 0, *best)
    return scores[chosen, np.arange(len(scenes))], [weights[k] for k in best]


def _found(local: Superpixels, name: str, weight: float) -> Indices:
    methods: dict[str, Callable[[], Any]] = {
        "local": lambda: local.chances.argmax(axis=1),
        "crf": lambda: logs(local, weight),
        "linear": lambda: linear(local, weight),
        "herd": lambda: herd(local, weight)[0].argmax(axis=1),
    }
    return methods[name]()


def _segmented() -> list[Scene]:
    """Return images of BSDS500 with at least eight segments, by the annotator who drew most."""
    given, found = datasets.bsds(), []
    for image, maps in zip(given.images, given.maps["segments"], strict=True):
        segments = max(maps, key=lambda one: len(np.unique(one)))
        if len(np.unique(segments)) >= N_LABELS and len(found) < N_IMAGES:
            found.append(_scene(image, segments, N_LABELS, len(found)))
    return found


def _drawn() -> list[Scene]:
    """Draw three stripes on noisy ground."""
    found = []
    for seed in range(N_QUICK_IMAGES):
        rng = np.random.default_rng([data.SEED, 313, seed])
        segments = np.repeat([1, 2, 3], 16)[None].repeat(48, axis=0)
        colours = rng.uniform(90, 160, (4, 3))
        pixels = colours[segments] + rng.normal(0, 15, (48, 48, 3))
        image = np.clip(pixels, 0, 255).astype(np.uint8)
        found.append(_scene(image, segments, N_QUICK_LABELS, seed))
    return found


def _scene(image: NDArray[np.uint8], segments: NDArray[Any], n_labels: int, seed: int) -> Scene:
    values, counts = np.unique(segments, return_counts=True)
    largest = np.sort(values[np.argsort(-counts, kind="stable")[:n_labels]])
    lab = rgb2lab(image)
    places = superpixels(lab)
    borders = borders_of(places)
    differ = boundary_probabilities(boundary_cues(lab, places, borders))
    votes = [means_of((segments == value)[..., None] * 1.0, places)[:, 0] for value in largest]
    kept = np.max(votes, axis=0) > 0.5
    inner = kept[borders.pairs].all(axis=1)
    labels, pairs = np.argmax(votes, axis=0)[kept], (np.cumsum(kept) - 1)[borders.pairs[inner]]
    own = means_of(lab, places)
    spread = np.sqrt(np.maximum(means_of(lab**2, places) - own**2, 0))
    features = [np.column_stack([own, spread])[kept]]
    near = _near(pairs, len(labels))
    for _ in HOPS[1:]:
        features.append(near @ features[-1])
    rng = np.random.default_rng([data.SEED, 13, seed])
    chosen = rng.random(len(labels)) < GIVEN
    chosen[[int((labels == label).argmax()) for label in range(n_labels)]] = True
    numbers = np.where(kept, np.cumsum(kept) - 1, -1)[places]
    sizes = np.bincount(places.ravel())[kept]
    return Scene(image, numbers, labels, sizes, chosen, features, pairs, differ[inner])


def _near(pairs: Indices, n: int) -> Any:
    """Return the matrix that takes the mean over a superpixel and its neighbours."""
    one, other = pairs.T
    joined = sparse.csr_matrix((np.ones(len(pairs)), (one, other)), (n, n))
    joined = joined + joined.T + sparse.identity(n)
    return sparse.diags_array(1 / np.asarray(joined.sum(axis=1)).ravel()) @ joined


def _draw(
    curves: dict[str, list[Floats]], hops: tuple[int, ...], scene: Scene, path: Path
) -> None:
    figure = Figure(figsize=(11.0, 7.6), layout="constrained")
    parts: Any = figure.subfigures(2, 1, height_ratios=(1.3, 1))
    above, below = parts
    local = scene.chances(0)
    averages, differ = herd(local, 16.0)
    shown = {
        "image": scene.image,
        "annotator": _spread(scene, scene.labels),
        "local": _spread(scene, local.chances.argmax(axis=1)),
        "CRF, lambda 0.3": _spread(scene, logs(local, 0.3)),
        "CRF, linear, lambda 10": _spread(scene, linear(local, 10.0)),
        "herding, lambda 16": _spread(scene, averages.argmax(axis=1)),
        "herding, largest average": _spread(scene, averages.max(axis=1), 1.0),
        "herding, P(boundary)": _boundary(scene, differ),
    }
    for axes, (title, picture) in zip(above.subplots(2, 4).flat, shown.items(), strict=True):
        grey = title in GREY
        colours = {"cmap": "gray", "vmax": 1} if grey else {"cmap": "tab10", "vmax": 9}
        axes.imshow(picture, interpolation="nearest", vmin=0, **colours)
        axes.set_title(title, fontsize=9)
        axes.set_axis_off()
    looks = dict(zip(NAMES, ("x-", "o-", "^-", "s-"), strict=True))
    for k, (axes, what) in enumerate(
        zip(below.subplots(1, 2), ("mean recall, %", "mean overlap, %"), strict=True)
    ):
        for name, marker in looks.items():
            values = [own[k] for own in curves[name]]
            axes.plot(hops, values, marker, label=NAMES[name], lw=1.0, ms=5)
        axes.set_xticks(hops)
        pictures.tidy(axes, "N, steps to the neighbours", what)
    below.axes[0].legend(frameon=False, fontsize=8)
    pictures.save(figure, path)


def _spread(scene: Scene, values: NDArray[Any], nothing: float = np.nan) -> NDArray[Any]:
    """Return values of superpixels as a picture, white where there is no label."""
    return np.append(values, nothing)[scene.places]


def _boundary(scene: Scene, differ: Floats) -> Floats:
    """Return, for each superpixel, its most probable boundary."""
    found = np.zeros(len(scene.labels))
    for ends in scene.pairs.T:
        np.maximum.at(found, ends, differ)
    return _spread(scene, found, 0.0)
