r"""Passive-aggressive learning: the smallest step that gives the row a margin of 1.

.. math:: w \leftarrow w + y \alpha x, \qquad \alpha = \frac{1 - m}{|x|^2}
          \quad\text{if } m = y w^T x < 1,

cut at C (PA-I) or damped by 1/(2C) in the denominator (PA-II) [crammer2006]_. There is no
covariance: a row moves all its features alike, whatever is known of them, so that wrong labels
keep the weights moving. For noisy labels use `NHERD` or `AROW`.
"""

from collections.abc import Mapping
from typing import Any

from herder._validation import one_of, positive_number
from herder.online.classifier import OnlineClassifier
from herder.online.inputs import RandomState
from herder.online.rules import Rule

__all__ = ["PassiveAggressive"]


class PassiveAggressive(OnlineClassifier):
    """Passive-aggressive classifier; parameters not listed are those of `NHERD`.

    Parameters
    ----------
    C : float, default 1.0
        Largest step (PA-I), or how little it is damped (PA-II). PA has neither: it uses no C, and
        of weights only whether they are 0, since a longer step would pass the margin of 1.
    form : {"PA", "PA-I", "PA-II"}, default "PA-I"
        The step.

    Examples
    --------
    >>> from herder import PassiveAggressive
    >>> PassiveAggressive(form="PA").fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]).predict([[0.9, 0.1]])
    array([1])
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        form: str = "PA-I",
        fit_intercept: bool = True,
        max_iter: int = 5,
        shuffle: bool = True,
        random_state: RandomState = 0,
        average: bool = False,
        class_weight: str | Mapping[Any, float] | None = None,
        multi_class: str = "max-margin",
        new_classes: str = "error",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 3,
    ) -> None:
        super().__init__(
            fit_intercept=fit_intercept,
            max_iter=max_iter,
            shuffle=shuffle,
            random_state=random_state,
            average=average,
            class_weight=class_weight,
            multi_class=multi_class,
            new_classes=new_classes,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
        )
        self.C = C
        self.form = form

    def _rule(self) -> Rule:
        positive_number(self.C, "C")
        return Rule.named(one_of(self.form, "form", ("PA", "PA-I", "PA-II")))

    def _rate(self) -> float:
        return 1.0 if self.form == "PA" else float(self.C)
