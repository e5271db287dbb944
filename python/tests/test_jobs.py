"""Whole jobs in one call: random games, searches, proofs, training."""

import numpy as np
import pytest

import panza_ggp


@pytest.fixture(scope="module")
def tic_tac_toe():
    return panza_ggp.load("ticTacToe")


def after(game, *moves):
    """The state after moves of the players to move."""
    s = game.init(1)
    for text in moves:
        s.step(np.array([game.action(int(s.current_player[0]), text)]))
    return s


def test_rollouts_agree_with_games_by_steps(tic_tac_toe):
    g = tic_tac_toe
    s = g.init(20_000, seed=1)
    while not s.terminated.all():
        s.step(s.random_actions())
    by_steps, length = s.goals.mean(axis=0), s.steps.mean()
    result = g.rollouts(games=20_000)
    assert np.abs(result["goals"][0] - by_steps).max() < 1.5
    assert abs(result["lengths"][0] - length) < 0.1
    assert result["cut_off"].tolist() == [0]


@pytest.mark.parametrize("threads", [1, 2])
def test_rollouts_of_many_states(tic_tac_toe, threads):
    g = tic_tac_toe
    s = g.init(50, seed=1)
    for _ in range(6):
        s.step(s.random_actions())
    result = g.rollouts(s, 200, threads=threads)
    assert result["goals"].shape == (50, 2) and result["lengths"].shape == (50,)
    over = s.terminated
    assert (result["goals"][over] == s.goals[over]).all()
    assert (result["lengths"][over] == 0).all() and (result["lengths"][~over] > 0).all()
    one_by_one = [g.rollouts(s[i], 2000)["goals"][0] for i in range(10)]
    assert np.abs(np.array(one_by_one) - result["goals"][:10]).max() < 20
    assert g.rollouts(s, 3, threads=threads)["goals"].max() <= 100
    cut = panza_ggp.load("chineseCheckers3").rollouts(games=10, max_steps=4)
    assert cut["cut_off"].tolist() == [10]


def test_a_search_finds_the_winning_move(tic_tac_toe):
    g = tic_tac_toe
    s = after(g, "(mark 1 1)", "(mark 2 2)", "(mark 1 2)", "(mark 3 3)")
    found = g.search(s, iterations=500)
    assert found["role"] == 0 and found["move"] == "(mark 1 3)" and found["proven"] == 100
    assert found["action"] == g.action(0, "(mark 1 3)")
    assert found["line"][0][0] == "(mark 1 3)"
    assert len(found["moves"]) == len(found["visits"]) == len(found["values"]) == 5
    assert sorted(found["moves"]) == sorted(s.legal_moves(0, 0))
    again = g.search(s, iterations=500)
    assert again["visits"].tolist() == found["visits"].tolist()
    timed = g.search(ms=50, threads=2)
    assert timed["iterations"] > 0 and timed["line"]


def test_games_of_several_at_once_need_a_role():
    g = panza_ggp.load("roshamboTen")
    with pytest.raises(ValueError, match="role"):
        g.search(iterations=10)
    found = g.search(iterations=3000, role=0)
    assert found["strategy"] is not None and abs(found["strategy"].sum() - 1) < 1e-3


def test_solved_games(tic_tac_toe):
    assert tic_tac_toe.solve(seconds=20)["goals"] == [50, 50]
    puzzle = panza_ggp.load("threeJugs").solve(seconds=20)
    assert puzzle["is_best"] and puzzle["goal"] == 100 and puzzle["plan"]
    g = panza_ggp.load("threeJugs")
    s = g.init(1)
    for text in puzzle["plan"]:
        s.step(np.array([g.action(0, text)]))
    assert s.goals.tolist() == [[100]]


def test_an_analysis(tic_tac_toe):
    found = tic_tac_toe.analyse(seconds=0.5)
    assert found["turns"] == "alternating" and found["fixed_sum"] == 100
    assert found["length"]["greatest"] == 9 and found["length"]["least"] == 5
    assert sorted(found["length"]["quartiles"]) == found["length"]["quartiles"]
    assert set(found["roles"]) == {"xplayer", "oplayer"}


def test_a_study_gives_values_and_helps_a_search():
    g = panza_ggp.load("connectFour")
    evaluation = g.study(3.0)
    assert evaluation.games > 10
    s = g.init(32, seed=1)
    for _ in range(8):
        s.step(s.random_actions())
    values = evaluation.values(s)
    assert values.shape == (32, 2) and (values >= 0).all() and (values <= 100).all()
    found = g.search(iterations=200, evaluation=evaluation, evaluation_share=0.5)
    assert found["action"] is not None
    with pytest.raises(ValueError, match="another game"):
        evaluation.values(panza_ggp.load("hex").init(1))
    with pytest.raises(ValueError, match="evaluation_share"):
        g.search(iterations=1, evaluation=evaluation, evaluation_share=2.0)


def replay(game, s, line):
    """The state after joint moves, which all are legal."""
    s = s.copy()
    for joint_move in line:
        s.step(np.array([[game.action(role, text) for role, text in enumerate(joint_move)]]))
    return s


def test_alpha_beta_finds_the_winning_move_and_its_lines(tic_tac_toe):
    g = tic_tac_toe
    s = after(g, "(mark 1 1)", "(mark 2 2)", "(mark 1 2)", "(mark 3 3)")
    found = g.search(s, iterations=20_000, method="alpha-beta")
    assert found["method"] == "alpha-beta" and g.search(s, iterations=9)["method"] == "tree"
    assert found["role"] == 0 and found["move"] == "(mark 1 3)" and found["proven"] == 100
    assert found["action"] == g.action(0, "(mark 1 3)") == found["actions"][0]
    assert found["value"] == 100 and found["proofs"][0] == 100 and found["strategy"] is None
    assert sorted(found["moves"]) == sorted(s.legal_moves(0, 0))
    assert replay(g, s, found["line"]).terminated.all()
    again = g.search(s, iterations=20_000, method="alpha-beta")
    assert again["visits"].tolist() == found["visits"].tolist()


def test_alpha_beta_solves_a_game_from_its_start(tic_tac_toe):
    g = tic_tac_toe
    found = g.search(iterations=50_000, method="alpha-beta")
    assert found["value"] == pytest.approx(50, abs=1) and found["depth"] >= 9
    assert found["selective_depth"] >= 8 and found["nodes"] == found["iterations"] > 100
    assert len(found["moves"]) == 9 and len(found["lines"]) == 3
    assert found["lines"][0]["line"] == found["line"]
    for line in found["lines"]:
        replay(g, g.init(1), line["line"])
        assert line["line"][0][0] == line["move"] and 0 <= line["value"] <= 100
    # For the role that waits the value is the rest of the sum, and it makes its only move.
    other = g.search(iterations=1000, role=1, method="alpha-beta")
    assert other["move"] == "noop" and not other["moves"]


def test_a_study_chooses_between_the_searches(tic_tac_toe):
    g = panza_ggp.load("connectFour")
    evaluation = g.study(4.0, method="auto")
    assert evaluation.method in ("tree", "alpha-beta") and evaluation.mean_length > 6
    found = g.search(iterations=2000, evaluation=evaluation, method="auto")
    assert found["method"] == evaluation.method
    deep = g.search(iterations=5000, evaluation=evaluation, method="alpha-beta")
    assert deep["method"] == "alpha-beta" and deep["depth"] >= 2 and len(deep["lines"]) == 3
    assert g.study(2.0, method="alpha-beta").method == "alpha-beta"
    of_tree = g.study(1.0)
    assert of_tree.method == "tree"
    with pytest.raises(ValueError, match="for the tree"):
        g.search(iterations=9, evaluation=of_tree, method="alpha-beta")
    assert g.search(iterations=9, method="auto")["method"] == "tree"


@pytest.mark.parametrize("name", ["connectFourSimultaneous", "eightPuzzle", "ticTacToeThree"])
def test_alpha_beta_refuses_other_games(name):
    g = panza_ggp.load(name)
    for call in (
        lambda: g.search(iterations=9, role=0, method="alpha-beta"),
        lambda: g.study(1.0, method="alpha-beta"),
    ):
        with pytest.raises(ValueError, match="two roles in turns"):
            call()
    assert g.study(1.0, method="auto").method == "tree"
    with pytest.raises(ValueError, match="method: expected one of"):
        g.search(iterations=9, method="minimax")


def test_games_for_training(tic_tac_toe):
    g = tic_tac_toe
    data = g.self_play(6, iterations=60, seed=3, threads=2)
    n = len(data["roles"])
    assert 6 * 5 <= n <= 6 * 9
    assert data["observations"].shape == (n, g.n_facts)
    assert data["policies"].shape == (n, g.n_moves)
    assert np.allclose(data["policies"].sum(axis=1), 1, atol=1e-4)
    states = g.from_packed(data["packed"])
    assert (states.observation() == data["observations"]).all()
    assert (states.current_player == data["roles"]).all()
    mask = states.legal_action_mask[np.arange(n), data["roles"]]
    assert mask[np.arange(n), data["actions"]].all()
    assert (data["policies"][~mask] == 0).all()
    assert (data["goals"].sum(axis=1) == 100).all()
    again = g.self_play(6, iterations=60, seed=3, threads=1)
    for key in data:
        assert np.array_equal(data[key], again[key]), key


def test_wrong_arguments(tic_tac_toe):
    g = tic_tac_toe
    with pytest.raises(TypeError, match="iterations"):
        g.search()
    with pytest.raises(ValueError, match="ms"):
        g.search(ms=float("nan"))
    with pytest.raises(ValueError, match="one state"):
        g.search(g.init(2), iterations=1)
    with pytest.raises(ValueError, match="another game"):
        g.search(panza_ggp.load("hex").init(1), iterations=1)
    with pytest.raises(ValueError, match="over"):
        g.search(after(g, *(f"(mark {at})" for at in ("1 1", "2 1", "1 2", "2 2", "1 3"))), ms=1)
    with pytest.raises(ValueError):
        g.rollouts(games=0)
    with pytest.raises(ValueError, match="exploration"):
        g.search(iterations=1, exploration=float("nan"))
    with pytest.raises(ValueError, match="seconds"):
        g.study(0.0)
    with pytest.raises(ValueError, match="threads"):
        g.self_play(1, threads=0)
    assert len(g.self_play(0)["roles"]) == 0
