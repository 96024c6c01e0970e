"""
Densities by boosting
=====================

A boosted field estimates a density without labels: in each round it draws samples of itself,
learns a feature that tells the rows from these samples, and adds it to its energy. For numbers
features are dimples, for rows of two states units of a restricted Boltzmann machine.
"""

from herder import BoostedField
from herder.datasets import load_digits_binary, make_spirals
from herder.plots import plot_boosted_density, plot_boosted_rounds, plot_images

# %%
# Spirals
# -------
# By default a field starts as a mixture of Gaussians. Here it starts as one, so that the dimples
# do all the work: the first make the density higher where rows are, later ones are small
# corrections. Ellipses are the narrow Gaussians of the dimples with the largest
# coefficients. There is structure only where there are rows.

spirals = make_spirals(600)
field = BoostedField(n_rounds=200, max_components=0).fit(spirals.X)
by_round = plot_boosted_density(field, spirals.X, n_rounds=[10, 50, 200])

# %%
# Rounds
# ------
# The first rounds gain most. The effective sample size says how far the negative examples of a
# round still represent the field after its feature was added.

rounds = plot_boosted_rounds(field)

# %%
# Digits
# ------
# A field of the threes among the digits of scikit-learn, pixels above half of the grey scale, and
# 64 of its samples.

digits = load_digits_binary()
threes = BoostedField(n_rounds=100).fit(digits.X[digits.y == 3])
samples = plot_images(threes.sample(64))
