"""Whatever a caller passes is an exception that says what was expected."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import panza_ggp

SHEET = "(role r) (init p) (legal r go) (<= (next q) (does r go)) (<= terminal (true q)) (goal r 7)"


@pytest.fixture
def states():
    return panza_ggp.load("ticTacToe").init(4)


def test_faults_of_rules_have_places():
    with pytest.raises(panza_ggp.GdlError) as caught:
        panza_ggp.load(SHEET + "\n(<= (legal r) (true q))")
    error = caught.value
    assert error.line == 2 and error.column > 1
    assert error.diagnostics[0].severity == "error" and error.diagnostics[0].code
    assert str(error.line) in str(error)
    assert panza_ggp.load(SHEET).init(1).goals.tolist() == [[-1]]


def test_negations_without_a_meaning_are_faults():
    text = SHEET + "\n(n 1) (<= (p ?x) (n ?x) (not (q ?x))) (<= (q ?x) (n ?x) (not (p ?x)))"
    for strict in (True, False):
        with pytest.raises(panza_ggp.GdlError) as caught:
            panza_ggp.load(text, strict=strict)
        found = [one for one in caught.value.diagnostics if one.severity == "error"]
        assert {(one.code, one.line) for one in found} == {("unstratified", 2)}


def test_what_there_is_to_say_about_rules_is_a_warning():
    with pytest.warns(UserWarning) as said:
        game = panza_ggp.load(SHEET + "\n(unused 1)")
    assert [str(one.message) for one in said] == [str(one) for one in game.diagnostics]
    assert str(said[0].message).startswith("2:1: warning[unused-relation]: ")
    assert said[0].filename == __file__


def test_what_is_no_game():
    with pytest.raises(FileNotFoundError, match="ticTacToe"):
        panza_ggp.load("noSuchGame")
    with pytest.raises(panza_ggp.GdlError):
        panza_ggp.load("()")
    with pytest.raises(panza_ggp.GdlError):
        panza_ggp.load("(((((")
    with pytest.raises(TypeError):
        panza_ggp.load(3)
    with pytest.raises(ValueError, match="seconds"):
        panza_ggp.load("ticTacToe", seconds=float("nan"))
    with pytest.raises(FileNotFoundError):
        panza_ggp.load("/tmp")


def test_rules_that_explode():
    numbers = "".join(f"(n {i})" for i in range(60))
    text = SHEET + numbers + "(<= (next (f ?a ?b ?c ?d ?e)) (n ?a) (n ?b) (n ?c) (n ?d) (n ?e))"
    with pytest.raises(panza_ggp.GameTooLargeError):
        panza_ggp.load(text, seconds=2.0, memory=1 << 28)


@pytest.mark.parametrize(
    "actions",
    [
        np.zeros(3, dtype=int),
        np.zeros((4, 3), dtype=int),
        np.zeros((2, 2), dtype=int),
        np.int64(0),
        np.zeros((4, 2, 1), dtype=int),
    ],
)
def test_wrong_shapes(states, actions):
    with pytest.raises(ValueError, match=r"\(4, 2\)"):
        states.step(actions)


@pytest.mark.parametrize(
    "actions", [np.zeros((4, 2)), np.full(4, np.nan), ["a"] * 4, None, np.zeros(4, dtype=bool), object()]
)
def test_wrong_types(states, actions):
    with pytest.raises(TypeError, match="integers"):
        states.step(actions)


@pytest.mark.parametrize("action", [-2, 10**9, -(2**40), 2**62, 99])
def test_numbers_that_are_no_action(states, action):
    before = states.packed
    actions = np.full((4, 2), -1)
    actions[:, 0] = [0, 1, action, 2]
    with pytest.raises(panza_ggp.IllegalActionError, match="state 2.*xplayer"):
        states.step(actions)
    assert (states.packed == before).all()


def test_illegal_actions_change_nothing(states):
    g = states.game
    taken = g.action("xplayer", "(mark 1 1)")
    states.step(np.full(4, taken))
    before = states.packed
    with pytest.raises(panza_ggp.IllegalActionError, match=r"state 0.*\(mark 1 1\)"):
        states.step(np.full(4, g.action("oplayer", "(mark 1 1)")))
    with pytest.raises(panza_ggp.IllegalActionError, match="-1"):
        states.step(np.full((4, 2), -1))
    assert (states.packed == before).all()


def test_arrays_for_results_are_checked(states):
    g = states.game
    for wrong, error in [
        (np.zeros((4, 2, g.n_moves)), TypeError),
        (np.zeros((3, 2, g.n_moves), dtype=bool), ValueError),
        (np.zeros((4, 2, 2 * g.n_moves), dtype=bool)[:, :, ::2], ValueError),
        ([], TypeError),
    ]:
        with pytest.raises(error, match="expected a C-contiguous bool array"):
            states.masks(out=wrong)
    locked = np.zeros((4, 2, g.n_moves), dtype=bool)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="written"):
        states.masks(out=locked)


def test_rows_that_are_not_there(states):
    for index in (4, -5, [0, 9], np.ones(3, dtype=bool)):
        with pytest.raises(IndexError):
            states[index]
    with pytest.raises(TypeError):
        states[1.5]
    with pytest.raises(IndexError):
        states.facts(4)
    with pytest.raises(TypeError):
        panza_ggp.concatenate([states, 3])
    with pytest.raises(ValueError):
        panza_ggp.concatenate([])
    with pytest.raises(ValueError, match="different games"):
        panza_ggp.concatenate([states, panza_ggp.load("hex").init(1)])


def test_states_of_another_game(states):
    g = panza_ggp.load("connectFour")
    with pytest.raises(ValueError, match="state 0"):
        g.from_facts([states.facts(0)])
    with pytest.raises(ValueError):
        g.from_facts([["((("]])
    with pytest.raises(ValueError, match="uint64"):
        g.from_packed(states.packed)
    packed = g.init(1).packed
    packed[:, -1] |= np.uint64(1 << 63)
    with pytest.raises(ValueError):
        g.from_packed(packed)
    with pytest.raises(KeyError):
        g.action("red", "(no such move)")
    with pytest.raises(KeyError):
        g.action("nobody", "noop")
    with pytest.raises(IndexError):
        g.move_text(0, 10**6)


def test_huge_batches():
    g = panza_ggp.load("ticTacToe")
    for size in (10**10, 2**60):
        with pytest.raises(MemoryError, match="bytes"):
            g.init(size)
    with pytest.raises((OverflowError, TypeError)):
        g.init(-1)
    with pytest.raises(ValueError, match="threads"):
        g.init(1, threads=0)
    empty = g.init(0)
    empty.step(empty.random_actions())
    assert empty.legal_action_mask.shape == (0, 2, g.n_moves)


def test_threads_of_python_share_a_game():
    g = panza_ggp.load("connectFour")
    results = {}

    def play(seed):
        s = g.init(512, seed=seed, auto_reset=True)
        for _ in range(100):
            s.step(s.random_actions())
        results[seed] = s.packed

    threads = [threading.Thread(target=play, args=(seed % 2,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    again = dict(results)
    play(0)
    assert (again[0] == results[0]).all()


def test_two_threads_in_one_batch_raise_and_do_not_crash():
    s = panza_ggp.load("connectFour").init(200_000, auto_reset=True)
    errors = []

    def play():
        for _ in range(5):
            try:
                s.step(s.random_actions())
            except (RuntimeError, ValueError) as error:
                errors.append(error)

    threads = [threading.Thread(target=play) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    s.step(s.random_actions())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_goes_on():
    s = panza_ggp.load("connectFour").init(1000, threads=2, auto_reset=True)
    s.step(s.random_actions())
    child = os.fork()
    if child == 0:
        for _ in range(10):
            s.step(s.random_actions())
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0
    s.step(s.random_actions())


@pytest.mark.skipif(os.name == "nt", reason="no signals")
def test_control_c_ends_a_long_call():
    g = panza_ggp.load("chineseCheckers3")
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    started = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        g.check(games=100_000, max_steps=1_000_000)
    assert time.monotonic() - started < 120
