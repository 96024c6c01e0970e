"""What is herded or sampled: variables, moments, features of cliques, pairwise models."""

from herder.data.decoding import decode
from herder.data.intervals import Interval
from herder.data.variables import Variable, encode
from herder.models.consistency import Contradiction
from herder.models.exact import Exact, exact_samples
from herder.models.features import CliqueFeatures
from herder.models.moments import Moments
from herder.models.pairwise import PairwiseModel
from herder.models.potts import PottsModel

__all__ = [
    "CliqueFeatures",
    "Contradiction",
    "Exact",
    "Interval",
    "Moments",
    "PairwiseModel",
    "PottsModel",
    "Variable",
    "decode",
    "encode",
    "exact_samples",
]
