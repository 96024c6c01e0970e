"""``herder explore``: a page on which to play with herding."""

from typing import Annotated

import typer

from herder._errors import ParameterError
from herder.cli._verb import INPUT, METHOD, Run, option, verb

__all__ = ["explore"]

#: Characters of a view.
MOST = 8_000


@verb(example="herder explore 'tab=system&T=0.13'")
def explore(
    run: Run,
    fragment: Annotated[
        str,
        typer.Argument(
            metavar="[VIEW]",
            help="The view to open: what stands after # in the address of a page, or all of it.",
        ),
    ] = "",
    port: Annotated[
        int,
        option(INPUT, "Port of the loopback address; 0 takes any that is free.", "--port"),
    ] = 0,
    browser: Annotated[
        bool,
        option(METHOD, "Open a browser, or only print the address.", "--browser/--no-browser"),
    ] = True,
) -> None:
    """Play with herding on a page in the browser.

    Weights that walk over cones while the temperature falls, points herded from a CSV or from a
    density that you draw, one neuron and its word, and an Ising field by three samplers. The page
    works offline; only this machine can open it, and Ctrl-C ends it.
    """
    if not 0 <= port <= 65_535:
        raise ParameterError("port", "be from 0 to 65535", port)
    if len(fragment) > MOST:
        raise ParameterError("fragment", f"have at most {MOST:,} characters", len(fragment))
    from herder.explore.server import serve

    def opened(address: str) -> None:
        run.say(f"{address}\nCtrl-C ends the explorer.")
        if browser:
            import webbrowser
            from threading import Thread

            # one in the terminal returns when it is closed, and it must be served until then
            Thread(target=webbrowser.open, args=[address], daemon=True).start()

    run.bar.stop()
    with run.until_interrupt(""):
        serve(port, fragment=fragment, opened=opened)
