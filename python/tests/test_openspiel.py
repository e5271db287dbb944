"""Games in OpenSpiel: its random simulation test, its MCTS and its CFR run on them."""

import copy
import pickle

import numpy as np
import pytest

pyspiel = pytest.importorskip("pyspiel")

from open_spiel.python.algorithms import cfr, mcts  # noqa: E402

import panza_ggp  # noqa: E402
from panza_ggp import openspiel  # noqa: E402


@pytest.mark.parametrize("name", panza_ggp.games())
def test_its_random_simulation(name):
    game = openspiel.game(name, max_steps=60)
    pyspiel.random_sim_test(game, num_sims=1, serialize=True, verbose=False)


def test_states_are_pickled_copied_and_serialised():
    rules = """(role a) (init (at 0)) (succ 0 1) (succ 1 2) ; (not, a, rule)
        (<= (legal a ?n) (true (at ?m)) (succ ?m ?n)) (legal a stay)
        (<= (next (at ?n)) (does a ?n)) (<= (next (at ?m)) (does a stay) (true (at ?m)))
        (<= terminal (true (at 2))) (goal a 70)"""
    for game in (openspiel.game(rules, max_steps=9), openspiel.game("ticTacToe")):
        state = game.new_initial_state()
        state.apply_action(state.legal_actions()[0])
        text = pyspiel.serialize_game_and_state(game, state)
        copies = [
            pickle.loads(pickle.dumps(state)),
            copy.deepcopy(state),
            pyspiel.deserialize_game_and_state(text)[1],
            game.deserialize_state(state.serialize()),
        ]
        for again in copies:
            assert str(again) == str(state) and again.history() == state.history()
            assert again.legal_actions() == state.legal_actions()
            again.apply_action(again.legal_actions()[0])
        assert str(pickle.loads(pickle.dumps(game))) == str(game)


def test_its_search_wins_against_random_moves():
    game = openspiel.game("ticTacToe")
    rng = np.random.RandomState(1)
    evaluator = mcts.RandomRolloutEvaluator(n_rollouts=1, random_state=rng)
    bot = mcts.MCTSBot(game, uct_c=1.4, max_simulations=60, evaluator=evaluator, random_state=rng)
    total = 0.0
    for _ in range(5):
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.current_player() == 0:
                state.apply_action(bot.step(state))
            else:
                state.apply_action(int(rng.choice(state.legal_actions())))
        total += state.returns()[0]
    assert total > 2


def test_its_cfr_runs():
    rules = """(role a) (role b) (init (control a)) (move l) (move r)
        (<= (legal ?p ?m) (true (control ?p)) (move ?m))
        (<= (legal ?p noop) (role ?p) (not (true (control ?p))))
        (<= (next (control b)) (true (control a))) (<= (next (control over)) (true (control b)))
        (<= (next (did ?p ?m)) (does ?p ?m) (move ?m)) (<= (next (did ?p ?m)) (true (did ?p ?m)))
        (<= terminal (true (control over)))
        (<= same (true (did a ?m)) (true (did b ?m)))
        (<= (goal a 100) same) (<= (goal a 0) (not same))
        (<= (goal b 0) same) (<= (goal b 100) (not same))"""
    game = openspiel.game(rules)
    solver = cfr.CFRSolver(game)
    for _ in range(50):
        solver.evaluate_and_update_policy()
    policy = solver.average_policy()
    state = game.new_initial_state()
    state.apply_action(state.legal_actions()[0])
    probabilities = policy.action_probabilities(state)
    assert max(probabilities.values()) > 0.9
