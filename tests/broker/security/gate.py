"""One node with a SASL listener in a simulated world, and clients that speak to its gate."""

from typing import Any

from kafkapy.broker.config.security.jaas import OAUTH_MODULE, PLAIN_MODULE
from kafkapy.broker.config.security.listener_security import UNSECURED_HANDLER, ListenerSecurity
from kafkapy.broker.node.node import Node
from kafkapy.broker.requests.request import Later, Peer
from kafkapy.broker.security.mechanisms import ServerMechanisms
from kafkapy.broker.security.sasl_gate import SaslGate
from kafkapy.core.seams import Rng
from kafkapy.kraft.controller.access.scram import credential_record
from kafkapy.protocol import scram
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import read_response_head, request_head
from kafkapy.protocol.messages import decode_response, encode_request
from kafkapy.sim.cluster.serving import joined
from kafkapy.sim.cluster.world import ClusterWorld

LISTENER = "PLAINTEXT"
PASSWORD = "alice-secret"
SALT = b"a salt of alice's"


def credential(name: str, mechanism: scram.ScramMechanism, password: str) -> Any:
    salted = scram.salted_password(mechanism, password, SALT, 4096)
    return credential_record(name, mechanism, scram.credential_of(mechanism, salted, SALT, 4096))


SETTINGS = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": f"{PLAIN_MODULE} required "
    f'username="broker" password="its-secret" user_broker="its-secret" user_alice="{PASSWORD}";',
    "listener.name.plaintext.oauthbearer.sasl.jaas.config": f"{OAUTH_MODULE} required;",
    "listener.name.plaintext.oauthbearer.sasl.server.callback.handler.class": UNSECURED_HANDLER,
    "connection.failed.authentication.delay.ms": "250",
}
USERS = tuple(credential("alice", one, PASSWORD) for one in scram.MECHANISMS.values())


def secured_world(seed: int = 1, **settings: str) -> ClusterWorld:
    given = {name.replace("_", "."): value for name, value in settings.items()}
    world = ClusterWorld(seed, ("broker,controller",), {**SETTINGS, **given}, USERS)
    world.start()
    world.run_until(lambda: world.hosts[1].is_serving)
    return world


class Client:
    """Speaks to a gate of its own. `closed`: the node has hung up by itself."""

    def __init__(self, world: ClusterWorld) -> None:
        node = world.hosts[1].node
        assert node is not None
        self.world = world
        self.node: Node = node
        self.peer = Peer(LISTENER, "10.1.2.3", line=self)
        security = ListenerSecurity(node.config, LISTENER)
        self.gate = SaslGate(node, security, ServerMechanisms(node, security), self.peer)
        self.closed = False
        self.limits: tuple[int, int] | None = None
        self._correlation_id = 0

    @property
    def rng(self) -> Rng:
        return self.node.rng

    def hang_up(self) -> None:
        self.closed = True

    def mute(self, is_muted: bool) -> None:
        raise AssertionError("nobody is throttled here")

    def limit_frames(self, least: int, most: int) -> None:
        self.limits = least, most

    def send(self, data: bytes) -> bytes | Later:
        """A frame as it is; its answer with its size, or the promise of one."""
        call, answer = self.gate.serve(memoryview(data), self.peer)
        if isinstance(answer, Later):
            if not answer.is_resolved:
                return answer
            answer = answer.answer
        return joined(call, answer)

    def ask(self, api: ApiKey, version: int, **body: Any) -> Any:
        """The decoded answer, if need be once the node is ready to tell it."""
        self._correlation_id += 1
        head = request_head(api, version, self._correlation_id, "test")
        asked = memoryview(head + encode_request(api, version, body))
        call, answer = self.gate.serve(asked, self.peer)
        if isinstance(answer, Later):
            later = answer
            self.world.run_until(lambda: later.is_resolved or self.closed, 1000)
            answer = later.answer
        data = joined(call, answer)
        if not data:
            return None
        told, at = read_response_head(api, version, memoryview(data)[4:])
        assert told == self._correlation_id
        return decode_response(api, version, memoryview(data)[4 + at :])

    def versions(self) -> Any:
        return self.ask(
            ApiKey.API_VERSIONS, 3, client_software_name="t", client_software_version="1"
        )

    def shake(self, mechanism: str, version: int = 1) -> Any:
        return self.ask(ApiKey.SASL_HANDSHAKE, version, mechanism=mechanism)

    def token(self, token: bytes, version: int = 2) -> Any:
        return self.ask(ApiKey.SASL_AUTHENTICATE, version, auth_bytes=token)

    def log_in_plain(self, user: str = "alice", password: str = PASSWORD) -> Any:
        answer = self.shake("PLAIN")
        assert not answer.error_code
        return self.token(f"\0{user}\0{password}".encode())

    def metadata(self) -> Any:
        return self.ask(ApiKey.METADATA, 9, topics=None)
