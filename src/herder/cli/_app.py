"""The verbs of the command, in groups."""

import itertools
import re
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from herder._errors import with_nearest
from herder.cli.compress import compress, decompress
from herder.cli.demo import demo as demo_verb
from herder.cli.explore import explore as explore_verb
from herder.cli.go import go as go_verb
from herder.cli.learn_boosted import learn_boosted
from herder.cli.learn_classifier import learn_classifier
from herder.cli.learn_conditional import learn_conditional
from herder.cli.learn_field import learn_field
from herder.cli.learn_rbm import learn_rbm
from herder.cli.moments import moments as moments_verb
from herder.cli.predict import predict as predict_verb
from herder.cli.sample import sample as sample_verb
from herder.cli.segment import segment as segment_verb
from herder.cli.study import study as study_verb
from herder.cli.synth import synth as synth_verb
from herder.cli.thin import thin as thin_verb

__all__ = ["app"]


def _plain_flags(params: list[Any]) -> list[Any]:
    """Show flags in the help without a type."""
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _plain_flags(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Offer the nearest choice in place of one that is none."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if " is not one of " in error.message:
                typed, *choices = re.findall("'([^']*)'", error.message)
                names = ", ".join(choices)
                error.message = f"must be one of {names}, got {with_nearest(typed, choices)}"
            raise


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _plain_flags(super().get_params(ctx))


class _LearnGroup(_Group):
    """``herder learn TABLE`` alone means ``classifier``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in (*self.commands, *ctx.help_option_names):
            # until 0.2, --algorithm boltzmann was what field is now
            words = [word for arg in args for word in arg.split("=", 1)]
            field = ("--algorithm", "boltzmann") in itertools.pairwise(words)
            args = ["field" if field else "classifier", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="herder",
    cls=_Group,
    help="Deterministic sampling and learning by herding.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


learn = typer.Typer(
    name="learn",
    cls=_LearnGroup,
    help="Learn a model from rows: a classifier (`herder learn TABLE` alone), one with hidden "
    "units (conditional), a random field over pairs of columns, one with hidden units (rbm), or a "
    "density (boosted).",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)


def _version(wanted: bool) -> None:
    if wanted:
        import herder

        typer.echo(f"herder {herder.__version__}")
        raise typer.Exit


@app.callback()
def _herder(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Deterministic sampling and learning by herding."""


def _add(name: str, verb: Any, group: typer.Typer = app) -> None:
    group.command(name, cls=_Command, epilog=f"Example: `{verb.example}`")(verb)


_add("thin", thin_verb)
_add("moments", moments_verb)
_add("synth", synth_verb)
_add("boosted", learn_boosted, learn)
_add("classifier", learn_classifier, learn)
_add("conditional", learn_conditional, learn)
_add("field", learn_field, learn)
_add("rbm", learn_rbm, learn)
app.add_typer(learn)
_add("predict", predict_verb)
_add("sample", sample_verb)
_add("segment", segment_verb)
_add("go", go_verb)
_add("study", study_verb)
_add("compress", compress)
_add("decompress", decompress)
_add("explore", explore_verb)
_add("demo", demo_verb)
