"""The help of every verb: texts, panels, and an example that can be typed."""

import re
import shlex
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from herder.cli import app
from herder.cli._verb import INPUT, LIMITS, METHOD, OUTPUT

PANELS = {INPUT, METHOD, OUTPUT, LIMITS}

ROOT: Any = typer.main.get_command(app)


def verbs(command: Any = ROOT, path: tuple[str, ...] = ()) -> dict[str, Any]:
    """All commands that do something, by the words that call them."""
    if not hasattr(command, "commands"):
        return {" ".join(path): command}
    found: dict[str, Any] = {}
    for name, inner in command.commands.items():
        if not inner.hidden:
            found |= verbs(inner, (*path, name))
    return found


VERBS = sorted(name for name, command in verbs().items() if command.epilog)


def visible(command: Any) -> list[Any]:
    return [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]


def help_of(name: str, columns: int = 200) -> str:
    done = CliRunner().invoke(app, [*name.split(), "--help"], env={"COLUMNS": str(columns)})
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("name", VERBS)
def test_the_help_fits_two_screens(name):
    assert len(help_of(name, columns=100).splitlines()) <= 2 * 50


def test_the_verbs():
    first = {name.split()[0] for name in verbs()}
    assert first == {
        *("thin", "moments", "synth", "learn", "predict", "sample"),
        *("segment", "go", "study", "compress", "decompress", "explore", "demo"),
    }
    assert set(verbs()) == set(VERBS)


@pytest.mark.parametrize("name", verbs())
def test_every_option_has_a_text(name):
    command = verbs()[name]
    assert command.help
    assert [p.name for p in visible(command) if not p.help] == []


@pytest.mark.parametrize("name", VERBS)
def test_every_option_is_in_a_panel(name):
    for parameter in visible(verbs()[name]):
        if parameter.param_type_name == "option":
            assert parameter.rich_help_panel in PANELS, parameter.name


@pytest.mark.parametrize("name", VERBS)
def test_flags_are_shown_without_a_type(name):
    assert not re.search("<?bool(ean)?>?\\b", help_of(name), re.IGNORECASE)


@pytest.mark.parametrize("name", VERBS)
def test_the_help_ends_with_an_example_that_can_be_typed(name):
    last = help_of(name).strip().splitlines()[-1].strip()
    assert last.startswith(f"Example: herder {name}")
    words = shlex.split(last.removeprefix(f"Example: herder {name}"))
    context = verbs()[name].make_context(name, words)
    assert context.params
    for parameter in context.command.params:
        if parameter.required:
            assert context.params[parameter.name] is not None
