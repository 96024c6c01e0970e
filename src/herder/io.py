"""Model files: what was learnt, or where a run stands, to be used or gone on with elsewhere.

`save` writes every estimator of herder, its random fields, and the results and positions that
``resume=`` takes; `load` reads them. A file is safetensors: arrays of numbers, a header in JSON
with the class, its parameters, how much it has seen and the version of herder, and a digest over
both, so that a file that was changed is refused. Nothing in it is ever run, unlike a pickle: a
file from a stranger can at worst be refused, with a `ModelFileError`. Files of earlier versions
are read as well.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from herder._errors import ParameterTypeError
from herder.core.files import PathLike
from herder.core.state import ModelFileError, read_state, write_state

__all__ = ["HOMES", "ModelFileError", "load", "read_model", "save"]

#: Classes that can be saved, and their modules, which are imported when a file needs them.
HOMES = {
    "AROW": "herder.online.gaussian",
    "BoltzmannMachine": "herder.learn.boltzmann",
    "BoostedClassifier": "herder.learn.boosted_classifier",
    "BoostedField": "herder.learn.boosting",
    "Checkpoint": "herder.core.checkpoint",
    "ConditionalHerder": "herder.learn.conditional",
    "ConfidenceWeighted": "herder.online.confidence",
    "DensityHerding": "herder.kernel.density_herding",
    "DiscriminativeRBM": "herder.learn.discriminative",
    "HiddenHerder": "herder.fields.hidden",
    "KernelHerder": "herder.kernel.estimator",
    "KernelHerding": "herder.kernel.herding",
    "MomentHerder": "herder.fields.moment",
    "NHERD": "herder.online.gaussian",
    "PairwiseModel": "herder.models.pairwise",
    "ParametricHerder": "herder.fields.parametric",
    "PassiveAggressive": "herder.online.aggressive",
    "Perceptron": "herder.online.perceptron",
    "Position": "herder.fields.position",
    "PottsModel": "herder.models.potts",
    "RBM": "herder.learn.rbm",
    "RBMModel": "herder.models.rbm",
    "SamplingPosition": "herder.samplers.sampling",
    "SecondOrderPerceptron": "herder.online.gaussian",
    "VotedPerceptron": "herder.online.voted",
}


def save(model: Any, path: PathLike, *, meta: Mapping[str, Any] | None = None) -> None:
    """Write a fitted estimator, a random field or the position of a run to a file.

    The file appears whole or not at all.

    Parameters
    ----------
    model : estimator, PairwiseModel, PottsModel, or what ``resume=`` takes
        Estimators must be fitted. Their parameters must be numbers and texts: a kernel that is a
        function of your own cannot be saved, nor a random generator. Of a run it is the
        ``position``, or the result itself of `kernel_herd` and `herd_density`.
    path : str or path
        Usually ends in ``.safetensors``.
    meta : mapping, optional
        Plain facts to keep beside it, such as how rows are to be read; see `read_model`. By
        default those that an online classifier was loaded with, until it is fitted anew; none
        for other models.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from herder import NHERD
    >>> from herder.io import load, save
    >>> model = NHERD().fit([[0.0, 1.0], [1.0, 0.0]], ["ham", "spam"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder, "model.safetensors"))
    ...     load(Path(folder, "model.safetensors")).predict([[0.9, 0.1]])
    array(['spam'], dtype='<U4')
    """
    kind = type(model)
    if HOMES.get(kind.__name__) != kind.__module__:
        known = ", ".join(HOMES)
        raise ParameterTypeError("model", f"be one of {known} to be saved", got=kind.__name__)
    write_state(path, model, meta)


def load(path: PathLike) -> Any:
    """Read what `save` wrote; it predicts and goes on as if never saved.

    Parameters
    ----------
    path : str or path
        The file.

    Raises
    ------
    ModelFileError
        If the file is broken, was changed, holds something else, or is of a later format.
    """
    return read_model(path)[0]


def read_model(path: PathLike) -> tuple[Any, dict[str, Any]]:
    """Read a model and the facts that were kept beside it.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    model, meta
        The model, and what `save` was given as ``meta``.
    """
    saved = read_state(path)
    if saved.name not in HOMES:
        raise ModelFileError(f"{path} must hold a model of herder, got a {saved.name!r}")
    kind = getattr(import_module(HOMES[saved.name]), saved.name)
    return saved.build(kind), dict(saved.header.get("meta", {}))
