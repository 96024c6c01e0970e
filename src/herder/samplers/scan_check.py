"""Whether herded Gibbs converges on a model: scan orders against exact answers.

There is no theorem for general graphs, so the model is tested. Small connected pieces of it are
cut out, with their own couplings and biases, and herded with several scan orders for T and for
10 T sweeps; exact answers come from enumeration. Where an order converges, the error falls nearly
tenfold; where it has reached its floor, it stays. The baseline is Gibbs sampling on the same
piece, with the same number of sweeps.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import plain_array, positive_int
from herder.core.summary import Picture, Section, Summarised, Summary, Table, Text, counted, show
from herder.metrics import total_variation
from herder.models.graph import split_couplings
from herder.models.pairwise import PairwiseModel
from herder.models.potts import PottsModel
from herder.samplers.gibbs import gibbs
from herder.samplers.herded import herded_gibbs
from herder.samplers.orders import ORDERS, Field, check_model, scan_order

__all__ = ["OrderReport", "ScanReport", "check_scan_orders"]

#: Most states of a piece, so that it is enumerated at once.
PIECE_STATES = 2**10

#: An error that falls by less than this factor over tenfold sweeps has reached its floor.
STALLED = 2.0

#: ... if it is above this many times 1 / T.
FAR = 20.0

#: Neighbourhoods of a site beyond which few are visited twice.
MANY = 2**12


@dataclass(frozen=True)
class OrderReport:
    """Errors of one scan order, averaged over the pieces.

    Parameters
    ----------
    order : str
        The scan order.
    error, final_error : float
        Root mean square error of the marginals after T and after 10 T sweeps.
    gibbs_error : float
        That of Gibbs sampling after 10 T sweeps.
    joint, gibbs_joint : float
        Total variation to the exact joint distribution after 10 T sweeps, of both.
    stalled : int
        Pieces on which the error of the marginals fell by less than twofold, far above 1 / T.
    """

    order: str
    error: float
    final_error: float
    gibbs_error: float
    joint: float
    gibbs_joint: float
    stalled: int


@dataclass(frozen=True)
class ScanReport(Summarised):
    """Errors of scan orders, the result of `check_scan_orders`.

    Parameters
    ----------
    orders : tuple of OrderReport
        Best first.
    n_pieces, piece_size : int
        Pieces that were tested, and the sites of the largest.
    n_sweeps : int
        T; the last errors are after 10 T.
    warnings : tuple of str
        Reasons not to herd this model.
    """

    orders: tuple[OrderReport, ...]
    n_pieces: int
    piece_size: int
    n_sweeps: int
    warnings: tuple[str, ...]

    @property
    def best(self) -> str:
        """The scan order that stalls least often, and has the least error."""
        return self.orders[0].order

    def summary(self) -> Summary:
        """Return the errors of each order beside those of Gibbs sampling, best first."""
        last = 10 * self.n_sweeps
        header = ("order", show(self.n_sweeps), show(last), "Gibbs", "joint", "Gibbs", "stalled")
        rows = []
        for one in self.orders:
            errors = one.error, one.final_error, one.gibbs_error, one.joint, one.gibbs_joint
            rows.append((one.order, *errors, f"{one.stalled} of {self.n_pieces}"))
        pieces = f"{counted(self.n_pieces, 'piece')} of up to {self.piece_size} sites"
        text = (
            f"Error of the marginals after {self.n_sweeps:,} and {last:,} sweeps, total variation "
            "to the joint distribution after the latter, and both for Gibbs:"
        )
        description = "Error of each scan order after T and 10 T sweeps, and that of Gibbs."
        warnings = [Text(warning, "warning") for warning in self.warnings]
        return Summary(
            f"Herded Gibbs on {pieces}",
            [Text(text), Table(header, rows, ("", *[".1e"] * 5)), *warnings],
            [Section("Scan orders", [Picture("orders", self, description)])],
        )


def check_scan_orders(
    model: Field,
    *,
    orders: Sequence[str | ArrayLike] = ORDERS,
    n_pieces: int = 5,
    n_sweeps: int = 10_000,
) -> ScanReport:
    """Test herded Gibbs on small pieces of a model, and report whether to use it.

    Parameters
    ----------
    model : PairwiseModel or PottsModel
        What is to be sampled.
    orders : sequence of str or array-like of int
        Scan orders to compare; those of pieces follow from orders of the whole model.
    n_pieces : int
        Pieces at most: around the most strongly coupled sites, apart from each other. A model
        with up to 1,024 states is its own and only piece.
    n_sweeps : int
        T: sweeps of the shorter run.

    Returns
    -------
    ScanReport
        Orders with their errors, best first, and warnings; ``print`` shows all of it.

    Examples
    --------
    >>> from herder import PairwiseModel, check_scan_orders
    >>> report = check_scan_orders(PairwiseModel.random(8, coupling_sd=0.4), orders=["sequential"])
    >>> report.orders[0].final_error < report.orders[0].gibbs_error / 3
    True
    """
    check_model(model)
    n_sweeps = positive_int(n_sweeps, "n_sweeps")
    if isinstance(orders, str) or not isinstance(orders, Sequence) or not len(orders):
        raise ParameterError("orders", "be a list of orders", orders)
    labels = [
        o if isinstance(o, str) else str(plain_array(o, "orders", "be orders").tolist())
        for o in orders
    ]
    paths = {label: scan_order(model, o) for label, o in zip(labels, orders, strict=True)}
    pieces = _pieces(model, positive_int(n_pieces, "n_pieces"))
    tested = [_test_piece(model, sites, paths, n_sweeps) for sites in pieces]
    reports = []
    for k, label in enumerate(paths):
        errors = np.array([piece[k] for piece in tested])  # (n_pieces, 5)
        first, last = errors[:, 0], errors[:, 1]
        stalled = int(((first < STALLED * last) & (last > FAR / (10 * n_sweeps))).sum())
        reports.append(OrderReport(label, *errors.mean(axis=0).tolist(), stalled=stalled))
    reports.sort(key=lambda one: (one.stalled, one.final_error))
    warnings = _warnings(model, reports, pieces)
    return ScanReport(tuple(reports), len(pieces), len(pieces[0]), n_sweeps, warnings)


def _pieces(model: Field, n_pieces: int) -> list[NDArray[np.intp]]:
    """Return sets of neighbouring sites, around the most strongly coupled ones."""
    size = int(np.log(PIECE_STATES) / np.log(model.n_states) + 1e-9)
    if model.n_sites <= size:
        return [np.arange(model.n_sites)]
    indptr, indices, weights = model.adjacency
    sites = np.repeat(np.arange(model.n_sites), np.diff(indptr))
    strength = np.bincount(sites, np.abs(weights), model.n_sites)
    found: list[NDArray[np.intp]] = []
    taken = np.zeros(model.n_sites, dtype=bool)
    for centre in np.argsort(-strength, kind="stable"):
        if len(found) == n_pieces:
            break
        if taken[centre]:
            continue
        piece = [int(centre)]
        taken[centre] = True
        for site in piece:  # grows while it is walked through: nearest sites first
            for near in indices[indptr[site] : indptr[site + 1]].tolist():
                if not taken[near] and len(piece) < size:
                    piece.append(near)
                    taken[near] = True
        if not found or len(piece) >= len(found[0]) / 2:  # small pieces would dilute the means
            found.append(np.array(sorted(piece), dtype=np.intp))
    return found


def _test_piece(
    model: Field, sites: NDArray[np.intp], paths: dict[str, NDArray[np.intp]], n_sweeps: int
) -> list[tuple[float, ...]]:
    """Return the errors of each order, in the order of `OrderReport`."""
    among, _, _ = split_couplings(model.couplings, sites, sites[:0])
    if isinstance(model, PairwiseModel):
        piece = PairwiseModel(among, model.biases[sites], model.states)
    else:
        piece = PottsModel(among, model.fields[sites])
    found = []
    for path in paths.values():
        order = np.searchsorted(sites, path[np.isin(path, sites)])
        herded = piece.codes(herded_gibbs(piece, 10 * n_sweeps, order=order).samples)
        plain = piece.codes(gibbs(piece, 10 * n_sweeps, order=order).samples)
        first = _errors(piece, herded[:n_sweeps])[0]
        (last, joint), (gibbs_last, gibbs_joint) = _errors(piece, herded), _errors(piece, plain)
        found.append((first, last, gibbs_last, joint, gibbs_joint))
    return found


def _errors(model: Field, codes: NDArray[np.uint8]) -> tuple[float, float]:
    """Return the root mean square error of the marginals, and the total variation."""
    exact = model.exact(method="enumerate")
    if exact.probabilities is None:
        raise ValueError("a piece must be small enough to enumerate")
    numbers = codes @ model.n_states ** np.arange(model.n_sites)  # site 0 is the lowest digit
    share = np.bincount(numbers, minlength=len(exact.probabilities)) / len(codes)
    states = range(1, 2) if isinstance(model, PairwiseModel) else range(model.n_states)
    means = np.stack([(codes == state).mean(axis=0) for state in states], axis=1)
    gap = means - exact.marginals.reshape(means.shape)
    return float(np.sqrt(np.mean(gap**2))), total_variation(share, exact.probabilities)


def _warnings(
    model: Field, reports: Sequence[OrderReport], pieces: Sequence[NDArray[np.intp]]
) -> tuple[str, ...]:
    found, best = [], reports[0]
    if best.stalled:
        found.append(
            f"with every order the error stops falling on some pieces ({best.stalled} of "
            f"{len(pieces)} with {best.order}): herded Gibbs has a floor here that more sweeps do "
            "not lower"
        )
    worst = [one.order for one in reports if one.stalled > best.stalled]
    if worst:
        found.append(f"avoid the order {', '.join(worst)}: it stalls where {best.order} does not")
    if best.final_error > best.gibbs_error:
        found.append("Gibbs sampling has better marginals after the same number of sweeps: use it")
    elif best.joint > 2 * best.gibbs_joint:
        found.append(
            f"marginals are good, but joint states are off by {best.joint:.2g} (Gibbs "
            f"{best.gibbs_joint:.2g}): do not use the states together, as for energies"
        )
    degree = int(np.diff(model.adjacency.indptr).max(initial=0))
    if degree * np.log(model.n_states) > np.log(MANY):
        found.append(
            f"a site has {degree} neighbours: few neighbourhoods are visited twice, herding gains "
            "little over Gibbs sampling, and each takes memory"
        )
    if model.n_sites > len(pieces[0]):
        found.append("pieces are small; they do not show the floor of the whole model")
    return tuple(found)
