"""
Weak chaos
==========

Herding is a deterministic map of its weights: hot it settles on a cycle, cold it fills a fractal
without ever repeating, and what it emits has far fewer words than random draws.
"""

from herder import PairwiseModel, study
from herder.plots import (
    plot_attractor,
    plot_bifurcation,
    plot_cones,
    plot_mixing,
    plot_neuron,
    plot_tipi_surface,
    plot_words,
)

# %%
# One neuron. Its weight moves along two lines; below 0 it rests, above it fires. At the golden
# mean it emits the rabbit sequence, here as black bars where it fires.

golden = study.Quadratic(-1, 1, 2, 5)
print("".join(map(str, study.neuron(golden, 34))))
figure = plot_neuron(golden)

# %%
# Four states with two features, cooled from T = 0.6 to 0. One point becomes two, four, eight, and
# in the end there is no period. Vertical lines are the temperatures at which the period doubles.

features, moments = study.four_states()
heats = [0.6 * k / 400 for k in range(401)]
found = study.bifurcation(features, moments, heats)
print(found)
figure = plot_bifurcation(found)

# %%
# At T = 0 the weights fill a fractal.

herded = study.attractor(features, moments, 2_000_000)
print(herded)
figure = plot_attractor(herded)

# %%
# In each cone one state is emitted, and all weights in it move by the same vector; arrows show
# half of it.

figure = plot_cones(study.attractor(*study.six_states()))

# %%
# The Tipi function is the height that each step tries to climb, and oversteps.

figure = plot_tipi_surface(herded)

# %%
# The number of words grows as a power of their length. Random draws would have as many as
# :math:`6^T`.

words = study.split_words(*study.six_states(), 40)
print(words)
figure = plot_words(words)

# %%
# On a ring of eight sites that like to be equal, Gibbs sampling stays in its mode and herding
# leaves it at once.

mixing = study.compare_mixing(PairwiseModel.grid((1, 8), periodic=True), 50_000)
print(mixing)
figure = plot_mixing(mixing)
