r"""Cells of a published table that are stated more than once.

Two reports may give the same cell as :math:`n_1 / N_1` and :math:`n_2 / N_2`. Herding one
feature towards two targets at equal rates is herding it towards their mean,

.. math:: w \leftarrow w + (p_1 - \phi(s)) + (p_2 - \phi(s))
                 = w + 2 \Bigl(\frac{p_1 + p_2}{2} - \phi(s)\Bigr),

so a cell is the mean of its shares, all with equal weight: a share over more rows is not
taken to be better, since two reports that differ by more than chance are not about the same
rows. The same count of the same total counts once, however often it is listed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from herder.models.consistency import ROUNDING

__all__ = ["Statement", "in_words", "mean_count", "spread"]


@dataclass(frozen=True, slots=True)
class Statement:
    """What one row states about a cell: ``count`` of ``total``.

    With ``left_out`` the cell is not listed but follows from those that are; the row is then
    the first one with that total.
    """

    count: float
    total: float
    row: int
    left_out: bool = False

    @property
    def share(self) -> float:
        """The probability."""
        return self.count / self.total


def spread(statements: Sequence[Statement]) -> float:
    """Return the largest difference of the shares; 0 when it is rounding.

    Examples
    --------
    >>> spread([Statement(60, 300, 0), Statement(100, 500, 1)])
    0.0
    """
    if len(statements) == 1:
        return 0.0
    shares = [statement.share for statement in statements]
    size = max(shares) - min(shares)
    return size if size > ROUNDING else 0.0


def mean_count(statements: Sequence[Statement], total: float) -> float:
    """Return the mean of the shares times ``total``; a count that all agree on as it is.

    Examples
    --------
    >>> mean_count([Statement(120, 300, 0), Statement(210, 500, 1)], 500)
    205.0
    """
    if not spread(statements):
        statements = [max(statements, key=lambda statement: statement.total)]
    if len(statements) == 1 and statements[0].total == total:
        return statements[0].count
    # fractions, so that counts that are whole come out whole
    shares = [Fraction(statement.count) / Fraction(statement.total) for statement in statements]
    return float(sum(shares) / len(shares) * Fraction(total))


def in_words(event: str, statements: Sequence[Statement], where: Callable[[int], str]) -> str:
    """Return what is stated about a cell, at the extremes; ``where`` is the name of a row."""
    by_share = sorted(statements, key=lambda statement: statement.share)
    first, second = sorted([by_share[0], by_share[-1]], key=lambda statement: statement.row)
    n = len(statements)
    times = "twice" if n == 2 else f"{n} times, at the extremes"
    return f"{times}: P({event}) = {_words(first, where)} and {_words(second, where)}"


def _words(statement: Statement, where: Callable[[int], str]) -> str:
    place = where(statement.row)
    if statement.left_out:
        place = f"the table from {place} on, which leaves it out"
    return f"{statement.share:.6g} ({statement.count:g} of {statement.total:g} in {place})"
