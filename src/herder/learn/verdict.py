r"""The verdict on a fitted field: whether to trust it, why, and what to do.

Agreement with the rows that a field was fitted to shows little when there are fewer of them than
parameters: noise can be matched as well. So a field is trusted only if there are more rows than
parameters, or if held-out rows support it; and never by a handful of rows.

What to do about a field that differs from the rows depends on how it differs. Couplings that are
too strong make states that the rows do not have: whole modes of ones, or of zeros, that the
pseudo-likelihood, which looks at one site at a time from the rows, never visits. Then means are
far off, or chains disagree. Couplings that are too weak, as a penalty makes them, keep the means
and lose covariance. We compare that of the field, C', with that of the rows, C, by the slope

.. math:: \frac{\sum_{i < j} C_{ij} C'_{ij}}{\sum_{i < j} C_{ij}^2}.
"""

from typing import TYPE_CHECKING

from herder.core.blas import one_blas_thread
from herder.learn.fit import FEW_ROWS
from herder.learn.likelihood import MAX_SITES

if TYPE_CHECKING:
    from herder.learn.comparison import Comparison, FitCheck

__all__ = ["NEGLIGIBLE", "judge"]

#: Differences of this size do not matter: two hundredths of a standard deviation, of a
#: correlation, of all rows. Nor does a loss of so many nats per row.
NEGLIGIBLE = 0.02

#: Fewer rows than this are no test of a field: a share is known to 0.1 at best.
FEWEST_ROWS = 30

#: Means are far off when they differ by so many standard errors, and by this part of a standard
#: deviation.
FAR_ERRORS, FAR_SIZE = 20.0, 0.3

#: Numbers of ones are foreign to the rows when the field has them so many times as often, and
#: matter when they have this probability.
FOREIGN_RATIO, FOREIGN_SHARE = 10.0, 0.05

#: Below this slope of covariances couplings are too weak, above its inverse too strong.
SHRUNK = 0.9

#: Held-out rows are less likely than with independent columns beyond so many standard errors.
LOSS_ERRORS = 3.0


@one_blas_thread()
def judge(check: "FitCheck") -> tuple[bool, str]:
    """Return whether to trust a field, and why, in a few sentences."""
    objection = _objection(check)
    return (False, objection) if objection else (True, _approval(check))


def _objection(check: "FitCheck") -> str:
    """Return why not to trust a field, empty if nothing is wrong."""
    few = _too_few_learnt(check)
    if few:
        return few
    if not check.mixed:
        return (
            f"Do not trust the samples: chains disagree (R-hat {check.r_hat:.2f}), so this "
            "comparison shows little. The field seems to have modes that chains hardly cross. If "
            f"the rows do not come in such groups, {_weaken(check)}; if they do, sample it with "
            "tempering."
        )
    if check.gain < min(-NEGLIGIBLE, -LOSS_ERRORS * check.gain_error):
        return (
            f"Do not trust it: held-out rows lose {-check.gain:.3g} nats each against independent "
            "columns, so that its couplings do harm. Take more rows, or "
            f"{_weaken(check, methods=False)}."
        )
    parts = [check.means, check.pairs]
    if not SHRUNK <= _slope(check) <= 1 / SHRUNK:
        parts.append(check.counts)  # which many small differences of pairs add up in
    for part in parts:
        if not part.good_enough:
            return _off(check, part)
    if check.n_rows < FEWEST_ROWS:
        rows = f"{check.n_rows:.6g} row{'s are' if check.n_rows != 1 else ' is'}"
        return f"No verdict: {rows} too few to tell. Give check at least {FEWEST_ROWS}."
    if not check.counts.good_enough:
        return (
            "Trust means and pairs, but not how many ones come together: off by up to "
            f"{check.counts.largest:.1f} standard errors ({check.show(check.counts)}). The rows "
            "depend on each other in more than pairs, which no field of pairs can show."
        )
    return ""


def _too_few_learnt(check: "FitCheck") -> str:
    """Return why agreement with few rows shows nothing, unless held-out rows support it."""
    report = check.report
    foresees = None if report is None else report.foresees
    if check.n_learnt >= check.n_parameters or check.held_out or foresees:
        return ""
    reason = (
        f"Do not trust it: it has {check.n_parameters} parameters from {check.n_learnt:.6g} rows, "
        "which noise would match as well"
    )
    ways = ["take more rows or fewer columns"]
    if foresees is False:
        reason += ", and held-out rows are no likelier than with independent columns"
    else:
        by_rows = report is None or report.method in ("pl", "pl-node")
        ways.append("choose alpha by held-out rows (alpha='cv')" if by_rows else "raise alpha")
    ways.append("hold out rows and pass them to check with held_out=True")
    return f"{reason}. {_join(ways)}."


def _off(check: "FitCheck", part: "Comparison") -> str:
    """Return how a comparison differs, and what may help in such a case."""
    found = (
        f"Do not trust it: {part.what} are off by up to {part.largest:.1f} standard errors "
        f"({check.show(part)})"
    )
    report, slope, foreign = check.report, _slope(check), _foreign(check)
    is_far = check.means.largest > FAR_ERRORS and check.means.size > FAR_SIZE
    if foreign > FOREIGN_SHARE and (is_far or slope >= SHRUNK):
        where = f"spends {foreign:.0%} of its time at numbers of ones that the rows seldom have"
        return f"{found}. The field {where}: {_weaken(check)}."
    if is_far:
        ways = [*_other_methods(check), _weaken(check, methods=False)]
        return f"{found}. Its states come in other shares than those of the rows. {_join(ways)}."
    ways = []
    if report is not None and not report.converged:
        ways.append("raise max_iter until the fit converges")
    if report is not None and report.method in ("cd", "pcd"):
        ways.append("raise n_epochs")
    if report is not None and report.penalty == "none":
        ways.append("give a penalty")
    elif slope < SHRUNK:
        found += ". Its covariances are too small"
        some = "" if report is None else f" (alpha={float(f'{report.alpha / 3:.1g}'):g})"
        ways.append(f"lower alpha somewhat{some}")
    else:
        ways.append("try other values of alpha")
    return f"{found}. {_join(ways + _other_methods(check))}."


def _approval(check: "FitCheck") -> str:
    """Return what may be trusted."""
    share = check.n_learnt / max(check.n_parameters, 1)
    is_thin = share < FEW_ROWS
    opening = "Trust it for averages" if is_thin else "Trust it"
    if all(part.agrees for part in (check.means, check.pairs, check.counts)):
        text = f"{opening}: means, pairs and numbers of ones are those of the rows, within error."
    else:
        text = (
            f"{opening}: differences from the rows are more than sampling error, but too small to "
            f"matter (at most {NEGLIGIBLE:.0%} of a standard deviation)."
        )
    if not is_thin:
        return text
    return f"{text} With {share:.2g} rows for each parameter, single couplings are uncertain."


def _other_methods(check: "FitCheck") -> list[str]:
    """Return which methods use samples of the field, if it was fitted by another."""
    methods = ["ml", "pcd"] if len(check.names) <= MAX_SITES else ["pcd"]
    others = [repr(m) for m in methods if check.report is None or m != check.report.method]
    return [f"try method={' or '.join(others)}"] if others else []


def _weaken(check: "FitCheck", *, methods: bool = True) -> str:
    """Return how to get weaker couplings."""
    report = check.report
    if report is None:
        way = "raise alpha tenfold"
    elif report.penalty == "none":
        way = "give a penalty, such as alpha=0.001"
    else:
        way = f"raise alpha tenfold (alpha={10 * report.alpha:.3g})"
    return ", or ".join([way, *_other_methods(check)]) if methods else way


def _slope(check: "FitCheck") -> float:
    """Return covariances of the field relative to those of the rows; 1 if these are noise."""
    pairs, means = check.pairs, check.means
    i, j = pairs.labels.T
    rows = pairs.rows - means.rows[i] * means.rows[j]
    field = pairs.model - means.model[i] * means.model[j]
    spread = means.rows * (1 - means.rows)
    noise = float(spread[i] @ spread[j]) / check.n_rows
    size = float(rows @ rows)
    if check.held_out:  # the field cannot know the noise of these rows
        size -= noise
    return float(rows @ field) / size if size > noise else 1.0


def _foreign(check: "FitCheck") -> float:
    """Return the probability in the field of numbers of ones that the rows seldom have."""
    rows, field = check.counts.rows, check.counts.model
    return float(field[field > FOREIGN_RATIO * rows].sum())


def _join(ways: list[str]) -> str:
    """Return a sentence of things to try."""
    text = ways[0] if len(ways) == 1 else f"{', '.join(ways[:-1])}, or {ways[-1]}"
    return text[0].upper() + text[1:]
