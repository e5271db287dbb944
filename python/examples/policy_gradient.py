"""A policy that learns ticTacToe against random moves, with numpy alone: REINFORCE.

    python python/examples/policy_gradient.py [game]

The policy is the softmax of a linear function of the facts, over the legal actions. It plays the
first role of 1,024 games at once, and after each batch of games it is moved towards the actions of
games with more than the mean result, and away from the others.
"""

import sys

import numpy as np

import panza_ggp

BATCH = 1024
ROUNDS = 400
LEARNING_RATE = 0.1


def play(game, weights, states, rng):
    """Plays a batch of games to their ends: their results, and the gradient of each."""
    steps = []
    states.reset()
    while not (over := states.terminated | states.truncated).all():
        facts = states.observation().astype(np.float32)
        mine = (states.current_player == 0) & ~over
        mask = states.legal_action_mask[:, 0]
        logits = np.where(mask, facts @ weights, -np.inf)
        logits[~mine] = 0
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        sums = shares.cumsum(axis=1)
        chosen = (sums > rng.random((BATCH, 1)) * sums[:, -1:]).argmax(axis=1)
        actions = states.random_actions()
        actions[mine, 0] = chosen[mine]
        states.step(actions)
        towards = -shares
        towards[np.arange(BATCH), chosen] += 1
        steps.append((facts, towards * mine[:, None]))
    return np.maximum(states.goals[:, 0], 0) / 100, steps


def main(name="ticTacToe"):
    game = panza_ggp.load(name)
    rng = np.random.default_rng(1)
    weights = np.zeros((game.n_facts, game.n_moves), dtype=np.float32)
    states = game.init(BATCH, seed=1)
    for number in range(ROUNDS + 1):
        results, steps = play(game, weights, states, rng)
        if number % 20 == 0:
            print(f"{number * BATCH:>8} games: mean result {results.mean():.3f}", flush=True)
        advantage = (results - results.mean()).astype(np.float32)[:, None]
        for facts, towards in steps:
            weights += LEARNING_RATE / BATCH * 16 * facts.T @ (towards * advantage)


if __name__ == "__main__":
    main(*sys.argv[1:])
