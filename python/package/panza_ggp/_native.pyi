"""Types of the native part. `help(panza_ggp.Game)` and `help(panza_ggp.States)` explain them."""

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from panza_ggp.by_role import ByRole

__version__: str

@final
class Diagnostic:
    @property
    def severity(self) -> Literal["error", "warning", "note"]: ...
    @property
    def code(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def message(self) -> str: ...
    @property
    def help(self) -> str: ...

class GdlError(ValueError):
    diagnostics: list[Diagnostic]
    line: int
    column: int

class GameTooLargeError(RuntimeError): ...
class IllegalActionError(ValueError): ...

class Check(TypedDict):
    diagnostics: list[Diagnostic]
    games: int
    terminated: int
    stuck: int
    cut_off: int
    undefined_goals: int
    longest: int

class RolloutMeans(TypedDict):
    goals: NDArray[np.float32]
    lengths: NDArray[np.float32]
    cut_off: NDArray[np.uint32]

Method = Literal["tree", "alpha-beta", "auto"]

class SearchLine(TypedDict):
    move: str
    value: float
    is_bound: bool
    line: list[list[str]]

class SearchResult(TypedDict):
    method: Literal["tree", "alpha-beta"]
    role: int
    action: int | None
    move: str | None
    value: float | None
    proven: int | None
    actions: NDArray[np.int32]
    moves: list[str]
    visits: NDArray[np.uint32]
    values: NDArray[np.float32]
    proofs: NDArray[np.int16]
    strategy: NDArray[np.float32] | None
    line: list[list[str]]
    iterations: int
    playouts: int
    nodes: int
    depth: int
    selective_depth: int | None
    lines: list[SearchLine]

class SelfPlay(TypedDict):
    observations: NDArray[np.bool_]
    packed: NDArray[np.uint64]
    roles: NDArray[np.int16]
    actions: NDArray[np.int32]
    policies: NDArray[np.float32]
    values: NDArray[np.float32]
    goals: NDArray[np.float32]
    games: NDArray[np.uint32]

@final
class Evaluation:
    @property
    def share(self) -> float: ...
    @property
    def games(self) -> int: ...
    @property
    def mean_length(self) -> float: ...
    @property
    def correlation(self) -> float: ...
    @property
    def correlation_of_playouts(self) -> float: ...
    @property
    def positions(self) -> int: ...
    @property
    def method(self) -> Literal["tree", "alpha-beta"]: ...
    def values(self, states: States) -> NDArray[np.float32]: ...

Rows = int | slice | Sequence[int] | NDArray[np.integer] | NDArray[np.bool_]

@final
class Game:
    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def dialect(self) -> Literal["kif", "hrf"]: ...
    @property
    def roles(self) -> list[str]: ...
    @property
    def moves(self) -> ByRole: ...
    @property
    def facts(self) -> list[str]: ...
    @property
    def planes(self) -> list[str]: ...
    @property
    def n_roles(self) -> int: ...
    @property
    def n_moves(self) -> int: ...
    @property
    def n_facts(self) -> int: ...
    @property
    def chance_role(self) -> int | None: ...
    @property
    def bytes_per_state(self) -> int: ...
    @property
    def packed_bytes(self) -> int: ...
    @property
    def diagnostics(self) -> list[Diagnostic]: ...
    def move_text(self, role: int | str, action: int) -> str: ...
    def action(self, role: int | str, text: str) -> int: ...
    def init(
        self,
        batch: int = 1,
        *,
        seed: int = 0,
        auto_reset: bool = False,
        max_steps: int = 10_000,
        threads: int = 1,
    ) -> States: ...
    def from_facts(
        self,
        facts: Sequence[Sequence[str]],
        *,
        seed: int = 0,
        auto_reset: bool = False,
        max_steps: int = 10_000,
        threads: int = 1,
    ) -> States: ...
    def from_packed(
        self,
        packed: NDArray[np.uint64],
        *,
        seed: int = 0,
        auto_reset: bool = False,
        max_steps: int = 10_000,
        threads: int = 1,
    ) -> States: ...
    def check(self, games: int = 256, *, max_steps: int = 1000, seed: int = 1) -> Check: ...
    def stats(self) -> dict[str, Any]: ...
    def rollouts(
        self,
        states: States | None = None,
        games: int = 1,
        *,
        max_steps: int = 10_000,
        seed: int = 0,
        threads: int = 1,
    ) -> RolloutMeans: ...
    def search(
        self,
        state: States | None = None,
        *,
        role: int | str | None = None,
        ms: float | None = None,
        iterations: int | None = None,
        threads: int = 1,
        seed: int = 0,
        exploration: float = 0.4,
        memory: int = 1 << 30,
        evaluation: Evaluation | None = None,
        evaluation_share: float | None = None,
        method: Method = "tree",
    ) -> SearchResult: ...
    def solve(
        self,
        state: States | None = None,
        *,
        seconds: float = 10.0,
        threads: int = 1,
        seed: int = 0,
        memory: int = 1 << 30,
    ) -> dict[str, Any]: ...
    def analyse(self, *, seconds: float = 1.0, seed: int = 1) -> dict[str, Any]: ...
    def study(
        self, seconds: float, *, threads: int = 1, seed: int = 0, method: Method = "tree"
    ) -> Evaluation: ...
    def self_play(
        self,
        games: int,
        *,
        iterations: int = 200,
        drawn_moves: int = 10,
        max_steps: int = 10_000,
        threads: int = 1,
        seed: int = 0,
        exploration: float = 0.4,
        memory: int = 1 << 26,
        evaluation: Evaluation | None = None,
        evaluation_share: float | None = None,
    ) -> SelfPlay: ...

@final
class States:
    def __len__(self) -> int: ...
    def __getitem__(self, index: Rows, /) -> States: ...
    def __copy__(self) -> States: ...
    def __deepcopy__(self, memo: Any) -> States: ...
    def copy(self) -> States: ...
    @property
    def game(self) -> Game: ...
    @property
    def current_player(self) -> NDArray[np.int16]: ...
    @property
    def legal_action_mask(self) -> NDArray[np.bool_]: ...
    @overload
    def masks(
        self, *, packed: Literal[False] = False, out: NDArray[np.bool_] | None = None
    ) -> NDArray[np.bool_]: ...
    @overload
    def masks(
        self, *, packed: Literal[True], out: NDArray[np.uint8] | None = None
    ) -> NDArray[np.uint8]: ...
    @property
    def rewards(self) -> NDArray[np.float32]: ...
    @property
    def goals(self) -> NDArray[np.int16]: ...
    @property
    def terminated(self) -> NDArray[np.bool_]: ...
    @property
    def truncated(self) -> NDArray[np.bool_]: ...
    @property
    def steps(self) -> NDArray[np.uint32]: ...
    @property
    def packed(self) -> NDArray[np.uint64]: ...
    @property
    def hashes(self) -> NDArray[np.uint64]: ...
    @property
    def nbytes(self) -> int: ...
    def step(self, actions: ArrayLike, *, where: NDArray[np.bool_] | None = None) -> None: ...
    def random_actions(self, *, out: NDArray[np.int32] | None = None) -> NDArray[np.int32]: ...
    def reset(self, rows: Rows | None = None) -> None: ...
    def observation(
        self, *, planes: bool = False, out: NDArray[np.bool_] | None = None
    ) -> NDArray[np.bool_]: ...
    def facts(self, index: int) -> list[str]: ...
    def legal_moves(self, index: int, role: int | str) -> list[str]: ...

def load(
    rules: str | PathLike[str],
    *,
    dialect: Literal["kif", "hrf"] | None = None,
    strict: bool = True,
    seconds: float = 60.0,
    memory: int = 4 << 30,
) -> Game: ...
def games() -> list[str]: ...
def concatenate(batches: Iterable[States]) -> States: ...
