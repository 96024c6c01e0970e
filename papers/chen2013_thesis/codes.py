"""Section 3.3.4: ways to code binary images, each with its parameters.

Herding sends prototypes, in halves and coded by how often each value occurs, and ten bits for
each share. Restricted Boltzmann machines send parameters rounded to a multiple of the largest
power of two that lengthens the code by less than 1 %, coded as normal numbers. Vector
quantisation and the mixture send binary words, and shares and error rates in 1/1024.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from herder import RBM, ParametricHerder
from herder.fields.parametric import SHARES
from herder.models.bernoulli import fit_bernoulli_mixture
from papers.chen2013_thesis import data
from papers.chen2013_thesis.hidden import (
    Bits,
    Floats,
    Images,
    Length,
    best_p0,
    curves,
    distance_counts,
    entropy,
    entropy_bits,
    images,
    normal_bits,
    word_length,
)

#: Of the machines; at 0.1, the default of RBM, their codes are longer.
LEARNING_RATE = 0.02

#: Sizes that are searched for the shortest total, by data: prototypes, hidden sites, words.
PROTOTYPES = {"8": (10, 20, 40), "all": (50, 100)}
HIDDEN = {"8": (10, 20, 50), "all": (50, 100)}
LATENT = {"8": (10, 20, 50), "all": (50, 100)}
WORDS = {"8": (20, 40, 80), "all": (200, 400, 800)}

#: Hidden sites of herding, which cost nothing.
N_HIDDEN = 100

#: Samples of a codebook, and of one that judges rounding.
N_SAMPLES, N_ROUNDING = 3000, 1000
N_QUICK_SAMPLES, N_QUICK_ROUNDING = 300, 100

#: Sweeps over all images of learning a machine: about as many updates for both data sets.
EPOCHS = {"8": 100, "all": 10}

#: Steps of rounding parameters of machines, and the share of the total that one may cost. Sites
#: are 0/1: in couplings of -1/+1 sites, a quarter, the first is as coarse as the prototypes.
STEPS, RULE = tuple(2.0**-k for k in range(-1, 6)), 0.01

#: Images, evenly over the digits, with which sizes and rounding are judged.
N_FEW = 700

#: Probabilities of errors are kept this far from 0 and 1.
MARGIN = 1e-3


@dataclass(frozen=True, eq=False)
class Coded:
    """A method with its best size: lengths of training images, and code lengths on test ones.

    For codebooks there is a length after each of ``ends`` words, else one.
    """

    name: str
    size: int
    train: tuple[Length, ...]
    test: tuple[float, ...]
    ends: tuple[int, ...] = ()
    step: float = 0.0
    tried: tuple[tuple[int, Length], ...] = ()

    @property
    def last(self) -> Length:
        """The length with all words."""
        return self.train[-1]


def ends_of(quick: bool) -> tuple[int, ...]:
    """Return sizes of codebooks, three for each decade."""
    n_samples = N_QUICK_SAMPLES if quick else N_SAMPLES
    whole = [round(10 ** (k / 3)) for k in range(20)]
    return (*(n for n in whole if n < n_samples), n_samples)


def sizes_of(table: dict[str, tuple[int, ...]], name: str, quick: bool) -> tuple[int, ...]:
    """Return the sizes to search, one only in a quick run."""
    return (4,) if quick else table[name]


@cache
def learn_prototypes(name: str, quick: bool, n_prototypes: int) -> ParametricHerder:
    """Parametric herding of the training images."""
    steps = 50 if quick else 1000
    herder = ParametricHerder(
        n_prototypes,
        n_hidden=20 if quick else N_HIDDEN,
        n_steps=steps,
        n_tuning_steps=steps,
    )
    return herder.fit(images(name, quick).train)


@cache
def herding(name: str, quick: bool) -> Coded:
    """Code by the words that prototypes herd, with the best number of prototypes."""

    def words(size: int, n: int) -> tuple[NDArray[np.int8], float]:
        herder = learn_prototypes(name, quick, size)
        bits = entropy_bits(herder.prototypes_) + len(herder.shares_) * np.log2(SHARES)
        return herder.sample(n), bits

    return _codebook("herding", name, quick, sizes_of(PROTOTYPES, name, quick), words)


@cache
def long_herding(name: str, quick: bool) -> Coded:
    """Code by ten times as many words of the same prototypes."""
    given, short = images(name, quick), herding(name, quick)
    n = 10 * short.ends[-1]
    train, test = curves(given, learn_prototypes(name, quick, short.size).sample(n), [n])
    length = Length(short.last.parameters, *train[0])
    return Coded("herding, long", short.size, (length,), (sum(test[0]),), (n,))


@cache
def learn_machine(name: str, quick: bool, method: str, size: int) -> RBM:
    """Learn a machine by CD-10 or PCD."""
    return RBM(
        size,
        method=method,
        n_steps=10 if method == "cd" else 1,
        learning_rate=LEARNING_RATE,
        n_epochs=2 if quick else EPOCHS[name],
        random_state=data.SEED,
    ).fit(images(name, quick).train)


def gibbs_words(machine: RBM, n: int) -> NDArray[np.int8]:
    """Return every hundredth visible state of 100 chains of block Gibbs sampling, in turn."""
    states = machine.sample(10 * max(n, 100), random_state=data.SEED)
    chains = states.reshape(-1, 100, states.shape[1])
    return chains[9::10].reshape(-1, states.shape[1])[:n]


def round_machine(machine: RBM, step: float) -> tuple[RBM, float]:
    """Round the parameters of a machine to multiples of ``step``; return it and their bits."""
    arrays, header = machine.to_state()
    bits = 0.0
    for key in ("couplings", "visible_biases", "hidden_biases"):
        arrays[key] = np.rint(arrays[key] / step) * step
        bits += normal_bits(arrays[key].ravel(), step)
    return RBM.from_state(arrays, header), bits


@cache
def rounding_step(name: str, quick: bool, method: str, size: int) -> float:
    """Return the largest power of two whose rounding costs at most 1 % of the total."""
    given, machine = images(name, quick), learn_machine(name, quick, method, size)
    n = N_QUICK_ROUNDING if quick else N_ROUNDING
    rows = given.train[:: max(1, len(given.train) // N_FEW)]

    def length(each: RBM) -> float:
        counts = distance_counts(rows, gibbs_words(each, n), [n])[0]
        return sum(word_length(counts, best_p0(counts)))

    exact = length(machine)
    for step in STEPS:
        rounded, bits = round_machine(machine, step)
        code = length(rounded)
        if code - exact <= RULE * (code + bits / len(given.train)):
            return step
    return STEPS[-1]


@cache
def gibbs_code(name: str, quick: bool, method: str) -> Coded:
    """RBM-S: code by samples of a machine, with the best number of hidden sites."""

    def words(size: int, n: int) -> tuple[NDArray[np.int8], float]:
        step = rounding_step(name, quick, method, size)
        machine, bits = round_machine(learn_machine(name, quick, method, size), step)
        return gibbs_words(machine, n), bits

    found = _codebook(
        f"RBM-S {'CD-10' if method == 'cd' else 'PCD'}",
        name,
        quick,
        sizes_of(HIDDEN, name, quick),
        words,
    )
    return replace(found, step=rounding_step(name, quick, method, found.size))


def _codebook(
    label: str,
    name: str,
    quick: bool,
    sizes: Sequence[int],
    words: Callable[[int, int], tuple[NDArray[np.int8], float]],
) -> Coded:
    given, tried, made = images(name, quick), [], {}
    ends, every = ends_of(quick), max(1, len(given.train) // N_FEW)
    for size in sizes:
        made[size] = codewords, bits = words(size, ends[-1])
        counts = distance_counts(given.train[::every], codewords, ends[-1:])[0]
        tried.append((size, _length(bits, given, word_length(counts, best_p0(counts)))))
    size = min(tried, key=lambda each: each[1].total)[0]
    codewords, bits = made[size]
    train, test = curves(given, codewords, ends)
    lengths = tuple(_length(bits, given, each) for each in train)
    return Coded(label, size, lengths, tuple(map(sum, test)), ends, tried=tuple(tried))


def _length(bits: float, given: Images, code: tuple[float, float]) -> Length:
    return Length(bits / len(given.train), *code)


@dataclass(frozen=True, eq=False)
class Words:
    """Binary words with their shares and probabilities of an error, rounded to 1/1024."""

    words: Bits
    shares: Floats
    errors: Floats

    @property
    def bits(self) -> float:
        """Bits of the parameters."""
        ones = self.words.mean()
        step = 1 / SHARES
        numbers = normal_bits(self.shares, step) + normal_bits(self.errors, step)
        return self.words.size * entropy([ones, 1 - ones]) + numbers

    def log_joint(self, rows: Bits) -> Floats:
        """Log probability of each row together with each word."""
        apart = self.apart(rows)
        width = rows.shape[1]
        on, off = np.log(self.errors), np.log1p(-self.errors)
        return apart * on + (width - apart) * off + np.log(self.shares)

    def apart(self, rows: Bits) -> Floats:
        """Hamming distances of rows and words."""
        a, b = 2.0 * rows - 1, 2.0 * self.words - 1
        return (rows.shape[1] - a @ b.T) / 2

    def length(self, rows: Bits, hard: bool) -> Length:
        """Mean length of equation 3.25 (``hard``) or 3.27, without the parameters."""
        joint = self.log_joint(rows)
        if hard:
            posterior = (joint.argmax(axis=1)[:, None] == np.arange(joint.shape[1])).astype(float)
            code = -joint.max(axis=1)
        else:
            code = -np.asarray(logsumexp(joint, axis=1))
            posterior = np.exp(joint + code[:, None])
        errors = -(posterior * (joint - np.log(self.shares))).sum(axis=1)
        index, mistakes = (code - errors).mean() / np.log(2), errors.mean() / np.log(2)
        return Length(0.0, float(index), float(mistakes))


@cache
def _first_words(name: str, quick: bool, n_words: int) -> Words:
    """Return the words of a mixture of Bernoullis."""
    mixture = fit_bernoulli_mixture(images(name, quick).train, n_words)
    words = (mixture.means > 0.5).astype(np.uint8)
    return Words(words, mixture.shares, np.full(len(words), 0.1))


@cache
def learn_words(name: str, quick: bool, n_words: int, hard: bool) -> Words:
    """Fit words by EM, or by its hard form, from those of a mixture of Bernoullis."""
    rows = images(name, quick).train
    found = _first_words(name, quick, n_words)
    for _ in range(20):
        joint = found.log_joint(rows)
        top = joint.argmax(axis=1)[:, None] == np.arange(joint.shape[1])
        totals = np.asarray(logsumexp(joint, axis=1))
        posterior = top.astype(float) if hard else np.exp(joint - totals[:, None])
        sizes = posterior.sum(axis=0)
        kept = sizes > 0.5
        posterior, sizes = posterior[:, kept], sizes[kept]
        words = (posterior.T @ rows > sizes[:, None] / 2).astype(np.uint8)
        apart = Words(words, sizes, sizes).apart(rows)
        errors = (posterior * apart).sum(axis=0) / sizes / rows.shape[1]
        shares = np.maximum(np.rint(sizes / len(rows) * SHARES), 1) / SHARES
        errors = np.maximum(np.rint(errors * SHARES), 1) / SHARES
        found = Words(words, shares / shares.sum(), errors)
    return found


@cache
def word_code(name: str, quick: bool, hard: bool) -> Coded:
    """Vector quantisation (``hard``) or the mixture, with the best number of words."""
    given, tried = images(name, quick), []
    for size in sizes_of(WORDS, name, quick):
        found = learn_words(name, quick, size, hard)
        length = found.length(given.train, hard)
        tried.append((size, replace(length, parameters=found.bits / len(given.train))))
    size, best = min(tried, key=lambda each: each[1].total)
    test = learn_words(name, quick, size, hard).length(given.test, hard).code
    return Coded("VQ" if hard else "mixture", size, (best,), (test,), tried=tuple(tried))


@cache
def latent_code(name: str, quick: bool) -> Coded:
    """RBM-H: code by hidden states of a machine, and the pixels that these get wrong."""
    given, tried, tests = images(name, quick), [], {}
    for size in sizes_of(LATENT, name, quick):
        step = rounding_step(name, quick, "cd", size)
        machine, bits = round_machine(learn_machine(name, quick, "cd", size), step)
        states, wrong = climb(machine, given.train)
        chances = [_within(part.mean(axis=0)) for part in (states, wrong)]
        bits += sum(normal_bits(p, 1 / SHARES) for p in chances)
        index, errors = (_cost(*each) for each in zip((states, wrong), chances, strict=True))
        tried.append((size, Length(bits / len(given.train), index, errors)))
        unseen = climb(machine, given.test)
        tests[size] = sum(_cost(*each) for each in zip(unseen, chances, strict=True))
    size, best = min(tried, key=lambda each: each[1].total)
    return Coded("RBM-H", size, (best,), (tests[size],), tried=tuple(tried))


def climb(machine: RBM, rows: Bits) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return hidden states of rows, and which pixels are wrong when the machine decodes them.

    The states begin at the most probable ones; a state is flipped where this lowers the errors.
    """
    model, seen = machine.model_, rows > 0
    states = machine.transform(rows) > 0.5
    fields = states @ model.couplings.T + model.visible_biases
    errors = ((fields > 0) != seen).sum(axis=1)
    improved = True
    while improved:
        improved = False
        for k in range(model.n_hidden):
            other = fields + np.where(states[:, k, None], -1.0, 1.0) * model.couplings[:, k]
            found = ((other > 0) != seen).sum(axis=1)
            better = found < errors
            if better.any():
                improved = True
                states[better, k] ^= True
                fields[better], errors[better] = other[better], found[better]
    return states, (fields > 0) != seen


def _within(chances: Floats) -> Floats:
    """Round probabilities to 1/1024, away from 0 and 1."""
    return np.clip(np.rint(chances * SHARES) / SHARES, MARGIN, 1 - MARGIN)


def _cost(states: NDArray[np.bool_], chances: Floats) -> float:
    """Mean bits of a row of independent states."""
    return float(-np.log2(np.where(states, chances, 1 - chances)).sum(axis=1).mean())


def codebooks(name: str, quick: bool) -> list[Coded]:
    """The methods of figure 3.5, herding first."""
    machines = [gibbs_code(name, quick, method) for method in ("cd", "pcd")]
    return [herding(name, quick), *machines]


def methods(name: str, quick: bool) -> list[Coded]:
    """All methods of figure 3.6, herding first."""
    words = [word_code(name, quick, hard) for hard in (True, False)]
    return [*codebooks(name, quick), latent_code(name, quick), *words]
