"""The mixture against its textbook twin: Python integers, and the exact posterior beside it."""

from fractions import Fraction

import numpy as np
import pytest

from herder.apps.codec.mixture import Mixture


class NaiveMixture:
    """Predicts pixels by the posterior of the components, computed afresh for each pixel."""

    def __init__(self, levels: list[list[int]], probabilities: list[int], shares: list[int]):
        table = [min(max(p, 1), 2**15 - 1) for p in probabilities]
        self.means = [[table[level] for level in row] for row in levels]
        self.counts = [max(share, 1) * 2**10 for share in shares]
        self.weight_of_an_image = sum(self.counts) * 16 // len(shares)

    def posterior(self, seen: list[int]) -> list[int]:
        """Return the weights of the components given pixels, each one floored to an integer."""
        weights = scaled(self.counts)
        for pixel, bit in enumerate(seen):
            chances = [row[pixel] if bit else 2**15 - row[pixel] for row in self.means]
            weights = [w * p // 2**15 for w, p in zip(weights, chances, strict=True)]
            if pixel < len(seen) - 1:
                weights = scaled(weights)
        return weights

    def predict(self, seen: list[int]) -> int:
        weights, pixel = [w // 2**16 for w in self.posterior(seen)], len(seen)
        ones = sum(w * row[pixel] for w, row in zip(weights, self.means, strict=True))
        return min(max(ones // (sum(weights) // 2**7), 26), 2**22 - 26)

    def learn(self, images: list[list[int]]) -> None:
        """Add the posteriors of a block, given all pixels but the last, to the counts."""
        for weights in [self.posterior(image[:-1]) for image in images]:
            weights = [w // 2**16 for w in weights]
            for k, w in enumerate(weights):
                self.counts[k] += w * (self.weight_of_an_image // 2**10) // (sum(weights) // 2**10)


def scaled(weights: list[int]) -> list[int]:
    """Return weights times a power of 2, floored, so that the largest has 46 bits."""
    shift = 46 - max(weights).bit_length()
    return [w * 2**shift if shift >= 0 else w // 2**-shift for w in weights]


def exact_prediction(twin: NaiveMixture, seen: list[int]) -> Fraction:
    """Return the probability of a 1 under the mixture, without any rounding."""
    ones = total = Fraction(0)
    for count, row in zip(twin.counts, twin.means, strict=True):
        weight = Fraction(count)
        for p, bit in zip(row, seen, strict=False):
            weight *= Fraction(p if bit else 2**15 - p, 2**15)
        total += weight
        ones += weight * Fraction(row[len(seen)], 2**15)
    return ones / total


def random_mixture(
    size: int, n_pixels: int, seed: int, *, n_levels: int = 8
) -> tuple[Mixture, NaiveMixture]:
    """Return a mixture and its twin; the outer levels are as extreme as they can be."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, n_levels, (size, n_pixels))
    probabilities = np.sort(rng.integers(0, 2**15, n_levels))
    probabilities[[0, -1]] = 0, 2**15 - 1
    shares = rng.integers(0, 2**15, size)
    twin = NaiveMixture(levels.tolist(), probabilities.tolist(), shares.tolist())
    return Mixture(levels.astype(np.uint8), probabilities, shares), twin


def compare(mixture: Mixture, twin: NaiveMixture, blocks: list[np.ndarray]) -> None:
    """Check all predictions of blocks of images (n_block, n_pixels)."""
    for images in blocks:
        mixture.begin(len(images))
        before = None
        for pixel in range(images.shape[1]):
            found = mixture.predict(pixel, before)
            assert found.tolist() == [twin.predict(row[:pixel].tolist()) for row in images]
            for row, weights, left, n in zip(images, *mixture._arrays[2:5], strict=True):
                posterior = enumerate(twin.posterior(row[:pixel].tolist()))
                kept = dict(zip(left[:n].tolist(), weights[:n].tolist(), strict=True))
                assert kept == {k: w for k, w in posterior if w}
            before = np.ascontiguousarray(images[:, pixel], np.int32)
        assert before is not None
        mixture.end(images.shape[1] - 1, before)
        twin.learn(images.tolist())
        assert mixture._counts.tolist() == twin.counts


@pytest.mark.parametrize(
    ("size", "n_pixels", "n_levels"),
    [(1, 1, 2), (1, 9, 8), (2, 1, 8), (7, 15, 8), (40, 33, 16), (256, 5, 8)],
)
def test_predictions_equal_those_of_the_twin(size: int, n_pixels: int, n_levels: int) -> None:
    rng = np.random.default_rng(size)
    mixture, twin = random_mixture(size, n_pixels, seed=n_pixels, n_levels=n_levels)
    blocks = [rng.integers(0, 2, (n, n_pixels)) for n in (1, 1, 3, 16)]
    compare(mixture, twin, blocks)


def test_components_that_fall_behind_are_left_out() -> None:
    """Extreme means: weights fall by 2^15 a pixel, and all but one component come to 0."""
    levels = np.eye(6, dtype=np.uint8).repeat(5, axis=1)
    probabilities, shares = np.array([0, 2**15]), np.array([1, 2**15, 5, 0, 9, 2])
    twin = NaiveMixture(levels.tolist(), probabilities.tolist(), shares.tolist())
    mixture = Mixture(levels, probabilities, shares)
    rng = np.random.default_rng(0)
    blocks = [levels.astype(np.int64), 1 - levels.astype(np.int64), rng.integers(0, 2, (4, 30))]
    compare(mixture, twin, blocks)
    assert sorted(twin.posterior(levels[0].tolist()))[:-1] == [0] * 5


def test_counts_of_many_images_of_one_kind() -> None:
    """One component takes all counts, which outgrow the 46 bits of a weight."""
    mixture, twin = random_mixture(3, 2, seed=1)
    images = np.zeros((16, 2), np.int64)
    compare(mixture, twin, [images] * 5)
    mixture._counts[1] = twin.counts[1] = 2**50 + 12345
    compare(mixture, twin, [images])


def test_predictions_are_close_to_the_exact_posterior() -> None:
    rng = np.random.default_rng(4)
    twin = random_mixture(12, 20, seed=5)[1]
    twin.means = [[min(max(p, 300), 2**15 - 300) for p in row] for row in twin.means]
    for image in rng.integers(0, 2, (20, 20)).tolist():
        for pixel in range(20):
            exact = exact_prediction(twin, image[:pixel])
            assert abs(twin.predict(image[:pixel]) / 2**22 - exact) < 2**-12
