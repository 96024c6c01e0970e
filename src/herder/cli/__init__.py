"""The command ``herder``: one file per verb.

Only typer and rich are imported before a verb runs, so that ``herder --help`` answers at once.
"""

import sys
from typing import Annotated

import typer

from herder.cli._border import STOPPED, catch_signals
from herder.cli.demo import demo as demo_verb
from herder.cli.learn import learn as learn_verb
from herder.cli.moments import moments as moments_verb
from herder.cli.predict import predict as predict_verb
from herder.cli.sample import sample as sample_verb
from herder.cli.synth import synth as synth_verb
from herder.cli.thin import thin as thin_verb

__all__ = ["app", "main"]

app = typer.Typer(
    name="herder",
    help="Deterministic sampling and learning by herding.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
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


app.command("thin")(thin_verb)
app.command("moments")(moments_verb)
app.command("synth")(synth_verb)
app.command("learn")(learn_verb)
app.command("predict")(predict_verb)
app.command("sample")(sample_verb)
app.command("demo")(demo_verb)


def main() -> None:
    """Run the command; a signal to end leaves no half-written file."""
    catch_signals()
    try:
        app()
    except KeyboardInterrupt:  # before a verb has begun
        sys.exit(STOPPED)
    finally:
        # An interrupt inside code that Python ran from a string (the compiler does) marks the
        # process to die of the signal, though it was caught; running a string takes that back.
        exec("")
