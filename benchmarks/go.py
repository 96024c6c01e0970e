"""Prediction of territory in games of Go: herding, a random field, regression on influence.

``python benchmarks/go.py`` needs HERDER_DATA, the folder of the papers' sets. Of the games whose
owners are known to a point every third one tests; nothing was tuned on these. Bars were written
down before the runs; verdicts are computed from the numbers of the same run. ``--keep`` stores
the results; ``--train`` learns the table of `herder.apps.go.predict` from the training games
again, and writes it. Each takes about ten minutes of CPU time.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":  # before NumPy is imported
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.pairing import write_results
from herder import datasets, herd_marginals
from herder.apps.go import Game, learn_patches, patch_marginals, territory
from herder.apps.go import prediction as shipped
from herder.apps.go.board import NEIGHBOURS, SIZE
from herder.apps.go.influence import fit_weights, influence_features
from herder.apps.go.training import learn
from herder.learn.crf import fit_shared, shared_tables
from herder.samplers.belief import propagate

ROOT = Path(__file__).resolve().parents[1]
Result = dict[str, Any]
Floats, Boards = NDArray[np.float64], NDArray[np.int8]

#: Moves after which the thesis predicts, those of the shipped table, and some between them.
STAGES, KNOTS, BETWEEN = (20, 80, 150), (20, 80, 150, 220), (50, 115, 185, 250)

#: Bars: nats a point of the thesis' patches and of the shipped table, and a goal; spread over the
#: games relative to that of the random field.
PATCH_BARS = dict(zip(STAGES, (0.650, 0.550, 0.440), strict=True))
SHIPPED_BARS = dict(zip(STAGES, (0.645, 0.525, 0.385), strict=True))
GOALS = dict(zip(STAGES, (0.635, 0.500, 0.345), strict=True))
SPREAD_BARS = dict(zip(STAGES, (0.5, 0.5, 0.6), strict=True))
SECONDS_BAR = 0.1

#: Steps of herding; training games of the random field, and those that temperatures are fitted to.
N_STEPS, N_FIELD, N_SCALE = 300, 120, 120

#: Averages and marginals are kept this far from 0 and 1.
SMALLEST = 0.5 / N_STEPS

#: Least probability that is scored: with large factors rounding makes others 0.
LEAST = 1e-9

#: Families of patches that are herded.
FAMILIES = {
    "patches of the thesis": ("single", "pair", "square", "cross"),
    "crosses": ("cross",),
    "crosses by line": ("edge cross",),
}

#: The method of the library.
SHIPPED = "herder.apps.go.predict"

#: Neighbours on a board.
EDGES = np.array([(i, j) for i, near in enumerate(NEIGHBOURS) for j in near if i < j])


class Games(NamedTuple):
    """Training or test games: their place in `go_games`, positions by move, owners."""

    games: NDArray[np.int32]
    boards: dict[int, Boards]
    owners: Boards


def load(moves: tuple[int, ...]) -> tuple[Games, Games]:
    """Return training and test games; a game that ended before a move has its last position."""
    found, records = datasets.go_ownership(), datasets.go_games().moves
    clean = np.flatnonzero(found.fields["clean"])
    boards = {move: [] for move in moves}
    empty = np.zeros((SIZE, SIZE), np.int8)
    for place in clean:
        points = records[found.fields["game"][place]].tolist()
        game = Game(empty, [(1 - 2 * (k % 2), point) for k, point in enumerate(points)])
        for move, board in zip(
            moves, game.positions(min(move, len(points)) for move in moves), strict=True
        ):
            boards[move].append(board)
    positions = {move: np.array(own) for move, own in boards.items()}
    test = np.arange(len(clean)) % 3 == 0
    parts = []
    for own in (~test, test):
        there = {move: each[own] for move, each in positions.items()}
        games = found.fields["game"][clean][own]
        parts.append(Games(games, there, found.owners[clean][own]))
    return parts[0], parts[1]


def entropies(chances: Floats, owners: Boards) -> Floats:
    """Return the cross entropy of each game, nats a point; points of nobody do not count."""
    ends = owners.reshape(len(owners), -1)
    right = np.where(ends > 0, chances, 1 - chances)
    losses = -np.log(np.maximum(right, LEAST)) * (ends != 0)
    return losses.sum(axis=1) / (ends != 0).sum(axis=1)


def temperature(chances: Floats, owners: Boards) -> float:
    """Return the factor of log odds that is best on games."""
    factors = np.linspace(0.1, 3, 146)
    odds = logit(chances)
    return float(min(factors, key=lambda own: entropies(expit(own * odds), owners).mean()))


def herd(boards: Boards, tables: dict[str, Floats]) -> Floats:
    """Return the averages of herding, (n, 361)."""
    found = [
        herd_marginals(patch_marginals(own, tables), N_STEPS).marginals[:, 1] for own in boards
    ]
    return np.clip(found, SMALLEST, 1 - SMALLEST)


class RandomField:
    """A bias by stone and a coupling by pair of stones, colours alike; likelihood by BP."""

    def __init__(self, boards: Boards, owners: Boards) -> None:
        own, both = zip(*map(self.features, boards), strict=True)
        edges = np.concatenate([EDGES + SIZE**2 * k for k in range(len(boards))])
        labels = (owners.reshape(-1) > 0).astype(int)
        nobody = np.flatnonzero(owners.reshape(-1) == 0)
        labels[nobody] = np.arange(len(nobody)) % 2  # half of them each
        given = np.concatenate(own), edges, np.concatenate(both), labels
        self.theta, self.omega = fit_shared(*given, method="likelihood")

    @staticmethod
    def features(board: Boards) -> tuple[Floats, Floats]:
        """Return the stone, and which pair: none, one, two of a colour, two of both."""
        stones = board.ravel().astype(np.float64)
        one, other = stones[EDGES].T
        n, product = np.abs(one) + np.abs(other), one * other
        kinds = [n == 0, n == 1, product > 0, product < 0]
        return stones[:, None], np.column_stack(kinds).astype(np.float64)

    def predict(self, boards: Boards) -> Floats:
        """Return the marginals of belief propagation, (n, 361)."""
        found = []
        for board in boards:
            own, both = self.features(board)
            fields, tables = shared_tables(own @ self.theta, both @ self.omega)
            found.append(propagate(fields, EDGES, tables).marginals[:, 1])
        return np.clip(found, 1e-6, 1 - 1e-6)


def compare(move: int, train: Games, test: Games) -> Iterator[Result]:
    """Measure all methods after a number of moves."""
    boards, new = train.boards[move], test.boards[move]

    def row(name: str, chances: Floats, start: float, **more: float) -> Result:
        each = entropies(chances, test.owners)
        found = {"move": move, "method": name, "entropy": float(each.mean())}
        found |= {"spread": float(each.std()), "error": float(each.std() / np.sqrt(len(each)))}
        found |= {"cpu": (time.process_time() - start) / len(new), **more}
        print(
            f"{move:4d}  {name:34s} {found['entropy']:.3f} ({found['spread']:.3f}) nats a point, "
            f"{1000 * found['cpu']:.0f} ms",
            flush=True,
        )
        return found

    start = time.process_time()
    table = learn_patches(boards, train.owners, ["single"])["single"][:, 1]
    single = table[np.where(new < 0, 2, new)].reshape(len(new), -1)
    yield row("single stones", single, start)

    field = RandomField(boards[:N_FIELD], train.owners[:N_FIELD])
    start = time.process_time()
    chances = field.predict(new)
    yield row("random field", chances, start)
    apart = slice(N_FIELD, N_FIELD + N_SCALE)
    factor = temperature(field.predict(boards[apart]), train.owners[apart])
    yield row("random field, calibrated", expit(factor * logit(chances)), start, factor=factor)

    for name, kinds in FAMILIES.items():
        tables = learn_patches(boards, train.owners, kinds)
        start = time.process_time()
        chances = herd(new, tables)
        yield row(name, chances, start)
        # what the temperature is fitted to is not what the tables were learnt from
        few = np.arange(len(boards)) < N_SCALE
        others = learn_patches(boards[~few], train.owners[~few], kinds)
        factor = temperature(herd(boards[few], others), train.owners[few])
        yield row(f"{name}, calibrated", expit(factor * logit(chances)), start, factor=factor)

    given = np.array([influence_features(own) for own in boards])
    black = 0.5 + 0.5 * train.owners.astype(np.float64).ravel()
    weights = fit_weights(given.reshape(-1, given.shape[2]), black)
    start = time.process_time()
    chances = expit(np.array([influence_features(own) for own in new]) @ weights)
    yield row("regression on influence", chances, start)

    start = time.process_time()
    both = np.array([shipped.stage_odds(own, move) for own in new])
    yield row("herding of regression and crosses", expit(both[..., 1]), start)
    start = time.process_time()
    found = [territory(own, move) for own in new]
    chances = np.array([own.probability.ravel() for own in found])
    missed = test.owners.sum(axis=(1, 2)) - np.array([own.score for own in found])
    told = np.array([own.spread for own in found])
    scores = {"score_error": float(missed.std()), "score_spread": float(told.mean())}
    gain = entropies(expit(both[..., 0]), test.owners) - entropies(chances, test.owners)
    scores["gain"], scores["gain_error"] = (
        float(gain.mean()),
        float(gain.std() / np.sqrt(len(gain))),
    )
    for n in (1, 2):
        scores[f"within_{n}"] = float((np.abs(missed) < n * told).mean())
    yield row(SHIPPED, chances, start, **scores)


def between(move: int, test: Games) -> Result:
    """Measure the shipped table at a move that it was not learnt at."""
    boards = test.boards[move]
    chances = np.array([territory(own, move).probability.ravel() for own in boards])
    entropy = float(entropies(chances, test.owners).mean())
    print(f"{move:4d}  {SHIPPED:34s} {entropy:.3f} nats a point, interpolated", flush=True)
    return {"move": move, "method": f"{SHIPPED}, interpolated", "entropy": entropy}


def judge(rows: list[Result]) -> list[Result]:
    """Print and return which bars are met, entropies within two standard errors."""
    found = []

    def verdict(what: str, value: float, bar: float, error: float = 0.0) -> None:
        met = bool(value <= bar + 2 * error)
        text = "met" if value <= bar else "met within two standard errors" if met else "MISSED"
        print(f"  {what}: {value:.3f}, to be at most {bar:g}: {text}")
        found.append({"bar": what, "value": value, "target": bar, "error": error, "met": met})

    for move in STAGES:
        own = {row["method"]: row for row in rows if row["move"] == move}
        for name, bars in (
            ("patches of the thesis", PATCH_BARS),
            ("patches of the thesis, calibrated", PATCH_BARS),
            (SHIPPED, SHIPPED_BARS),
            (SHIPPED, GOALS),
        ):
            kind = "goal" if bars is GOALS else "entropy"
            row = own[name]
            verdict(f"move {move}, {name}, {kind}", row["entropy"], bars[move], row["error"])
        for name in ("patches of the thesis", SHIPPED):
            for field in ("random field", "random field, calibrated"):
                ratio = own[name]["spread"] / own[field]["spread"]
                what = f"move {move}, spread of {name} relative to {field}"
                if field == "random field":
                    verdict(what, ratio, SPREAD_BARS[move])
                else:
                    print(f"  {what}: {ratio:.2f}")
        gain, error = (own[SHIPPED][key] for key in ("gain", "gain_error"))
        print(f"  move {move}, {SHIPPED} is {gain:.4f} +- {error:.4f} better than its regression")
    slowest = max(row["cpu"] for row in rows if row["method"] == SHIPPED)
    verdict("seconds of a position", slowest, SECONDS_BAR)
    return found


def train_table() -> None:
    """Learn the shipped table, and write it."""
    train = load(KNOTS)[0]
    arrays = learn(train.boards, train.owners, progress=lambda share, _: print(f"{share:.0%}"))
    path = Path(shipped.__file__).with_name("table.npz")
    found: Any = {**arrays, "games": train.games}
    np.savez_compressed(path, **found)
    print(f"{path.name}: {path.stat().st_size:,} bytes, {len(train.games)} games")


def page(rows: list[Result]) -> str:
    """Return the table of docs/go.md."""
    methods = list(dict.fromkeys(row["method"] for row in rows if "spread" in row))
    cells = {(row["method"], row["move"]): row for row in rows if "spread" in row}
    lines = ["| nats a point | " + " | ".join(f"move {move}" for move in STAGES) + " |"]
    lines.append("|---" * (len(STAGES) + 1) + "|")
    for name in methods:
        own = [cells[name, move] for move in STAGES]
        text = " | ".join(f"{row['entropy']:.3f} ({row['spread']:.3f})" for row in own)
        lines.append(f"| {f'`{name}`' if name == SHIPPED else name} | {text} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> None:
    """Learn the table, or compare."""
    if "--train" in arguments:
        train_table()
        return
    train, test = load((*STAGES, *BETWEEN))
    print(f"{len(train.games)} games to learn from, {len(test.games)} to test")
    rows = [row for move in STAGES for row in compare(move, train, test)]
    rows += [between(move, test) for move in BETWEEN]
    verdicts = judge(rows)
    if "--keep" in arguments:
        write_results("go", [*rows, *verdicts])


if __name__ == "__main__":
    main(sys.argv[1:])
