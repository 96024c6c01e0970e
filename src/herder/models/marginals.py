r"""Marginals of patches of sites, which need not agree with each other, as features.

A patch is some sites; its marginal says how probable their states are. What of a marginal is
matched decides which features it has:

==============  ============================================================================
``"cells"``     one feature for each joint state of the patch (default)
``"differ"``    one feature: whether the sites of the patch are not all in the same state
``"inverse"``   one feature for each joint state together with its inverse, for two states
==============  ============================================================================
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from herder._errors import ParameterError
from herder._validation import mapping, one_of, plain_array, real_array
from herder.core.units import Units
from herder.models.features import CliqueFeatures
from herder.models.layout import CliqueLayout

__all__ = ["Given", "PatchTables", "read_marginals"]

MATCHES = ("cells", "differ", "inverse")

#: Labels of the axes of frames.
AXES = ("index", "columns")

#: Rates are whole multiples of this share of the largest.
RATE_UNITS = 1024

#: Weights have room for this many steps, even if they grow all the time.
MOST_STEPS = 2**27

#: Units of a probability, at most and at least.
FINEST, COARSEST = 2**20, 2**10


class PatchTables:
    """Marginals of many patches of the same size.

    Parameters
    ----------
    sites : array-like of int of shape (n_patches, n_members)
        The sites of each patch, counted from 0.
    tables : array-like of shape (n_patches, n_states, ..., n_states)
        A table for each patch, with one axis for each of its sites, of probabilities or counts;
        each is divided by its sum. With ``match="differ"``: of shape (n_patches,), probabilities
        that the sites of a patch are not all in the same state.
    match : {"cells", "differ", "inverse"}, default "cells"
        What is matched: all cells of the table, whether the sites differ, or the sum of each cell
        and its inverse, where no site has the state it had.

    Examples
    --------
    >>> import numpy as np
    >>> PatchTables([[0, 1], [1, 2]], [0.1, 0.8], "differ")
    PatchTables(2 patches of 2 sites, match='differ')
    """

    def __init__(self, sites: ArrayLike, tables: ArrayLike, match: str = "cells") -> None:
        self.match = one_of(match, "match", MATCHES)
        members = np.atleast_2d(plain_array(sites, "sites"))
        if members.dtype.kind not in "iu" or members.ndim != 2 or not members.size:
            raise ParameterError("sites", "be whole numbers, a row for each patch", got="others")
        ordered = np.sort(members, axis=1)
        if ordered[:, 0].min() < 0 or (np.diff(ordered, axis=1) == 0).any():
            rule = "have sites from 0 on, each once in a patch"
            raise ParameterError("sites", rule, got=members[_first_wrong(ordered)].tolist())
        self.sites = members.astype(np.intp)
        given = real_array(tables, "tables")
        n, size = members.shape
        if match == "differ":
            if given.shape != (n,) or size < 2:
                rule = f"have one number for each of {n} patches of two sites or more"
                raise ParameterError("tables", rule, got=f"shape {given.shape}")
            if not ((given >= 0) & (given <= 1)).all():
                raise ParameterError("tables", "be probabilities", got="others")
        else:
            given = _normalised(given, n, size, match)
        self.tables = given

    def __repr__(self) -> str:
        n, size = self.sites.shape
        patches, sites = "patch" if n == 1 else "patches", "site" if size == 1 else "sites"
        return f"PatchTables({n} {patches} of {size} {sites}, match={self.match!r})"

    def __len__(self) -> int:
        return len(self.sites)


def _first_wrong(ordered: NDArray[Any]) -> int:
    return int(((ordered[:, 0] < 0) | (np.diff(ordered, axis=1) == 0).any(axis=1)).argmax())


def _normalised(given: NDArray[np.float64], n: int, size: int, match: str) -> NDArray[np.float64]:
    """Return tables that sum to 1."""
    if given.ndim != size + 1 or len(given) != n or min(given.shape) < 1:
        rule = f"have shape ({n}{', n_states' * size}) for {n} patches of {size}"
        raise ParameterError("tables", rule, got=f"shape {given.shape}")
    if match == "inverse" and given.shape[1:] != (2,) * size:
        raise ParameterError(
            "match", "be 'cells' or 'differ' unless all sites have two states", match
        )
    sums = given.reshape(n, -1).sum(axis=1)
    if not (given >= 0).all() or not (np.isfinite(sums) & (sums > 0)).all():
        raise ParameterError(
            "tables", "hold no negative number, and one above 0 each", got="others"
        )
    return given / sums.reshape(-1, *[1] * size)


class Given(NamedTuple):
    """Marginals as they are herded.

    Parameters
    ----------
    tables : mapping
        What was given.
    patches : dict
        The same as `PatchTables`.
    labels : dict
        States of each site that has a name.
    features : CliqueFeatures
        Those of all patches, in order.
    patch : ndarray of intp of shape (n_features,)
        To which patch they belong, counted over all keys.
    rates : ndarray of int64 of shape (n_features,)
        Whole numbers in the proportions of the rates.
    """

    tables: Mapping[Any, Any]
    patches: dict[Any, PatchTables]
    labels: dict[Any, list[Any]]
    features: CliqueFeatures
    patch: NDArray[np.intp]
    rates: NDArray[np.int64]

    def in_form(self, key: Any, tables: NDArray[np.float64]) -> Any:
        """Return tables of a key in the form in which they were given."""
        form = self.tables[key]
        if isinstance(form, PatchTables):
            return tables
        table = tables[0]
        for place, name in enumerate(_members(key)):
            own = _axis(form, place, table.shape[place])
            table = np.take(table, [self.labels[name].index(label) for label in own], axis=place)
        axes = {name: getattr(form, name) for name in AXES[: table.ndim] if _has(form, name)}
        return type(form)(table, **axes) if axes else table


def read_marginals(marginals: object, rates: object = None) -> Given:
    """Return the features of marginals that are given by key.

    Parameters
    ----------
    marginals : mapping
        `PatchTables` by any key; or tables by the names of their sites, see `herd_marginals`.
    rates : mapping, optional
        Numbers above 0, or arrays of them with one for each patch, by the same keys.
    """
    tables = mapping(marginals, "marginals", "tables by the names of their sites")
    kinds = {isinstance(value, PatchTables) for value in tables.values()}
    if len(kinds) != 1:
        got = "both" if kinds else "nothing"
        raise ParameterError("marginals", "hold arrays by names, or PatchTables", got=got)
    labels: dict[Any, list[Any]] = {}
    patches = dict(tables) if kinds == {True} else _by_name(tables, labels)
    each = np.concatenate(_read_rates(rates, patches))
    whole = np.rint(each / each.max() * RATE_UNITS).astype(np.int64)
    if whole.min() < 1:
        rule = f"be within a factor of {RATE_UNITS:,} of each other"
        raise ParameterError("rates", rule, got=f"{each.min():g} and {each.max():g}")
    if whole.min() == RATE_UNITS:
        whole = np.ones_like(whole)
    features, counts = _features(patches, int(whole.max()))
    patch = np.repeat(np.arange(len(counts)), counts)
    return Given(tables, patches, labels, features, patch, whole[patch])


def _read_rates(rates: object, patches: dict[Any, PatchTables]) -> list[NDArray[np.float64]]:
    """Return the rate of each patch, in an array for each key."""
    given = {} if rates is None else mapping(rates, "rates", "numbers by the keys of marginals")
    unknown = [key for key in given if key not in patches]
    if unknown:
        raise ParameterError("rates", f"have keys among {list(patches)}", unknown[0])
    found = []
    for key, own in patches.items():
        values = real_array(given.get(key, 1.0), "rates")
        if values.shape not in ((), (len(own),)) or not (np.isfinite(values) & (values > 0)).all():
            rule = f"be numbers above 0, one or {len(own)} of them for {key!r}"
            raise ParameterError("rates", rule, given[key])
        found.append(np.broadcast_to(values, (len(own),)))
    return found


def _by_name(tables: Mapping[Any, Any], labels: dict[Any, list[Any]]) -> dict[Any, PatchTables]:
    """Return a patch for each table, and fill in the labels of the states of its sites."""
    places: dict[Any, int] = {}
    patches = {}
    for key, table in tables.items():
        members, values = _members(key), np.asarray(table)
        if values.ndim != len(members):
            rule = f"hold tables with an axis for each site: {len(members)} for {key!r}"
            raise ParameterError("marginals", rule, got=f"shape {values.shape}")
        for axis, name in enumerate(members):
            places.setdefault(name, len(places))
            own = _axis(table, axis, values.shape[axis])
            _check_axis(table, axis, name, members, own, values)
            known = labels.setdefault(name, own)
            if len(set(own)) != len(own) or set(known) != set(own):
                rule = f"give {name!r} the same states in all tables"
                raise ParameterError("marginals", rule, got=f"{known} and {own}")
            values = np.take(values, [own.index(label) for label in known], axis=axis)
        try:
            patches[key] = PatchTables([[places[name] for name in members]], values[None])
        except ParameterError as error:
            found = values.tolist() if error.name == "tables" else list(members)
            raise ParameterError("marginals", f"{error.rule}: {key!r}", found) from None
    return patches


def _check_axis(
    table: Any, axis: int, name: Any, members: tuple[Any, ...], own: list[Any], values: Any
) -> None:
    """Refuse frames whose axes are those of other sites, or have sums beside the states."""
    labelled = getattr(getattr(table, AXES[axis], None), "name", None) if axis < 2 else None
    if labelled is not None and labelled != name and labelled in members:
        rule = f"have axes in the order of their keys: {members!r}"
        raise ParameterError("marginals", rule, got=f"a frame whose {AXES[axis]} is {labelled!r}")
    if "All" in own and len(own) > 1:
        sums = np.take(values, own.index("All"), axis=axis)
        if np.allclose(values.sum(axis=axis) - sums, sums):
            rule = f"hold the states of {name!r} alone"
            raise ParameterError("marginals", rule, got="their sum as well, 'All'")


def _members(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _has(table: Any, axis: str) -> bool:
    """Return whether a table is a frame with labels on that axis."""
    return hasattr(table, axis) and not callable(getattr(table, axis))


def _axis(table: Any, place: int, n_states: int) -> list[Any]:
    """Return the labels of one axis of a table, by default numbers from 0."""
    labelled = place < len(AXES) and _has(table, AXES[place])
    return list(getattr(table, AXES[place])) if labelled else list(range(n_states))


def _features(
    patches: dict[Any, PatchTables], largest: int
) -> tuple[CliqueFeatures, NDArray[np.intp]]:
    """Return features, and how many each patch has, for integer rates up to the largest."""
    sites = [own.sites for own in patches.values()]
    n_values = np.zeros(1 + max(int(own.max()) for own in sites), np.intp)
    seen = np.zeros(len(n_values), bool)
    for key, own in patches.items():
        seen[own.sites] = True
        for place, n_states in enumerate(own.tables.shape[1:]):
            members = own.sites[:, place]
            if not np.isin(n_values[members], (0, n_states)).all():
                rule = f"give each site one number of states: {key!r}"
                raise ParameterError("marginals", rule, got=f"{n_states} and others")
            n_values[members] = n_states
    if not seen.all():
        raise ParameterError("marginals", "hold all sites", got=f"none for site {seen.argmin()}")
    n_values[n_values == 0] = 2  # only known to differ
    layout = CliqueLayout.of(n_values.tolist(), [row for own in sites for row in own.tolist()])
    room = 2**62 // (layout.n_cliques * MOST_STEPS * largest)
    units = Units(int(min(max(2 ** (room.bit_length() - 1), COARSEST), FINEST)), False)
    features, coefficients, targets, counts = [], [], [], []
    first = 0
    for own in patches.values():
        n = len(own)
        cells = np.arange(int(np.prod(n_values[own.sites[0]])))
        ones, target = np.ones(len(cells), np.int64), own.tables.reshape(n, -1)
        local = cells
        if own.match == "differ":
            digits = np.unravel_index(cells, n_values[own.sites[0]])
            ones = (np.ptp(np.array(digits), axis=0) > 0).astype(np.int64)
            local = np.zeros_like(cells)
        elif own.match == "inverse":
            local = np.minimum(cells, cells[::-1])
            target = (target + target[:, ::-1])[:, : len(cells) // 2]
        n_own = int(local.max()) + 1
        features.append((first + n_own * np.arange(n)[:, None] + local).ravel())
        coefficients.append(np.tile(ones, n))
        targets.append(np.rint(target * units.total).astype(np.int64).ravel())
        counts.append(np.full(n, n_own))
        first += n_own * n
    target = np.concatenate(targets)
    none = np.zeros(len(target), bool)
    found = CliqueFeatures(
        layout, np.concatenate(features), np.concatenate(coefficients), target, none, units,
        "indicator", np.zeros(layout.n_cliques, bool),
    )  # fmt: skip
    return found, np.concatenate(counts)
