"""Names of subjects: a context, then the subject in it.

`orders-value` lies in the default context `.`; `:.staging:orders-value` in the context `.staging`,
which has ids of its own. `:.staging:` alone names the context, and `:.__GLOBAL:` stands for all of
them where a mode or a configuration is set.
"""

from __future__ import annotations

from typing import NamedTuple

DEFAULT_CONTEXT = "."
GLOBAL_CONTEXT = ".__GLOBAL"
ANY_CONTEXT = ":*:"


class Subject(NamedTuple):
    """A subject's name, taken apart."""

    context: str
    name: str

    def __str__(self) -> str:
        return context_prefix(self.context) + self.name


def parse(name: str) -> Subject:
    """The parts of a name as clients write it."""
    if not name.startswith(":."):
        return Subject(DEFAULT_CONTEXT, name)
    context, _, rest = name[1:].partition(":")
    return Subject(context, rest)


def normalized(name: str) -> str:
    """The one way to write it: the default context has no prefix."""
    return str(parse(name))


def context_of(name: str | None) -> str:
    return DEFAULT_CONTEXT if name is None else parse(name).context


def context_prefix(context: str) -> str:
    return "" if context == DEFAULT_CONTEXT else f":{context}:"


def is_context(name: str | None) -> bool:
    """Whether the name stands for all subjects of a context rather than for one."""
    return name is None or not parse(name).name


def lies_in(subject: str, scope: str | None) -> bool:
    """Whether what is said of `scope`, a subject or a context, is said of this subject."""
    if scope == subject:
        return True
    if not is_context(scope):
        return False
    context = context_of(scope)
    return context == GLOBAL_CONTEXT or context == context_of(subject)


def referred(parent: str, subject: str) -> str:
    """A reference without a context of its own means the one of the schema that holds it."""
    named = parse(subject)
    if named.context != DEFAULT_CONTEXT:
        return subject
    return str(Subject(context_of(parent), named.name))


def is_valid(name: str, *, for_settings: bool = False) -> bool:
    """Whether it may be a subject, or what a mode or configuration is set for."""
    if any(ord(character) < 0x20 or 0x7F <= ord(character) < 0xA0 for character in name):
        return False
    named = parse(name)
    if named.name in ("__GLOBAL", "__EMPTY"):
        return False
    return for_settings or named.context != GLOBAL_CONTEXT
