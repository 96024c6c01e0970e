"""Online learners of linear classifiers: Gaussian herding and its family.

What they share is not the herding loop but its temper: each row moves the weights just so far,
and with a covariance over the weights the steps shrink where evidence has come in.
"""

from herder._deprecated import renamed_names
from herder.data.hashing import hash_features
from herder.online.aggressive import PassiveAggressive
from herder.online.confidence import ConfidenceWeighted
from herder.online.gaussian import AROW, NHERD, SecondOrderPerceptron
from herder.online.merging import merge_classifiers
from herder.online.perceptron import Perceptron
from herder.online.river import for_river
from herder.online.voted import VotedPerceptron

__getattr__ = renamed_names(__name__, {"merge": "herder.online.merging.merge_classifiers"})

__all__ = [
    "AROW",
    "NHERD",
    "ConfidenceWeighted",
    "PassiveAggressive",
    "Perceptron",
    "SecondOrderPerceptron",
    "VotedPerceptron",
    "for_river",
    "hash_features",
    "merge_classifiers",
]
