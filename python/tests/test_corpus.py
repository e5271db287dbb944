"""Published games, where they are: recorded traces of an independent reasoner, step by step."""

import gzip
import json
import os
import pathlib

import numpy as np
import pytest

import panza_ggp

ROOT = pathlib.Path(__file__).parents[2]
CORPUS = pathlib.Path(os.environ.get("PANZA_CORPUS", ROOT / ".." / "shared" / "corpus"))
OWN = sorted((ROOT / "tests" / "traces").glob("*.jsonl.gz"))

# Beyond the seconds that loading may take here: played by the prover alone.
TOO_LARGE = {"chess", "merrills", "sudoku"}
# Reads `open2` and `(open2)` as different relations, which no other rulesheet relies on.
READ_OTHERWISE = {"test_case_3a"}
PUBLISHED = sorted(CORPUS.glob("traces/*.jsonl.gz"))


def rows_of(trace):
    with gzip.open(trace, "rt") as lines:
        rows = [json.loads(line) for line in lines]
    for row in rows:
        row["state"] = [plain(fact) for fact in row["state"]]
        for role, moves in row.get("legal", {}).items():
            row["legal"][role] = [plain(move) for move in moves]
        for role, move in row.get("moves", {}).items():
            row["moves"][role] = plain(move)
    return [row for row in rows if not row.get("error")]


def plain(text):
    """`(f)`, as some rules write it, is `f`."""
    return text[1:-1] if text.startswith("(") and " " not in text else text


def compare(game, rows):
    """Every recorded state in one batch: facts, masks, ends, goals, and the recorded moves."""
    s = game.from_facts([row["state"] for row in rows])
    expected = np.zeros((len(rows), game.n_roles, game.n_moves), dtype=bool)
    actions = np.full((len(rows), game.n_roles), -1)
    numbers = [{text: action for action, text in enumerate(moves)} for moves in game.moves]
    for index, row in enumerate(rows):
        assert s.facts(index) == sorted(row["state"]), index
        if row["terminal"]:
            continue
        for role, name in enumerate(game.roles):
            for text in row["legal"].get(name, []):
                expected[index, role, numbers[role][text]] = True
            if row.get("moves"):
                actions[index, role] = numbers[role][row["moves"][name]]
    terminal = np.array([row["terminal"] for row in rows])
    assert (s.terminated == terminal).all()
    assert (s.legal_action_mask == expected).all()
    for index in np.flatnonzero(terminal):
        goals = rows[index].get("goal")
        if goals:
            assert s.goals[index].tolist() == [goals.get(name, -1) for name in game.roles]
    moving = np.array([bool(row.get("moves")) for row in rows]) & ~terminal & ~s.truncated
    s.step(actions, where=moving)
    for index in np.flatnonzero(moving[:-1]):
        after = rows[index + 1]
        if after["playout"] == rows[index]["playout"] and after["step"] == rows[index]["step"] + 1:
            assert s.facts(index) == sorted(after["state"]), index


@pytest.mark.parametrize("trace", OWN, ids=lambda path: path.name.split(".")[0])
def test_traces_of_the_games_inside(trace):
    compare(panza_ggp.load(trace.name.split(".")[0]), rows_of(trace))


@pytest.mark.skipif(not PUBLISHED, reason="no published games")
@pytest.mark.skipif("PANZA_PYTHON_CORPUS" not in os.environ, reason="takes ten minutes")
@pytest.mark.parametrize("trace", PUBLISHED, ids=lambda path: path.name.split(".")[0])
def test_traces_of_published_games(trace):
    name = trace.name.removesuffix(".jsonl.gz")
    path = CORPUS / "games" / f"{name}.kif"
    if name in TOO_LARGE:
        with pytest.raises(panza_ggp.GameTooLargeError):
            panza_ggp.load(path, strict=False, seconds=5)
        return
    game = panza_ggp.load(path, strict=False, seconds=300)
    rows = rows_of(trace)
    if rows and name not in READ_OTHERWISE:
        compare(game, rows)
    s = game.init(64, seed=1, auto_reset=True, max_steps=400)
    for _ in range(1000):
        s.step(s.random_actions())
