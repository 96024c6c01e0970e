"""Fit the boundary model of `herder.apps.segment` to what people drew for BSDS500.

``python benchmarks/segmentation/boundaries.py`` reads HERDER_DATA and prints the coefficients
that `herder.apps.segment.boundaries` has, and how well they predict images that were left out;
``--keep`` stores them, for a test. A pair of superpixels counts as different for the share of the
annotators for whom most of their pixels lie in different segments.
"""

import os
import sys
from pathlib import Path

if __name__ == "__main__":  # before NumPy is imported
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from numpy.typing import NDArray
from skimage.color import rgb2lab
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.pairing import write_results
from herder import datasets
from herder.apps.segment.boundaries import CUES, boundary_cues
from herder.apps.segment.superpixels import borders_of, superpixels

Floats = NDArray[np.float64]

N_FOLDS = 5


def pairs(image: NDArray[np.uint8], segments: NDArray[np.uint8]) -> tuple[Floats, Floats]:
    """Return cues of the pairs of an image, and the share of annotators that divide them."""
    lab = rgb2lab(image)
    labels = superpixels(lab)
    borders = borders_of(labels)
    shares = [most[borders.pairs] for most in (majority(labels, one) for one in segments)]
    divided = np.mean([ends[:, 0] != ends[:, 1] for ends in shares], axis=0)
    return boundary_cues(lab, labels, borders), divided


def majority(labels: NDArray[np.intp], segments: NDArray[np.uint8]) -> NDArray[np.intp]:
    """Return the segment of most pixels of each superpixel."""
    shape = int(labels.max()) + 1, int(segments.max()) + 1
    cells = labels.ravel() * shape[1] + segments.ravel()
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape).argmax(axis=1)


def fit(cues: Floats, divided: Floats) -> LogisticRegression:
    """Fit a logistic regression to shares."""
    weight = np.concatenate([1 - divided, divided])
    labels = np.repeat([0, 1], len(cues))
    return LogisticRegression(max_iter=1000).fit(np.concatenate([cues] * 2), labels, weight)


def main() -> None:
    """Fit to all images, and to all but some."""
    drawn = datasets.bsds()
    maps = drawn.maps["segments"]
    found = [pairs(*both) for both in zip(drawn.images, maps, strict=True)]
    chances, labels, weights = [], [], []
    for fold in range(N_FOLDS):
        train = [one for k, one in enumerate(found) if k % N_FOLDS != fold]
        model = fit(*map(np.concatenate, zip(*train, strict=True)))
        for cues, divided in found[fold::N_FOLDS]:
            chances += [model.predict_proba(cues)[:, 1]] * 2
            labels += [np.zeros(len(cues)), np.ones(len(cues))]
            weights += [1 - divided, divided]
    given = [np.concatenate(each) for each in (labels, chances, weights)]
    area = float(roc_auc_score(given[0], given[1], sample_weight=given[2]))
    loss = float(log_loss(given[0], given[1], sample_weight=given[2]))
    model = fit(*map(np.concatenate, zip(*found, strict=True)))
    coefficients = np.round(model.coef_.ravel(), 4).tolist()
    intercept = round(float(np.asarray(model.intercept_).item()), 4)
    n = sum(len(divided) for _, divided in found)
    print(f"{n:,} pairs, images left out: AUC {area:.3f}, log loss {loss:.4f}")
    print(f"COEFFICIENTS = {tuple(coefficients)}\nINTERCEPT = {intercept}")
    if "--keep" in sys.argv:
        row = {"cues": CUES, "coefficients": coefficients, "intercept": intercept}
        print(write_results("boundaries", [row | {"pairs": n, "auc": area, "log_loss": loss}]))


if __name__ == "__main__":
    main()
