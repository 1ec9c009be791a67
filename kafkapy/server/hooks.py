"""The hooks that are installed on this machine: those that the settings name, and those of
packages, by their entry points.

    kafkapy.hooks=mask=shop.hooks:Mask,shop.hooks:check     imported when the node starts
    [project.entry-points."kafkapy.hooks"]                   imported when a topic names one
    mask = "shop.hooks:Mask"

An attribute that is a class is made once, without arguments. What cannot be imported is said in the
journal, and by each topic that names it; the node starts all the same.
"""

import time
from collections.abc import Iterable, Mapping
from functools import cached_property
from importlib import import_module

from kafkapy.core.seams import Journal
from kafkapy.hooks.source import CannotLoad

GROUP = "kafkapy.hooks"


class InstalledHooks:
    """`given`: hooks by name that are there already."""

    def __init__(
        self, settings: Iterable[str], journal: Journal, given: Mapping[str, object] | None = None
    ) -> None:
        self._made: dict[str, object | CannotLoad] = {}
        for name, one in (given or {}).items():
            self._made[name] = _made(one)
        for setting in settings:
            name, path = _parsed(setting)
            self._made[name] = found = _loaded(path)
            if isinstance(found, CannotLoad):
                journal.error("hook cannot be loaded", hook=name, reason=found)

    def now_ns(self) -> int:
        return time.perf_counter_ns()

    def find(self, name: str) -> object:
        if name not in self._made:
            if name not in self._installed:
                raise CannotLoad(f"this node has no hook {name}")
            self._made[name] = _loaded(self._installed[name])
        found = self._made[name]
        if isinstance(found, CannotLoad):
            raise found
        return found

    @cached_property
    def _installed(self) -> dict[str, str]:
        from importlib.metadata import entry_points  # few nodes look

        return {one.name: one.value for one in entry_points(group=GROUP)}


def _parsed(setting: str) -> tuple[str, str]:
    name, is_named, path = setting.partition("=")
    if not is_named:
        name, path = setting.rpartition(":")[2].rpartition(".")[2], setting
    return name.strip(), path.strip()


def _loaded(path: str) -> object | CannotLoad:
    module, _, attribute = path.partition(":")
    if not module or not attribute:
        return CannotLoad(f"{path} is not module:attribute")
    try:
        found: object = import_module(module)
        for step in attribute.split("."):
            found = getattr(found, step)
    # Others' code: whatever an import raises is no reason for the node to end.
    except (Exception, SystemExit) as failed:
        return CannotLoad(f"{path}: {type(failed).__name__}: {failed}")
    return _made(found)


def _made(one: object) -> object | CannotLoad:
    if not isinstance(one, type):
        return one
    try:
        made: object = one()
    except (Exception, SystemExit) as failed:  # the same
        return CannotLoad(f"{one.__qualname__}(): {type(failed).__name__}: {failed}")
    return made
