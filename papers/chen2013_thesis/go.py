"""Games of Go for section 3.5.4: positions, who owns what in the end, herding and its rival."""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from scipy.special import expit, logit

from herder import datasets, herd_marginals
from herder.apps.go import learn_patches, patch_marginals
from herder.learn.crf import fit_shared, shared_tables
from herder.samplers.belief import propagate
from papers.chen2013_thesis.data import SEED

Floats, Boards = NDArray[np.float64], NDArray[np.int8]

#: Moves at which the thesis predicts, and stones of drawn boards.
STAGES, QUICK_STAGES = (20, 80, 150), (80,)

#: Steps of herding, training games of the random field, and games that set its temperature.
N_STEPS, N_FIELD, N_SCALE = 300, 120, 120
N_QUICK_STEPS, N_QUICK = 60, 6

#: Probabilities are kept this far from 0 and 1.
SMALLEST = 0.5 / N_STEPS

#: Pairs of neighbours on a board.
POINTS = np.arange(361).reshape(19, 19)
EDGES = np.concatenate(
    [
        np.column_stack([POINTS[:, :-1].ravel(), POINTS[:, 1:].ravel()]),
        np.column_stack([POINTS[:-1].ravel(), POINTS[1:].ravel()]),
    ]
)


class Games(NamedTuple):
    """Positions by number of moves, and who owns their points in the end."""

    boards: dict[int, Boards]
    owners: Boards


class Field(NamedTuple):
    """A random field: bias by stone, coupling by pair of stones, and the temperature."""

    theta: Floats
    omega: Floats
    factor: float


def drawn_games(n: int, n_stones: int = 80, seed: int = SEED) -> tuple[Boards, Boards]:
    """Draw boards and owners, (n, 19, 19): smooth territories, stones mostly on their own."""
    rng = np.random.default_rng(seed)
    smooth = np.array([gaussian_filter(rng.normal(size=(19, 19)), 3.0) for _ in range(n)])
    owners = np.where(smooth > np.median(smooth, axis=(1, 2), keepdims=True), 1, -1)
    boards = np.zeros((n, 361), np.int8)
    for board, own in zip(boards, owners.reshape(n, -1), strict=True):
        places = rng.choice(361, n_stones, replace=False)
        board[places] = np.where(rng.random(n_stones) < 0.9, own[places], -own[places])
    return boards.reshape(n, 19, 19), owners.astype(np.int8)


@cache
def games(quick: bool) -> tuple[Games, Games]:
    """Return training games, and every third one of those with sure owners as test games."""
    if quick:
        boards, owners = drawn_games(4 * N_QUICK)
        found, clean = {QUICK_STAGES[0]: boards}, np.arange(len(boards))
    else:
        data = datasets.go_ownership()
        found, owners = dict(data.boards), data.owners
        clean = np.flatnonzero(data.fields["clean"])
    test = clean[::3]
    parts = []
    for own in (np.setdiff1d(clean, test), test):
        parts.append(Games({move: each[own] for move, each in found.items()}, owners[own]))
    return parts[0], parts[1]


def entropies(chances: Floats, owners: Boards) -> Floats:
    """Return the cross entropy of each game, nats a point; points of nobody do not count."""
    ends = owners.reshape(len(owners), -1)
    right = np.where(ends > 0, chances, 1 - chances)
    return (-np.log(right) * (ends != 0)).sum(axis=1) / (ends != 0).sum(axis=1)


def herd(boards: Boards, tables: dict[str, Floats], n_steps: int) -> Floats:
    """Return the averages of herding at each point, (n, 361)."""
    found = [herd_marginals(patch_marginals(own, tables), n_steps).marginals for own in boards]
    return np.clip([own[:, 1] for own in found], SMALLEST, 1 - SMALLEST)


def patches(train: Games, move: int) -> dict[str, Floats]:
    """Return the frequencies of points, pairs, squares and crosses."""
    return learn_patches(train.boards[move], train.owners)


def _features(board: Boards) -> tuple[Floats, Floats]:
    """Return the stone of each point, and which pair of stones its neighbours are."""
    stones = board.ravel().astype(np.float64)
    one, other = stones[EDGES].T
    n, product = np.abs(one) + np.abs(other), one * other
    kinds = np.column_stack([n == 0, n == 1, product > 0, product < 0])
    return stones[:, None], kinds.astype(np.float64)


@cache
def field(quick: bool, move: int) -> Field:
    """Fit a random field by likelihood, colours alike, and its temperature to other games."""
    train = games(quick)[0]
    n, rest = (N_QUICK, N_QUICK) if quick else (N_FIELD, N_SCALE)
    boards, owners = train.boards[move], train.owners.reshape(len(train.owners), -1)
    own, both = zip(*map(_features, boards[:n]), strict=True)
    edges = np.concatenate([EDGES + 361 * k for k in range(n)])
    ends = owners[:n].ravel()
    labels = np.where(ends == 0, np.arange(len(ends)) % 2, ends > 0)  # of nobody: half each
    given = np.concatenate(own), edges, np.concatenate(both), labels.astype(int)
    theta, omega = fit_shared(*given, method="likelihood")
    odds = logit(believe(boards[n : n + rest], Field(theta, omega, 1.0)))
    factors = np.linspace(0.1, 2, 96)
    losses = [entropies(_between(k * odds), train.owners[n : n + rest]).mean() for k in factors]
    return Field(theta, omega, float(factors[np.argmin(losses)]))


def believe(boards: Boards, model: Field) -> Floats:
    """Return the marginals of belief propagation, (n, 361)."""
    found = []
    for board in boards:
        own, both = _features(board)
        fields, tables = shared_tables(own @ model.theta, both @ model.omega)
        found.append(propagate(fields, EDGES, tables).marginals[:, 1])
    return np.clip(found, 1e-6, 1 - 1e-6)


def calibrate(chances: Floats, model: Field) -> Floats:
    """Return probabilities at the temperature of a field."""
    return _between(model.factor * logit(chances))


def _between(odds: Floats) -> Floats:
    return np.clip(expit(odds), 1e-6, 1 - 1e-6)
