"""Batched states: what the arrays say is what the rules say."""

import copy
import pickle

import numpy as np
import pytest

import panza_ggp

NAMES = panza_ggp.games()


@pytest.fixture(scope="module")
def tic_tac_toe():
    return panza_ggp.load("ticTacToe")


def masked_random(states, rng):
    """A legal action for each role, drawn with numpy; -1 where there is none."""
    mask = states.legal_action_mask
    scores = np.where(mask, rng.random(mask.shape), -1.0)
    actions = scores.argmax(axis=-1)
    return np.where(mask.any(axis=-1), actions, -1)


def test_names_have_stable_places(tic_tac_toe):
    g = tic_tac_toe
    assert g.roles == ["xplayer", "oplayer"]
    assert g.n_roles == 2 and g.n_moves == len(g.moves[0])
    for role, moves in enumerate(g.moves):
        for action, text in enumerate(moves):
            assert g.move_text(role, action) == text
            assert g.action(role, text) == action
    assert g.moves["oplayer"] == g.moves[1] == g.moves[-1] and g.moves[:1] == [g.moves["xplayer"]]
    with pytest.raises(KeyError, match="no role `z` in"):
        g.moves["z"]
    again = panza_ggp.load("ticTacToe")
    assert again.moves == g.moves and again.facts == g.facts and again == g


def test_a_game_of_known_moves(tic_tac_toe):
    g = tic_tac_toe
    s = g.init(2)
    assert s.current_player.tolist() == [0, 0]
    mine = [g.action(0, f"(mark {place})") for place in ("1 1", "1 2", "1 3")]
    theirs = [g.action(1, f"(mark {place})") for place in ("2 1", "2 2")]
    for x, o in zip(mine, theirs + [None]):
        s.step(np.array([x, x]))
        if o is not None:
            assert s.current_player.tolist() == [1, 1]
            assert not s.rewards.any()
            s.step(np.array([o, o], dtype=np.int32))
    assert s.terminated.all() and not s.truncated.any()
    assert s.rewards.tolist() == [[1.0, 0.0]] * 2
    assert s.goals.tolist() == [[100, 0]] * 2
    assert not s.legal_action_mask.any()
    assert s.current_player.tolist() == [-2, -2]
    assert "(cell 1 1 x)" in s.facts(0)
    # Nothing moves any more, and the reward was that of the last step.
    before = s.packed
    s.step(s.random_actions())
    assert (s.packed == before).all() and not s.rewards.any()
    assert s.goals.tolist() == [[100, 0]] * 2


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("batch", [1, 7, 600])
def test_a_batch_is_what_single_states_are(name, batch):
    """Rows do not depend on their batch, nor on how many threads there are."""
    g = panza_ggp.load(name)
    rng = np.random.default_rng(1)
    s = g.init(batch, auto_reset=True, max_steps=50, threads=2)
    alone = g.init(1, auto_reset=True, max_steps=50)
    row = batch // 2
    for _ in range(60):
        actions = masked_random(s, rng)
        s.step(actions)
        alone.step(actions[row : row + 1])
        assert (s[row].packed == alone.packed).all()
        assert (s[row].legal_action_mask == alone.legal_action_mask).all()
        for name_of_array in ("rewards", "terminated", "truncated", "current_player", "steps"):
            mine, other = getattr(s, name_of_array)[row], getattr(alone, name_of_array)[0]
            assert (mine == other).all(), name_of_array


def test_masks_agree_with_texts_packed_bits_and_random_actions():
    for name in NAMES:
        g = panza_ggp.load(name)
        s = g.init(64, seed=3, max_steps=40)
        for step in range(40):
            mask = s.legal_action_mask
            assert mask.shape == (64, g.n_roles, g.n_moves) and mask.dtype == bool
            packed = s.masks(packed=True)
            bits = np.unpackbits(packed, axis=-1, bitorder="little")[..., : g.n_moves]
            assert (bits.astype(bool) == mask).all()
            for role, moves in enumerate(g.moves):
                legal = [text for text, flag in zip(moves, mask[5, role]) if flag]
                assert legal == s.legal_moves(5, role)
            actions = s.random_actions()
            over = s.terminated | s.truncated
            for role in range(g.n_roles):
                drawn = mask[np.arange(64), role, actions[:, role]]
                assert (drawn | over).all()
            s.step(actions)


def test_random_actions_are_uniform(tic_tac_toe):
    s = tic_tac_toe.init(90_000, seed=5)
    counts = np.bincount(s.random_actions()[:, 0], minlength=10)
    counts = counts[s.legal_action_mask[0, 0]]
    assert len(counts) == 9
    chi_squared = ((counts - 10_000) ** 2 / 10_000).sum()
    assert chi_squared < 26, counts  # 0.1 % of all samples are above


def test_auto_reset_tells_of_the_game_that_ended(tic_tac_toe):
    s = tic_tac_toe.init(256, seed=1, auto_reset=True)
    seen = 0
    for _ in range(30):
        s.step(s.random_actions())
        ended = s.terminated
        seen += ended.sum()
        assert (s.rewards.sum(axis=1)[ended] == 1).all()
        assert (s.steps[ended] == 0).all()
        assert (s.rewards[~ended] == 0).all()
        assert s.legal_action_mask.any(axis=(1, 2)).all()
    assert seen > 500


def test_truncation_by_steps():
    s = panza_ggp.load("chineseCheckers3").init(8, max_steps=5)
    for step in range(5):
        assert not s.truncated.any()
        s.step(s.random_actions())
    assert s.truncated.all() and not s.terminated.any()
    assert not s.legal_action_mask.any() and not s.rewards.any()
    s.reset(np.arange(8) < 4)
    assert s.truncated.tolist() == [False] * 4 + [True] * 4
    assert s.legal_action_mask.any(axis=(1, 2)).tolist() == [True] * 4 + [False] * 4
    s.reset()
    assert not s.truncated.any() and (s.steps == 0).all()


def test_simultaneous_moves_need_an_action_of_each_role():
    g = panza_ggp.load("roshamboTen")
    s = g.init(4, seed=1)
    assert (s.current_player == -1).all()
    with pytest.raises(panza_ggp.IllegalActionError, match="shape"):
        s.step(np.zeros(4, dtype=int))
    s.step(s.random_actions())
    assert (s.steps == 1).all()


def test_out_arrays_are_filled():
    g = panza_ggp.load("connectFour")
    s = g.init(100, seed=2)
    masks = np.ones((100, g.n_roles, g.n_moves), dtype=bool)
    assert s.masks(out=masks) is not None
    assert (masks == s.legal_action_mask).all()
    actions = np.zeros((100, g.n_roles), dtype=np.int32)
    s.random_actions(out=actions)
    s.step(actions)
    facts = np.zeros((100, g.n_facts), dtype=bool)
    s.observation(out=facts)
    assert [g.facts[i] for i in np.flatnonzero(facts[3])] and sorted(
        g.facts[i] for i in np.flatnonzero(facts[3])
    ) == s.facts(3)


def test_planes_show_the_board():
    g = panza_ggp.load("ticTacToe")
    s = g.init(3)
    planes = s.observation(planes=True)
    assert planes.shape[0] == 3 and planes.shape[1] == len(g.planes)
    assert planes.shape[2:] == (3, 3)
    blank = g.planes.index("cell blank")
    assert planes[:, blank].all()
    s.step(np.full(3, g.action(0, "(mark 1 2)")))
    planes = s.observation(planes=True)
    crosses = planes[0, g.planes.index("cell x")]
    assert crosses.sum() == 1 and (planes[0, blank] ^ crosses).all()


def test_facts_go_out_and_in_again():
    for name in NAMES:
        g = panza_ggp.load(name)
        s = g.init(16, seed=4, max_steps=12)
        for _ in range(9):
            s.step(s.random_actions())
        again = g.from_facts([s.facts(i) for i in range(16)])
        assert (again.packed == s.packed).all()
        live = ~(s.terminated | s.truncated)
        assert (again.legal_action_mask[live] == s.legal_action_mask[live]).all()
        assert (again.terminated == s.terminated).all()
        assert (again.hashes == s.hashes).all()
        assert (g.from_packed(s.packed).packed == s.packed).all()


def test_copies_slices_and_pickles():
    g = panza_ggp.load("breakthrough")
    s = g.init(50, seed=9, max_steps=30)
    for _ in range(20):
        s.step(s.random_actions())
    for other in (s.copy(), copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
        assert other == s
        a, b = s.copy(), other
        for _ in range(12):
            assert (a.random_actions() == (actions := b.random_actions())).all()
            a.step(actions)
            b.step(actions)
        assert a == b and (a.rewards == b.rewards).all() and (a.goals == b.goals).all()
    assert len(s[3:20:4]) == 5
    assert (s[[1, -1]].packed == s.packed[[1, -1]]).all()
    mask = np.arange(50) % 3 == 0
    assert (s[mask].packed == s.packed[mask]).all()
    both = panza_ggp.concatenate([s[:10], s[10:]])
    assert both == s
    assert len(s[5]) == 1 and s[5] == s[5:6]
    game = pickle.loads(pickle.dumps(g))
    assert game == g and hash(game) == hash(g) and game.moves == g.moves


def test_only_some_states_make_a_step():
    g = panza_ggp.load("ticTacToe")
    s = g.init(6, seed=1)
    where = np.arange(6) % 2 == 0
    actions = s.random_actions()
    actions[~where] = 1000
    s.step(actions, where=where)
    assert s.steps.tolist() == [1, 0] * 3
    while not s.terminated[where].all():
        s.step(s.random_actions(), where=where)
    assert s.steps[~where].sum() == 0 and not s.terminated[~where].any()
    assert (s.legal_action_mask[~where, 0].sum(axis=1) == 9).all()


def test_seeds_fix_the_draws():
    g = panza_ggp.load("hex")

    def play(seed, threads):
        s = g.init(300, seed=seed, threads=threads)
        for _ in range(30):
            s.step(s.random_actions())
        return s.packed

    assert (play(1, 1) == play(1, 3)).all()
    assert (play(1, 1) != play(2, 1)).any()
