r"""Who will own which point: a regression says whose it is, herding which points go together.

A logistic regression on the influence of the stones (`herder.apps.go.influence`) is the marginal
of each single point. Those of crosses of five points, given the stones on them and the line of
the cross (`herder.apps.go.patches`), are blind: they say how probable it is that points have the
same owner, but not which one. Both contradict each other; herding finds averages q that are near
to all of them (`herder.fields.marginals`). Predicted is

.. math:: \sigma \Bigl( a \log \frac{p}{1 - p} + b \log \frac{q}{1 - q} \Bigr)

with p of the regression, and a and b fitted to games that neither p nor the crosses were learnt
from. All numbers were learnt after some numbers of moves; between these they are interpolated.

Of the 16 positions that are the same but for symmetries of the board and colours, the first in
order is predicted, and the answer is carried back. So turned and mirrored positions have turned
and mirrored predictions, and 1 - p with inverse colours.

The score is that of area counting, all points that Black owns less those of White: within a point
of what counting territory and prisoners yields. Its variance is a multiple, learnt as well, of
:math:`\sum_i p_i (1 - p_i)`.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from herder._validation import finite_number, non_negative_int
from herder.apps.go.board import SIZE, Board, as_board
from herder.apps.go.influence import influence_features
from herder.apps.go.patches import patch_marginals, unpack_table
from herder.core.summary import Fact, Facts, Picture, Section, Summarised, Summary
from herder.fields.marginals import herd_marginals
from herder.models.marginals import PatchTables

__all__ = ["Territory", "predict", "regress_and_herd", "score_text", "stage_odds", "territory"]

Floats = NDArray[np.float64]

#: Kind of the patches that are herded, and steps.
KIND, N_STEPS = "edge cross", 200

#: Points of a board under the symmetries of a square.
ORDERS = [
    np.ascontiguousarray(np.rot90(points, turns)).ravel()
    for points in (
        np.arange(SIZE**2).reshape(SIZE, SIZE),
        np.arange(SIZE**2).reshape(SIZE, SIZE).T,
    )
    for turns in range(4)
]


@dataclass(frozen=True, eq=False)
class Territory(Summarised):
    """A prediction of who will own the points of a position.

    Parameters
    ----------
    board : ndarray of int8 of shape (19, 19)
        The position.
    move : int
        Its number of moves.
    probability : ndarray of shape (19, 19)
        Probability that Black owns the point.
    score : float
        Expected score: points of Black, less those of White, less the komi.
    spread : float
        Standard deviation of the score.
    komi : float
        Points that White gets.
    """

    board: Board
    move: int
    probability: Floats
    score: float
    spread: float
    komi: float

    def summary(self) -> Summary:
        """Return the expected score and its spread."""
        facts = [
            Fact("score", score_text(self.score, self.spread), "", "expected, +- one deviation"),
            Fact("komi", self.komi, "g", "points that White gets"),
        ]
        text = "Stones, and squares where a point is likely to be Black's or White's."
        picture = Picture("territory", self, text)
        return Summary(f"Move {self.move}", [Facts(facts)], [Section("Board", [picture])])


def score_text(score: float, spread: float) -> str:
    """Return a score as it is written: B+3.5 if Black is ahead, with its spread."""
    return f"{'B' if score >= 0 else 'W'}+{abs(score):.1f} +- {spread:.1f}"


def predict(board: ArrayLike, move: int | None = None) -> Floats:
    """Return the probability that Black owns each point in the end, (19, 19).

    Parameters
    ----------
    board : array-like of shape (19, 19)
        The position: 1 is a black stone, -1 a white one, 0 an empty point.
    move : int, optional
        Number of moves so far; by default of the stones on the board.

    Examples
    --------
    >>> import numpy as np
    >>> from herder.apps.go import predict
    >>> board = np.zeros((19, 19), int)
    >>> board[3, 3], board[15, 15] = 1, -1
    >>> print(f"{predict(board)[2, 2]:.2f}")
    0.69
    """
    return territory(board, move).probability


def territory(board: ArrayLike, move: int | None = None, *, komi: float = 0.0) -> Territory:
    """Predict who will own each point, and the score.

    Parameters
    ----------
    board, move
        As for `predict`.
    komi : float, default 0.0
        Points that White gets.
    """
    position, komi = as_board(board), finite_number(komi, "komi")
    stones = int(np.count_nonzero(position))
    number = stones if move is None else non_negative_int(move, "move")
    flat = position.ravel()
    forms = [(order, colour) for order in ORDERS for colour in (1, -1)]
    first = min((colour * flat[order]).tobytes() for order, colour in forms)
    chances = _predict(np.frombuffer(first, np.int8).reshape(SIZE, SIZE), number)
    same = [own for own in forms if (own[1] * flat[own[0]]).tobytes() == first]
    black = np.zeros(SIZE**2)
    for order, colour in same:  # several for a position with symmetries of its own
        black[order] += (chances if colour > 0 else 1 - chances) / len(same)
    doubt = float(np.sum(black * (1 - black)))
    spread = float(np.sqrt(_at(number, "variance") * doubt))
    score = float(np.sum(2 * black - 1)) - komi
    return Territory(position, number, black.reshape(SIZE, SIZE), score, spread, komi)


def _predict(board: Board, move: int) -> Floats:
    """Return the probability that Black owns each point, (361,)."""
    return expit(stage_odds(board, move) @ _at(move, "shares"))


def stage_odds(board: Board, move: int) -> Floats:
    """Return what `regress_and_herd` does by what was learnt, at a number of moves."""
    table = unpack_table(_at(move, "patches"), KIND)
    return regress_and_herd(board, _at(move, "weights"), table)


def regress_and_herd(board: Board, weights: Floats, table: Floats) -> Floats:
    """Return the log odds of the regression, and of herding it with crosses, (361, 2)."""
    odds = influence_features(board) @ weights
    chances = expit(odds)
    single = PatchTables(np.arange(SIZE**2)[:, None], np.column_stack([1 - chances, chances]))
    crosses = patch_marginals(board, {KIND: table}, blind=True)
    herded = herd_marginals({"single": single, **crosses}, N_STEPS).marginals[:, 1]
    return np.column_stack([odds, logit((N_STEPS * herded + 0.5) / (N_STEPS + 1))])


def _at(move: int, name: str) -> Floats:
    """Return what was learnt, interpolated at a number of moves."""
    table = _table()
    shares = [np.interp(move, table["moves"], own) for own in np.eye(len(table["moves"]))]
    return np.tensordot(shares, table[name].astype(np.float64), 1)


@cache
def _table() -> dict[str, Floats]:
    """Return what was learnt from games, as `herder.apps.go.training` made it."""
    with np.load(Path(__file__).with_name("table.npz"), allow_pickle=False) as archive:
        return dict(archive)
