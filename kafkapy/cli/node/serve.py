"""`kafkapy serve`: run a node until it is told to stop.

Without arguments: a broker and controller in one, on 127.0.0.1:9092, with its data in
./data, formatted on the first start. `--config` takes Kafka's own server.properties;
`--set` wins over it. `--environment` is for containers (environment.py).
"""

import argparse
import gc
import json
import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.properties import parse_properties
from kafkapy.broker.config.replicated import of_own_topics
from kafkapy.broker.config.table.values import ConfigError
from kafkapy.cli.arguments import file_name
from kafkapy.cli.main import Failed
from kafkapy.cli.node.environment import LOG_FORMAT, MOUNTED_CONFIG, cluster_id_of, from_environment
from kafkapy.cli.output import tell
from kafkapy.core.errors import DiskFailed

if TYPE_CHECKING:
    from kafkapy.http.beside import Http
    from kafkapy.server.run import Serving

DEFAULT_LISTEN: Final = "127.0.0.1:9092"
DEFAULT_DATA: Final = "./data"
DEFAULT_HTTP: Final = "127.0.0.1:8080"
DEFAULT_TEST_API: Final = "127.0.0.1:9099"

# What a node that nobody configured is: a cluster of one, kind to its own topics. Kafka's
# idle controller writes a record twice a second, for followers to see how far behind they
# are; without followers it would only keep the disk awake.
_ALONE: Final = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "metadata.max.idle.interval.ms": "0",
    **of_own_topics(brokers=1),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config", type=file_name, metavar="FILE", help="Kafka's server.properties"
    )
    parser.add_argument(
        "--data", type=file_name, metavar="DIR", help=f"data directory (default {DEFAULT_DATA})"
    )
    parser.add_argument(
        "--listen", metavar="HOST:PORT", help=f"address for clients (default {DEFAULT_LISTEN})"
    )
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="one of Kafka's broker settings; may be repeated",
    )
    parser.add_argument(
        "--environment",
        action="store_true",
        help="settings also from KAFKA_... and KAFKAPY_... variables, as in the container image; "
        "empty directories are formatted for $CLUSTER_ID",
    )
    parser.add_argument("--json", action="store_true", help="events and the serving line as JSON")
    parser.add_argument("--quiet", action="store_true", help="only warnings and errors")
    parser.add_argument(
        "--http",
        metavar="HOST:PORT",
        nargs="?",
        const=DEFAULT_HTTP,
        help="metrics, health and more over HTTP, as http.listeners says it "
        f"(default {DEFAULT_HTTP}); needs kafkapy[http]",
    )
    parser.add_argument(
        "--test-api",
        metavar="HOST:PORT",
        nargs="?",
        const=DEFAULT_TEST_API,
        help="for tests: records, faults and the clock over HTTP, on loopback only "
        f"(default {DEFAULT_TEST_API}); data is in memory unless --data or --config is given",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    config = configured(options)
    if options.environment:
        _format_for(config)
        options.json = options.json or os.environ.get(LOG_FORMAT) == "json"
    if options.test_api is not None:
        from kafkapy.cli.node.test_api import serve_for_tests

        return serve_for_tests(options, config)
    # Nothing that a start makes is garbage; `serve` lets the collector in when it is done.
    gc.disable()
    # Trio costs more than all the rest of the start: import it once the settings are good.
    import trio

    from kafkapy.broker.node.identity import CannotStart
    from kafkapy.server.journal import Lines
    from kafkapy.server.run import Serving, serve
    from kafkapy.server.sockets.binding import CannotListen

    journal = Lines(as_json=options.json, level="warning" if options.quiet else "info")
    for name in config.unknown:
        journal.warning("unknown setting", key=name, effect="ignored")

    def told(serving: Serving) -> None:
        addresses = () if http is None else http.addresses
        tell(_line(serving, addresses, as_json=options.json))

    why: BaseException | None = None
    http: Http | None = None
    try:
        if config.http_listeners:
            from kafkapy.http import beside

            http = beside.Http(config, journal)
        trio.run(partial(serve, config, journal, told, beside=http))
    except* (CannotListen, CannotStart, DiskFailed, ConfigError) as group:
        why = _first(group)  # raised in here it would be in a group itself
    if why is not None:
        raise Failed(str(why))
    return 0


def configured(options: argparse.Namespace) -> BrokerConfig:
    """The settings in force: defaults of a lone node < --config < the environment, if asked
    for < --data, --listen < --set."""
    alone = options.config is None and not getattr(options, "environment", False)
    if alone:
        properties = dict(_ALONE)
    elif options.config is not None:
        properties = _read_properties(options.config)
    else:
        properties = _read_properties(MOUNTED_CONFIG) if os.path.exists(MOUNTED_CONFIG) else {}
    if getattr(options, "environment", False):
        properties = from_environment(os.environ, properties, _ALONE)
    if options.listen is not None or alone:
        _listen(properties, options.listen or DEFAULT_LISTEN)
    if options.data is not None or alone:
        properties["log.dirs"] = _data(options.data or DEFAULT_DATA)
    if getattr(options, "http", None) is not None:
        properties["http.listeners"] = _http(options.http)
    for given in options.set:
        key, equals, value = given.partition("=")
        if not equals:
            raise Failed(f"--set {given}: expected KEY=VALUE, for example num.partitions=3")
        properties[key.strip()] = value.strip()
    try:
        return BrokerConfig(properties)
    except ConfigError as bad:
        raise Failed(str(bad)) from None


def _format_for(config: BrokerConfig) -> None:
    """Containers start with empty volumes, and nobody is there to run `kafkapy format`. Data of
    another cluster than $CLUSTER_ID is refused."""
    cluster_id = cluster_id_of(os.environ, config.static)
    if cluster_id is not None:
        from kafkapy.cli.node import format

        parser = argparse.ArgumentParser()
        format.add_arguments(parser)
        as_told = ["--cluster-id", cluster_id, "--ignore-formatted"]
        format.formatted(parser.parse_args(as_told), config)


def _data(path: str) -> str:
    if "," in path:
        raise Failed(
            f"--data {path}: a comma separates directories; name one, or use --set log.dirs=A,B"
        )
    return os.path.abspath(path)


def _listen(properties: dict[str, str], listen: str) -> None:
    """Clients' listener as told; the controller's stays, or is a free port of this machine."""
    host, _, port = listen.rpartition(":")
    if not host or not port.isdigit():
        raise Failed(f"--listen {listen}: expected HOST:PORT, for example {DEFAULT_LISTEN}")
    names = {name.strip() for name in properties.get("controller.listener.names", "").split(",")}
    others = [
        one
        for one in properties.get("listeners", "CONTROLLER://127.0.0.1:0").split(",")
        if one.strip().partition("://")[0] in names
    ]
    properties["listeners"] = ",".join([f"PLAINTEXT://{host}:{port}", *others])


def _http(address: str) -> str:
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise Failed(f"--http {address}: expected HOST:PORT, for example {DEFAULT_HTTP}")
    return f"http://{address}"


def _read_properties(path: str) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8") as file:
            return parse_properties(file.read())
    except OSError as failed:
        raise Failed(f"--config {path}: {failed.strerror}") from None
    except UnicodeDecodeError as bad:
        raise Failed(f"--config {path}: not a text file in UTF-8: {bad.reason}") from None


def _line(serving: "Serving", http: Sequence[str], *, as_json: bool) -> str:
    if as_json:
        facts = {
            "event": "serving",
            "address": serving.address,
            "node_id": serving.node_id,
            "cluster_id": serving.cluster_id,
            "data": serving.data,
        }
        return json.dumps({**facts, "http": list(http)} if http else facts)
    where = f"{serving.address}, {', '.join(http)}" if http else serving.address
    return (
        f"kafkapy serves on {where} "
        f"(node {serving.node_id}, cluster {serving.cluster_id}, data in {serving.data})"
    )


def _first(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group
