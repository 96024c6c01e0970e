r"""One round of self-supervised boosting: weights of rows, the constant, the coefficient.

A random field :math:`P(s) \propto e^{-E(s)}` is to gain a feature :math:`\phi`. Rows of data have
:math:`y = -1`, negative examples, which are drawn from the field, :math:`y = +1`. The logistic
loss :math:`\sum_k \log(1 + e^{-y_k E_k})` of their classification by E weights them by
:math:`w_k = \sigma(-y_k E_k)`, and the change of the field is

.. math:: E \leftarrow E + \alpha \phi + \gamma .

Along :math:`\alpha` the negative examples n have importance weights
:math:`q_n \propto e^{-\alpha \phi_n}`. The derivatives are [welling2003]_

.. math:: \frac{\partial L}{\partial \alpha} = \sum_n q_n w_n \phi_n
          - \frac{1}{M} \sum_m w_m \phi_m, \qquad
          \frac{\partial L}{\partial \gamma} = \sum_n q_n w_n - \frac{1}{M} \sum_m w_m .

The constant makes the second zero. The coefficient is the first zero of the first one, or smaller
where the effective sample size :math:`1 / \sum_n q_n^2` would fall below a floor. With all
:math:`w_k = 1` this is the gradient of the log-likelihood, and there is no constant.

Equations 10 and 11 of the paper are for sums over equally many rows; these are means. A second
set of negative examples is drawn for the coefficient, so that it is not fitted to the rows that
the feature was trained on. When the effective sample size is too small, the coefficient is
accepted, or more negative examples are drawn from the field with it and the search goes on.

The paper has no penalty. Ours is that of regularised maximum entropy [dudik2004]_: from the first
derivative a number of standard errors of its second term, the mean over the data, is subtracted.
Where features are many and rows are few it keeps noise out, and the coefficient of a feature that
only fits noise is 0.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from herder._errors import ParameterError
from herder.learn.boosted_model import BoostedModel

__all__ = ["Round", "RoundRows", "balance", "find_coefficient", "run_round"]

#: Newton steps are at most this long, so that they do not leave the curved part of the sigmoids.
LONGEST_STEP = 2.0

#: After so many steps the interval is halved: they are too short for energies far apart.
N_NEWTON = 50

#: The total weights of data and negative examples differ by less than this.
BALANCED = 1e-10

#: Doublings of the coefficient, and then halvings of the interval that holds it. The first end at
#: 1,000 standard deviations of the energy: without noise no finite coefficient is the best one.
N_DOUBLINGS, N_HALVINGS = 20, 40

#: Sets of negative examples for one coefficient, at most.
MOST_SETS = 20

#: The floor of the effective sample size counts as reached below this multiple of it.
AT_FLOOR = 1.001

#: The first coefficient that is tried changes energies by this many standard deviations.
FIRST_CHANGE = 1e-3


#: A feature whose deviation is below this share of its largest value is constant.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class RoundRows:
    """Energies of data and negative examples, before a round.

    Parameters
    ----------
    data, negatives : ndarray
        Energies, without the constant.
    weighted : bool
        Whether rows have the weights of the logistic loss, or all have 1.
    """

    data: NDArray[np.float64]
    negatives: NDArray[np.float64]
    weighted: bool

    def weights(self, constant: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the weights of data and of negative examples, each of sum 1."""
        if not self.weighted:
            parts = np.ones(len(self.data)), np.ones(len(self.negatives))
        else:
            parts = expit(self.data + constant), expit(-self.negatives - constant)
        own, others = (part / max(part.sum(), np.finfo(float).tiny) for part in parts)
        return own, others


def balance(rows: RoundRows, shares: NDArray[np.float64], start: float = 0.0) -> float:
    """Return the constant at which data and negative examples have the same total weight.

    The difference of the weights increases with the constant, so Newton steps are kept within an
    interval that holds its zero.
    """
    energies = np.concatenate([rows.data, rows.negatives])
    low, high = -energies.max() - 50.0, -energies.min() + 50.0
    constant = min(max(start, low), high)
    for k in range(200):
        own, others = expit(rows.data + constant), expit(-rows.negatives - constant)
        gap = own.mean() - shares @ others
        if abs(gap) < BALANCED or high - low < BALANCED:
            break
        low, high = (low, constant) if gap > 0 else (constant, high)
        slope = (own * (1 - own)).mean() + shares @ (others * (1 - others))
        step = -gap / slope if slope > abs(gap) / LONGEST_STEP else -np.copysign(LONGEST_STEP, gap)
        constant += step
        if not low < constant < high or k >= N_NEWTON:
            constant = (low + high) / 2
    return float(constant)


def effective_share(shares: NDArray[np.float64]) -> float:
    """Return the effective sample size of importance weights, relative to their number."""
    return float(1 / (shares @ shares) / len(shares))


def find_coefficient(
    rows: RoundRows,
    data: NDArray[np.float64],
    negatives: NDArray[np.float64],
    *,
    min_ess: float,
    penalty: float = 0.0,
    constant: float = 0.0,
) -> tuple[float, float, float]:
    """Return the coefficient of a feature, the constant, and the effective sample size reached.

    The coefficient is 0 if the derivative there is not positive: the feature does not help.

    Parameters
    ----------
    rows : RoundRows
        Energies before.
    data, negatives : ndarray
        Values of the feature.
    min_ess : float
        Least effective sample size of the negative examples, relative to their number.
    penalty : float
        Standard errors of the mean over the data that are subtracted from the derivative.
    constant : float
        Where the search of the constant starts.
    """
    errors = penalty / np.sqrt(len(data))
    # where all rows have one value its error is not 0: one row more may be as the worst negative
    worst = float(negatives.max())

    def look(coefficient: float) -> tuple[float, float, float]:
        """Return the derivative, the constant and the effective sample size."""
        shares = importance(coefficient, negatives)
        changed = RoundRows(
            rows.data + coefficient * data, rows.negatives + coefficient * negatives, rows.weighted
        )
        ess = effective_share(shares)
        if not rows.weighted:
            slope = shares @ negatives - data.mean() - errors * np.append(data, worst).std()
            return float(slope), constant, ess
        level = balance(changed, shares, constant)
        own = expit(changed.data + level)
        others = shares @ (expit(-changed.negatives - level) * negatives)
        middle = np.average(data, weights=own)
        centred = np.append(own * (data - middle), own.mean() * (worst - middle))
        slope = others - (own * data).mean() - errors * centred.std()
        return float(slope), level, ess

    slope, level, ess = look(0.0)
    spread = float(negatives.std())
    if not slope > 0 or not spread > ROUNDING * np.abs(negatives).max():
        return 0.0, level, ess
    low, high = 0.0, FIRST_CHANGE / spread
    for _ in range(N_DOUBLINGS):
        slope, _, ess = look(high)
        if slope <= 0 or ess < min_ess:
            break
        low, high = high, 2 * high
    for _ in range(N_HALVINGS):
        middle = (low + high) / 2
        slope, _, ess = look(middle)
        low, high = (middle, high) if slope > 0 and ess >= min_ess else (low, middle)
    _, level, ess = look(low)
    return low, level, ess


class Round(NamedTuple):
    """What a round found.

    Parameters
    ----------
    model : BoostedModel
        With the feature that was added.
    energies : ndarray
        Of the data, in the model.
    constant : float
        Balances the weights.
    ess : float
        Effective sample size of the last negative examples, relative to their number.
    gain : float
        Estimated gain of the mean log density of rows that judge the round.
    negatives : ndarray
        The last negative examples.
    """

    model: BoostedModel
    energies: NDArray[np.float64]
    constant: float
    ess: float
    gain: float
    negatives: NDArray[np.float64]


def run_round(
    model: BoostedModel,
    rows: NDArray[np.float64],
    energies: NDArray[np.float64],
    constant: float,
    rng: np.random.Generator,
    *,
    judges: NDArray[np.float64],
    chain: str,
    n_steps: int,
    n_chains: int,
    weighted: bool,
    penalty: float,
    min_ess: float,
    resample: bool,
) -> Round:
    """Train a feature and find its coefficient.

    Parameters
    ----------
    model : BoostedModel
        The field so far.
    rows, energies : ndarray
        The data, and their energies.
    constant : float
        That of the round before.
    rng : Generator
        Draws negative examples, and where the feature starts.
    judges : ndarray
        Rows whose gain is estimated: held-out ones, or the data.
    chain, n_steps : str and int
        How negative examples are drawn, from the data on.
    n_chains : int
        Least number of negative examples.
    weighted, penalty, min_ess, resample : bool, float, float and bool
        As for `BoostedField`.
    """

    def negatives(field: BoostedModel) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        drawn, pulls = field.advance(starts, n_steps, rng, chain=chain)
        return drawn, field.base.energy(drawn) + pulls

    starts = np.tile(rows, (-(-n_chains // len(rows)), 1))
    others, there = negatives(model)
    before = RoundRows(energies, there, weighted)
    signs = np.repeat([-1.0, 1.0], [len(rows), len(others)])
    weights = np.concatenate(before.weights(balance(before, np.full(len(there), 1 / len(there)))))
    both = np.concatenate([rows, others])
    feature = np.asarray(model.family.fit(both, signs, weights, rng), np.float64)
    name = type(model.family).__name__
    if feature.ndim != 1 or not np.isfinite(feature).all():
        raise ParameterError("features", "return a vector of finite numbers from fit", got=name)
    values = model.values(feature, rows)
    if values.shape != (len(rows),) or not np.isfinite(values).all():
        rule = "return a column of finite numbers from values for each feature"
        raise ParameterError("features", rule, got=name)
    judged = model.values(feature, judges).mean()
    found, total, gain, ess = model, 0.0, 0.0, 1.0
    for _ in range(MOST_SETS if resample else 1):
        others, there = negatives(found)
        at = RoundRows(energies + total * values, there, weighted)
        theirs = model.values(feature, others)
        more, constant, ess = find_coefficient(
            at, values, theirs, min_ess=min_ess, penalty=penalty, constant=constant
        )
        total += more
        gain -= more * judged + float(np.logaddexp.reduce(-more * theirs)) - np.log(len(theirs))
        found = model.added(feature, total)
        if more == 0 or ess > AT_FLOOR * min_ess:
            break
    return Round(found, energies + total * values, constant, ess, gain, others)


def importance(coefficient: float, negatives: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return normalised importance weights of negative examples, for a coefficient."""
    logs = -coefficient * negatives
    shares = np.exp(logs - logs.max())
    return shares / shares.sum()
