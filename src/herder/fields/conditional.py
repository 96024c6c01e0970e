r"""Conditional herding: rows x with labels y, hidden units z, and no partition function.

.. math::

    z'_i = \arg\max_z \langle w, \phi(x_i, y_i, z) \rangle, \qquad
    (y^*_i, z^*_i) = \arg\max_{y, z} \langle w, \phi(x_i, y, z) \rangle, \qquad
    w \leftarrow w + \frac{1}{D} \sum_i
    \bigl( \phi(x_i, y_i, z'_i) - \phi(x_i, y^*_i, z^*_i) \bigr),

equations 3.31 to 3.33 of [chen2014]_, from [gelfand2010]_. The maximum over all labels is at least
that at the true one, so that the PCT inequality holds at every step, and the averages of both
features meet at rate 1/T (proposition 3.3). Labels of new rows are those of the same maximum; the
weights of many steps vote (equation 3.35). Rows whose label is right cancel: only mistakes move
the weights. If a label ties with another one, that is a mistake.

The features are those of a discriminative restricted Boltzmann machine,

.. math:: \langle w, \phi(x, y, z) \rangle
          = x^T W z + y^T B z + \theta^T z + \alpha^T y,

with y the *code* of a class, or without hidden units :math:`x y^T` (equations 3.29 and 3.30),
which makes the system a voted perceptron.

Hidden units tend to saturate. So the *entropy trick* of section 3.4.3.2 changes what the biases
of hidden units ask for, from :math:`z'` to :math:`(1 - \lambda) z'` plus :math:`\lambda` times the
middle of the two states, with :math:`\lambda` halved every some steps from 1 on. (The thesis has
no second term, which is 0 for states -1 and 1.) This is not herding: while it lasts, the PCT
inequality may be violated.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import non_negative_int
from herder.fields.hidden_system import batch, rows_of_a_step

__all__ = [
    "ConditionalModel",
    "ConditionalState",
    "ConditionalSystem",
    "HiddenLabelFeatures",
    "LabelFeatures",
    "class_codes",
    "entropy_share",
]

#: Halvings after which the entropy trick ends.
LAST_HALVING = 10


def class_codes(n_classes: int) -> NDArray[np.float64]:
    """Return the code of each class: -1 and 1 for two of them, else one-of-K of -1 and 1."""
    if n_classes == 2:
        return np.array([[-1.0], [1.0]])
    return 2.0 * np.eye(n_classes) - 1.0


def entropy_share(t: int, halving: int) -> float:
    """Return lambda after t steps; 0 without the trick and at its end."""
    n_halvings = t // halving if halving else LAST_HALVING
    return 0.5**n_halvings if n_halvings < LAST_HALVING else 0.0


class ConditionalModel(Protocol):
    """Features of a row, its class and hidden units; classes are numbers from 0 on."""

    n_classes: int

    def features(self, row: Any, label: int, hidden: Any) -> NDArray[Any]:
        """Return features in the shape of the weights."""
        ...

    def complete(self, weights: NDArray[Any], row: Any, label: int) -> Any:
        """Return the hidden units that maximise the score of a row and a class."""
        ...


class LabelFeatures:
    """Products of the inputs and the code of the class: no hidden units.

    Parameters
    ----------
    codes : array-like of shape (n_classes, n_units)
        See `class_codes`.
    bias : bool, default True
        Whether the codes alone are features as well.
    """

    def __init__(self, codes: ArrayLike, *, bias: bool = True) -> None:
        self.codes, self.bias = np.asarray(codes, np.float64), bias
        self.n_classes = len(self.codes)

    def features(self, row: Any, label: int, hidden: Any) -> NDArray[np.float64]:
        """Return the products, and after them the code."""
        code = self.codes[label]
        parts = [np.outer(row, code).ravel()] + [code] * self.bias
        return np.concatenate(parts)

    def complete(self, weights: NDArray[Any], row: Any, label: int) -> None:
        """Return nothing: there is nothing hidden."""


class HiddenLabelFeatures:
    """The features of a discriminative RBM: x z, y z, z and y, in this order.

    Parameters
    ----------
    codes : array-like of shape (n_classes, n_units)
        See `class_codes`.
    n_hidden : int
        Number of hidden units.
    states : (-1, 1) or (0, 1)
        Their states.
    """

    def __init__(self, codes: ArrayLike, n_hidden: int, states: Sequence[int] = (-1, 1)) -> None:
        self.codes, self.n_hidden = np.asarray(codes, np.float64), n_hidden
        self.states, self.n_classes = tuple(states), len(self.codes)

    def features(self, row: Any, label: int, hidden: NDArray[Any]) -> NDArray[np.float64]:
        """Return all products, one block after the other."""
        code = self.codes[label]
        parts = [np.outer(row, hidden).ravel(), np.outer(code, hidden).ravel(), hidden, code]
        return np.concatenate(parts)

    def complete(self, weights: NDArray[Any], row: Any, label: int) -> NDArray[np.float64]:
        """Return the upper state where the field is positive, else the lower one."""
        inputs = np.concatenate([row, self.codes[label], [1.0]])
        table = weights[: -self.codes.shape[1]].reshape(len(inputs), self.n_hidden)
        return np.where(inputs @ table > 0, self.states[1], self.states[0]).astype(np.float64)


class ConditionalState(NamedTuple):
    """The maxima of the rows of a step: their labels and hidden units."""

    labels: list[int]
    hidden: list[Any]
    step: int


class ConditionalSystem:
    """A system for `herder.core.herd`: any features of rows, classes and hidden units.

    Parameters
    ----------
    model : ConditionalModel
        The features.
    rows : sequence
        The inputs.
    labels : sequence of int
        The class of each row, from 0 on.
    batch_size : int, optional
        Rows of a step, in their order and again from the first; all by default.
    halving : int, default 0
        Steps after which the share of the entropy trick is halved, for `HiddenLabelFeatures`; 0
        for none.

    Examples
    --------
    >>> from herder.core import herd
    >>> model = LabelFeatures(class_codes(2))
    >>> system = ConditionalSystem(model, [[0.0], [1.0]], [0, 1])
    >>> for _, step in zip(range(5), herd(system, [0.0, 0.0]), strict=False):
    ...     print(step.weights.tolist(), step.state.labels)
    [1.0, 0.0] [1, 0]
    [1.0, -1.0] [1, 1]
    [2.0, 0.0] [0, 0]
    [2.0, -1.0] [1, 1]
    [2.0, -1.0] [0, 1]
    """

    def __init__(
        self,
        model: ConditionalModel,
        rows: Sequence[Any] | NDArray[Any],
        labels: Sequence[int] | NDArray[np.integer],
        *,
        batch_size: int | None = None,
        halving: int = 0,
    ) -> None:
        self.model, self.rows, self.labels = model, rows, labels
        if not len(rows) or len(rows) != len(labels):
            got = f"{len(rows)} rows and {len(labels)} labels"
            raise ParameterError("rows", "be as many as the labels, and at least one", got=got)
        if not all(0 <= label < model.n_classes for label in labels):
            rule = f"be numbers of classes, 0 to {model.n_classes - 1}"
            raise ParameterError("labels", rule, got=f"{min(labels)} to {max(labels)}")
        self.size = rows_of_a_step(batch_size, len(rows))
        self.halving = non_negative_int(halving, "halving")

    def predict(self, weights: NDArray[Any], row: Any) -> int:
        """Return the class of the largest score (equation 3.34), the lowest one of equals."""
        return int(np.argmax(self._scores(weights, row)))

    def maximise(self, weights: NDArray[Any], previous: ConditionalState | None):
        """Return the best class and hidden units of each row of the step."""
        step = 0 if previous is None else previous.step + 1
        part = batch(step, self.size, len(self.rows))
        labels = [
            self._rival(self._scores(weights, row), label)
            for row, label in zip(self.rows[part], self.labels[part], strict=True)
        ]
        pairs = zip(self.rows[part], labels, strict=True)
        hidden = [self.model.complete(weights, row, label) for row, label in pairs]
        return ConditionalState(labels, hidden, step)

    def residual(
        self, weights: NDArray[Any], state: ConditionalState, t: int
    ) -> NDArray[np.float64]:
        """Return the mean of the features at the labels, minus that at the maxima."""
        part = batch(t, self.size, len(self.rows))
        total = np.zeros_like(weights)
        asked: list[Any] = []
        for row, label, best, hidden in zip(
            self.rows[part], self.labels[part], state.labels, state.hidden, strict=True
        ):
            asked.append(self.model.complete(weights, row, label))
            total += self.model.features(row, label, asked[-1])
            total -= self.model.features(row, best, hidden)
        share = entropy_share(t, self.halving)
        if share and isinstance(self.model, HiddenLabelFeatures):
            codes, n_hidden = self.model.codes, self.model.n_hidden
            pull = np.sum(self.model.states) / 2 - np.array(asked)
            total[-codes.shape[1] - n_hidden : -codes.shape[1]] += share * pull.sum(axis=0)
        return total / self.size

    def _scores(self, weights: NDArray[Any], row: Any) -> list[float]:
        return [
            float(weights @ self.model.features(row, k, self.model.complete(weights, row, k)))
            for k in range(self.model.n_classes)
        ]

    @staticmethod
    def _rival(scores: Sequence[float], label: int) -> int:
        """Return the class of the largest score; if the label ties with another, that one."""
        others = [k for k in range(len(scores)) if k != label]
        best = max(others, key=lambda k: scores[k])  # the first of equals
        return best if scores[best] >= scores[label] else int(label)
