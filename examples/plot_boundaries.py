"""
Decision boundaries with hidden units
=====================================

Figure 3.9 of Chen's thesis: decision boundaries of a voted perceptron, of conditional herding with
20 hidden units, and of a discriminative restricted Boltzmann machine of the same size, on two
artificial sets in the plane. As in the thesis, herding gets a third feature that makes all rows
equally long.
"""

from herder import ConditionalHerder, DiscriminativeRBM
from herder.datasets import make_banana, make_lithuanian
from herder.plots import plot_boundary


def fitted(data, fresh):
    """Fit the three classifiers, and name them with their errors on new rows."""
    models = {
        "voted perceptron": ConditionalHerder(0, normalising_feature=True),
        "conditional herding": ConditionalHerder(20, normalising_feature=True),
        "discriminative RBM": DiscriminativeRBM(20),
    }
    named = {}
    for name, model in models.items():
        error = 1 - model.fit(data.X, data.y).score(fresh.X, fresh.y)
        named[f"{name}, error {error:.1%}"] = model
    return named


# %%
# Banana
# ------
# The classes reach into each other. Without hidden units three features are not enough, and the
# boundary is nearly a line. Hidden units follow the shape. Errors are on 10,000 new rows.

data, fresh = make_banana(1000), make_banana(10_000, random_state=1)
banana = plot_boundary(fitted(data, fresh), data.X, data.y)

# %%
# Lithuanian
# ----------
# Here the third feature depends on the distance from the mean of the rows, so that the perceptron
# can draw an ellipse, which is far better than a line. Hidden units are still better.

data, fresh = make_lithuanian(1000), make_lithuanian(10_000, random_state=1)
lithuanian = plot_boundary(fitted(data, fresh), data.X, data.y)
