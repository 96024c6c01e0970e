r"""The perceptron [rosenblatt1958]_: at a mistake, add the row.

.. math:: w \leftarrow w + y x \quad\text{if } y w^T x \le 0.

With ``average=True`` this is the averaged perceptron of [freund1999]_ (their "average" vote over
all rows); `VotedPerceptron` lets the weight vectors vote.
"""

from herder.online.classifier import OnlineClassifier
from herder.online.rules import Rule

__all__ = ["Perceptron"]


class Perceptron(OnlineClassifier):
    """The perceptron; its parameters are those of `NHERD` without C and covariance.

    A sample weight is the length of the step at that row.

    Examples
    --------
    >>> from herder import Perceptron
    >>> Perceptron(average=True).fit([[0.0, 1.0], [1.0, 0.0]], [0, 1]).predict([[0.9, 0.1]])
    array([1])
    """

    def _rule(self) -> Rule:
        return Rule.named("perceptron")
