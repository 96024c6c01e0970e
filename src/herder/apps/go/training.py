"""Learn the numbers of `herder.apps.go.predict` from positions of games with a known end."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from herder._errors import ParameterError
from herder._validation import mapping
from herder.apps.go.influence import fit_weights, influence_features
from herder.apps.go.patches import as_games, learn_patches, pack_table
from herder.apps.go.prediction import KIND, regress_and_herd

__all__ = ["learn"]

Floats = NDArray[np.float64]

#: Parts of the games; the predictions of each are made by what was learnt from all others.
N_FOLDS = 5


def learn(
    boards: Mapping[int, ArrayLike],
    owners: ArrayLike,
    *,
    progress: Callable[[float, str], None] | None = None,
) -> dict[str, NDArray[Any]]:
    """Return the arrays of the table that `herder.apps.go.predict` reads.

    Parameters
    ----------
    boards : mapping of int to array-like of shape (n_games, 19, 19)
        Positions of the games, by the number of moves.
    owners : array-like of shape (n_games, 19, 19)
        Who owns the points in the end: 1, -1, or 0 for nobody.
    progress : callable, optional
        Called with the share done, and a word on what is done.
    """
    given = mapping(boards, "boards", "positions by the number of moves")
    found: dict[str, list[Any]] = {}
    for place, move in enumerate(sorted(given)):
        positions, ends = as_games(given[move], owners)
        if len(positions) < N_FOLDS:
            raise ParameterError("owners", f"be those of {N_FOLDS} games or more", len(positions))
        for name, value in _learn_stage(positions, ends).items():
            found.setdefault(name, []).append(value)
        if progress is not None:
            progress((place + 1) / len(given), "learning")
    return {"moves": np.array(sorted(given)), **{k: np.array(v) for k, v in found.items()}}


def _learn_stage(boards: NDArray[np.int8], owners: NDArray[np.int8]) -> dict[str, Any]:
    """Return what is learnt from positions after one number of moves."""
    n = len(boards)
    features = np.array([influence_features(board) for board in boards])
    black = (0.5 + 0.5 * owners.astype(np.float64)).reshape(n, -1)

    def both(games: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        weights = fit_weights(features[games].reshape(-1, features.shape[2]), black[games].ravel())
        return weights, learn_patches(boards[games], owners[games], [KIND])[KIND]

    odds = np.empty((n, black.shape[1], 2))
    for fold in range(N_FOLDS):
        apart = np.arange(n) % N_FOLDS == fold
        weights, table = both(~apart)
        odds[apart] = [regress_and_herd(board, weights, table) for board in boards[apart]]
    shares = fit_weights(odds.reshape(-1, 2), black.ravel())
    chances = expit(odds @ shares)
    missed = owners.reshape(n, -1).sum(axis=1) - (2 * chances - 1).sum(axis=1)
    doubt = (chances * (1 - chances)).sum(axis=1)
    weights, table = both(np.ones(n, bool))
    return {
        "weights": weights.astype(np.float32),
        "patches": pack_table(table, KIND).astype(np.float32),
        "shares": shares,
        "variance": np.mean(missed**2 / doubt),
    }
