r"""Confidence-weighted learning, hard and soft.

The Gaussian moves as little as it can (in relative entropy) such that the row is classified
rightly with probability :math:`\eta`, that is :math:`m \ge \phi \sqrt v` with
:math:`\phi = \Phi^{-1}(\eta)` ("stdev", [crammer2008]_), or, in the older linear form,
:math:`m \ge \phi v` ("variance", [dredze2008]_). A wrong label is obeyed like any other: under
noise use the soft forms of [wang2012]_, which cut the step at C ("soft-1") or charge for the
square of the loss ("soft-2"), or `NHERD` and `AROW`.

In units of :math:`\sqrt v`, with :math:`t = m/\sqrt v` and :math:`r = 1` (:math:`1 + 1/(2Cv)` for
"soft-2"), the step is

.. math:: \alpha \sqrt v = \frac{-t (2r + \phi^2) + \phi \sqrt{\phi^2 t^2 + 4 r (r + \phi^2)}}
          {2 r (r + \phi^2)},

computed for t > 0 with the root in the denominator, where nothing cancels.
"""

from collections.abc import Callable, Mapping
from typing import Any

from herder._errors import ParameterError
from herder._validation import one_of, positive_number
from herder.online.gaussian import GaussianClassifier
from herder.online.inputs import RandomState
from herder.online.rules import Rule

__all__ = ["ConfidenceWeighted"]

FORMS = ("stdev", "variance", "soft-1", "soft-2")


class ConfidenceWeighted(GaussianClassifier):
    """Confidence-weighted classifier; parameters not listed are those of `NHERD`.

    Parameters
    ----------
    confidence : float, default 0.9
        Probability with which each row shall be classified rightly, above 0.5 and below 1.
    form : {"stdev", "variance", "soft-1", "soft-2"}, default "stdev"
        The constraint, see above; the soft forms are SCW-I and SCW-II.
    C : float, default 1.0
        For the soft forms: how much a row may ask. The hard forms do not use it; sample weights
        scale phi there.
    covariance : {"project", "drop", "full"}, default "project"
        Form of the covariance.

    Examples
    --------
    >>> from herder import ConfidenceWeighted
    >>> ConfidenceWeighted(form="soft-1").fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]).predict([[1, 0]])
    array([1])
    """

    def __init__(
        self,
        confidence: float = 0.9,
        *,
        form: str = "stdev",
        C: float = 1.0,
        covariance: str = "project",
        fit_intercept: bool = True,
        max_iter: int = 5,
        shuffle: bool = True,
        random_state: RandomState = 0,
        average: bool = False,
        forget: float = 0.0,
        class_weight: str | Mapping[Any, float] | None = None,
        multi_class: str = "max-margin",
        new_classes: str = "error",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
        kernel: str | Callable[..., Any] | None = None,
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        budget: int = 1000,
    ) -> None:
        super().__init__(
            C,
            covariance=covariance,
            fit_intercept=fit_intercept,
            max_iter=max_iter,
            shuffle=shuffle,
            random_state=random_state,
            average=average,
            forget=forget,
            class_weight=class_weight,
            multi_class=multi_class,
            new_classes=new_classes,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            budget=budget,
        )
        self.confidence = confidence
        self.form = form

    def _rule(self) -> Rule:
        from scipy.special import ndtri

        self._algorithm = one_of(self.form, "form", FORMS)
        rule = super()._rule()
        if not 0.5 < positive_number(self.confidence, "confidence") < 1:
            raise ParameterError(
                "confidence", "be a probability above 0.5 and below 1", self.confidence
            )
        return rule._replace(phi=float(ndtri(self.confidence)))

    def _rate(self) -> float:
        return float(self.C) if self.form.startswith("soft") else 1.0
