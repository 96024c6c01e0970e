"""Names of hashed features: the words that fall on them, found again in rows."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from herder.data.features import FeatureColumns
from herder.data.hashing import hash_features

__all__ = ["HashedWords"]

#: Words of one place that are shown.
N_WORDS = 3


@dataclass
class HashedWords:
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
        """Return the name or the most frequent words of a feature, and the sign of the first."""
        if place < len(self.columns.numbers):
            return self.columns.numbers[place], 1
        found = self.counts.get(place)
        if not found:
            return f"hashed {place}", 1
        (first, sign), *others = [key for key, _ in found.most_common(N_WORDS)]
        # a word of the other sign counts the other way round
        texts = [word if other == sign else f"not {word}" for word, other in others]
        return first + (f" (or {', '.join(texts)})" if texts else ""), sign

    @property
    def nameless(self) -> bool:
        """Whether a hashed feature among the places has no word, and so no sign to trust."""
        first = len(self.columns.numbers)
        return any(place >= first and place not in self.counts for place in self.places)
