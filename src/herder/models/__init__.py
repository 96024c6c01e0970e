"""What is herded: variables, moments and the features of cliques."""

from herder.models.consistency import Contradiction
from herder.models.features import CliqueFeatures
from herder.models.moments import Moments
from herder.models.variables import Variable, decode, encode

__all__ = ["CliqueFeatures", "Contradiction", "Moments", "Variable", "decode", "encode"]
