"""
Three states by hand
====================

The whole of herding in ten lines: three states, two features, ten steps. The loop emits the
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
# After ten steps the three states have come 5, 3 and 2 times, and the weights are back where they
# began: the numbers are integers, in units of a tenth, so "back" means equal. From here the
# sequence repeats.

states = [step.state for step in steps]
print([states.count(state) for state in range(3)])

# %%
# The plane of weights is divided into cones, one for each state that may be emitted. White lines
# are heights of the Tipi function, a tent with its top at the origin. Every step climbs the side
# of the tent on which the weights stand, and overshoots.

figure = plot_tipi(system, steps, labels=names)

# %%
# With irrational moments the weights never return; they fill a bounded set instead (compare
# :cite:t:`welling2009`). That it is bounded is what makes the averages right: after T steps they
# are off by the length of the weights over T.

left, right = 2**0.5 - 1, 3**0.5 - 1.5
system = EnumeratedSystem([[0, 0], [1, 0], [0, 1]], [left, right])
steps = list(islice(herd(system, [0.0, 0.0]), 3_000))
figure = plot_tipi(system, steps, labels=names)
