"""`MomentHerder`: the scikit-learn estimator of moment herding, from tables to tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import (
    check_fitted,
    check_function,
    function_or_none,
    non_negative_int,
    of_kind,
    one_of,
    positive_int,
    real_array,
    row_weights,
)
from herder.core.averages import RunningAverage
from herder.core.plain import Arrays, Header, plain_estimator, read_estimator
from herder.core.state import State, nest, unnest
from herder.data.decoding import Decoder, TableForm, read_form
from herder.data.source import TableSource, silent
from herder.data.variables import Bins, encode
from herder.fields import moment_state
from herder.fields.diagnostics import moment_diagnostics
from herder.fields.herding import MomentHerding, moment_herd
from herder.fields.live import MAX_STEPS, RESTARTS, MomentHerd, Position, check_codes
from herder.fields.row_filter import RowFilter
from herder.fields.row_index import CopyCount, RowIndex, index_source, restart_rows, some_rows
from herder.fields.synthesis import Synthesis
from herder.models.features import as_encoding
from herder.models.moments import Moments
from herder.models.published import count_table
from herder.models.summary import log_identifying

__all__ = ["MomentHerder", "MomentHerding", "moment_herd"]

#: States averaged, and decoded by a stream, at a time.
AVERAGE_BLOCK, STREAM_BLOCK = 16_384, 256


class MomentHerder(BaseEstimator):
    """Turn a table, or only its pair or triple counts, into rows that match all the counts.

    Parameters
    ----------
    order : int, default 2
        Match all groups of up to this many columns.
    cliques : list of lists of columns, optional
        Match these groups instead, by position or name.
    encoding : {"indicator", "01", "+-1"}, default "indicator"
        Features: all cells of the tables, or products of 0/1 or -1/+1 for binary columns. The
        samples depend on it.
    restarts : {"auto", "rows", "visited", "none"}, default "auto"
        Where the search starts again when it fails the PCT inequality: at data rows (after
        `fit`), at states visited before (after `fit_moments`), or not at all.
    burn_in : int, default 0
        States to discard at the start.
    scan : array-like of int, optional
        The order in which the search visits the columns.
    rates : array-like, optional
        Rate of each feature, rounded to 1/1024; they weigh the moment errors.
    max_sweeps : int, default 0
        Limit on the sweeps of one search; 0 for none: until nothing improves.
    missing : {"error", "category"}, default "error"
        Whether missing values are refused or are a category of their own.
    bins : "auto", int, mapping of column to int, or None, default "auto"
        Into how many bins of equally many rows columns of numbers and dates are cut; samples
        hold values spread evenly within them. "auto": those with more than 32 distinct
        values, in as many bins as the rows allow (also columns that a mapping does not name).
    contradictions : {"error", "nearest"}, default "error"
        Whether moments that no table can have are refused, or herded to the nearest
        consistent ones; ``diagnostics_.distance`` is then how far they were.

    Attributes
    ----------
    moments_ : Moments
        The moments that are matched.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns, when they have names.
    diagnostics_ : MomentDiagnostics
        Of the latest `sample` or `herd`. Not saved with the estimator: the same call, which
        returns the same rows, sets it again.

    Examples
    --------
    >>> from herder import MomentHerder
    >>> herder = MomentHerder().fit([[0, 1], [1, 1], [0, 0], [1, 1]])
    >>> herder.sample(4).tolist()
    [[1, 1], [0, 1], [1, 1], [0, 0]]
    """

    def __init__(
        self,
        order: int = 2,
        *,
        cliques: Sequence[Sequence[int | str]] | None = None,
        encoding: str = "indicator",
        restarts: str = "auto",
        burn_in: int = 0,
        scan: ArrayLike | None = None,
        rates: ArrayLike | None = None,
        max_sweeps: int = 0,
        missing: str = "error",
        bins: Bins = "auto",
        contradictions: str = "error",
    ) -> None:
        self.order = order
        self.cliques = cliques
        self.encoding = encoding
        self.restarts = restarts
        self.burn_in = burn_in
        self.scan = scan
        self.rates = rates
        self.max_sweeps = max_sweeps
        self.missing = missing
        self.bins = bins
        self.contradictions = contradictions

    def fit(self, X: object, y: object = None, *, sample_weight: ArrayLike | None = None) -> Self:
        """Count the table ``X`` and keep distinct rows to restart from.

        Parameters
        ----------
        X : array, sparse matrix, pandas or polars frame, or mapping of columns
            Rows of 0/1 or categorical values.
        y : ignored
            For scikit-learn.
        sample_weight : array-like of shape (n_rows,), optional
            How often each row counts.
        """
        if isinstance(X, Moments):
            raise ParameterTypeError("X", "be a table", got="Moments: use fit_moments")
        if isinstance(X, str | PathLike):
            got = f"the path {str(X)!r}: read the file first"
            raise ParameterTypeError("X", "be a table", got=got)
        form = read_form(X)
        codes = encode(X, missing=self.missing, bins=self.bins, order=self.order)
        moments = Moments.from_codes(
            codes, self.order, cliques=self.cliques, sample_weight=sample_weight
        )
        self._adopt(moments, form)
        if sample_weight is not None:  # a row that does not count is no row
            weight = row_weights(sample_weight, codes.rows.shape[0])
            codes = some_rows(codes, weight > 0)
        self._rows = restart_rows(codes)
        self._index = RowIndex.of(codes)
        if sample_weight is not None:
            self._index = replace(self._index, counts=None, columns={})  # of rows that count once
        return self

    def fit_source(
        self,
        source: TableSource,
        *,
        max_memory: int = 2**30,
        progress: Callable[[float, str], None] = silent,
    ) -> Self:
        """Count a table file in chunks, whatever its size.

        Parameters
        ----------
        source : TableSource
            The file, opened by `herder.data.open_table`.
        max_memory : int
            Approximate memory limit in bytes.
        progress : callable
            Called with the share that is done, and a note.
        """
        self._check_parameters()  # before a long file is read
        of_kind(source, "source", TableSource, "a TableSource of herder.data.open_table")
        max_memory = positive_int(max_memory, "max_memory")
        check_function(progress, "progress")
        options: Any = {"missing": self.missing, "max_memory": max_memory, "progress": progress}
        cliques, keep = self.cliques, self.restarts in ("auto", "rows")
        moments = count_table(source, self.order, cliques=cliques, bins=self.bins, **options)
        index, rows = index_source(source, moments, keep_rows=keep, **options)
        self._adopt(moments, TableForm("mapping", moments.names))
        self._index, self._rows = index, rows
        return self

    def fit_moments(self, moments: Moments) -> Self:
        """Take moments instead of a table; `sample` then returns a mapping of columns."""
        if not isinstance(moments, Moments):
            got = f"{type(moments).__name__}: see Moments.from_counts"
            raise ParameterTypeError("moments", "be Moments", got=got)
        self._check_parameters()
        if self.contradictions == "error":
            moments.require_consistent()
        self._adopt(moments, TableForm("mapping", moments.names))
        return self

    def sample(self, n_samples: int, *, where: Mapping[str, Any] | None = None) -> Any:
        """Return rows in the form of the fitted table; the same ones at every call.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        where : mapping of column to value, optional
            Only rows with these values (a number in a binned column: in its bin). The others are
            herded and left out: rows follow the conditional distribution of the herd.
        """
        check_fitted(self, "moments_")
        n_samples = positive_int(n_samples, "n_samples")
        if where is None:
            rows = self.herd(n_samples).samples
        else:
            made = self.synthesise(n_samples, where=where)
            rows = np.concatenate(list(made.codes()))
            self.diagnostics_ = made.diagnostics
        return self._form.build(rows, Decoder(self.moments_.variables))

    def synthesise(
        self,
        n_samples: int | None = None,
        *,
        where: Mapping[str, Any] | Sequence[tuple[str, Any]] | None = None,
        count_above: int | None = None,
        count_cells: bool = False,
        progress: Callable[[float, str], None] | None = None,
    ) -> Synthesis:
        """Start to make the rows of `sample` in chunks, with a summary of how closely they match.

        Parameters
        ----------
        n_samples : int, optional
            Number of rows; as many as were counted by default.
        where : mapping of column to value, or sequence of such pairs, optional
            As in `sample`.
        count_above : int, optional
            Report the probability that more than so many of the 0/1 columns are 1.
        count_cells : bool, default False
            Whether to count all rows again, to show how each cell is matched.
        progress : callable, optional
            Called with the share that is done, and a note.
        """
        check_fitted(self, "moments_")
        if n_samples is None:
            n_samples = self.moments_.common_total
            if n_samples is None or (n_samples == 1 and not self.moments_.from_rows):
                found = "have no common total" if n_samples is None else "are shares of one"
                raise ParameterError("n_samples", f"be given: the counts {found}")
        if positive_int(n_samples, "n_samples") > MAX_STEPS:
            raise ParameterError("n_samples", "be at most 2**53", n_samples)
        return Synthesis(
            self.start(progress=progress),
            n_samples,
            condition=None if where is None else RowFilter(self.moments_, where) or None,
            index=self._index,
            count_above=count_above,
            count_cells=count_cells,
            progress=progress,
        )

    def herd(
        self, n_samples: int, *, resume: MomentHerding | Position | None = None
    ) -> MomentHerding:
        """Return rows as codes, with diagnostics and the position to continue from."""
        n_samples = positive_int(n_samples, "n_samples")
        position = resume.position if isinstance(resume, MomentHerding) else resume
        live = self.start(resume=position)
        samples = live.advance(n_samples)
        variables, found = self.moments_.variables, None
        if self._index is not None:
            found = CopyCount(self._index, variables)
            found.add(samples)
        self.diagnostics_ = moment_diagnostics(live, found)
        return MomentHerding(samples, variables, live.position, self.diagnostics_)

    def average(self, function: Callable[[Any], ArrayLike], n_samples: int) -> Any:
        """Average a function of the row over ``sample(n_samples)`` without keeping the rows.

        Parameters
        ----------
        function : callable
            Takes rows in the form of `sample`, returns one number or array per row.
        n_samples : int
            Number of rows.

        Examples
        --------
        >>> herder = MomentHerder().fit([[0, 1], [1, 1], [0, 0], [1, 1]])
        >>> float(herder.average(lambda rows: rows.sum(axis=1) == 2, 1000))
        0.5
        """
        n_samples = positive_int(n_samples, "n_samples")
        check_function(function, "function")
        live, decoder = self.start(), Decoder(self.moments_.variables)

        def total(codes: NDArray[np.integer]) -> NDArray[np.float64]:
            values = function(self._form.build(codes, decoder))
            numbers = real_array(values, "function", "return numbers")
            if numbers.shape[:1] != (len(codes),):
                got = f"shape {numbers.shape} for {len(codes)} rows"
                raise ParameterError("function", "return one value per row", got=got)
            return numbers.sum(axis=0)

        sums = RunningAverage(total)
        for start in range(0, n_samples, AVERAGE_BLOCK):
            sums.update(live.advance(min(AVERAGE_BLOCK, n_samples - start)))
        return sums.value * sums.count / n_samples

    def stream(self) -> Iterator[Any]:
        """Yield rows one by one, without end; the first n are those of ``sample(n)``."""
        live, decoder = self.start(), Decoder(self.moments_.variables)
        while True:
            yield from self._form.rows(live.advance(STREAM_BLOCK), decoder)

    def start(
        self,
        *,
        resume: Position | None = None,
        progress: Callable[[float, str], None] | None = None,
    ) -> MomentHerd:
        """Return a live herd, past the burn-in."""
        check_fitted(self, "moments_")
        live = MomentHerd(
            self.moments_,
            encoding=self.encoding,
            restarts=self.restarts,
            rows=self._rows,
            scan=self.scan,
            rates=self.rates,
            max_sweeps=self.max_sweeps,
            resume=resume,
        )
        burn_in = non_negative_int(self.burn_in, "burn_in")
        function_or_none(progress, "progress")
        if resume is None and burn_in:
            report = progress and (lambda live: progress(live.t / burn_in, "burn-in"))
            live.skip(burn_in, on_progress=report)
        return live

    def to_state(self) -> State:
        """Return the moments and the rows to restart from, and a header that JSON can hold."""
        check_fitted(self, "moments_")
        arrays, moments = moment_state.moments_to_state(self.moments_)
        form = moment_state.plain_form(self._form)
        header = {**plain_estimator(self), "moments": moments, "form": form}
        arrays = nest("moments.", arrays)
        if self._rows is not None:
            arrays["rows"] = self._rows
        own, header["index"] = ({}, None) if self._index is None else self._index.to_state()
        return arrays | nest("index.", own), header

    @classmethod
    def from_state(cls, arrays: Arrays, header: Header) -> Self:
        """Make a herder of what `to_state` returned."""
        own = unnest("moments.", arrays)
        moments = moment_state.moments_from_state(own, header["moments"])
        herder = read_estimator(cls, header, moments.n_variables)
        herder._adopt(moments, moment_state.form_of_plain(header["form"], moments.variables))
        if "rows" in arrays:
            herder._rows = check_codes(arrays["rows"], moments)
        if header["index"] is not None:
            herder._index = RowIndex.from_state(unnest("index.", arrays), header["index"])
        return herder

    def _adopt(self, moments: Moments, form: TableForm) -> None:
        self._check_parameters()
        for old in ("diagnostics_", "feature_names_in_"):
            vars(self).pop(old, None)
        self.moments_, self._form, self._rows, self._index = moments, form, None, None
        log_identifying(moments)
        self.n_features_in_ = moments.n_variables
        if form.named:
            self.feature_names_in_ = np.array(moments.names, dtype=object)

    def _check_parameters(self) -> None:
        as_encoding(self.encoding)
        one_of(self.restarts, "restarts", RESTARTS)
        one_of(self.contradictions, "contradictions", ("error", "nearest"))
        non_negative_int(self.burn_in, "burn_in")
        positive_int(self.order, "order")

    def __sklearn_tags__(self) -> Any:
        """Return the tags: tables are categorical, and may be sparse or hold text."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "category"
        return tags
