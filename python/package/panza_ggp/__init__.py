"""Any game in GDL as a batched environment: thousands of states a step, from rules alone."""

from panza_ggp._native import (
    Diagnostic,
    Evaluation,
    Game,
    GameTooLargeError,
    GdlError,
    IllegalActionError,
    States,
    __version__,
    concatenate,
    games,
    load,
)

__all__ = [
    "Diagnostic",
    "Evaluation",
    "Game",
    "GameTooLargeError",
    "GdlError",
    "IllegalActionError",
    "States",
    "__version__",
    "concatenate",
    "games",
    "load",
]
