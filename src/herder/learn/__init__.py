"""Learning of random fields from rows of states."""

from herder.learn.boltzmann import BoltzmannMachine
from herder.learn.comparison import FitCheck
from herder.learn.fit import Fit, FitReport
from herder.learn.rows import ConstantColumnWarning

__all__ = ["BoltzmannMachine", "ConstantColumnWarning", "Fit", "FitCheck", "FitReport"]
