"""The strongest features of a linear model, with their names and how sure it is of them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.data.features import FeatureColumns
from herder.data.hashing import hash_features

__all__ = ["Ranking", "Words", "rank"]

#: Words of one place that are shown.
N_WORDS = 3


@dataclass
class Words:
    """Words that were hashed to some places, found again in rows that were read.

    Parameters
    ----------
    columns : FeatureColumns
        How words are hashed.
    places : set of int
        Features whose words are wanted.
    """

    columns: FeatureColumns
    places: set[int]
    counts: dict[int, Counter[tuple[str, int]]] = field(default_factory=dict)

    def look(self, chunk: Mapping[str, NDArray[Any]]) -> None:
        """Count the words of a chunk of a table that fall on the places, with their signs."""
        counts = Counter(word for row in self.columns.tokens(chunk) for word in row)
        if not counts:
            return
        words = sorted(counts)
        hashed = hash_features([[word] for word in words], 2**self.columns.hash_bits)
        places = hashed.indices + len(self.columns.numbers)
        for word, place, sign in zip(words, places.tolist(), hashed.data.tolist(), strict=True):
            if place in self.places:
                here = self.counts.setdefault(place, Counter())
                here[word, int(sign)] += counts[word]

    def name(self, place: int) -> tuple[str, int]:
        """Give the most frequent words of a place, and the sign that the first counts with."""
        found = self.counts.get(place)
        if not found:
            return f"hashed {place}", 1
        (first, sign), *others = [key for key, _ in found.most_common(N_WORDS)]
        # a word of the other sign counts the other way round
        texts = [word if other == sign else f"not {word}" for word, other in others]
        return first + (f" (or {', '.join(texts)})" if texts else ""), sign


@dataclass(frozen=True)
class Ranking:
    """Strongest features of every block of weights.

    Parameters
    ----------
    model : estimator
        Linear.
    weights : ndarray of shape (n_blocks, n_features)
        Its means.
    deviations : ndarray of shape (n_blocks, n_features) or None
        Standard deviations, if it has them.
    places : sequence of sequences of int
        For each block the strongest features, the strongest first.
    """

    model: Any
    weights: NDArray[np.float64]
    deviations: NDArray[np.float64] | None
    places: Sequence[Sequence[int]]

    @property
    def all_places(self) -> set[int]:
        """All features that are listed."""
        return {place for block in self.places for place in block}

    def lines(self, columns: FeatureColumns | None, words: Words | None = None) -> list[str]:
        """Give a table as lines, or one a class beyond two.

        Parameters
        ----------
        columns : FeatureColumns or None
            Of the table that the model was trained on; None for svmlight lines.
        words : Words, optional
            Gives names to hashed features.
        """
        classes, lines = self.model.classes_.tolist(), []
        if len(classes) < 2:
            return [f"only {classes[0]} so far: there is nothing to tell apart yet"]
        first = 0 if columns is None else len(columns.numbers)
        if columns is not None and columns.is_hashed and max(self.all_places, default=-1) >= first:
            lines += _caution(words, self.all_places, first)
        for block, places in enumerate(self.places):
            if len(self.places) > 1:
                lines.append(f"for {classes[block]}:")
            else:
                lines.append(f"above 0 for {classes[1]}, below 0 for {classes[0]}:")
            sure = "" if self.deviations is None else f" {'deviation':>10} {'z':>9}"
            lines.append(f"{'weight':>12}{sure}  feature")
            for place in places:
                name, sign = _name(place, columns, words)
                deviation = None if self.deviations is None else self.deviations[block, place]
                lines.append(_line(sign * self.weights[block, place], deviation, name))
            if self.model.fit_intercept:
                deviation = None
                if self.deviations is not None:
                    deviation = np.sqrt(self.model.intercept_variance_[block])
                lines.append(_line(self.model.intercept_[block], deviation, "(intercept)"))
        return lines


def rank(model: Any, top: int, by: str) -> Ranking:
    """Find the ``top`` features of each block; features that never moved are none.

    Parameters
    ----------
    model : estimator
        Linear.
    top : int
        Features of each block.
    by : {"weight", "confidence"}
        Order by the size of the weight, or of the weight over its standard deviation.
    """
    name = type(model).__name__
    weights = getattr(model, "coef_", None)
    if weights is None:
        raise ParameterError("model", "be linear to be explained", got=f"{name} without weights")
    deviations = _deviations(model, weights.shape)
    sizes = np.abs(weights)
    if by == "confidence":
        if deviations is None:
            raise ParameterError(
                "by", f"be weight for {name}, which does not know how sure it is", got=by
            )
        sizes = sizes / deviations
    places = []
    for size in sizes:
        order = np.argsort(-size, kind="stable")[:top]
        places.append([int(place) for place in order if size[place] > 0])
    return Ranking(model, weights, deviations, places)


def _caution(words: Words | None, places: set[int], first: int) -> list[str]:
    """Say that a hashed feature without a word has no sign to trust."""
    if words is None:
        return [
            "hashed features: words are named, and their weights have the right sign, only with "
            "DATA, a table in which the words occur"
        ]
    if all(place < first or place in words.counts for place in places):
        return []
    return ["hashed features whose words are not in DATA may have the wrong sign"]


def _deviations(model: Any, shape: tuple[int, ...]) -> NDArray[np.float64] | None:
    variances = getattr(model, "covariance_", None)
    if variances is not None and model.covariance == "full":
        variances = np.diagonal(variances, axis1=-2, axis2=-1)
    return None if variances is None else np.sqrt(variances).reshape(shape)


def _name(place: int, columns: FeatureColumns | None, words: Words | None) -> tuple[str, int]:
    """Name a feature, and give the sign that it counts with."""
    if columns is None:
        return str(place), 1
    if place < len(columns.numbers):
        return columns.numbers[place], 1
    return (f"hashed {place}", 1) if words is None else words.name(place)


def _line(weight: float, deviation: float | None, name: str) -> str:
    sure = "" if deviation is None else f" {deviation:>10.4g} {weight / deviation:>9.3g}"
    return f"{weight:>12.5g}{sure}  {name}"
