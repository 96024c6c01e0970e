"""Positions of no real game: smooth territories, and stones that mostly stand on their own."""

import numpy as np
from scipy.ndimage import gaussian_filter


def drawn_games(n: int, n_stones: int = 80, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw boards and owners, (n, 19, 19) each."""
    rng = np.random.default_rng(seed)
    smooth = np.array([gaussian_filter(rng.normal(size=(19, 19)), 3.0) for _ in range(n)])
    owners = np.where(smooth > np.median(smooth, axis=(1, 2), keepdims=True), 1, -1)
    boards = np.zeros((n, 361), np.int8)
    for board, own in zip(boards, owners.reshape(n, -1), strict=True):
        places = rng.choice(361, n_stones, replace=False)
        board[places] = np.where(rng.random(n_stones) < 0.9, own[places], -own[places])
    return boards.reshape(n, 19, 19), owners.astype(np.int8)
