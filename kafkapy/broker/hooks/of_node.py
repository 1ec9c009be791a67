"""Hooks of a node itself, not of its topics; and who hears of its connections."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.requests.request import Peer
from kafkapy.core.seams import Journal
from kafkapy.hooks.allowance import Allowance
from kafkapy.hooks.api import Client, ConnectionHook
from kafkapy.hooks.guarded import Guarded, HookFailed
from kafkapy.hooks.source import HookSource


def guarded(
    config: BrokerConfig, hooks: HookSource, journal: Journal, name: str, kind: type, method: str,
    topic: str = "",
) -> Guarded:  # fmt: skip
    allowance = Allowance(config.kafkapy_hooks_call_budget_us, config.kafkapy_hooks_overdraft_ms)
    return Guarded(name, kind, method, topic, hooks, allowance, journal)


def connection_hook(
    config: BrokerConfig, hooks: HookSource, journal: Journal
) -> Callable[[Peer], None] | None:
    """What is to be told of each connection. None: nobody wants to know."""
    name = config.kafkapy_hook_connection
    if not name:
        return None
    came = guarded(config, hooks, journal, name, ConnectionHook, "connected")
    went = guarded(config, hooks, journal, name, ConnectionHook, "disconnected")

    def connected(peer: Peer) -> None:
        _tell(came, peer)
        peer.on_close.append(partial(_tell, went, peer))

    return connected


def _tell(hook: Guarded, peer: Peer) -> None:
    with suppress(HookFailed):  # the journal has it; the connection is no worse for it
        hook(Client(peer.principal, peer.host, peer.listener))
