"""Games as games of OpenSpiel, for its algorithms: compatibility, not speed.

`game("ticTacToe")` is a `pyspiel.Game`. Turn-based games have states of one player; where several
choose at once, the game is simultaneous. A role named `random` is chance. States in which nobody
has a choice are passed over. Returns are goals from 0 to 100, scaled to -1 to 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyspiel

from panza_ggp._native import Game, States, games, load

__all__ = ["game"]

_NAME = "panza_gdl"
_MAX_STEPS = 1000
_PACKED = "packed_"


def _role_index(core: Game, player: int) -> int:
    chance = core.chance_role
    return player if chance is None or player < chance else player + 1


def game(rules: Game | str, *, max_steps: int = _MAX_STEPS) -> pyspiel.Game:
    """The game of some rules: a `Game`, or what `load` takes."""
    if rules not in games():
        # As one word, since the name of a game has its parameters in parentheses.
        text = (rules if isinstance(rules, Game) else load(rules)).text
        rules = _PACKED + text.encode().hex()
    return _Spiel({"rules": rules, "max_steps": max_steps})


def _is_simultaneous(core: Game) -> bool:
    """Whether several roles chose at once in some random games."""
    states = core.init(64, seed=1, max_steps=200)
    chance = core.chance_role
    while True:
        live = ~(states.terminated | states.truncated)
        if not live.any():
            return False
        choices = states.legal_action_mask.sum(axis=2) > 1
        if chance is not None:
            choices = np.delete(choices, chance, axis=1)
        if (choices.sum(axis=1) > 1).any():
            return True
        states.step(states.random_actions())


def _type(short_name: str, n_players: int, simultaneous: bool, chance: bool) -> pyspiel.GameType:
    dynamics = pyspiel.GameType.Dynamics
    return pyspiel.GameType(
        short_name=short_name,
        long_name="A game in GDL",
        dynamics=dynamics.SIMULTANEOUS if simultaneous else dynamics.SEQUENTIAL,
        chance_mode=(
            pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC
            if chance
            else pyspiel.GameType.ChanceMode.DETERMINISTIC
        ),
        information=pyspiel.GameType.Information.PERFECT_INFORMATION,
        utility=pyspiel.GameType.Utility.GENERAL_SUM,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=n_players,
        min_num_players=n_players,
        provides_information_state_string=True,
        provides_information_state_tensor=False,
        provides_observation_string=True,
        provides_observation_tensor=True,
        parameter_specification={"rules": "ticTacToe", "max_steps": _MAX_STEPS},
        default_loadable=True,
        provides_factored_observation_string=False,
    )


class _Spiel(pyspiel.Game):
    """The game of some rules."""

    def __init__(self, params: dict[str, Any] | None = None):
        params = dict(params or {})
        rules = params.get("rules", "ticTacToe")
        max_steps = int(params.get("max_steps", _MAX_STEPS))
        is_packed = rules.startswith(_PACKED)
        self.core = load(bytes.fromhex(rules.removeprefix(_PACKED)).decode() if is_packed else rules)
        self.max_steps = max_steps
        chance = self.core.chance_role
        n_players = self.core.n_roles - (chance is not None)
        simultaneous = _is_simultaneous(self.core)
        info = pyspiel.GameInfo(
            num_distinct_actions=self.core.n_moves,
            max_chance_outcomes=0 if chance is None else len(self.core.moves[chance]),
            num_players=n_players,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=None,
            max_game_length=max_steps,
        )
        kind = _type(_NAME, n_players, simultaneous, chance is not None)
        super().__init__(kind, info, {"rules": rules, "max_steps": max_steps})

    def new_initial_state(self) -> _State:
        return _State(self)

    def make_py_observer(self, iig_obs_type=None, params=None) -> _Observer:
        return _Observer(self.core)


# By this name a state is loaded again that was pickled, copied or serialised.
pyspiel.register_game(_type(_NAME, 2, simultaneous=False, chance=False), _Spiel)


class _State(pyspiel.State):
    """A state of such a game."""

    def __init__(self, spiel: _Spiel):
        super().__init__(spiel)
        self.core = spiel.core
        self.states: States = spiel.core.init(1, max_steps=spiel.max_steps)
        self._is_simultaneous = (
            spiel.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
        )
        self._pass_over()

    def _pass_over(self) -> None:
        """Makes the moves of states in which nobody has a choice."""
        while not self.is_terminal() and not (self._mask().sum(axis=1) > 1).any():
            self.states.step(np.full((1, self.core.n_roles), -1))
        self._pending: dict[int, int] = {}

    def _mask(self) -> np.ndarray:
        return self.states.legal_action_mask[0]

    def _choosing(self) -> list[int]:
        return [int(role) for role in np.flatnonzero(self._mask().sum(axis=1) > 1)]

    def is_terminal(self) -> bool:
        return bool(self.states.terminated[0] or self.states.truncated[0])

    def current_player(self) -> int:
        if self.is_terminal():
            return pyspiel.PlayerId.TERMINAL
        chance = self.core.chance_role
        roles = [role for role in self._choosing() if role not in self._pending]
        # Chance draws after the players.
        players = [role for role in roles if role != chance]
        if not players:
            return pyspiel.PlayerId.CHANCE
        if self._is_simultaneous:
            return pyspiel.PlayerId.SIMULTANEOUS
        role = players[0]
        return role if chance is None or role < chance else role - 1

    def _legal_actions(self, player: int) -> list[int]:
        if self.is_terminal():
            return []
        role = self.core.chance_role if player == pyspiel.PlayerId.CHANCE else None
        role = _role_index(self.core, player) if role is None else role
        return [int(action) for action in np.flatnonzero(self._mask()[role])]

    def chance_outcomes(self) -> list[tuple[int, float]]:
        actions = self._legal_actions(pyspiel.PlayerId.CHANCE)
        return [(action, 1.0 / len(actions)) for action in actions]

    def _apply_action(self, action: int) -> None:
        player = self.current_player()
        is_chance = player == pyspiel.PlayerId.CHANCE
        role = self.core.chance_role if is_chance else _role_index(self.core, player)
        self._choose({role: action})

    def _apply_actions(self, actions: list[int]) -> None:
        chosen = {_role_index(self.core, player): action for player, action in enumerate(actions)}
        choosing = self._choosing()
        self._choose({role: action for role, action in chosen.items() if role in choosing})

    def _choose(self, chosen: dict[int, int]) -> None:
        self._pending |= chosen
        if any(role not in self._pending for role in self._choosing()):
            return
        joint = np.full((1, self.core.n_roles), -1)
        for role, action in self._pending.items():
            joint[0, role] = action
        self.states.step(joint)
        self._pass_over()

    def _action_to_string(self, player: int, action: int) -> str:
        is_chance = player == pyspiel.PlayerId.CHANCE
        role = self.core.chance_role if is_chance else _role_index(self.core, player)
        return self.core.move_text(role, action)

    def returns(self) -> list[float]:
        n_players = self.core.n_roles - (self.core.chance_role is not None)
        if not self.is_terminal():
            return [0.0] * n_players
        goals = self.states.goals[0]
        roles = [_role_index(self.core, player) for player in range(n_players)]
        return [max(float(goals[role]), 0.0) / 50 - 1 for role in roles]

    def __str__(self) -> str:
        pending = "".join(f" {role}:{action}" for role, action in sorted(self._pending.items()))
        return " ".join(self.states.facts(0)) + pending


class _Observer:
    """What a player sees: all facts."""

    def __init__(self, core: Game):
        self.tensor = np.zeros(core.n_facts, np.float32)
        self.dict = {"facts": self.tensor}

    def set_from(self, state: _State, player: int) -> None:
        self.tensor[:] = state.states.observation()[0]

    def string_from(self, state: _State, player: int) -> str:
        return str(state)
