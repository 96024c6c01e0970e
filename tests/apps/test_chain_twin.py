"""The chain against its textbook twin: Python integers, dictionaries, one image at a time."""

from bisect import bisect_left
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal, localcontext

import numpy as np
import pytest

from herder.apps.codec import _chain_jit, chain, fixed
from herder.apps.codec.chain import Chain
from herder.apps.codec.coder import code_images
from tests.apps.test_mixture_twin import NaiveMixture, random_mixture

HALF = 2**21
SQUASH: list[int] = []  # filled by `squash`


def squash(x: int) -> int:
    """Return 1 / (1 + exp(-x / 256)) in 2^-22, rounded, for x from -3072 to 3072."""
    if not SQUASH:
        with localcontext() as context:
            context.prec = 40
            for k in range(-3072, 3073):
                exact = 2**22 / (1 + (-Decimal(k) / 256).exp())
                SQUASH.append(int(exact.to_integral_value(ROUND_HALF_UP)))
    return SQUASH[x + 3072]


def stretch(p: int) -> int:
    """Return the smallest logit whose probability reaches the middle of the range that p is in."""
    squash(0)
    return bisect_left(SQUASH, p // 1024 * 1024 + 512) - 3072


def blocks(n: int) -> Iterator[range]:
    """Yield images coded side by side: a sixteenth of those before, at least 1, at most 16."""
    done = 0
    while done < n:
        size = min(max(done // 16, 1), 16, n - done)
        yield range(done, done + size)
        done += size


def neighbours(row: int, column: int) -> list[tuple[int, int]]:
    """Return the places of the 22 nearest pixels that were coded before, nearest first."""
    steps = [(y, x) for y in range(-4, 1) for x in range(-4, 5) if y < 0 or x < 0]
    steps.sort(key=lambda step: (step[0] ** 2 + step[1] ** 2, step))
    return [(row + y, column + x) for y, x in steps[:22]]


class Regression:
    """A logistic regression in integers that takes normalised gradient steps."""

    def __init__(self, weight: int, square: int, root: int) -> None:
        self.weights: dict[int, int] = {}
        self.default, self.square, self.root = weight, square, root

    def weight(self, k: int) -> int:
        return self.weights.get(k, self.default)

    def rate(self, square: int) -> int:
        """Add to the sum of squares; return its root, by one more step of Newton."""
        self.square += square
        self.root = max((self.root + self.square * 2**16 // self.root) // 2, 1)
        return self.root


class NaiveChain:
    """Predicts and learns as `Chain` is documented to do."""

    def __init__(self, shape: tuple[int, int], rows: int = 2**16, back: int = 1024) -> None:
        self.height, self.width = shape
        size = self.height * self.width
        self.n_rows = min(size, rows)
        self.n_back = min(size, back, 2**24 // self.n_rows)
        self.own = [Regression(0, 4 * 2**16, 2 * 2**16) for _ in range(self.n_rows)]
        self.mixers = [Regression(0, 50 * 2**16, 463410) for _ in range(self.n_rows)]
        self.shared = Regression(3 * 2**24 // 10, 50 * 2**16, 463410)
        self.contexts: dict[tuple[int, ...], tuple[int, int]] = {}

    def inputs(self, seen: list[int], extra: int) -> tuple[list[int], list[tuple[int, ...]]]:
        """Return logits for the next pixel, and the contexts that they came from."""
        pixel = len(seen)
        own = self.own[pixel % self.n_rows]
        recent = seen[max(pixel - self.n_back, 0) :]
        total = own.weight(-1) + sum(own.weight(k) * (2 * x - 1) for k, x in enumerate(recent))
        around = [
            seen[y * self.width + x] if y >= 0 and 0 <= x < self.width else 0
            for y, x in neighbours(*divmod(pixel, self.width))
        ]
        contexts = [tuple(around[:order]) for order in (10, 16, 22)]
        counted = [stretch(self.contexts.get(key, (HALF, 0))[0]) for key in contexts]
        logits = [total // 2**12, *counted, stretch(extra), 77]
        return [max(-2048, min(2048, one)) for one in logits], contexts

    def predict(self, pixel: int, inputs: list[int]) -> int:
        mixers = self.mixers[pixel % self.n_rows], self.shared
        total = sum(m.weight(k) * x for m in mixers for k, x in enumerate(inputs))
        return squash(max(-3072, min(3072, total // 2**24)))

    def learn(self, seen: list[int], bit: int, inputs, contexts, predicted: int) -> None:
        pixel = len(seen)
        row = pixel % self.n_rows
        error = (bit * 2**22 - predicted + 32) // 64
        size = sum(x * x for x in inputs)
        for mixer in (self.mixers[row], self.shared):
            step = 2**23 * error // mixer.rate(error**2 // 2**16 * size // 2**16)
            for k, x in enumerate(inputs):
                mixer.weights[k] = mixer.weight(k) + (step * x + 128) // 256
        own = self.own[row]
        error = (bit * 2**22 - squash(inputs[0]) + 32) // 64
        step = 125829 * error // own.rate(error**2 // 2**16)
        own.weights[-1] = own.weight(-1) + step
        for k, x in enumerate(seen[max(pixel - self.n_back, 0) :]):
            own.weights[k] = own.weight(k) + step * (2 * x - 1)
        for key in contexts:
            p, count = self.contexts.get(key, (HALF, 0))
            p += (bit * 2**22 - p) * (655360 // (10 * count + 16)) // 2**16
            self.contexts[key] = max(400, min(4193904, p)), min(count + 1, 1000)


def naive_predictions(twin: NaiveChain, images: np.ndarray, other=None) -> list[list[int]]:
    """Return the probability of a 1 at each pixel of each image."""
    rows = images.reshape(len(images), -1).tolist()
    found: list[list[int]] = [[] for _ in rows]
    for block in blocks(len(rows)):
        if other is not None:
            other.begin(len(block))
        for pixel in range(len(rows[0])):
            extras = [HALF] * len(block)
            if other is not None:
                extras = other.predict([rows[i][:pixel] for i in block])
            views = [twin.inputs(rows[i][:pixel], extras[b]) for b, i in enumerate(block)]
            for i, (inputs, _) in zip(block, views, strict=True):
                found[i].append(twin.predict(pixel, inputs))
            for i, view in zip(block, views, strict=True):
                twin.learn(rows[i][:pixel], rows[i][pixel], *view, found[i][-1])
    return found


class Recorder:
    """Takes the place of a coder, and keeps the predictions."""

    def __init__(self) -> None:
        self.predictions: list[np.ndarray] = []

    def code(self, p: np.ndarray, bits: np.ndarray) -> np.ndarray:
        self.predictions.append(p.copy())
        return bits


def predictions(model, images: np.ndarray) -> list[list[int]]:
    """Return what `code_images` hands to a coder, by images and pixels."""
    n, size = len(images), images[0].size
    recorder = Recorder()
    code_images(model, recorder, n, size, images.reshape(n, size))  # type: ignore[arg-type]
    found: list[list[int]] = [[] for _ in range(n)]
    columns = iter(recorder.predictions)
    for block in blocks(n):
        for _ in range(size):
            for i, p in zip(block, next(columns), strict=True):
                found[i].append(int(p))
    assert next(columns, None) is None
    return found


def image_set(n: int, height: int, width: int, noise: float, seed: int = 0) -> np.ndarray:
    """Return copies of one image, each with some pixels inverted."""
    rng = np.random.default_rng(seed)
    pattern = rng.random((height, width)) < 0.5
    return (pattern ^ (rng.random((n, height, width)) < noise)).astype(np.uint8)


CASES = {
    "one pixel": (40, 1, 1, 0.3),
    "one image": (1, 9, 7, 0.5),
    "one row": (20, 1, 11, 0.1),
    "one column": (20, 13, 1, 0.1),
    "noise": (36, 4, 5, 0.5),
    "copies": (50, 3, 6, 0.0),
    "full blocks": (290, 2, 3, 0.1),
    "a large one": (2, 24, 17, 0.05),
}


@pytest.mark.parametrize("case", CASES)
def test_predictions_equal_those_of_the_twin(case: str) -> None:
    images = image_set(*CASES[case])
    shape = images.shape[1:]
    assert predictions(Chain(shape), images) == naive_predictions(NaiveChain(shape), images)


@pytest.mark.parametrize(("rows", "back"), [(5, 1024), (7, 3), (1, 1), (64, 6)])
def test_weights_that_pixels_share(rows: int, back: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chain, "MAX_ROWS", rows)
    monkeypatch.setattr(chain, "MAX_BACK", back)
    images = image_set(25, 6, 5, 0.1, seed=1)
    twin = NaiveChain((6, 5), rows, back)
    assert predictions(Chain((6, 5)), images) == naive_predictions(twin, images)


# a rise of 1008 * 65 // 2^16 is none, so that ones stop before the upper limit
@pytest.mark.parametrize(("value", "limit"), [(0, 400), (1, 2**22 - 1008)])
def test_counts_and_logits_at_their_limits(value: int, limit: int) -> None:
    images = np.full((3600, 1, 1), value, np.uint8)
    model, twin = Chain((1, 1)), NaiveChain((1, 1))
    found = predictions(model, images)
    assert found == naive_predictions(twin, images)
    assert twin.contexts[(0,) * 22] == (limit, 1000)
    assert model._learnt[1][0] == (limit - HALF) * 2**10 + 1000
    assert abs(found[-1][0] - value * 2**22) < 100
    surprise = 1 - images[:20]
    assert predictions(model, surprise) == naive_predictions(twin, surprise)
    p, count = twin.contexts[(0,) * 22]  # finer than predictions show it
    assert model._learnt[1][0] == (p - HALF) * 2**10 + count


class Given:
    """Another model, whose probabilities were drawn before."""

    def __init__(self, n_pixels: int, seed: int) -> None:
        self.rng, self.n_pixels = np.random.default_rng(seed), n_pixels

    def begin(self, n_block: int) -> None:
        self.values = self.rng.integers(26, 2**22 - 25, (self.n_pixels, n_block))

    def predict(self, pixel, before=None):
        """Return the row of a pixel, which the twin gives as the pixels before it."""
        return self.values[pixel] if isinstance(pixel, int) else self.values[len(pixel[0])]

    def end(self, pixel: int, bits: np.ndarray) -> None:
        """Learn nothing."""


@pytest.mark.parametrize("shape", [(30, 3, 5), (3, 1, 1), (2, 11, 4)])
def test_the_logit_of_another_model_is_an_input(shape: tuple[int, int, int]) -> None:
    images, size = image_set(*shape, noise=0.2), shape[1] * shape[2]
    found = predictions(Chain(shape[1:], Given(size, 5)), images)
    assert found == naive_predictions(NaiveChain(shape[1:]), images, Given(size, 5))
    if shape[0] > 3:
        assert found != predictions(Chain(shape[1:]), images)


class Unchanged:
    """The twin of a mixture as the other model: its shares stay as they were sent."""

    def __init__(self, twin: NaiveMixture) -> None:
        self.twin = twin

    def begin(self, n_block: int) -> None:
        """Learn nothing."""

    def predict(self, seen: list[list[int]]) -> list[int]:
        return [self.twin.predict(pixels) for pixels in seen]


def test_chain_and_mixture_together() -> None:
    images = image_set(60, 4, 3, 0.15, seed=2)
    mixture, twin = random_mixture(5, 12, seed=3)
    found = predictions(Chain((4, 3), mixture), images)
    assert found == naive_predictions(NaiveChain((4, 3)), images, Unchanged(twin))


def test_the_tables() -> None:
    """The tables of the compiled loop, each entry computed in another way."""
    assert _chain_jit.SQUASH.tolist() == [squash(x) for x in range(-3072, 3073)]
    assert _chain_jit.STRETCH.tolist() == [stretch(1024 * k) for k in range(4096)]
    rates = [int(Decimal(65536) / (Decimal("1.6") + n)) for n in range(1024)]
    assert _chain_jit.RATES.tolist() == rates
    assert fixed.ONE == 2**22
