r"""The update rules: what one labelled row does to a Gaussian over weight vectors.

All learners of this package keep a Gaussian :math:`N(\mu, \Sigma)` (the first-order ones with
:math:`\Sigma = I`) and see a row only through its signed margin :math:`m = y \mu^T x` and the
variance of that margin :math:`v = x^T \Sigma x`. A rule turns the two into a step
:math:`\alpha` and a gain of precision :math:`\beta`:

.. math:: \mu \leftarrow \mu + y \alpha \Sigma x, \qquad
          \Sigma^{-1} \leftarrow \Sigma^{-1} + \beta x x^T.

=================  ===============  ======================================  ===================
learner            row counts if    :math:`\alpha`                          :math:`\beta`
=================  ===============  ======================================  ===================
NHERD              m <= 1           (1 - m) / (v + 1/C)                     2C + C^2 v
AROW               m <= 1           (1 - m) / (v + 1/C)                     C
second-order       m <= 0           (1 - m) / (v + 1/C)                     C
CW, soft CW        m < phi sqrt(v)  see `step`                              alpha phi / sqrt(u)
CW variance        m < phi v        see `step`                              2 alpha phi
PA, PA-I, PA-II    m < 1            (1 - m) / (v + 1/(2C)), cut at C, ...   0
perceptron         m <= 0           1                                       0
=================  ===============  ======================================  ===================

The gain for NHERD is that of the paper's full update, written for the inverse: with
:math:`h = (C^2 v + 2C)/(1 + Cv)^2` Sherman and Morrison give :math:`h/(1 - hv) = 2C + C^2 v`.
How the gain reaches a diagonal covariance is the *form*:

=========  ==========================================================================
project    the diagonal of the inverse: S_r / (1 + beta x_r^2 S_r)
drop       the diagonal of the full update: S_r - (S_r x_r)^2 beta / (1 + beta v)
exact      the paper's solution within diagonal matrices: S_r / (1 + C x_r^2 S_r)^2
full       the whole matrix
=========  ==========================================================================

Equation 9 of [crammer2010]_ as printed lost the :math:`\Sigma`; its figure 3 has it. Its equation
2 gives PA-II with 1/C; we keep 1/(2C) of [crammer2006]_, as all other software does.
"""

from typing import NamedTuple

__all__ = ["ALGORITHMS", "FORMS", "VARIANCE_FLOOR", "Rule", "step"]

#: Names of the rules, by the number that the compiled loops know them by.
ALGORITHMS = (
    "perceptron",
    "PA",
    "PA-I",
    "PA-II",
    "NHERD",
    "AROW",
    "second-order",
    "stdev",
    "soft-1",
    "soft-2",
    "variance",
)

#: Names of the forms of the covariance, by number. "ridge" is the second-order perceptron's own
#: diagonal: mean and variance of a ridge regression in each feature apart.
FORMS = ("none", "project", "exact", "drop", "ridge", "full")

#: No variance falls below this: 1 / VARIANCE_FLOOR and its product with 1e-20 are still finite.
VARIANCE_FLOOR = 1e-280


#: Rules that meet their constraint at any price. Beyond the budget they count what lies outside
#: the span as noise of the row, or they would force it through what little lies inside: with it
#: left out errors on digits with one label in ten wrong rose nearly fourfold. With the other rules
#: it is the other way round, since the covariance would narrow too slowly for a large C.
HARD = ("stdev", "variance")


class Rule(NamedTuple):
    """A learner in numbers, as the compiled loops take it."""

    algorithm: int  # place in ALGORITHMS
    form: int  # place in FORMS
    phi: float  # quantile of the confidence; the CW rules only
    forget: float  # share of the prior's variance that comes back before each row

    @classmethod
    def named(
        cls, algorithm: str, form: str = "none", *, phi: float = 0.0, forget: float = 0.0
    ) -> "Rule":
        """Build a rule from the names of its algorithm and form."""
        return cls(ALGORITHMS.index(algorithm), FORMS.index(form), float(phi), float(forget))

    @property
    def is_full(self) -> bool:
        """Whether the covariance is a whole matrix."""
        return FORMS[self.form] == "full"

    @property
    def is_hard(self) -> bool:
        """Whether the constraint of a row is met at any price."""
        return ALGORITHMS[self.algorithm] in HARD


def step(rule: Rule, margin: float, variance: float, rate: float) -> tuple[float, float]:
    """Return the step and the gain of precision for one row; both are 0 if it changes nothing.

    Parameters
    ----------
    rule : Rule
        The learner.
    margin, variance : float
        Of the row: y mu.x and x'Sx.
    rate : float
        C times the row's weight; for the hard CW forms the weight alone, which scales phi, and for
        the perceptron the weight alone, which is its step.

    Examples
    --------
    >>> from herder.online.rules import Rule, step
    >>> step(Rule.named("NHERD", "full"), 0.0, 5.0, 1.0)
    (0.16666666666666666, 7.0)
    """
    from herder.online import _passes_jit as _jit

    return _jit.step(rule, margin, variance, rate)
