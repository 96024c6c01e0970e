"""``herder study``: herding as a dynamical system."""

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer
from numpy.typing import NDArray

from herder._errors import ParameterError
from herder.cli._options import RandomState
from herder.cli._verb import INPUT, METHOD, TABLES, Run, option, verb
from herder.core.summary import Fact, Facts, Picture, Section, Summary, Text, counted

if TYPE_CHECKING:
    from herder.study import Quadratic

__all__ = ["study"]

Floats = NDArray[np.float64]

#: What ``-n`` is by default: steps, temperatures, steps, the longest word, states.
SIZES = {
    "neuron": 1_000_000,
    "bifurcation": 400,
    "attractor": 1_000_000,
    "words": 40,
    "autocorrelation": 100_000,
}

#: Most of each that is computed.
MOST = {**dict.fromkeys(SIZES, 10**8), "bifurcation": 10**5, "words": 200}

#: A column of a table of states that is no feature.
SHARES = ("probability", "count")


@verb(
    example="herder study bifurcation --report page.html",
    inputs=("states",),
    options={
        "features": "states",
        "n_steps": "n",
        "max_length": "n",
        "n_states": "n",
        "temperatures": None,
    },
    report="pictures of what was found",
)
def study(
    run: Run,
    name: Annotated[
        Literal["neuron", "bifurcation", "attractor", "words", "autocorrelation"],
        typer.Argument(
            metavar="NAME",
            help="What is studied: `neuron`, the word of a single neuron; `bifurcation`, "
            "attractors at falling temperatures; `attractor`, the one at temperature 0; `words`, "
            "how many itineraries there are; `autocorrelation`, herding beside Gibbs sampling.",
        ),
    ],
    states: Annotated[
        Path | None,
        option(
            INPUT,
            "For bifurcation, attractor and words: a table (.csv, .npy, .npz, .parquet) with a "
            "row for each state. Its columns are features, but for `probability` or `count`, the "
            "share of a state in the moments; without it all shares are equal. By default four "
            "states (attractor and words: six) with two features.",
            "--states",
            metavar="TABLE",
        ),
    ] = None,
    rate: Annotated[
        str,
        option(
            METHOD,
            "For neuron: firing rate, as a fraction 5/8, a decimal 0.3, `golden`, or A,B,C,D for "
            "(A + B sqrt(D)) / C.",
            "--rate",
            metavar="RATE",
        ),
    ] = "golden",
    n: Annotated[
        int | None,
        option(
            METHOD,
            "Steps of a neuron or an attractor (1,000,000), temperatures (400), length of the "
            "longest words (40), states of each method (100,000).",
            "-n",
            metavar="N",
        ),
    ] = None,
    random_state: RandomState = 0,
) -> Summary:
    """Study herding as a dynamical system: weak chaos, seen and measured.

    The guide is the page study.md of the documentation; `--report` writes the pictures.
    """
    if name != "neuron":
        run.refuse(("rate",), f"for {name}")
    if name != "autocorrelation":
        run.refuse(("random_state",), f"for {name}: nothing in it is random")
    if name in ("neuron", "autocorrelation"):
        run.refuse(("states",), f"for {name}")
    size = SIZES[name] if n is None else n
    if not 1 <= size <= MOST[name]:
        raise ParameterError("n", f"be from 1 to {MOST[name]:,} for {name}", size)
    run.progress(0.0, name)
    if name == "neuron":
        found = _study_neuron(run, _read_rate(rate), size)
    elif name == "autocorrelation":
        found = _compare_mixing(size, random_state)
    else:
        found = _study_states(name, states, size)
    run.progress(1.0, name)
    return found


def _study_neuron(run: Run, rate: "Fraction | Quadratic", n: int) -> Summary:
    from herder.study import complexity, discrepancy, neuron

    states = neuron(rate, n)
    half = neuron(rate, n, rate - Fraction(1, 2))
    longest = min(200, -(-n // 2))
    words = complexity(states, longest)
    expected = f"{longest + 1} of an irrational rate, given enough terms"
    if isinstance(rate, Fraction):
        expected = f"at most {min(longest + 1, rate.denominator)}"
    facts = [
        Fact("rate", float(rate), ".12g", "exact"),
        Fact("word", "".join(map(str, states[:40])), "", "its first terms"),
        Fact("discrepancy", discrepancy(states, rate), ".6f", "at most 1"),
        Fact("from rate - 1/2", discrepancy(half, rate), ".6f", "at most 1/2"),
        Fact(f"words of length {longest}", int(words[-1]), "", expected),
    ]
    if isinstance(rate, Fraction):
        facts.insert(1, Fact("period", rate.denominator, "", "of a rational rate"))
    sections = []
    if run.report is not None:
        from herder.plots import plot_neuron

        picture = "The map of the weight, the first weights, and the word as black bars."
        sections = [Section("The neuron", [Picture("neuron", plot_neuron(rate), picture)])]
    return Summary(f"{counted(n, 'term')} of one neuron", [Facts(facts)], sections)


def _compare_mixing(n: int, random_state: int) -> Summary:
    from herder import PairwiseModel
    from herder.study import compare_mixing

    ring = PairwiseModel.grid((1, 8), periodic=True)
    found = compare_mixing(ring, n, random_state=random_state).summary()
    text = Text("A ring of 8 sites that like to be equal: its modes are all up and all down.")
    return Summary(found.title, [text, *found.blocks], found.sections)


def _study_states(name: str, path: Path | None, n: int) -> Summary:
    from herder import study as home

    if path is not None:
        features, moments = _read_states(path)
    else:
        features, moments = home.four_states() if name == "bifurcation" else home.six_states()
    if name == "attractor":
        return home.attractor(features, moments, n).summary()
    if name == "words":
        count = home.split_words if len(moments) == 2 else home.count_words
        return count(features, moments, n).summary()
    # above the first doubling: a step of the gradient is stable if T > largest variance / 2
    bound = float(np.square(np.ptp(features, axis=0)).sum()) / 2
    first = home.bifurcation(features, moments, [bound, bound / 1000]).thresholds
    heats = np.linspace(0, 1.3 * first.get(1, bound), n)
    return home.bifurcation(features, moments, heats).summary()


def _read_states(path: Path) -> tuple[Floats, Floats]:
    """Read features, and their means by the shares of the states."""
    from herder.data.tables import open_table

    if path.suffix.lower() not in TABLES:
        raise ParameterError("states", f"be a table ({', '.join(TABLES)})", str(path))
    columns: dict[str, Any] = dict(open_table(path).whole())
    given = [column for column in SHARES if column in columns]
    if len(given) == 2:
        raise ParameterError("states", "have one column of shares", got=", ".join(given))
    for column, values in columns.items():
        if np.asarray(values).dtype.kind not in "biuf" or not np.isfinite(values).all():
            raise ParameterError("states", "hold finite numbers alone", got=f"column {column!r}")
    shares = np.asarray(columns.pop(given[0]), np.float64) if given else None
    if not columns or not len(next(iter(columns.values()))):
        raise ParameterError("states", "have a row and a column of features at least", str(path))
    table = np.column_stack([np.asarray(column, np.float64) for column in columns.values()])
    if shares is None:
        shares = np.ones(len(table))
    if (shares < 0).any() or not shares.any():
        raise ParameterError("states", f"have no {given[0]} below 0, nor 0 alone", str(path))
    return table, shares / shares.sum() @ table


def _read_rate(text: str) -> "Fraction | Quadratic":
    from herder.study import Quadratic

    if text == "golden":
        return Quadratic(-1, 1, 2, 5)
    try:
        if "," in text:
            a, b, c, d = (int(word) for word in text.split(","))
            return Quadratic(a, b, c, d)
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        rule = "be a fraction, a decimal, golden, or four integers A,B,C,D with D from 0 on"
        raise ParameterError("rate", rule, text) from None
