"""Python on the broker's way: what a hook is made of. docs/HOOKS.md is its users' page.

    api.py       the kinds of hooks, and what they are told
    source.py    where a node finds them (a seam: server/hooks.py imports modules)
    allowance.py what calls may cost
    guarded.py   a hook as it is called: measured, and whatever it does, an answer
    checked.py   what a hook returned, if it is a record
    batch.py     a produced batch through a hook

Names that are exported here stay.
"""

from kafkapy.hooks.api import (
    Append,
    AppendHook,
    Asked,
    AuthorizeHook,
    Client,
    ConnectionHook,
    Headers,
    Place,
    ProduceHook,
    Record,
    Refuse,
    RelayHook,
    ViewHook,
)

__all__ = [
    "Append",
    "AppendHook",
    "Asked",
    "AuthorizeHook",
    "Client",
    "ConnectionHook",
    "Headers",
    "Place",
    "ProduceHook",
    "Record",
    "Refuse",
    "RelayHook",
    "ViewHook",
]
