"""The environments of Gymnasium, by its own checkers and by what the rules say."""

import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

import panza_ggp  # noqa: E402
from panza_ggp.gymnasium import Env, VectorEnv  # noqa: E402


@pytest.mark.parametrize("name", panza_ggp.games())
def test_its_own_checker_passes(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # An environment without a screen is not rendered; its action masks are not known to it.
        warnings.filterwarnings("ignore", message=".*render.*")
        warnings.filterwarnings("ignore", message=".*not in.*spec.*")
        warnings.filterwarnings("ignore", message=".*`env.spec`.*")
        warnings.filterwarnings("ignore", message=".*not within.*unwrapped.*")
        check_env(Env(name, max_steps=50), skip_render_check=True)


@pytest.mark.parametrize("name", panza_ggp.games())
def test_many_games_of_one_role(name):
    env = VectorEnv(name, 32, max_steps=30)
    observations, infos = env.reset(seed=1)
    assert env.observation_space.contains(observations)
    rng = np.random.default_rng(1)
    ended = np.zeros(32, dtype=bool)
    for _ in range(60):
        mask = infos["action_mask"]
        scores = np.where(mask, rng.random(mask.shape), -1)
        observations, rewards, terminated, truncated, infos = env.step(scores.argmax(axis=1))
        assert env.observation_space.contains(observations)
        assert rewards.shape == (32,) and (rewards >= 0).all() and (rewards <= 1).all()
        assert not infos["illegal_action"].any()
        assert (rewards[ended] == 0).all() and not (terminated & ended & ~truncated).all()
        ended = terminated | truncated
        # A choice wherever the game goes on.
        assert (infos["action_mask"][~ended].sum(axis=1) > 1).all()


def test_masks_are_those_of_spaces():
    env = Env("ticTacToe")
    _, info = env.reset(seed=1)
    for _ in range(3):
        assert info["action_mask"].dtype == np.int8
        action = env.action_space.sample(info["action_mask"])
        _, _, _, _, info = env.step(action)
        assert not info["illegal_action"]


def test_a_seed_fixes_the_games():
    def play():
        env = VectorEnv("connectFour", 8, role=1)
        seen = [env.reset(seed=7)[0]]
        for step in range(20):
            seen.append(env.step(np.full(8, step % 8))[0])
        return np.array(seen)

    assert (play() == play()).all()


def test_illegal_actions():
    env = VectorEnv("ticTacToe", 2)
    env.reset(seed=1)
    _, _, _, _, infos = env.step(np.array([0, 99]))
    assert infos["illegal_action"].tolist() == [not env_legal(env, 0), True]
    strict = VectorEnv("ticTacToe", 2, illegal="raise")
    strict.reset(seed=1)
    with pytest.raises(ValueError, match="action_mask"):
        strict.step(np.array([99, 0]))
    for wrong in (np.zeros(3, dtype=int), np.zeros(2), 0):
        with pytest.raises(ValueError, match="integers"):
            strict.step(wrong)


def env_legal(env, action):
    return bool(env.states.game.init(1).legal_action_mask[0, 0, action])


def test_opponents_may_search():
    g = panza_ggp.load("ticTacToe")

    def opponents(states):
        actions = np.full((len(states), 2), -1)
        for row in np.flatnonzero(states.current_player == 1):
            found = g.search(states[int(row)], iterations=300, role=1)
            actions[row, 1] = found["action"]
        return actions

    env = VectorEnv(g, 8, opponents=opponents)
    _, infos = env.reset(seed=1)
    rng = np.random.default_rng(2)
    results = []
    for _ in range(40):
        mask = infos["action_mask"]
        scores = np.where(mask, rng.random(mask.shape), -1)
        _, rewards, terminated, _, infos = env.step(scores.argmax(axis=1))
        results += rewards[terminated].tolist()
    assert len(results) > 20 and np.mean(results) < 0.35
