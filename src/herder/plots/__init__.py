"""Pictures of results: each function takes a result and returns a matplotlib Figure.

`draw` makes the picture that a summary names: `PICTURES` registers a function for a type of
result and a name. Modules are loaded when one of their pictures is drawn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from herder.core.summary import Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Functions of each module, less the ``plot_`` in front of their names.
_MODULES = {
    "boosting": ("boosted_density", "boosted_rounds"),
    "conditional": ("boundary", "training"),
    "convergence": ("convergence", "scan_report"),
    "dynamics": ("tipi",),
    "fields": ("couplings", "energies", "sampling", "state"),
    "marginals": ("marginal_distance",),
    "go": ("territory",),
    "moments": ("agreement", "count_distribution", "moment_error", "weight_norm"),
    "online": ("calibration", "progressive", "update", "weights"),
    "rbm": ("filters", "images"),
    "segment": ("segmentation",),
    "study": ("attractor", "bifurcation", "cones", "mixing", "neuron", "tipi_surface", "words"),
    "thinning": ("density", "marginals", "mmd_path", "picks"),
}
_HOME = {f"plot_{name}": module for module, names in _MODULES.items() for name in names}

__all__ = sorted([*_HOME, "draw"])  # pyright: ignore[reportUnsupportedDunderAll]

#: Type of a result and name of a picture: module and function that draws it.
PICTURES = {
    ("Thinning", "picks"): ("thinning", "draw_picks"),
    ("Thinning", "marginals"): ("thinning", "draw_marginals"),
    ("Thinning", "mmd"): ("thinning", "draw_mmd"),
    ("ScanReport", "orders"): ("convergence", "plot_scan_report"),
    ("Sampling", "marginals"): ("fields", "plot_sampling"),
    ("Sampling", "energies"): ("fields", "draw_energies"),
    ("Sampling", "state"): ("fields", "draw_last_state"),
    ("FitCheck", "agreement"): ("moments", "draw_fit_agreement"),
    ("FitCheck", "counts"): ("moments", "draw_fit_counts"),
    ("Moments", "agreement"): ("moments", "plot_agreement"),
    ("MarginalHerding", "distance"): ("marginals", "plot_marginal_distance"),
    ("Synthesis", "counts"): ("moments", "draw_counts"),
    ("Trace", "error"): ("moments", "plot_moment_error"),
    ("Trace", "norm"): ("moments", "plot_weight_norm"),
    ("PairwiseModel", "couplings"): ("fields", "plot_couplings"),
    ("PottsModel", "couplings"): ("fields", "plot_couplings"),
    ("RBM", "filters"): ("rbm", "plot_filters"),
    ("HiddenHerder", "samples"): ("rbm", "draw_samples"),
    ("ParametricHerder", "prototypes"): ("rbm", "draw_prototypes"),
    ("ConditionalHerder", "learning"): ("conditional", "plot_training"),
    ("Segmentation", "segmentation"): ("segment", "plot_segmentation"),
    ("BoostedField", "rounds"): ("boosting", "plot_boosted_rounds"),
    ("BoostedField", "density"): ("boosting", "plot_boosted_density"),
    ("Territory", "territory"): ("go", "plot_territory"),
    ("Attractor", "attractor"): ("study", "plot_attractor"),
    ("Attractor", "cones"): ("study", "plot_cones"),
    ("Attractor", "tipi"): ("study", "plot_tipi_surface"),
    ("Bifurcation", "bifurcation"): ("study", "plot_bifurcation"),
    ("Mixing", "mixing"): ("study", "plot_mixing"),
    ("Words", "words"): ("study", "plot_words"),
}


def draw(picture: Picture) -> "Figure":
    """Draw a picture that a summary names.

    Parameters
    ----------
    picture : Picture
        Its result may also be a Figure, which is taken as it is.
    """
    result: Any = picture.result
    kind = type(result).__name__
    if kind == "Figure":
        return result
    module, function = PICTURES[kind, picture.name]
    drawn = getattr(import_module(f"herder.plots.{module}"), function)
    return drawn(result, **picture.options)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'herder.plots' has no attribute {name!r}")
    return getattr(import_module(f"herder.plots.{_HOME[name]}"), name)
