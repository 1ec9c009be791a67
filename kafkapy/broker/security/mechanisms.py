"""Which mechanism a listener has by which name, with what it needs of the node."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafkapy.broker.config.security import OAUTHBEARER, PLAIN, ListenerSecurity
from kafkapy.broker.security.mechanism import ClientMechanism, ServerMechanism
from kafkapy.broker.security.oauthbearer import OAuthBearerClient, OAuthBearerServer
from kafkapy.broker.security.plain import PlainClient, PlainServer
from kafkapy.broker.security.scram import ScramClient, ScramServer
from kafkapy.broker.security.unsecured_tokens import UnsecuredJudge, unsecured_token
from kafkapy.core.seams import Clock, Rng
from kafkapy.protocol import scram
from kafkapy.protocol.scram import Credential

if TYPE_CHECKING:
    from kafkapy.kraft.image.image import MetadataImage


def server_mechanism(
    name: str,
    security: ListenerSecurity,
    image: "Callable[[], MetadataImage]",
    clock: Clock,
    rng: Rng,
) -> ServerMechanism:
    """For one login; `name` is one of those that the listener has enabled."""
    if name == PLAIN:
        return PlainServer(security.options(name))
    if name == OAUTHBEARER:
        return OAuthBearerServer(UnsecuredJudge(security.options(name), clock.wall))
    mechanism = scram.MECHANISMS[name]

    def find(user: str) -> Credential | None:
        found = image().scram.get((user, mechanism.type))
        if found is None:
            return None
        return Credential(found.salt, found.stored_key, found.server_key, found.iterations)

    return ScramServer(mechanism, find, rng)


def client_mechanism(
    name: str, security: ListenerSecurity, clock: Clock, rng: Rng
) -> ClientMechanism:
    """For one login at another node's listener of this name."""
    options = security.options(name)
    if name == OAUTHBEARER:
        return OAuthBearerClient(lambda: unsecured_token(options, clock.wall()))
    user, password = options.get("username", ""), options.get("password", "")
    if name == PLAIN:
        return PlainClient(user, password)
    return ScramClient(scram.MECHANISMS[name], user, password, rng)
