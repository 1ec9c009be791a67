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


class NodeHooks:
    """Made with the node, whatever its roles. `made`: with the settings that name them."""

    def __init__(self, config: BrokerConfig, source: HookSource, journal: Journal) -> None:
        self.source = source
        self.made: list[tuple[str, Guarded]] = []
        self._config = config
        self._journal = journal

    def get(self, setting: str, name: str, kind: type, method: str) -> Guarded:
        hook = guarded(self._config, self.source, self._journal, name, kind, method)
        self.made.append((setting, hook))
        return hook

    def of_connections(self) -> Callable[[Peer], None] | None:
        """What is to be told of each connection. None: nobody wants to know."""
        name = self._config.kafkapy_hook_connection
        if not name:
            return None
        came = self.get("kafkapy.hook.connection", name, ConnectionHook, "connected")
        went = self.get("kafkapy.hook.connection", name, ConnectionHook, "disconnected")

        def connected(peer: Peer) -> None:
            _tell(came, peer)
            peer.on_close.append(partial(_tell, went, peer))

        return connected


def _tell(hook: Guarded, peer: Peer) -> None:
    with suppress(HookFailed):  # the journal has it; the connection is no worse for it
        hook(Client(peer.principal, peer.host, peer.listener))
