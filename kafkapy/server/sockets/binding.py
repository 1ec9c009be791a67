"""The addresses of this machine: those that a node listens at, and its name."""

import errno
import socket
from typing import Final

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.listeners import Endpoint
from kafkapy.broker.node.endpoints import ANYWHERE
from kafkapy.broker.node.identity import is_alone
from kafkapy.core.addresses import shown
from kafkapy.server.sockets.listener import listen

# Kafka's default of 50 goes with a thread that does nothing but accept. Who finds the queue
# full tries again after a second.
_LEAST_BACKLOG: Final = 1024


class CannotListen(Exception):
    """An address of `listeners` cannot be bound; the sentence says why and what to do."""


def bind(endpoint: Endpoint, config: BrokerConfig) -> socket.socket:
    try:
        backlog = max(config.socket_listen_backlog_size, _LEAST_BACKLOG)
        return listen(endpoint.host, endpoint.port, backlog)
    except OSError as failed:
        where = shown(endpoint.host or "*", endpoint.port)
        remedy = "choose an address of this machine with --listen HOST:PORT"
        if failed.errno == errno.EADDRINUSE:
            remedy = (
                "stop what uses it, or choose another with --listen HOST:PORT "
                "(port 0 picks a free one)"
            )
        raise CannotListen(f"cannot listen on {where}: {failed.strerror}; {remedy}") from None


def own_name(config: BrokerConfig) -> str:
    """What is advertised of a listener on every interface that nobody gave a name. As in Kafka
    it is this machine's; only a cluster of one is taken to have its clients beside it."""
    named_by_nobody = any(one.host in ANYWHERE for one in config.listening.advertised)
    return socket.getfqdn() if named_by_nobody and not is_alone(config) else "127.0.0.1"
