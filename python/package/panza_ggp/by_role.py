"""Lists with an item for each role of a game."""

from collections.abc import Iterable
from typing import Any


class ByRole(list[list[str]]):
    """A list whose items are found by the number of a role or by its name."""

    def __init__(self, items: Iterable[list[str]], roles: list[str]) -> None:
        super().__init__(items)
        self._roles = roles

    def __getitem__(self, role: Any) -> Any:
        if isinstance(role, str):
            if role not in self._roles:
                raise KeyError(f"no role `{role}` in {self._roles}")
            role = self._roles.index(role)
        return super().__getitem__(role)
