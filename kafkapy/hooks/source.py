"""Where a node finds its hooks, and the clock that measures them: a seam."""

from typing import Final, Protocol


class CannotLoad(Exception):
    """There is no hook of that name, or it cannot be made; the sentence says why."""


class HookSource(Protocol):
    def find(self, name: str) -> object:
        """The hook of that name, always the same one. CannotLoad."""

    def now_ns(self) -> int:
        """A clock that never goes back."""


class _NoHooks:
    def find(self, name: str) -> object:
        raise CannotLoad(f"this node has no hook {name}")

    def now_ns(self) -> int:
        return 0


NO_HOOKS: Final[HookSource] = _NoHooks()
