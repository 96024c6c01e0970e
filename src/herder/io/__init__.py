"""Model files: what a fitted model has learnt, to be used or taught further elsewhere.

A file is safetensors: arrays of numbers, and a header in JSON with the class of the model, its
parameters, how much it has seen, and the version of herder. Nothing in it is ever run, unlike a
pickle, so that a file from a stranger can at worst be refused.
"""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from herder._errors import ParameterTypeError
from herder.core.files import PathLike, whole_file
from herder.core.state import load_arrays, save_arrays
from herder.io import _fields, _machines, _online

__all__ = ["load", "read_model", "save"]

FORMAT = "herder model"

#: Goes up when older versions of herder could no longer read a file.
FORMAT_VERSION = 1

#: Each knows some classes, how to pack their models and how to restore them.
FAMILIES = (_online, _machines, _fields)

#: What reading a header that makes no sense can end in.
FAULTS = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


def save(model: Any, path: PathLike, *, meta: Mapping[str, Any] | None = None) -> None:
    """Write a fitted online classifier or a random field to a file, whole or not at all.

    Parameters
    ----------
    model : NHERD, AROW or another of the family, BoltzmannMachine, PairwiseModel or PottsModel
        Estimators must be fitted. Their parameters must be numbers and texts: a kernel that is a
        function cannot be saved, nor a random generator.
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
    from safetensors import SafetensorError

    import herder

    name = type(model).__name__
    family = _family(name)
    if family is None or family.home(name) is not type(model):
        known = [known for family in FAMILIES for known in family.CLASSES]
        raise ParameterTypeError("model", f"be one of {', '.join(known)} to be saved", got=name)
    arrays, own = family.pack(model)
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "herder": herder.__version__,
        "class": name,
        "meta": {},
        **own,
    }
    if meta is not None:
        header["meta"] = dict(meta)
    try:
        with whole_file(path) as part:
            mode = part.stat().st_mode
            save_arrays(part, arrays, header)
            part.chmod(mode)  # safetensors makes files that only their owner can read
    except SafetensorError as error:  # a full disk, among others
        raise OSError(f"{path} could not be written: {error}") from error


def load(path: PathLike) -> Any:
    """Read a model that `save` wrote; it predicts and goes on learning as if never saved.

    Parameters
    ----------
    path : str or path
        The file. One that is broken, not a model, or of a later format is refused.
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
    arrays, header = load_arrays(path)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"{path} must be a model file of herder, got another safetensors file")
    version = header.get("format_version")
    if type(version) is not int or version < 1:
        raise ValueError(f"{path} must be a model file of herder, got format {version!r}")
    if version > FORMAT_VERSION:
        raise ValueError(
            f"{path} must be of format {FORMAT_VERSION} or before, got {version!r} from herder "
            f"{header.get('herder')}: a newer herder reads it"
        )
    try:
        family = _family(header["class"])
        if family is None:
            raise ValueError(f"a model of the unknown class {header['class']!r}")
        if not isinstance(header["meta"], dict):
            raise ValueError(f"meta = {header['meta']!r}")
        return family.restore(arrays, header), header["meta"]
    except FAULTS as error:
        found = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{path} must be a whole model file of herder, got: {found}") from error


def _family(name: object) -> ModuleType | None:
    """Give the family that knows a class, or None if its models cannot be saved."""
    return next((family for family in FAMILIES if name in family.CLASSES), None)
