r"""Feature hashing: texts, tokens and records as sparse rows of fixed width, without a vocabulary.

Every name is sent by a fixed hash function to one of D columns and, by another bit of the hash, to
a sign, so that row x becomes

.. math:: \phi(x)_r = \sum_{j : h(j) = r} \xi(j)\, x_j, \qquad h(j) \in \{0, ..., D - 1\},
          \quad \xi(j) \in \{-1, +1\}.

Names that collide are added up; with the signs their products cancel on average, which keeps
:math:`\langle \phi(x), \phi(x') \rangle` unbiased. There is nothing to fit: the same name has the
same column in every chunk of a stream, in every process and on every machine. The hashing itself
is scikit-learn's (MurmurHash3).
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from herder._errors import ParameterError, ParameterTypeError
from herder._validation import flag, iterated, listed, positive_int

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["hash_features"]

#: Column indices are 32-bit integers, as scikit-learn's hashing makes them.
MAX_FEATURES = 2**31 - 1

Row = str | Iterable[str] | Mapping[str, Any]

#: What a row is, by its kind, and what rows of that kind hold.
KINDS = {
    "text": ("a text", "texts"),
    "tokens": ("tokens", "tokens that are texts"),
    "dict": ("a dict", "numbers or texts by names that are texts"),
}


def hash_features(
    rows: Iterable[Row],
    n_features: int = 2**20,
    *,
    alternate_sign: bool = True,
    normalise: bool = False,
    lowercase: bool = True,
    ngram_range: tuple[int, int] = (1, 1),
    dtype: DTypeLike = np.float64,
) -> "csr_matrix":
    """Hash texts, lists of tokens or dicts to sparse rows of ``n_features`` columns.

    There is no state, so a stream may be hashed chunk by chunk, and a model trained on one chunk
    understands the next: ``model.partial_fit(hash_features(chunk), labels, classes=...)``.

    Parameters
    ----------
    rows : iterable of str, of iterables of str, or of dicts
        All rows of one kind. A text is cut into words of two characters or more; tokens are
        taken as they are, and each counts one; a dict has a number for each name, and a name
        with a text for value counts one under ``"name=value"``. Any iterable is accepted, and is
        read once.
    n_features : int, default 2**20
        Columns. With fewer columns than names, names collide.
    alternate_sign : bool, default True
        Let half of the names count negatively, so that collisions cancel on average.
    normalise : bool, default False
        Divide each row by its length in the L2 norm; a row without features stays zero.
    lowercase : bool, default True
        Put texts into lower case first; tokens and dicts are left alone.
    ngram_range : (int, int), default (1, 1)
        Shortest and longest runs of words that count, for texts.
    dtype : float64 or float32, default float64
        Type of the values.

    Returns
    -------
    csr_matrix of shape (n_rows, n_features)
        Sorted columns, each at most once in a row.

    Examples
    --------
    >>> from herder import hash_features
    >>> first = hash_features(["Late again", "All good, thanks"], 16)
    >>> first.shape, first.nnz
    ((2, 16), 5)
    >>> (first != hash_features([["late", "again"], ["all", "good", "thanks"]], 16)).nnz
    0
    """
    from sklearn.feature_extraction import FeatureHasher
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.preprocessing import normalize

    n_features = positive_int(n_features, "n_features")
    if n_features > MAX_FEATURES:
        raise ParameterError("n_features", "be at most 2**31 - 1", n_features)
    kinds = (np.dtype(np.float64), np.dtype(np.float32))
    try:
        with warnings.catch_warnings(action="ignore"):  # of aliases that NumPy gives up
            known = np.dtype(dtype) in kinds
    except (TypeError, ValueError):
        known = False
    if not known:
        raise ParameterError("dtype", "be float64 or float32", got=repr(dtype)[:40])
    normalise = flag(normalise, "normalise")
    shortest, longest = _lengths(ngram_range)
    is_frame = hasattr(rows, "columns")
    if is_frame or isinstance(rows, str | bytes | Mapping):
        remedy = "use one column, or its rows as dicts" if is_frame else "use a list"
        found = f"one {type(rows).__name__}: {remedy}"
        raise ParameterTypeError("rows", "be an iterable of texts, tokens or dicts", got=found)
    source = iterated(rows, "rows", "texts, tokens or dicts")
    start = list(islice(source, 1))
    kind = _kind(start[0]) if start else "tokens"
    options: dict[str, Any] = {
        "n_features": n_features,
        "alternate_sign": alternate_sign,
        "dtype": np.dtype(dtype).type,
    }
    if kind == "text":
        options |= {"norm": None, "lowercase": lowercase, "ngram_range": (shortest, longest)}
        hasher: Any = HashingVectorizer(**options)
    else:
        hasher = FeatureHasher(input_type="dict" if kind == "dict" else "string", **options)
    if not start:
        return hasher.transform([[]])[:0]
    number = 0

    def checked() -> Iterator[Row]:
        nonlocal number
        for number, row in enumerate(chain(start, source)):
            if _kind(row) != kind:
                found = f"{KINDS[kind][0]} in row 0 and {KINDS[_kind(row)][0]} in row {number}"
                raise ParameterError("rows", "be of one kind", got=found)
            yield row

    try:
        table: Any = hasher.transform(checked())
    except (TypeError, OverflowError) as error:
        found = f"row {number}: {error}"
        raise ParameterTypeError("rows", f"hold {KINDS[kind][1]}", got=found) from None
    wrong = ~np.isfinite(table.data)
    if wrong.any():
        at = int(wrong.argmax())
        row = int(np.searchsorted(table.indptr, at, side="right")) - 1
        raise ParameterError("rows", "hold finite numbers", got=f"{table.data[at]} in row {row}")
    if normalise:
        table = normalize(table, copy=False)
    return table


def _lengths(ngram_range: Any) -> tuple[int, int]:
    """Return the shortest and the longest run of words."""
    given = listed(ngram_range, "ngram_range", "two integers")
    if len(given) != 2:
        raise ParameterError("ngram_range", "be two integers", ngram_range)
    low, high = (positive_int(length, "ngram_range") for length in given)
    if low > high:
        raise ParameterError("ngram_range", "have the shortest run first", ngram_range)
    return low, high


def _kind(row: object) -> str:
    if isinstance(row, str):
        return "text"
    if isinstance(row, Mapping):
        return "dict"
    if isinstance(row, bytes) or not isinstance(row, Iterable):
        found = type(row).__name__ + (": decode it" if isinstance(row, bytes) else "")
        raise ParameterTypeError("rows", "be texts, lists of tokens or dicts", got=found)
    return "tokens"
