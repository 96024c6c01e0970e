"""What summaries say of columns that are binned."""

from collections.abc import Sequence

from herder.core.summary import Fact, Section, Table, Text, counted, listed
from herder.data.intervals import Interval
from herder.data.variables import Variable

__all__ = ["bin_facts", "bin_sections"]


def bin_facts(variables: Sequence[Variable]) -> list[Fact]:
    """Return one line on how many bins columns have, if any have."""
    found = _bins(variables)
    if not found:
        return []
    each = listed([f"{name} {len(bins)}" for name, bins in found])
    beyond = "those beyond the outermost bins are counted in them"
    meaning = f"{each}; values come back spread evenly within their bin; {beyond}"
    return [Fact("bins", counted(len(found), "column"), "", meaning)]


def bin_sections(variables: Sequence[Variable]) -> list[Section]:
    """Return the bins of all columns, for a page, if there are any."""
    found = _bins(variables)
    if not found:
        return []
    text = (
        "Columns of numbers and dates were cut into bins: from the first number up to, not "
        "including, the second one. A single number is a frequent value, which comes back as it "
        "is; all others are spread evenly within their bin. The first and the last bin end near "
        "the bulk of the data, not at the smallest and the largest value: values beyond the "
        "outermost bins are counted in them."
    )
    rows = [(name, len(bins), "  ".join(bins)) for name, bins in found]
    table = Table(("column", "number", "bins"), rows, ("", "d", ""), "Bins of each column")
    return [Section("Bins", [Text(text), table])]


def _bins(variables: Sequence[Variable]) -> list[tuple[str, list[str]]]:
    return [
        (variable.name, [str(value) for value in variable.values if value is not None])
        for variable in variables
        if any(isinstance(value, Interval) for value in variable.values)
    ]
