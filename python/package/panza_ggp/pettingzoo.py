"""Games as environments of PettingZoo: `AECEnv` by turns, `ParallelEnv` all at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv as _AECEnv
from pettingzoo import ParallelEnv as _ParallelEnv

from panza_ggp._native import Game, States, load

__all__ = ["AECEnv", "ParallelEnv"]


class _Table:
    """One game as both forms need it."""

    def __init__(self, game: Game | str, planes: bool, max_steps: int):
        self.game = game if isinstance(game, Game) else load(game)
        self.planes, self.max_steps = planes, max_steps
        self.chance = self.game.chance_role
        roles = self.game.roles
        self.agents = [name for role, name in enumerate(roles) if role != self.chance]
        self.role = {name: role for role, name in enumerate(roles)}
        self.states = self.game.init(1, max_steps=max_steps)
        shape = self.states.observation(planes=planes).shape[1:]
        self.observation_spaces = {}
        self.action_spaces = {}
        for agent in self.agents:
            n_moves = len(self.game.moves[self.role[agent]])
            self.action_spaces[agent] = spaces.Discrete(n_moves)
            self.observation_spaces[agent] = spaces.Dict(
                {
                    "observation": spaces.MultiBinary(shape),
                    "action_mask": spaces.MultiBinary(n_moves),
                }
            )

    def begin(self, seed: int | None) -> None:
        if seed is not None:
            self.states = self.game.init(1, seed=seed, max_steps=self.max_steps)
        self.states.reset()

    def over(self) -> bool:
        return bool(self.states.terminated[0] or self.states.truncated[0])

    def mask(self, agent: str) -> np.ndarray:
        n_moves = self.action_spaces[agent].n
        return self.states.legal_action_mask[0, self.role[agent], :n_moves].view(np.int8)

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        observation = self.states.observation(planes=self.planes)[0].view(np.int8)
        return {"observation": observation, "action_mask": self.mask(agent)}

    def step(self, actions: dict[str, Any]) -> None:
        """A joint move; roles without a choice make their only move, chance draws its own."""
        joint = self.states.random_actions()
        for agent, action in actions.items():
            joint[0, self.role[agent]] = action
        self.states.step(joint)

    def reward(self, agent: str) -> float:
        return float(self.states.rewards[0, self.role[agent]])


class AECEnv(_AECEnv):
    """A game as a `pettingzoo.AECEnv`.

    Agents are the roles, except for chance. An agent acts where it has a choice; where several
    choose at once, they act one after the other without seeing the others' actions, and the last
    action makes the step. Observations are `{"observation": int8, "action_mask": int8}`. Rewards
    are goals over 100 at the end.
    """

    metadata = {"render_modes": ["ansi"], "name": "panza_ggp", "is_parallelizable": False}

    def __init__(
        self,
        game: Game | str,
        *,
        planes: bool = False,
        max_steps: int = 10_000,
        render_mode: str | None = None,
    ):
        super().__init__()
        self._table = _Table(game, planes, max_steps)
        self.possible_agents = list(self._table.agents)
        self.observation_spaces = self._table.observation_spaces
        self.action_spaces = self._table.action_spaces
        self.render_mode = render_mode

    @property
    def states(self) -> States:
        """The game."""
        return self._table.states

    def observation_space(self, agent: str) -> spaces.Space:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self._table.begin(seed)
        self.agents = list(self.possible_agents)
        self.rewards = {agent: 0.0 for agent in self.agents}
        self._cumulative_rewards = {agent: 0.0 for agent in self.agents}
        self.terminations = {agent: False for agent in self.agents}
        self.truncations = {agent: False for agent in self.agents}
        self.infos = {agent: {} for agent in self.agents}
        self._chosen: dict[str, Any] = {}
        self._next_choice()

    def _next_choice(self) -> None:
        """Goes on to the next state in which an agent has a choice, and selects the first."""
        table = self._table
        self._choosing = []
        while not table.over():
            self._choosing = [agent for agent in self.agents if table.mask(agent).sum() > 1]
            if self._choosing:
                self.agent_selection = self._choosing[0]
                return
            table.step({})
            self._add_rewards()
        self.terminations = {agent: bool(self.states.terminated[0]) for agent in self.agents}
        self.truncations = {agent: bool(self.states.truncated[0]) for agent in self.agents}
        self.agent_selection = self.agents[0]

    def _add_rewards(self) -> None:
        for agent in self.agents:
            self.rewards[agent] += self._table.reward(agent)

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        return self._table.observe(agent)

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        mask = self._table.mask(agent)
        if action is None or not 0 <= int(action) < len(mask) or not mask[int(action)]:
            raise ValueError(f"action {action} of {agent} is not legal: see action_mask")
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._chosen[agent] = int(action)
        if len(self._chosen) < len(self._choosing):
            self.agent_selection = self._choosing[len(self._chosen)]
            return
        self._table.step(self._chosen)
        self._chosen = {}
        self._add_rewards()
        self._next_choice()
        self._accumulate_rewards()

    def render(self) -> str | None:
        return "\n".join(self.states.facts(0)) if self.render_mode == "ansi" else None

    def close(self) -> None:
        pass


class ParallelEnv(_ParallelEnv):
    """A game as a `pettingzoo.ParallelEnv`: every agent acts in every step.

    Agents are the roles, except for chance; an agent without a choice has one legal action.
    Observations and rewards are those of `AECEnv`. `illegal` is "raise", or "random": another legal
    action takes the place of one that is not legal, or missing.
    """

    metadata = {"render_modes": ["ansi"], "name": "panza_ggp"}

    def __init__(
        self,
        game: Game | str,
        *,
        planes: bool = False,
        max_steps: int = 10_000,
        illegal: str = "random",
        render_mode: str | None = None,
    ):
        if illegal not in ("raise", "random"):
            raise ValueError(f"illegal: expected 'raise' or 'random', found {illegal!r}")
        self._table = _Table(game, planes, max_steps)
        self._illegal = illegal
        self.possible_agents = list(self._table.agents)
        self.observation_spaces = self._table.observation_spaces
        self.action_spaces = self._table.action_spaces
        self.render_mode = render_mode
        self.agents: list[str] = []

    @property
    def states(self) -> States:
        """The game."""
        return self._table.states

    def observation_space(self, agent: str) -> spaces.Space:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        return self.action_spaces[agent]

    def _observations(self) -> dict[str, dict[str, np.ndarray]]:
        return {agent: self._table.observe(agent) for agent in self.agents}

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        self._table.begin(seed)
        self.agents = list(self.possible_agents)
        return self._observations(), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        table = self._table
        legal = {}
        for agent in dict.fromkeys([*self.agents, *actions]):
            mask, action = table.mask(agent), actions.get(agent)
            if action is not None and 0 <= int(action) < len(mask) and mask[int(action)]:
                legal[agent] = int(action)
            elif self._illegal == "raise":
                what = "is missing" if action is None else f"{action} is not legal"
                raise ValueError(f"the action of {agent} {what}: see action_mask")
        table.step(legal)
        agents = self.agents
        rewards = {agent: table.reward(agent) for agent in agents}
        terminations = {agent: bool(self.states.terminated[0]) for agent in agents}
        truncations = {agent: bool(self.states.truncated[0]) for agent in agents}
        infos = {agent: {"illegal_action": agent not in legal} for agent in agents}
        observations = self._observations()
        if table.over():
            self.agents = []
        return observations, rewards, terminations, truncations, infos

    def render(self) -> str | None:
        return "\n".join(self.states.facts(0)) if self.render_mode == "ansi" else None

    def close(self) -> None:
        pass
