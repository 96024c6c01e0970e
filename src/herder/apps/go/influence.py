r"""Influence of the stones on a board: features of a logistic regression on owners of points.

.. math:: P(\text{Black owns } i) = \sigma(\beta^T u_i), \qquad u(-c) = -u(c).

Features change sign with the colours, so that there is no constant. They are stones, blurred at
several widths and relative to the number of stones near, by the line of the point from the
edge; of chains their liberties and size, the influence on their liberties, and the liberties of
the weakest enemy; of empty points the colour of their region and the distances to both colours.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation, gaussian_filter
from scipy.special import expit

from herder.apps.go.board import BLACK, NEIGHBOURS, SIZE, WHITE, Board, chain
from herder.apps.go.patches import N_LINES, line_of_points

__all__ = ["fit_weights", "influence_features"]

Floats = NDArray[np.float64]

#: Standard deviations of the blurred stones, in points; of those by line, of those of weak chains;
#: and of the influence on the liberties of a chain.
WIDTHS, LINE_WIDTHS, WEAK_WIDTHS, CHAIN_WIDTHS = (
    (0.6, 1.0, 1.5, 2.2, 3.2, 4.5, 6.5),
    (1.5, 3.2, 6.5),
    (0.6, 1.0, 2.2),
    (1.0, 2.2, 4.5),
)

#: Added to the number of stones near by, so that far from all of them there is no influence.
FEW_STONES = 0.01

#: Distances to stones are at most this.
FAR = 8

#: Empty regions of one colour are small, middle or large: up to so many points.
REGION_SIZES = (3, 10)

#: Weight of the sum of squared coefficients, of features with a mean square of 1.
PENALTY = 100.0

MAX_ITER, TOLERANCE = 30, 1e-6


def influence_features(board: Board) -> Floats:
    """Return the features of all points of a position, (361, n_features)."""
    stones = board.astype(np.float64)
    line = line_of_points()
    lines = [line == k for k in range(N_LINES)]
    found = [stones * own for own in lines]
    influence = {width: _blur(stones, width) for width in WIDTHS}
    for width, own in influence.items():
        relative = own / (_blur(np.abs(stones), width) + FEW_STONES)
        found += [part * there for there in lines for part in (own, relative)]
        found.append(own * (board == 0))
    found += [_blur(stones * own, width) for width in LINE_WIDTHS for own in lines[:-1]]
    found += _of_chains(board, [influence[width] for width in CHAIN_WIDTHS])
    found += _of_distances(board)
    return np.stack(found, axis=-1).reshape(SIZE * SIZE, -1)


def _blur(values: Floats, width: float) -> Floats:
    return gaussian_filter(values, width, mode="reflect")


def _of_chains(board: Board, influence: list[Floats]) -> list[Floats]:
    """Return features of the chains of stones, and of empty regions with one colour around."""
    stones = board.ravel().tolist()
    liberties, weakest, size, region = np.zeros((4, len(stones)))
    around, smooth = (
        np.zeros((len(influence), len(stones))),
        np.reshape(influence, (len(influence), -1)),
    )
    enemies, done = [], set[int]()
    for start, colour in enumerate(stones):
        if start in done:
            continue
        points, border = chain(stones, start)
        done.update(points)
        size[points] = len(points)
        if colour:
            liberties[points] = len(border)
            if border:  # none of a chain that should have been captured
                around[:, points] = smooth[:, border].mean(axis=1, keepdims=True)
            near = {there for point in points for there in NEIGHBOURS[point]}
            enemies.append((points, [there for there in near if stones[there] == -colour]))
        else:
            colours = {stones[point] for point in border}
            region[points] = colours.pop() if len(colours) == 1 else 0
    for points, near in enemies:
        weakest[points] = liberties[near].min() if near else np.inf
    own = board.ravel().astype(np.float64)
    found = [own * (liberties == n) for n in (1, 2, 3, 4)] + [
        own * (weakest == n) for n in (1, 2, 3)
    ]
    found += [own * np.log1p(liberties), own * np.log1p(size), *around]
    found.append(own * np.log(np.clip(weakest, 1, 2 * FAR) / np.maximum(liberties, 1)))
    low, high = REGION_SIZES
    found += [region * own for own in (size <= low, (size > low) & (size <= high), size > high)]
    shaped = [values.reshape(SIZE, SIZE) for values in found]
    weak = (board * (liberties <= 2).reshape(SIZE, SIZE)).astype(np.float64)
    return shaped + [_blur(weak, width) for width in WEAK_WIDTHS]


def _of_distances(board: Board) -> list[Floats]:
    """Return features of empty points: how far the stones of both colours are."""
    empty = board == 0
    black, white = (_distances(board == colour, empty) for colour in (BLACK, WHITE))
    found = [(white - black) / 4, np.sign(white - black), 1 / (1 + black) - 1 / (1 + white)]
    found += [1.0 * (black <= k) - (white <= k) for k in (1, 2, 3)]
    return [own * empty for own in found]


def _distances(stones: NDArray[np.bool_], empty: NDArray[np.bool_]) -> Floats:
    """Return the number of steps over empty points to the next stone."""
    found = np.where(stones, 0.0, FAR)
    for distance in range(1, FAR):
        near = np.asarray(binary_dilation(found < FAR), dtype=bool)
        found[near & empty & (found == FAR)] = distance
    return found


def fit_weights(features: Floats, black: Floats) -> Floats:
    """Return the coefficients of the regression, by Newton's method.

    Parameters
    ----------
    features : ndarray of shape (n, n_features)
        Features of points.
    black : ndarray of shape (n,)
        Share of each point that Black owns: 1, 0, or 0.5 for a point of nobody, which is left out.
    """
    rows, wanted = features[black != 0.5], black[black != 0.5]
    scale = np.sqrt((rows**2).mean(axis=0))
    scale[scale == 0] = 1.0
    rows = rows / scale
    weights = np.zeros(rows.shape[1])
    for _ in range(MAX_ITER):
        chances = expit(rows @ weights)
        slope = rows.T @ (wanted - chances) - PENALTY * weights
        curvature = (rows * (chances * (1 - chances))[:, None]).T @ rows
        step = np.linalg.solve(curvature + PENALTY * np.eye(len(weights)), slope)
        weights += step
        if np.abs(step).max() < TOLERANCE:
            break
    return weights / scale
