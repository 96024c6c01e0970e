"""
Herding three states
====================

Herding in ten lines: three states, two features, ten steps. The loop emits the
state with the largest score, then moves the weights by the target minus the state's features.
"""

from itertools import islice

from herder import EnumeratedSystem, herd
from herder.plots import plot_tipi

names = ("rest", "left", "right")
system = EnumeratedSystem([[0, 0], [1, 0], [0, 1]], counts=[5, 3, 2])
steps = list(islice(herd(system, [0, 0]), 10))
for step in steps:
    print(f"{step.t:>2}  {names[step.state]:<5}  w = {step.weights}  tipi = {step.tipi}")

# %%
# After ten steps the three states have been emitted 5, 3 and 2 times, and the weights are exactly
# back at their initial values, since they are integers in units of a tenth. From here on the
# sequence repeats.

states = [step.state for step in steps]
print([states.count(state) for state in range(3)])

# %%
# The plane of weights is divided into cones, one for each state that may be emitted. White lines
# are contours of the Tipi function, shaped like a tent with its top at the origin. Every step is a
# gradient step on this function that overshoots.

figure = plot_tipi(system, steps, labels=names)

# %%
# With irrational moments the weights never return; they fill a bounded set instead (compare
# :cite:t:`welling2009`). Since it is bounded, the averages converge: after T steps their error is
# the norm of the weights divided by T.

left, right = 2**0.5 - 1, 3**0.5 - 1.5
system = EnumeratedSystem([[0, 0], [1, 0], [0, 1]], [left, right])
steps = list(islice(herd(system, [0.0, 0.0]), 3_000))
figure = plot_tipi(system, steps, labels=names)
