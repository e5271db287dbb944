"""The environments of PettingZoo pass its own tests."""

import pytest

pytest.importorskip("pettingzoo")

from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test  # noqa: E402

import panza_ggp  # noqa: E402
from panza_ggp.pettingzoo import AECEnv, ParallelEnv  # noqa: E402

NAMES = panza_ggp.games()


@pytest.mark.parametrize("name", NAMES)
def test_by_turns(name):
    api_test(AECEnv(name, max_steps=60), num_cycles=200)


@pytest.mark.parametrize("name", NAMES)
def test_all_at_once(name):
    parallel_api_test(ParallelEnv(name, max_steps=60), num_cycles=200)


@pytest.mark.parametrize("name", ["ticTacToe", "diceRace", "biddingTicTacToe"])
def test_seeds(name):
    seed_test(lambda: AECEnv(name), num_cycles=100)
    parallel_seed_test(lambda: ParallelEnv(name), num_cycles=100)


def test_the_winner_gets_the_reward():
    env = AECEnv("ticTacToe")
    env.reset()
    g = env.states.game
    for place in ("1 1", "2 1", "1 2", "2 2", "1 3"):
        agent = env.agent_selection
        env.step(g.action(agent, f"(mark {place})"))
    assert env.terminations == {"xplayer": True, "oplayer": True}
    assert env._cumulative_rewards == {"xplayer": 1.0, "oplayer": 0.0}


def test_illegal_actions_raise():
    env = AECEnv("ticTacToe")
    env.reset()
    with pytest.raises(ValueError, match="action_mask"):
        env.step(10**6)
    strict = ParallelEnv("ticTacToe", illegal="raise")
    strict.reset()
    with pytest.raises(ValueError, match="action_mask"):
        strict.step({"xplayer": 10**6, "oplayer": 0})
    with pytest.raises(ValueError, match="action of oplayer is missing"):
        strict.step({"xplayer": 0})
    loose = ParallelEnv("ticTacToe")
    loose.reset()
    infos = loose.step({"xplayer": 0})[4]
    assert infos["oplayer"]["illegal_action"]
