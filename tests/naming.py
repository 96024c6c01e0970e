"""What tests say about a parameter that must be refused."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from herder import ParameterError


@contextmanager
def refuses(
    name: str,
    kind: type[Exception] | tuple[type[Exception], ...] = ValueError,
    *,
    match: str | None = None,
) -> Iterator[pytest.ExceptionInfo[Exception]]:
    """Expect a `ParameterError` about ``name``, for a wrong kind one that is a TypeError, too.

    ``match`` is for what matters beyond the name: a remedy, or a place such as a line.
    """
    with pytest.raises(kind, match=match) as caught:
        yield caught
    assert isinstance(caught.value, ParameterError)
    assert caught.value.name == name
    if kind is ValueError:
        assert not isinstance(caught.value, TypeError)
