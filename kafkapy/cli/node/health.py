"""`kafkapy health`: does this node serve? For health checks of containers and services.

Where the node speaks HTTP without TLS it is asked there: whether its loop answers, then whether it
serves (/health/live, /health/ready). Elsewhere on a Kafka listener of its own configuration: a
broker must answer and find itself among the brokers that clients are told of (registered, and not
fenced); a controller must answer. Where every listener wants TLS or SASL, it must take a
connection. Exit code 0 and silence, or 1 and one line.
"""

import argparse
import socket
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.listeners import Endpoint, SecurityProtocol
from kafkapy.cli.arguments import file_name, seconds
from kafkapy.cli.client import Client
from kafkapy.cli.main import Failed
from kafkapy.core.addresses import shown

_TIMEOUT_SECONDS: Final = 5.0
_ANY: Final = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config", type=file_name, metavar="FILE", help="the node's server.properties"
    )
    parser.add_argument(
        "--environment", action="store_true", help="the node's settings are in the environment"
    )
    parser.add_argument("--listen", metavar="HOST:PORT", help="as `serve` was told")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[])
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=seconds, default=_TIMEOUT_SECONDS,
        help=f"for each step (default {_TIMEOUT_SECONDS:g})",
    )  # fmt: skip
    parser.set_defaults(run=run, data=None)


def run(options: argparse.Namespace) -> int:
    from kafkapy.cli.node.serve import configured

    config = configured(options)
    plain = [one for one in config.http_listeners if one.startswith("http://")]
    if plain:
        _says_so(plain[0], options.timeout)
        return 0
    endpoint = _asked(config)
    where = shown(_ANY.get(endpoint.host, endpoint.host), endpoint.port)
    if endpoint.protocol is not SecurityProtocol.PLAINTEXT:
        _takes_connections(where, options.timeout)
    else:
        _answers(where, config, options.timeout)
    return 0


def _says_so(listener: str, timeout: float) -> None:
    """Over HTTP. Ready tells what was last known: whether the loop still turns, live does."""
    from http.client import HTTPConnection, HTTPException

    address = urlsplit(listener)
    host = _ANY.get(address.hostname or "", address.hostname or "")
    for path in ("/health/live", "/health/ready"):
        connection = HTTPConnection(host, address.port, timeout=timeout)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            told = answer.read().decode(errors="replace").strip()
        except (OSError, HTTPException) as failed:
            raise Failed(f"the node does not answer at {listener}{path}: {failed}") from None
        finally:
            connection.close()
        if answer.status != HTTPStatus.OK:
            raise Failed(f"{listener}{path} says {answer.status}: {told}")


def _asked(config: BrokerConfig) -> Endpoint:
    """The listener that can be asked most."""
    listeners = config.listening.broker if config.is_broker else config.listening.controller
    return min(listeners, key=lambda one: one.protocol is not SecurityProtocol.PLAINTEXT)


def _takes_connections(where: str, timeout: float) -> None:
    from kafkapy.cli.client import host_and_port

    try:
        socket.create_connection(host_and_port(where), timeout).close()
    except OSError as failed:
        raise Failed(f"the node does not take connections on {where}: {failed}") from None


def _answers(where: str, config: BrokerConfig, timeout: float) -> None:
    with Client(where, timeout) as client:
        if not config.is_broker:
            return  # that it has answered is what a controller can say of itself
        brokers = {int(one.node_id) for one in client.metadata([]).brokers}
    if config.node_id not in brokers:
        raise Failed(
            f"the broker at {where} answers, but is not among those that serve: node "
            f"{config.node_id} is fenced, or another node answers there ({sorted(brokers)})"
        )
