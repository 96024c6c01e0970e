"""Herding as a dynamical system: words of a neuron, bifurcations, attractors, weak chaos."""

from herder.study.attractors import Attractor, attractor
from herder.study.bifurcations import Bifurcation, bifurcation
from herder.study.dynamics import itinerary
from herder.study.mixing import Mixing, autocorrelation, compare_mixing, effective_size
from herder.study.neurons import Quadratic, complexity, discrepancy, neuron
from herder.study.slopes import Exponent
from herder.study.systems import four_states, six_states
from herder.study.words import Words, count_words, split_words

__all__ = [
    "Attractor",
    "Bifurcation",
    "Exponent",
    "Mixing",
    "Quadratic",
    "Words",
    "attractor",
    "autocorrelation",
    "bifurcation",
    "compare_mixing",
    "complexity",
    "count_words",
    "discrepancy",
    "effective_size",
    "four_states",
    "itinerary",
    "neuron",
    "six_states",
    "split_words",
]
