"""Rules in HRF are games like those in KIF."""

import copy
import pickle

import numpy as np
import pytest

import panza_ggp

SHEET = """
role(x) role(o) init(control(x))
init(cell(1,blank)) init(cell(2,blank)) init(cell(3,blank))
legal(mark(N)) :- cell(N,blank)
mark(N) :: control(R) ==> ~cell(N,blank) & cell(N,R) & turn
turn :: control(x) ==> ~control(x) & control(o)
turn :: control(o) ==> ~control(o) & control(x)
taken(R) :- cell(1,R) & cell(2,R)
goal(R,100) :- role(R) & taken(R)
goal(R,50) :- role(R) & ~taken(x) & ~taken(o)
terminal :- ~cell(1,blank) & ~cell(2,blank) & ~cell(3,blank)
"""


def played(game):
    """The roles, the first facts, and the goals after marks of the cells 1, 2 and 3."""
    states = game.init(1)
    facts = sorted(states.facts(0))
    for step in range(3):
        mover = step % 2
        joint = [0, 0]
        joint[mover] = game.action(mover, f"(mark {step + 1})")
        joint[1 - mover] = game.action(1 - mover, "noop$")
        states.step(np.array([joint]))
    return game.roles, facts, states.goals.tolist()


def test_a_text_is_loaded_as_what_it_is():
    game = panza_ggp.load(SHEET)
    assert game.dialect == "hrf" and game.text == SHEET
    assert panza_ggp.load("ticTacToe").dialect == "kif"
    roles, facts, goals = played(game)
    assert roles == ["x", "o"]
    assert facts == ["(cell 1 blank)", "(cell 2 blank)", "(cell 3 blank)", "(control x)"]
    assert goals == [[50, 50]]


def test_the_ending_of_a_file_says_the_dialect_unless_the_caller_does(tmp_path):
    path = tmp_path / "filling.hrf"
    path.write_text(SHEET)
    assert played(panza_ggp.load(path)) == played(panza_ggp.load(SHEET))
    assert panza_ggp.load(path).name == "filling"
    other = tmp_path / "filling.kif"
    other.write_text(SHEET)
    with pytest.raises(panza_ggp.GdlError):
        panza_ggp.load(other)
    assert panza_ggp.load(other, dialect="hrf").dialect == "hrf"
    with pytest.raises(ValueError, match="expected kif or hrf, found latin"):
        panza_ggp.load(SHEET, dialect="latin")


def test_faults_have_lines_and_columns():
    with pytest.raises(panza_ggp.GdlError) as caught:
        panza_ggp.load("role(x)\nlegal(=)")
    assert (caught.value.line, caught.value.column) == (2, 7)


def test_a_game_is_copied_and_pickled():
    game = panza_ggp.load(SHEET)
    again = pickle.loads(pickle.dumps(game))
    assert again.dialect == "hrf" and played(again) == played(game)
    assert copy.deepcopy(game) is game
    states = pickle.loads(pickle.dumps(game.init(2)))
    assert len(states) == 2 and states.game.dialect == "hrf"


def test_games_are_checked_and_searched():
    game = panza_ggp.load(SHEET)
    found = game.check(games=64)
    assert found["terminated"] == 64 and found["longest"] == 3 and found["stuck"] == 0
    found = game.search(iterations=200)
    assert found["role"] == 0 and found["move"].startswith("(mark ")
