"""Texts of the library in the words of the command line: options instead of parameters.

The library writes ``name=value`` for what a caller may pass. Here that becomes the option, and a
remedy for which the command has no option is left out. Library texts follow one form, so that
leaving out is possible: a remedy without an option is the last of several, after "or", or it has
a clause, a sentence or brackets of its own.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from herder.core.summary import Block, Fact, Facts, Section, Summary, Text

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

    def __init__(self, parameters: Sequence[Any], names: Mapping[str, str | None]) -> None:
        self._parameters = {parameter.name: parameter for parameter in parameters}
        self._names = names

    def text(self, text: str) -> str:
        """Return a text with options in place of parameters."""
        found = re.sub(_GIVEN, self._spelt, text)
        for name, other in self._names.items():
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

    def _blocks(self, blocks: Sequence[Block]) -> list[Block]:
        return [self._block(block) for block in blocks]

    def _block(self, block: Block) -> Block:
        if isinstance(block, Text):
            return replace(block, text=self.text(block.text))
        if isinstance(block, Facts):
            return Facts([self._fact(fact) for fact in block.rows])
        return block

    def _fact(self, fact: Fact) -> Fact:
        return replace(fact, meaning=self.text(fact.meaning))

    def _spelt(self, found: re.Match[str]) -> str:
        """Return an option with its value, or a hole where there is none."""
        if found["name"] is None:
            return found[0]
        value = re.sub(r"\{['\"](.*)['\"]: (.*)\}", r"\1=\2", found["value"] or "").strip("'\"")
        given, name = f"{found['name']}={value}", self._names.get(found["name"], found["name"])
        if name is None or self._names.get(given, name) is None:
            return _HOLE
        parameter = self._parameters.get(name)
        if parameter is None or parameter.param_type_name != "option":
            return found[0]
        option = max(parameter.opts, key=len)
        return option if parameter.is_flag else f"{option} {shlex.quote(value)}"
