"""``herder go``: who will own which point of a game of Go."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from herder.cli._verb import INPUT, OUTPUT, Run, option, output_option, verb
from herder.core.summary import Summary, Table, counted

if TYPE_CHECKING:
    from herder.apps.go import Territory

__all__ = ["go"]

#: Positions that are predicted by default, and the first of them.
N_SHOWN, FIRST = 6, 20


@verb(
    example="herder go game.sgf --move 80 --move 150 -o boards.svg",
    outputs={"output": (".svg", ".png", ".pdf")},
    inputs=("game",),
    report="the boards",
)
def go(
    run: Run,
    game: Annotated[
        Path, typer.Argument(metavar="GAME.sgf", help="A game record on 19 x 19 points.")
    ],
    move: Annotated[
        list[int],
        option(
            INPUT,
            "Predict after so many moves (repeatable); by default at six positions, from move "
            "20 to the end.",
            "--move",
            min=0,
            metavar="N",
        ),
    ] = [],  # noqa: B006 (typer copies it)
    komi: Annotated[
        float | None,
        option(INPUT, "Points that White gets; by default those of the record.", metavar="POINTS"),
    ] = None,
    output: Annotated[
        Path | None,
        output_option("Picture of the boards (.svg, .png, .pdf), with stones and squares."),
    ] = None,
    as_json: Annotated[
        bool,
        option(
            OUTPUT,
            "Write moves, scores and the probability that Black owns each point, row by row "
            "from the top, to the standard output.",
            "--json",
        ),
    ] = False,
) -> Summary:
    """Predict who will own which point of a game of Go, and the score.

    A score of B+3.5 +- 8.0 means: Black is expected to win by 3.5 points, with a standard
    deviation of 8, all points of Black counted less those of White and the komi. On the picture a
    square is the larger, the surer it is that the point becomes Black's or White's.

    Needs the extra go.
    """
    import numpy as np

    from herder.apps.go import read_game, territory

    record = read_game(game)
    end = len(record.moves)
    given = move or np.linspace(min(FIRST, end), end, N_SHOWN).astype(int).tolist()
    moves = sorted(set(given))
    points = (record.komi or 0.0) if komi is None else komi
    told = f"komi {points:g}"
    if record.komi is None and komi is None:
        told += " (the record has none: pass komi)"
    found = []
    for number, board in zip(moves, record.positions(moves), strict=True):
        # stones that were set up count as moves for how far the game is, not in what is shown
        own = territory(board, number + int(np.count_nonzero(record.setup)), komi=points)
        found.append(replace(own, move=number))
        run.progress(len(found) / len(moves), "predicting")
    if output is not None:
        from herder.plots import plot_territory

        plot_territory(found).savefig(run.part(output), format=output.suffix[1:].lower())
    if as_json:
        json.dump([_plain(one) for one in found], run.take_output())
        run.out.write("\n")
    return _summary(record.title or game.name, end, told, found)


def _plain(one: "Territory") -> dict[str, object]:
    numbers = {"move": one.move, "komi": one.komi, "score": one.score, "spread": one.spread}
    return {**numbers, "probability": one.probability.round(4).tolist()}


def _summary(title: str, end: int, komi: str, found: list["Territory"]) -> Summary:
    """Return the scores as a table; the boards are for pages."""
    from herder.apps.go.prediction import score_text

    rows = [(one.move, score_text(one.score, one.spread)) for one in found]
    table = Table(["move", "expected score"], rows, ["d"])
    sections = [section for one in found for section in one.summary().sections]
    return Summary(f"{title}: {counted(end, 'move')}, {komi}", [table], sections)
