"""Steps and random games per second of processor time, for `docs/python.md`.

    python python/examples/throughput.py [game ...]

A step is `random_actions`, `step` and `masks`, into arrays that are made once. Batches begin anew
as their games end.
"""

import statistics
import sys
import time

import numpy as np

import panza_ggp

GAMES = ["ticTacToe", "connectFour", "reversi", "hex", "breakthrough"]
BATCHES = [1, 64, 512, 4096, 32768]


def steps_per_second(game, batch, seconds=0.5):
    states = game.init(batch, seed=1, auto_reset=True)
    actions = np.zeros((batch, game.n_roles), dtype=np.int32)
    masks = np.zeros((batch, game.n_roles, game.n_moves), dtype=bool)
    rates = []
    for _ in range(5):
        made, started = 0, time.process_time()
        while time.process_time() - started < seconds:
            for _ in range(max(1, 2000 // batch)):
                states.random_actions(out=actions)
                states.step(actions)
                states.masks(out=masks)
                made += batch
        rates.append(made / (time.process_time() - started))
    return statistics.median(rates)


def games_per_second(game, seconds=1.0):
    played, started = 0, time.process_time()
    while time.process_time() - started < seconds:
        game.rollouts(games=100_000, seed=played)
        played += 100_000
    return played / (time.process_time() - started)


if __name__ == "__main__":
    print("| game | " + " | ".join(f"batch {batch:,}" for batch in BATCHES) + " | random games |")
    print("|---" * (len(BATCHES) + 2) + "|")
    for name in sys.argv[1:] or GAMES:
        game = panza_ggp.load(name)
        rates = [steps_per_second(game, batch) for batch in BATCHES] + [games_per_second(game)]
        shown = [f"{rate / 1e6:.2f} M" for rate in rates]
        print(f"| {name} | " + " | ".join(shown) + " |", flush=True)
