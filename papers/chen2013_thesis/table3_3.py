"""Table 3.3 and figure 3.15: foreground and background of GrabCut."""

from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from skimage.color import rgb2lab
from sklearn.neighbors import NearestNeighbors

from herder import datasets
from herder.apps.segment.local import LocalModel, herd_local, local_model
from herder.apps.segment.superpixels import means_of
from papers.chen2013_thesis import data, pictures
from papers.chen2013_thesis.segments import Floats, Superpixels, logs
from papers.claims import Row

Bytes = NDArray[np.uint8]

N_SPLITS, SHOWN = 10, (2, 10, 24)

#: A quick run draws so many images, and tries every so many settings.
N_DRAWN, QUICK_STRIDE = 4, 6

#: Share of the evidence of a superpixel that its log odds have; lambda, in the field and in the
#: herd.
TRUSTS = (0.1, 0.2, 0.3, 0.5, 1.0)
WEIGHTS = {"crf": (0.05, 0.1, 0.2, 0.3, 0.5, 1.0), "herd": (1.0, 2.0, 4.0, 8.0, 16.0)}
WEIGHTS["clipped"] = WEIGHTS["crf"]

#: The second colour model: neighbours among some pixels of each side.
N_NEIGHBOURS, N_PIXELS = 25, 1000


class Scene(NamedTuple):
    """An image, its trimap and truth, and its superpixels with both colour models."""

    image: Bytes
    trimap: Bytes
    truth: Bytes
    models: tuple[LocalModel, ...]

    def wrong(self, labels: NDArray[np.bool_]) -> tuple[int, int]:
        """Return how many pixels superpixels have wrong, and how many count."""
        scored = (self.trimap == 128) & (self.truth != 128)
        mask = labels[self.models[0].labels]
        return int((mask != (self.truth == 255))[scored].sum()), int(scored.sum())


def run(quick: bool, folder: Path) -> list[Row]:
    """Tune on random halves, test on the others."""
    prefix = "quick." if quick else ""
    scenes = [_scene(*parts) for parts in (_drawn() if quick else _grabcut())]
    errors = {
        (model, method): _tested(scenes, model, method, QUICK_STRIDE if quick else 1)
        for model in range(1 if quick else 2)
        for method in ("local", "crf", "clipped", "herd")
    }
    _draw([scenes[k] for k in (range(2) if quick else SHOWN)], folder / "table3_3.png")
    rows = [
        Row(f"{prefix}{method}.{model + 1}", float(own.mean()), spread=float(own.std()))
        for (model, method), own in errors.items()
    ]
    models = sorted({model for model, _ in errors})
    gains = [errors[k, "herd"].mean() / max(errors[k, "local"].mean(), 0.1) for k in models]
    gaps = [errors[k, "herd"].mean() - errors[k, "crf"].mean() for k in models]
    fairer = [errors[k, "herd"].mean() - errors[k, "clipped"].mean() for k in models]
    return [
        *rows,
        Row(f"{prefix}gain", float(max(gains))),
        Row(f"{prefix}order", float(max(gaps))),
        Row(f"{prefix}order.clipped", float(max(fairer))),
    ]


def _grabcut() -> list[tuple[Bytes, Bytes, Bytes]]:
    given = datasets.grabcut()
    return list(zip(given.images, given.maps["lasso"], given.maps["truth"], strict=True))


def _drawn() -> list[tuple[Bytes, Bytes, Bytes]]:
    """Draw discs on noisy ground."""
    rows, columns = np.mgrid[:64, :64]
    found = []
    for seed in range(N_DRAWN):
        rng = np.random.default_rng([data.SEED, 33, seed])
        distance = np.hypot(rows - 32, columns - 32 + seed)
        colours = 100 + rng.uniform(0, 40, (2, 3))
        pixels = np.where(distance[..., None] < 18, *colours) + rng.normal(0, 15, (64, 64, 3))
        trimap = np.where(distance < 10, 255, np.where(distance < 26, 128, 64))
        image = np.clip(pixels, 0, 255).astype(np.uint8)
        truth = np.where(distance < 18, 255, 0)
        found.append((image, trimap.astype(np.uint8), truth.astype(np.uint8)))
    return found


def _scene(image: Bytes, trimap: Bytes, truth: Bytes) -> Scene:
    lab = rgb2lab(image)
    first = local_model(lab, trimap)
    evidence = means_of(_neighbours(lab, trimap)[..., None], first.labels)[:, 0]
    free = np.isfinite(first.evidence)
    second = first._replace(evidence=np.where(free, evidence, first.evidence))
    return Scene(image, trimap, truth, (first, second))


def _neighbours(lab: Floats, trimap: Bytes) -> Floats:
    """Return log odds of the foreground by the nearest colours that are marked."""
    some = []
    for grey in (64, 255):
        marked = lab[trimap == grey]
        some.append(marked[np.linspace(0, len(marked) - 1, N_PIXELS).astype(np.intp)])
    near = NearestNeighbors(n_neighbors=N_NEIGHBOURS).fit(np.concatenate(some))
    found = near.kneighbors(lab.reshape(-1, 3), return_distance=False)
    ahead = (found >= N_PIXELS).sum(axis=1) + 1.0
    return np.log(ahead / (N_NEIGHBOURS + 2 - ahead)).reshape(trimap.shape)


def _given(model: LocalModel, trust: float) -> Superpixels:
    chances = model.chances(trust)
    return Superpixels(np.column_stack([1 - chances, chances]), model.pairs, model.differ)


def _labels(model: LocalModel, method: str, trust: float, weight: float) -> NDArray[np.bool_]:
    if method == "local":
        return model.evidence > 0
    if method == "herd":
        return _herded(model, trust, weight) > 0.5
    return logs(_given(model, trust), weight, clipped=method == "clipped") > 0


def _herded(model: LocalModel, trust: float, weight: float) -> Floats:
    """Return averages with rates of 1 and lambda, whatever sizes are."""
    areas, lengths = np.ones_like(model.areas), np.ones_like(model.lengths)
    equal = model._replace(areas=areas, lengths=lengths)
    return herd_local(equal, trust=trust, weight=weight)[0]


def _tested(scenes: list[Scene], model: int, method: str, stride: int) -> Floats:
    """Return the error in per cent on each half, with what is best on the other."""
    weights = WEIGHTS.get(method, (0.0,))
    settings = list(product(TRUSTS, weights))[::stride]
    counts = np.array(
        [
            [one.wrong(_labels(one.models[model], method, *own)) for one in scenes]
            for own in settings
        ]
    )
    errors = []
    for split in range(N_SPLITS):
        order = np.random.default_rng([data.SEED, 3, split]).permutation(len(scenes))
        halves = order[: len(order) // 2], order[len(order) // 2 :]
        for tuned, test in (halves, halves[::-1]):
            best = counts[:, tuned, 0].sum(axis=1).argmin()
            errors.append(100 * counts[best, test, 0].sum() / counts[best, test, 1].sum())
    return np.array(errors)


def _draw(scenes: list[Scene], path: Path) -> None:
    figure = Figure(figsize=(10.0, 1.3 * len(scenes)), layout="constrained")
    titles = ("image", "truth", "lasso", "superpixels", "local", "herding")
    for line, scene in zip(figure.subplots(len(scenes), 6), scenes, strict=True):
        model = scene.models[0]
        apart = [np.diff(model.labels, axis=k, append=-1) != 0 for k in range(2)]
        edges = ~np.logical_or(*apart)
        local, herded = model.chances(0.3)[model.labels], _herded(model, 0.3, 2.0)[model.labels]
        shown = (
            scene.image,
            scene.truth,
            scene.trimap,
            scene.image * edges[..., None],
            local,
            herded,
        )
        for axes, picture, title in zip(line, shown, titles, strict=True):
            top = 1 if picture.dtype == float else 255
            axes.imshow(picture, cmap="gray", vmin=0, vmax=top, interpolation="nearest")
            axes.set_axis_off()
            if scene is scenes[0]:
                axes.set_title(title, fontsize=9)
    pictures.save(figure, path)
