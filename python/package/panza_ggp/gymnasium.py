"""Games as environments of Gymnasium: one role learns, the others are part of the environment.

`VectorEnv` has many games at once, `Env` one. Both ask for an action only where the role has a
choice; what happens in between, the moves of the others and forced moves, belongs to the step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from panza_ggp._native import Game, States, load

__all__ = ["Env", "VectorEnv"]

Opponents = Callable[[States], np.ndarray]
"""Actions of all roles, (batch, roles), for a batch; those of the learning role are not used."""


class _Games:
    """Many games of which one role is played from outside."""

    def __init__(
        self,
        game: Game | str,
        batch: int,
        role: int | str,
        opponents: Opponents | None,
        planes: bool,
        illegal: str,
        max_steps: int,
        threads: int,
    ):
        self.game = game if isinstance(game, Game) else load(game)
        names = self.game.roles
        self.role = names.index(role) if isinstance(role, str) else role
        if not 0 <= self.role < len(names):
            raise ValueError(f"expected a role of {names}, found {role}")
        if illegal not in ("raise", "random"):
            raise ValueError(f"illegal: expected 'raise' or 'random', found {illegal!r}")
        self.opponents, self.planes, self.illegal = opponents, planes, illegal
        self.options = {"max_steps": max_steps, "threads": threads}
        self.batch = batch
        self.states = self.game.init(batch, **self.options)
        self.n_actions = len(self.game.moves[self.role])
        self.observation_space = spaces.MultiBinary(self.observe().shape[1:])
        self.action_space = spaces.Discrete(self.n_actions)

    def seed(self, seed: int) -> None:
        """New games whose random moves follow from the seed."""
        self.states = self.game.init(self.batch, seed=seed, **self.options)

    def observe(self) -> np.ndarray:
        return self.states.observation(planes=self.planes).view(np.int8)

    def mask(self) -> np.ndarray:
        return self.states.legal_action_mask[:, self.role, : self.n_actions]

    def over(self) -> np.ndarray:
        return self.states.terminated | self.states.truncated

    def others(self) -> np.ndarray:
        """Actions of all roles as the other players want them."""
        actions = self.states.random_actions()
        if self.opponents is not None:
            chosen = np.asarray(self.opponents(self.states))
            if chosen.shape != actions.shape:
                raise ValueError(
                    f"opponents: expected actions of shape {actions.shape}, found {chosen.shape}"
                )
            chance = self.game.chance_role
            mine = np.isin(np.arange(actions.shape[1]), [self.role, -1 if chance is None else chance])
            actions = np.where(mine, actions, chosen)
        return actions

    def advance(self, rewards: np.ndarray) -> None:
        """Goes on to states in which the role has a choice, and adds what it gets on the way."""
        while True:
            waiting = (self.mask().sum(axis=1) < 2) & ~self.over()
            if not waiting.any():
                return
            self.states.step(self.others(), where=waiting)
            rewards += self.states.rewards[:, self.role]

    def act(self, actions: np.ndarray, where: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Makes a step of the role in some games; the rewards, and whose action was not legal."""
        actions = np.asarray(actions)
        if actions.shape != (self.batch,) or actions.dtype.kind not in "iu":
            raise ValueError(f"expected {self.batch} integers, found {actions!r}")
        where = where & ~self.over()
        inside = (actions >= 0) & (actions < self.n_actions)
        legal = self.mask()[np.arange(self.batch), np.where(inside, actions, 0)] & inside
        wrong = where & ~legal
        if wrong.any() and self.illegal == "raise":
            row = int(np.flatnonzero(wrong)[0])
            raise ValueError(f"action {actions[row]} is not legal in game {row}: see action_mask")
        joint = self.others()
        joint[:, self.role] = np.where(wrong, joint[:, self.role], actions)
        self.states.step(joint, where=where)
        rewards = np.where(where, self.states.rewards[:, self.role], 0.0)
        self.advance(rewards)
        return rewards, wrong


class VectorEnv(gymnasium.vector.VectorEnv):
    """Many games of one role as a `gymnasium.vector.VectorEnv`.

    game: a `Game`, or what `load` takes.
    role: the role that acts, by number or name.
    opponents: gives the actions of the others; uniformly random by default.
    planes: observations as planes instead of facts.
    illegal: "raise", or "random": another legal action takes the place of one that is not legal.

    Observations are int8 of 0 and 1. `infos["action_mask"]` is (num_envs, actions) int8, and
    `infos["illegal_action"]` says whose action was replaced. Rewards are goals over 100 at the end
    of a game. A game that has ended begins anew in the next step, whose action is ignored.
    """

    def __init__(
        self,
        game: Game | str,
        num_envs: int,
        *,
        role: int | str = 0,
        opponents: Opponents | None = None,
        planes: bool = False,
        illegal: str = "random",
        max_steps: int = 10_000,
        threads: int = 1,
    ):
        self._games = _Games(
            game, num_envs, role, opponents, planes, illegal, max_steps, threads
        )
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}
        self.single_observation_space = self._games.observation_space
        self.single_action_space = self._games.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._ended = np.zeros(num_envs, dtype=bool)

    @property
    def states(self) -> States:
        """The games."""
        return self._games.states

    def _infos(self, wrong: np.ndarray | None = None) -> dict[str, Any]:
        infos: dict[str, Any] = {"action_mask": self._games.mask().view(np.int8)}
        if wrong is not None:
            infos["illegal_action"] = wrong
        return infos

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        first = next(iter(seed), None) if isinstance(seed, (list, tuple)) else seed
        super().reset(seed=first, options=options)
        if first is not None:
            self._games.seed(int(first))
        self._games.states.reset()
        self._games.advance(np.zeros(self.num_envs))
        self._ended[:] = False
        return self._games.observe(), self._infos()

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        games, ended = self._games, self._ended.copy()
        if ended.any():
            games.states.reset(ended)
        rewards, wrong = games.act(actions, ~ended)
        terminated, truncated = games.states.terminated, games.states.truncated
        self._ended = terminated | truncated
        return games.observe(), rewards, terminated, truncated, self._infos(wrong)


class Env(gymnasium.Env):
    """One game of one role as a `gymnasium.Env`, with the arguments of `VectorEnv`."""

    metadata = {"render_modes": ["ansi"]}

    def __init__(
        self,
        game: Game | str,
        *,
        role: int | str = 0,
        opponents: Opponents | None = None,
        planes: bool = False,
        illegal: str = "random",
        max_steps: int = 10_000,
        render_mode: str | None = None,
    ):
        self._games = _Games(game, 1, role, opponents, planes, illegal, max_steps, 1)
        self.observation_space = self._games.observation_space
        self.action_space = self._games.action_space
        self.render_mode = render_mode

    @property
    def states(self) -> States:
        """The game."""
        return self._games.states

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self._games.mask()[0].view(np.int8)}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self._games.seed(seed)
        self._games.states.reset()
        self._games.advance(np.zeros(1))
        return self._games.observe()[0], self._info()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        games = self._games
        rewards, wrong = games.act(np.array([int(action)]), np.ones(1, dtype=bool))
        info = self._info() | {"illegal_action": bool(wrong[0])}
        ends = bool(games.states.terminated[0]), bool(games.states.truncated[0])
        return games.observe()[0], float(rewards[0]), *ends, info

    def render(self) -> str | None:
        if self.render_mode == "ansi":
            return "\n".join(self._games.states.facts(0))
        return None
