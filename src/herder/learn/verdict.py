r"""The verdict on a fitted field: whether to trust it, why, and what to do.

Agreement with the rows that a field was fitted to shows little when there are fewer of them than
parameters: noise can be matched as well. So a field is trusted only if there are more rows than
parameters, or if held-out rows support it; and never by a handful of rows.

A verdict names the largest difference, and what it means. If means and pairs agree, the field is
the maximum-entropy model of the rows' pairs, and no pairwise model can match what differs. Small
differences of many pairs may add up in the numbers of ones, though: then these would agree in a
field that has their mean and variance (`herder.learn.check`), or covariances differ as below. If
means or pairs differ, it is the fit, or the rows are unlike those of the fit.

What to do about a fit that differs from the rows depends on how it differs. Couplings that are
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

#: What to do about a fit without a penalty.
GIVE_PENALTY = "give it a penalty (pass penalty='l2')"

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
    off = [part for part in check.parts if not part.good_enough]
    if off:
        return _off(check, max(off, key=lambda part: part.largest))
    if check.n_rows < FEWEST_ROWS:
        rows = f"{check.n_rows:.6g} row{'s are' if check.n_rows != 1 else ' is'}"
        return f"No verdict: {rows} too few to tell. Give check at least {FEWEST_ROWS}."
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
        ways.append(
            "choose alpha by held-out rows (pass alpha='cv')" if by_rows else "raise alpha"
        )
    ways.append("check it with held-out rows")
    return f"{reason}. {_join(ways)}."


def _off(check: "FitCheck", part: "Comparison") -> str:
    """Return how the worst comparison differs, what it means, and what may help in such a case."""
    report, slope, foreign, drift = check.report, _slope(check), _foreign(check), check.drift
    found = f"{part.what} are off by up to {part.largest:.1f} standard errors ({check.show(part)})"
    beyond = [] if check.triples.good_enough else [check.triples]
    if check.matched is not None and not check.matched.good_enough:
        beyond += [check.counts] if SHRUNK <= slope <= 1 / SHRUNK else []
    if part in beyond and check.means.good_enough and check.pairs.good_enough:
        return (
            f"Trust means and pairs, but no more: {found}. Means and pairs determine a pairwise "
            "model, and they agree: no pairwise model can match this."
        )
    found = f"Do not trust it: {found}"
    if drift is not None and not drift.good_enough:
        at = drift.worst
        return (
            f"{found}. These rows are unlike those of the fit: {check.names[at]} is 1 in "
            f"{drift.rows[at]:.4f} of them, and in {drift.model[at]:.4f} of those of the fit. Fit "
            "rows like these."
        )
    is_far = check.means.largest > FAR_ERRORS and check.means.size > FAR_SIZE
    if foreign > FOREIGN_SHARE and (is_far or slope >= SHRUNK):
        where = f"spends {foreign:.0%} of its time at numbers of ones that the rows seldom have"
        return f"{found}. The field {where}: {_weaken(check)}."
    if is_far:
        ways = [*_other_methods(check), _weaken(check, methods=False)]
        return f"{found}. Its states come in other shares than those of the rows. {_join(ways)}."
    ways = []
    if report is not None and report.method in ("cd", "pcd"):
        ways.append("take more epochs")
    if report is not None and report.penalty == "none":
        ways.append(GIVE_PENALTY)
    elif slope < SHRUNK:
        found += ". Its covariances are too small"
        some = "" if report is None else f" (pass alpha={float(f'{report.alpha / 3:.1g}'):g})"
        ways.append(f"lower alpha somewhat{some}")
    else:
        ways.append("try other values of alpha")
    ways += _other_methods(check)
    if report is not None and not report.converged:
        ways.append("raise max_iter until the fit converges")
    text = f"{found}. {_join(ways)}."
    if beyond:
        text += " It will not match all: the rows depend on each other in more than pairs."
    return text


def _approval(check: "FitCheck") -> str:
    """Return what may be trusted."""
    share = check.n_learnt / max(check.n_parameters, 1)
    is_thin = share < FEW_ROWS
    opening = "Trust it for averages" if is_thin else "Trust it"
    if all(part.agrees for part in check.parts):
        *names, last = (part.what for part in check.parts)
        text = f"{opening}: {', '.join(names)} and {last} are those of the rows, within error."
    else:
        text = (
            f"{opening}: differences from the rows are more than sampling error, but too small to "
            f"matter. The largest: {check.worst.what}, {check.show(check.worst)}."
        )
    if not is_thin:
        return text
    return f"{text} With {share:.2g} rows for each parameter, single couplings are uncertain."


def _other_methods(check: "FitCheck") -> list[str]:
    """Return which method matches means and pairs, if the field was fitted by another."""
    best, how = ("ml", "likelihood") if len(check.names) <= MAX_SITES else ("pcd", "chains")
    known = check.report is not None and check.report.method in ("ml", best)
    return [] if known else [f"fit it by {how} (pass method='{best}')"]


def _weaken(check: "FitCheck", *, methods: bool = True) -> str:
    """Return how to get weaker couplings."""
    report = check.report
    if report is None:
        way = "raise alpha tenfold"
    elif report.penalty == "none":
        way = GIVE_PENALTY
    else:
        way = f"raise alpha tenfold (pass alpha={10 * report.alpha:.3g})"
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
