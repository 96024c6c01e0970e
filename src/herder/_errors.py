"""Errors about parameters: they carry the parameter's name, so that a caller can act on it.

Nothing heavy is imported here: the command line uses it before a verb runs.
"""

from collections.abc import Iterable
from numbers import Number

__all__ = ["ParameterError", "ParameterTypeError", "with_nearest"]


class ParameterError(ValueError):
    """A parameter that breaks its rule; reads ``name must rule, got value``.

    Parameters
    ----------
    name : str
        The parameter, as it is spelt in Python.
    rule : str
        What the parameter must do or be, without the word "must".
    value : object, optional
        The value that was given. Left out, the text ends after the rule.
    got : str, optional
        Words for the value, where its ``repr`` does not serve; a remedy may follow them.

    Attributes
    ----------
    name, rule : str
        As given. Another ``name`` may be set: the command line writes the name of the option.
    value : object
        The value that was given, None if it was left out.
    got : str or None
        The words for the value.

    Examples
    --------
    >>> import herder
    >>> try:
    ...     herder.thin([[0.0], [1.0]], 7)
    ... except herder.ParameterError as error:
    ...     print(error.name, error.value)
    n_select 7
    """

    def __init__(
        self, name: str, rule: str, value: object = ..., *, got: str | None = None
    ) -> None:
        super().__init__(name, rule, value)  # what pickle and copy call the class with
        self.name = name
        self.rule = rule
        self.value = None if value is ... else value
        if got is None and value is not ...:
            got = str(value) if isinstance(value, Number) else repr(value)
        self.got = got

    def __str__(self) -> str:
        """Return ``name must rule, got value``."""
        text = f"{self.name} must {self.rule}"
        return text if self.got is None else f"{text}, got {self.got}"


class ParameterTypeError(ParameterError, TypeError):
    """A parameter of the wrong kind."""


def with_nearest(name: object, known: Iterable[object]) -> str:
    """Return a name that is not known in quotes, and the nearest one that is.

    Examples
    --------
    >>> with_nearest("tagret", ["source", "target"])
    "'tagret'; did you mean target?"
    """
    from difflib import get_close_matches

    close = get_close_matches(str(name), [str(one) for one in known], n=1)
    return f"{name!r}; did you mean {close[0]}?" if close else repr(name)
