"""Go: who will own which point of an unfinished game, by herding of patches of the board."""

from herder.apps.go.board import Game
from herder.apps.go.patches import learn_patches, patch_marginals
from herder.apps.go.prediction import Territory, predict, territory
from herder.apps.go.records import read_game

__all__ = [
    "Game",
    "Territory",
    "learn_patches",
    "patch_marginals",
    "predict",
    "read_game",
    "territory",
]
