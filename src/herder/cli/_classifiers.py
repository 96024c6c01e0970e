"""Classifiers of ``herder learn classifier`` by name, and the weights of their classes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from herder._errors import ParameterError
from herder.data.labelled import LabelledScan
from herder.data.numerals import label_kind, label_value

__all__ = ["ALGORITHMS", "make_model", "read_class_weight"]

#: Name on the command line: class, fixed parameters, and options that it takes.
ALGORITHMS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "nherd": ("NHERD", {}, ("C", "covariance", "forget")),
    "arow": ("AROW", {}, ("C", "covariance", "forget")),
    "cw": ("ConfidenceWeighted", {}, ("confidence", "form", "covariance", "forget")),
    "scw": (
        "ConfidenceWeighted",
        {"form": "soft-1"},
        ("C", "confidence", "form", "covariance", "forget"),
    ),
    "pa": ("PassiveAggressive", {}, ("C", "form")),
    "perceptron": ("Perceptron", {}, ()),
    "second-order": ("SecondOrderPerceptron", {}, ("C", "covariance", "forget")),
}

#: Forms that belong to an algorithm.
FORMS = {"cw": ("stdev", "variance"), "scw": ("soft-1", "soft-2"), "pa": ("PA", "PA-I", "PA-II")}


def make_model(algorithm: str, given: Mapping[str, Any], **common: Any) -> Any:
    """Make the estimator; options in ``given`` that are None were not asked for."""
    import herder.online

    name, fixed, takes = ALGORITHMS[algorithm]
    wanted = {option: value for option, value in given.items() if value is not None}
    for option, value in wanted.items():
        if option not in takes:
            raise ParameterError(option, f"be left out for {algorithm}", got=f"{value}")
    if "form" in wanted and wanted["form"] not in FORMS[algorithm]:
        known = ", ".join(FORMS[algorithm])
        raise ParameterError("form", f"be one of {known} for {algorithm}", wanted["form"])
    model = getattr(herder.online, name)(**{**fixed, **wanted, **common})
    model.memory(1, 2)  # which checks its parameters, before rows are read
    return model


def read_class_weight(
    texts: Sequence[str], scan: LabelledScan | None, names: Sequence[str], *, may_come: bool
) -> dict[int | str, float]:
    """Read ``balanced`` or ``label=factor`` into a factor for each class.

    Parameters
    ----------
    texts : sequence of str
        What was typed.
    scan : LabelledScan or None
        The labels of files.
    names : sequence of str
        Labels that are known: those of files, and those that were announced.
    may_come : bool
        Whether other labels may come.
    """
    labels = [text.rpartition("=")[0] for text in texts]
    # the kind that the trainer will find, so that its classes and these are the same values
    kind = label_kind(names or labels)
    if list(texts) == ["balanced"]:
        if scan is None:
            rule = "be LABEL=FACTOR for what can be read once"
            raise ParameterError("class_weight", rule, got="balanced")
        counts: Counter[int | str] = Counter()
        for name, count in scan.labels.items():
            counts[label_value(name, kind)] += count
        return {label: scan.n_rows / (len(counts) * n) for label, n in counts.items()}
    known = {label_value(name, kind) for name in names}
    found: dict[int | str, float] = {}
    for text, name in zip(texts, labels, strict=True):
        try:
            factor = float(text.rpartition("=")[2])
        except ValueError:
            factor = -1.0
        if not name or not 0 <= factor < float("inf"):
            raise ParameterError("class_weight", "be balanced or LABEL=FACTOR", text)
        try:
            label = label_value(name, kind)
        except ValueError:
            label = None  # no label that goes with the others
        if label is None or (names and label not in known and not may_come):
            raise ParameterError("class_weight", "name labels of the rows", name)
        found[label] = factor
    return found
