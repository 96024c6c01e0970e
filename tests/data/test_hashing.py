"""Hashing: equal to a plain rendering of the formula, stateless over chunks, and plain errors."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.utils import murmurhash3_32

from herder.data.hashing import hash_features
from tests.naming import refuses

WORDS = st.text("abcdeäß", min_size=1, max_size=4)
TOKENS = st.lists(st.lists(WORDS, max_size=8), min_size=1, max_size=6)


def hashed(rows: Any, *args: Any, **options: Any) -> Any:
    """The function itself, for arguments of any type."""
    return hash_features(rows, *args, **options)


def dense(rows: Any, *args: Any, **options: Any) -> np.ndarray:
    return hashed(rows, *args, **options).toarray()


def by_hand(rows: list[list[tuple[str, float]]], n_features: int, *, signs: bool) -> np.ndarray:
    """The sum over names of sign times value, one name at a time."""
    table = np.zeros((len(rows), n_features))
    for i, row in enumerate(rows):
        for name, value in row:
            code = int(murmurhash3_32(name, seed=0))
            table[i, abs(code) % n_features] += value * (-1 if signs and code < 0 else 1)
    return table


@given(TOKENS, st.sampled_from([1, 3, 16, 1000]), st.booleans())
def test_tokens_follow_the_formula(rows: list[list[str]], n_features: int, signs: bool) -> None:
    expected = by_hand([[(t, 1.0) for t in row] for row in rows], n_features, signs=signs)
    table = hashed(rows, n_features, alternate_sign=signs)
    np.testing.assert_array_equal(table.toarray(), expected)


NAMED = st.dictionaries(WORDS, st.floats(-10, 10) | st.booleans() | WORDS, max_size=6)


@given(st.lists(NAMED, min_size=1, max_size=5), st.sampled_from([2, 64]))
def test_dicts_follow_the_formula(rows: list[dict[str, Any]], n_features: int) -> None:
    pairs = [
        [(f"{k}={v}", 1.0) if isinstance(v, str) else (k, float(v)) for k, v in row.items()]
        for row in rows
    ]
    table = hashed(rows, n_features)
    np.testing.assert_allclose(
        table.toarray(), by_hand(pairs, n_features, signs=True), rtol=1e-14, atol=1e-14
    )


@given(TOKENS)
def test_text_is_its_words_in_lower_case(rows: list[list[str]]) -> None:
    shouted = [[word.upper() for word in row] for row in rows]
    words = [[word.lower() for word in row if len(word) > 1] for row in shouted]
    texts = [", ".join(row) + "!" for row in shouted]
    np.testing.assert_array_equal(dense(texts, 512), dense(words, 512))


def test_case_is_kept_when_asked() -> None:
    kept = hashed(["Big cat"], 2**12, lowercase=False)
    np.testing.assert_array_equal(kept.toarray(), hashed([["Big", "cat"]], 2**12).toarray())
    assert (kept != hashed(["Big cat"], 2**12)).nnz


def test_runs_of_words_count_when_asked() -> None:
    table = hashed(["not so good"], 2**16, ngram_range=(1, 2))
    tokens = [["not", "so", "good", "not so", "so good"]]
    np.testing.assert_array_equal(table.toarray(), hashed(tokens, 2**16).toarray())


@given(TOKENS, TOKENS)
def test_chunks_of_a_stream_stack_up_to_the_whole(a: list[list[str]], b: list[list[str]]) -> None:
    whole = hashed(iter([*a, *b]), 128)
    stacked = sparse.vstack([hashed(iter(a), 128), hashed([], 128), hashed(b, 128)])
    np.testing.assert_array_equal(whole.toarray(), stacked.toarray())


@given(TOKENS)
def test_normalised_rows_have_length_one_or_none(rows: list[list[str]]) -> None:
    plain, unit = dense(rows, 64), dense(rows, 64, normalise=True)
    lengths = np.sqrt((plain**2).sum(axis=1))
    expected = plain / np.where(lengths > 0, lengths, 1.0)[:, None]
    np.testing.assert_allclose(unit, expected, rtol=1e-14)


@given(TOKENS)
def test_columns_are_sorted_and_distinct(rows: list[list[str]]) -> None:
    table = hashed(rows, 8)
    assert table.format == "csr"
    for i in range(table.shape[0]):
        columns = table.indices[table.indptr[i] : table.indptr[i + 1]]
        assert (np.diff(columns) > 0).all()


def test_signs_keep_products_of_rows_unbiased() -> None:
    # Two rows without a common word: their product is 0 on average only with the signs. Of 32 x 32
    # pairs of words one in 32 meets, so the variance is 32, and 200 draws are averaged.
    products = {True: [], False: []}
    for draw in range(200):
        words = [f"{draw}-{k}" for k in range(64)]
        for signs, found in products.items():
            table = hashed([words[:32], words[32:]], 32, alternate_sign=signs)
            found.append((table @ table.T)[0, 1])
    assert abs(np.mean(products[True])) < 4 * np.sqrt(32 / 200)
    assert np.mean(products[False]) > 25


def test_default_width_type_and_single_precision() -> None:
    table = hashed(["a stream of words"])
    assert table.shape == (1, 2**20)
    assert table.dtype == np.float64
    single = hashed(["a stream of words"], dtype=np.float32)
    assert single.dtype == np.float32
    assert hashed([], dtype=np.float32, normalise=True).shape == (0, 2**20)


BAD: list[tuple[Callable[[], object], type[Exception], str]] = [
    (lambda: hashed("one text"), TypeError, "got one str: use a list"),
    (lambda: hashed({"a": 1}), TypeError, "got one dict: use a list"),
    (lambda: hashed([b"bytes"]), TypeError, "got bytes: decode it"),
    (lambda: hashed([3]), TypeError, "rows must"),
    (lambda: hashed(["a b", ["c"]]), ValueError, "got a text in row 0 and tokens in row 1"),
    (lambda: hashed([["a"], {"a": 1}]), ValueError, "tokens in row 0 and a dict in row 1"),
    (lambda: hashed([["a"], ["b", 3]]), TypeError, "tokens that are texts, got row 1:"),
    (lambda: hashed([{"a": 1}, {"b": None}]), TypeError, "rows must"),
    (lambda: hashed([{3: 1.0}]), TypeError, "names that are texts, got row 0:"),
    (lambda: hashed(["a"], 0), ValueError, "n_features must"),
    (lambda: hashed(["a"], 2**31), ValueError, "n_features must"),
    (lambda: hashed(["a"], dtype=np.int64), ValueError, "dtype must"),
]


@pytest.mark.parametrize(("call", "error", "text"), BAD)
def test_errors(call: Callable[[], object], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=re.escape(text)):
        call()


def test_a_data_frame_is_not_taken_for_its_column_names() -> None:
    frame = pd.DataFrame({"text": ["a b"], "more": ["c d"]})
    with refuses("rows", TypeError, match="got one DataFrame: use one column"):
        hashed(frame)
    assert hashed(frame["text"]).shape[0] == 1
    assert hashed(frame.to_dict("records")).nnz == 2


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused(value: float) -> None:
    with refuses("rows", match="hold finite numbers, got .* in row 1"):
        hash_features([{"a": 1.0}, {"b": 2.0, "c": value}])


@pytest.mark.parametrize("value", [1j, 10**400, [1.0]])
def test_values_that_are_no_numbers_are_refused(value: object) -> None:
    with refuses("rows", TypeError, match="row 1"):
        hash_features([{"a": 1.0}, {"a": value}])
