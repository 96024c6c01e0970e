r"""Moment herding: states whose averages match given moments, at rate 1/T.

The function `moment_herd` runs the loop of `herder.fields.live.MomentHerd` and keeps the
states; `herder.fields.moment.MomentHerder` is the scikit-learn estimator.

Departures from [welling2009]_: ties keep the current value (there a neuron at zero falls
silent); an ascent that breaks the inequality of the perceptron cycling theorem starts again
from a data row or a visited state (there it continues); counts are herded as integers.
"""

from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from herder._errors import ParameterTypeError
from herder._validation import positive_int
from herder.core.summary import Summarised, Summary
from herder.data.variables import Variable
from herder.fields.diagnostics import MomentDiagnostics, moment_diagnostics
from herder.fields.live import HerdSettings, MomentHerd, Position
from herder.models.moments import Moments

__all__ = ["MomentHerding", "moment_herd"]


@dataclass(frozen=True, eq=False)
class MomentHerding(Summarised):
    """States of a moment herd, in order.

    Parameters
    ----------
    samples : ndarray of shape (n_steps, n_variables)
        The states, as codes.
    variables : tuple of Variable
        The columns, whose labels the codes are.
    position : Position
        Where to continue with ``resume=``.
    diagnostics : MomentDiagnostics
        Moment error, rate, weight norm, restarts and verdict of these steps.
    """

    samples: NDArray[np.integer]
    variables: tuple[Variable, ...]
    position: Position
    diagnostics: MomentDiagnostics

    def summary(self) -> Summary:
        """Return how closely the moments are matched, and whether to trust the run."""
        return self.diagnostics.summary()


def moment_herd(
    moments: Moments,
    n_steps: int,
    *,
    resume: MomentHerding | Position | None = None,
    **settings: Unpack[HerdSettings],
) -> MomentHerding:
    """Herd moments for ``n_steps`` steps.

    Parameters
    ----------
    moments : Moments
        What the states must match.
    n_steps : int
        Number of states.
    resume : MomentHerding or Position, optional
        Continue an earlier result on the same moments: n then m steps equal n + m steps.
    **settings
        ``encoding``, ``restarts``, ``rows``, ``scan``, ``rates``, ``start_weights``,
        ``max_sweeps``: see `herder.fields.live.MomentHerd`.

    Examples
    --------
    >>> from herder import Moments, moment_herd
    >>> herding = moment_herd(Moments.from_data([[0, 1], [1, 1], [0, 0], [1, 1]]), 4)
    >>> herding.samples.mean(axis=0)
    array([0.5 , 0.75])
    """
    if not isinstance(moments, Moments):
        got = f"{type(moments).__name__}: see Moments.from_counts"
        raise ParameterTypeError("moments", "be Moments", got=got)
    n_steps = positive_int(n_steps, "n_steps")
    position = resume.position if isinstance(resume, MomentHerding) else resume
    live = MomentHerd(moments, resume=position, **settings)
    samples = live.advance(n_steps)
    return MomentHerding(samples, moments.variables, live.position, moment_diagnostics(live))
