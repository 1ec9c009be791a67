"""The endpoints of a node that runs: as configured, with the ports that were really bound."""

from collections.abc import Iterable, Mapping

from kafkapy.broker.config.broker_config import BrokerConfig
from kafkapy.broker.config.listeners import Endpoint
from kafkapy.kraft.records.metadata import Endpoint as EndpointRecord

# What others reach this machine by, where the configuration names no host.
ANYWHERE = frozenset({"", "0.0.0.0", "::"})


class Endpoints:
    """`broker` and `controller`: what others are told about this node's listeners."""

    def __init__(self, config: BrokerConfig, bound_ports: Mapping[str, int], host: str) -> None:
        told = [_settled(one, bound_ports, host) for one in config.listening.advertised]
        names = config.listening.controller_names
        self.broker = tuple(_record(one) for one in told if one.name not in names)
        self.controller = tuple(_record(one) for one in told if one.name in names)

    @staticmethod
    def names(endpoints: Iterable[EndpointRecord]) -> list[str]:
        return [endpoint.name for endpoint in endpoints]


def _settled(endpoint: Endpoint, bound_ports: Mapping[str, int], host: str) -> Endpoint:
    port = endpoint.port or bound_ports.get(endpoint.name, 0)
    return endpoint._replace(port=port, host=host if endpoint.host in ANYWHERE else endpoint.host)


def _record(endpoint: Endpoint) -> EndpointRecord:
    return EndpointRecord(
        name=endpoint.name,
        host=endpoint.host,
        port=endpoint.port,
        security_protocol=int(endpoint.protocol),
    )
