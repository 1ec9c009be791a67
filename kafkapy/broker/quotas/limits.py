"""Which quota a client falls under, and with whom it shares it.

    the most that is said of it counts      shared by
    1  user, client id                      that user's connections with that client id
    2  user, any client id                  the same
    3  user                                 all of the user's
    4  any user, client id                  that user's connections with that client id
    5  any user, any client id              the same
    6  any user                             all of the user's
    7  client id                            all with that client id
    8  any client id                        the same

Each kind of quota is looked for by itself. KIP-55.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Final, NamedTuple

from kafkapy.broker.security.authorizer.hosts import canonical_host
from kafkapy.kraft.controller.access.client_quotas import CLIENT_ID, IP, USER, Entity

PRODUCED: Final = "producer_byte_rate"
CONSUMED: Final = "consumer_byte_rate"
REQUEST_TIME: Final = "request_percentage"
MUTATIONS: Final = "controller_mutation_rate"
CONNECTIONS: Final = "connection_creation_rate"

Values = Mapping[str, float]
# (is about a user, the user's name or None for any, the same of the client id)
_Key = tuple[bool, str | None, bool, str | None]
# None is the default of a type.
_ANY: Final = None


class Limit(NamedTuple):
    """`shared_by`: user and client id of those who use it up together, "" where all do; a long
    client id by its hash, because what was used is kept by it."""

    bound: float
    shared_by: tuple[str, str]


class Limits:
    """Made anew whenever a quota changes."""

    def __init__(self, quotas: Mapping[Entity, Values]) -> None:
        self._of_clients: dict[_Key, Values] = {}
        self._of_addresses: dict[str | None, float] = {}
        for entity, values in quotas.items():
            names = {part.entity_type: part.entity_name for part in entity}
            if IP in names:
                if CONNECTIONS in values:
                    name = names[IP]
                    host = None if name is None else canonical_host(name)
                    self._of_addresses[host] = values[CONNECTIONS]
            else:
                key = (USER in names, names.get(USER), CLIENT_ID in names, names.get(CLIENT_ID))
                self._of_clients[key] = values
        self._found: dict[tuple[str, str, str], Limit | None] = {}

    @property
    def has_any_of_clients(self) -> bool:
        return bool(self._of_clients)

    @property
    def has_any_of_time(self) -> bool:
        return any(REQUEST_TIME in values for values in self._of_clients.values())

    def of_client(self, kind: str, principal: str, client_id: str) -> Limit | None:
        """None: as much as it likes. `principal` with its type, which quotas do not know."""
        key = (kind, principal, client_id)
        if len(principal) + len(client_id) > MOST_CHARACTERS:
            return self._find(kind, principal.partition(":")[2], client_id)
        try:
            return self._found[key]
        except KeyError:
            if len(self._found) >= MOST_FOUND:
                self._found.clear()
            found = self._found[key] = self._find(kind, principal.partition(":")[2], client_id)
            return found

    def of_address(self, host: str) -> float | None:
        """Connections a second."""
        return self._of_addresses.get(host, self._of_addresses.get(_ANY))

    def _find(self, kind: str, user: str, client_id: str) -> Limit | None:
        one, all_with_it = _short(user), _short(client_id)
        both, whole_user, whole_client = (one, all_with_it), (one, ""), ("", all_with_it)
        for key, shared_by in (
            ((True, user, True, client_id), both),
            ((True, user, True, _ANY), both),
            ((True, user, False, _ANY), whole_user),
            ((True, _ANY, True, client_id), both),
            ((True, _ANY, True, _ANY), both),
            ((True, _ANY, False, _ANY), whole_user),
            ((False, _ANY, True, client_id), whole_client),
            ((False, _ANY, True, _ANY), whole_client),
        ):
            bound = self._of_clients.get(key, _NOTHING).get(kind)
            if bound is not None:
                return Limit(bound, shared_by)
        return None


def _short(name: str) -> str:
    if len(name) <= MOST_CHARACTERS:
        return name
    return f"sha256:{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}"


_NOTHING: Final[Values] = {}
# Clients choose their ids, of up to 32 KB; of longer ones nothing is kept that could be found anew.
MOST_CHARACTERS: Final = 512
# Users with client ids; each takes some 300 bytes.
MOST_FOUND: Final = 50_000
