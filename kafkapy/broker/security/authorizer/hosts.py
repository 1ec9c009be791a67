"""One spelling for each address, so that texts can be compared.

    ::ffff:10.1.2.3, as a socket on "::" sees it   10.1.2.3
    0:0:0:0:0:0:0:1, as Java writes it             ::1

A host's is brought to it where the connection is accepted, that of an ACL or a quota where it is
taken in. Whatever is no address stays as it is.
"""

from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from kafkapy.kraft.acls import Network, network_of

_MAPPED: Final = IPv6Network("::ffff:0:0/96")


def canonical_host(host: str) -> str:
    if ":" not in host:
        return host
    try:
        address = ip_address(host)
    except ValueError:
        return host
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return str(address if mapped is None else mapped)


def canonical_network(host: str) -> Network | None:
    """None: it is none. One of mapped addresses is that of the addresses themselves."""
    network = network_of(host)
    if not isinstance(network, IPv6Network) or not network.subnet_of(_MAPPED):
        return network
    first = int(network.network_address) & 0xFFFFFFFF
    return IPv4Network((first, network.prefixlen - _MAPPED.prefixlen))
