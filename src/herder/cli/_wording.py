"""Texts of the library in the words of the command line: options instead of parameters.

The library writes ``name=value`` for what a caller may pass. Here that becomes the option, and a
remedy for which the command has no option is left out. Library texts follow one form, so that
leaving out is possible: a remedy without an option is the last of several, after "or", or it has
a clause, a sentence or brackets of its own.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from herder._errors import ParameterError
from herder.cli._streams import spell
from herder.core.summary import Block, Facts, Section, Summary, Text

__all__ = ["Wording"]

#: A formula such as P(rain=1, wind=1), or ``name=value`` outside of words and quotations.
_GIVEN = (
    r"\bP\([^)]*\)|"
    r"(?<![\w'\"(.=-])(?P<name>[A-Za-z]\w*)="
    r"(?P<value>'[^']*'|\"[^\"]*\"|\{[^{}]*\}|[^\s,;:)'\"]*[^\s,;:.)'\"])?"
)

#: What marks a remedy that has no option.
_HOLE = "\0"

#: Ways in which such a remedy stands in a text, and what is left of it.
_REMOVALS = (
    (rf" ?\((?:or )?pass {_HOLE}[^)]*\)", ""),  # in brackets of its own
    (rf",? or (?:raise|pass|set|give) {_HOLE}[^.;:)]*", ""),  # the last of several, a phrase
    (rf",? or {_HOLE},?", ""),  # the last of several, a name
    (rf"[;:] [^.;:)]*{_HOLE}[^.;:)]*", ""),  # a clause
    (rf"(?:^|(?<=\. ))[^.]*{_HOLE}[^.]*(?:\. |\.?$)", ""),  # a sentence
)


@dataclass(frozen=True)
class Wording:
    """The options of a command, to be written in place of parameters.

    Parameters
    ----------
    parameters : sequence
        The options and arguments of the command.
    names : mapping
        What the library calls a parameter: its name here, or None if there is no such option.
        ``"name=value": None`` for a value that the option does not have.
    """

    parameters: Sequence[Any]
    names: Mapping[str, str | None]

    def text(self, text: str) -> str:
        """Return a text with options in place of parameters."""
        found = re.sub(_GIVEN, self._spelt, text)
        for name, other in self.names.items():
            if other is None and "_" in name:  # no word of English
                found = re.sub(rf"(?<=[a-z] ){name}\b", _HOLE, found)
        if _HOLE in found:
            for pattern, rest in _REMOVALS:
                found = re.sub(pattern, rest, found)
        return found

    def summary(self, summary: Summary) -> Summary:
        """Return a summary whose texts have options in place of parameters."""
        sections = [
            Section(section.title, self._blocks(section.blocks)) for section in summary.sections
        ]
        return replace(summary, blocks=self._blocks(summary.blocks), sections=sections)

    def error(self, error: Exception, typed: Mapping[str, Any]) -> str:
        """Return the text of an error with options in place of parameters.

        Parameters
        ----------
        error : Exception
            What the library or the system raised.
        typed : mapping
            The values of options and arguments.
        """
        if isinstance(error, OSError):
            return self._with_path(spell(error), typed)
        if isinstance(error, ParameterError):
            error.name = self._option(self.names.get(error.name) or error.name, error.name, typed)
            return self.text(str(error))
        text = self.text(self._with_path(str(error), typed))
        return text or ("not enough memory" if isinstance(error, MemoryError) else "")

    def _option(self, name: str, otherwise: str, typed: Mapping[str, Any]) -> str:
        """Return what the user calls a parameter; an argument is called by what was typed."""
        for parameter in self.parameters:
            if parameter.name == name:
                if parameter.param_type_name == "option":
                    return max(parameter.opts, key=len)
                given = typed.get(name) or name
                is_list = isinstance(given, list | tuple)
                return str(getattr(parameter, "metavar", name) if is_list else given)
        return otherwise

    def _with_path(self, text: str, typed: Mapping[str, Any]) -> str:
        """Return an error about a path with the argument or the option that it came from."""
        if not text.startswith("path must "):
            return text
        for parameter in self.parameters:
            given = typed.get(parameter.name)
            for path in given if isinstance(given, list | tuple) else [given]:
                if f", got {str(path)!r}" in text:
                    names = [getattr(parameter, "metavar", None) or parameter.name]
                    is_option = parameter.param_type_name == "option"
                    return max(parameter.opts if is_option else names, key=len) + text[4:]
        return text

    def _blocks(self, blocks: Sequence[Block]) -> list[Block]:
        found = list(blocks)
        for k, block in enumerate(blocks):
            if isinstance(block, Text):
                found[k] = replace(block, text=self.text(block.text))
            elif isinstance(block, Facts):
                facts = [replace(fact, meaning=self.text(fact.meaning)) for fact in block.rows]
                found[k] = Facts(facts)
        return found

    def _spelt(self, found: re.Match[str]) -> str:
        """Return an option with its value, or a hole where there is none."""
        if found["name"] is None:
            return found[0]
        value = re.sub(r"\{['\"](.*)['\"]: (.*)\}", r"\1=\2", found["value"] or "").strip("'\"")
        given, name = f"{found['name']}={value}", self.names.get(found["name"], found["name"])
        if name is None or self.names.get(given, name) is None:
            return _HOLE
        parameter = next((own for own in self.parameters if own.name == name), None)
        if parameter is None or parameter.param_type_name != "option":
            return found[0]
        option = max(parameter.opts, key=len)
        return option if parameter.is_flag else f"{option} {shlex.quote(value)}"
