"""SCRAM (RFC 5802): its four messages and what is computed from them, for either end.

    client first   n,[a=authzid],n=user,r=nonce[,extensions]
    server first   r=nonce+server's,s=salt,i=iterations
    client final   c=base64(gs2 header),r=nonce,p=proof
    server final   v=signature  |  e=error

What is kept of a password is StoredKey and ServerKey: neither lets anybody log in as the user.
Names are ASCII and there is no channel binding, as in Kafka.
"""

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from typing import Final, NamedTuple

from kafkapy.core.data import dataclass
from kafkapy.core.errors import Corrupt

_NAME: Final = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_VALUE: Final = r"[\x01-\x2b\x2d-\x7f]+"
_PRINTABLE: Final = r"[\x21-\x2b\x2d-\x7e]+"
_BASE64: Final = r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)?"
_RESERVED: Final = rf"(?:m={_VALUE},)?"
_EXTENSIONS: Final = rf"(?P<extensions>(?:,[A-Za-z]+={_VALUE})*)"
_CLIENT_FIRST: Final = (
    rf"(?P<gs2>n,(?:a=(?P<authzid>{_NAME}))?,)"
    rf"(?P<bare>{_RESERVED}n=(?P<name>{_NAME}),r=(?P<nonce>{_PRINTABLE}){_EXTENSIONS})"
)
_SERVER_FIRST: Final = (
    rf"{_RESERVED}r=(?P<nonce>{_PRINTABLE}),s=(?P<salt>{_BASE64}),i=(?P<iterations>[0-9]{{1,9}})"
    rf"{_EXTENSIONS}"
)
_CLIENT_FINAL: Final = (
    rf"(?P<bare>c=(?P<channel>{_BASE64}),r=(?P<nonce>{_PRINTABLE}){_EXTENSIONS})"
    rf",p=(?P<proof>{_BASE64})"
)
_SERVER_FINAL: Final = rf"(?:e=(?P<error>{_VALUE})|v=(?P<signature>{_BASE64})){_EXTENSIONS}"


class ScramMechanism(NamedTuple):
    """`type` is how requests and records name it."""

    name: str
    type: int
    digest: str

    @property
    def key_bytes(self) -> int:
        return hashlib.new(self.digest).digest_size


SHA_256: Final = ScramMechanism("SCRAM-SHA-256", 1, "sha256")
SHA_512: Final = ScramMechanism("SCRAM-SHA-512", 2, "sha512")
MECHANISMS: Final = {one.name: one for one in (SHA_256, SHA_512)}
BY_TYPE: Final = {one.type: one for one in MECHANISMS.values()}
# Kafka's extension: whose name it is.
TOKEN_AUTH: Final = "tokenauth"
# Kafka's bounds, the same for both.
MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 16384


@dataclass(frozen=True, slots=True)
class Credential:
    """What a server keeps of a password."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


class ClientFirst(NamedTuple):
    gs2_header: str
    bare: str
    user: str
    authorization_id: str
    nonce: str
    extensions: dict[str, str]


class ServerFirst(NamedTuple):
    text: str
    nonce: str
    salt: bytes
    iterations: int


class ClientFinal(NamedTuple):
    without_proof: str
    gs2_header: bytes
    nonce: str
    proof: bytes


def read_client_first(data: bytes) -> ClientFirst:
    found = _matched(_CLIENT_FIRST, data, "client first")
    pairs = (one.partition("=") for one in found["extensions"].split(",") if one)
    return ClientFirst(
        found["gs2"],
        found["bare"],
        _plain_name(found["name"]),
        _plain_name(found["authzid"] or ""),
        found["nonce"],
        {name: value for name, _, value in pairs},
    )


def client_first(user: str, nonce: str, *, is_token: bool = False) -> ClientFirst:
    """`is_token`: the user is the id of a delegation token (KIP-48)."""
    extensions = {TOKEN_AUTH: "true"} if is_token else {}
    bare = f"n={_safe_name(user)},r={nonce}"
    bare += "".join(f",{name}={value}" for name, value in extensions.items())
    return ClientFirst("n,,", bare, user, "", nonce, extensions)


def read_server_first(data: bytes) -> ServerFirst:
    found = _matched(_SERVER_FIRST, data, "server first")
    return ServerFirst(
        data.decode("ascii"), found["nonce"], b64decode(found["salt"]), int(found["iterations"])
    )


def server_first(nonce: str, credential: Credential) -> ServerFirst:
    text = f"r={nonce},s={_base64(credential.salt)},i={credential.iterations}"
    return ServerFirst(text, nonce, credential.salt, credential.iterations)


def read_client_final(data: bytes) -> ClientFinal:
    found = _matched(_CLIENT_FINAL, data, "client final")
    return ClientFinal(
        found["bare"], b64decode(found["channel"]), found["nonce"], b64decode(found["proof"])
    )


def client_final(gs2_header: str, nonce: str) -> str:
    """Without the proof, which comes from it."""
    return f"c={_base64(gs2_header.encode())},r={nonce}"


def with_proof(without_proof: str, proof: bytes) -> bytes:
    return f"{without_proof},p={_base64(proof)}".encode()


def server_final(signature: bytes) -> bytes:
    return f"v={_base64(signature)}".encode()


def read_server_final(data: bytes) -> bytes:
    """The server's signature; Corrupt with its error if it sent one."""
    found = _matched(_SERVER_FINAL, data, "server final")
    if found["error"] is not None:
        raise Corrupt(f"the server says {found['error']}")
    return b64decode(found["signature"])


def auth_message(first: ClientFirst, server: ServerFirst, without_proof: str) -> bytes:
    return f"{first.bare},{server.text},{without_proof}".encode()


def salted_password(
    mechanism: ScramMechanism, password: str, salt: bytes, iterations: int
) -> bytes:
    """Slow on purpose: two milliseconds at 4096 iterations."""
    return hashlib.pbkdf2_hmac(mechanism.digest, password.encode(), salt, iterations)


def credential_of(
    mechanism: ScramMechanism, salted: bytes, salt: bytes, iterations: int
) -> Credential:
    stored_key = hashlib.new(mechanism.digest, client_key(mechanism, salted)).digest()
    return Credential(salt, stored_key, server_key(mechanism, salted), iterations)


def client_key(mechanism: ScramMechanism, salted: bytes) -> bytes:
    return hmac.digest(salted, b"Client Key", mechanism.digest)


def server_key(mechanism: ScramMechanism, salted: bytes) -> bytes:
    return hmac.digest(salted, b"Server Key", mechanism.digest)


def client_proof(mechanism: ScramMechanism, key: bytes, message: bytes) -> bytes:
    stored_key = hashlib.new(mechanism.digest, key).digest()
    return _xor(key, hmac.digest(stored_key, message, mechanism.digest))


def is_proof(
    mechanism: ScramMechanism, credential: Credential, message: bytes, proof: bytes
) -> bool:
    """In the same time whatever the proof; one of a wrong length is told at once."""
    if len(proof) != len(credential.stored_key):
        return False
    signature = hmac.digest(credential.stored_key, message, mechanism.digest)
    computed = hashlib.new(mechanism.digest, _xor(proof, signature)).digest()
    return hmac.compare_digest(computed, credential.stored_key)


def server_signature(mechanism: ScramMechanism, key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, mechanism.digest)


def _matched(pattern: str, data: bytes, what: str) -> re.Match[str]:
    """Nothing of the message is in the error: it may be told to somebody."""
    try:
        found = re.fullmatch(pattern, data.decode("ascii"))  # compiled once, by re
    except UnicodeDecodeError:
        found = None
    if found is None:
        raise Corrupt(f"no {what} message of SCRAM")
    return found


def _plain_name(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")


def _safe_name(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def _xor(left: bytes, right: bytes) -> bytes:
    size = len(left)
    return (int.from_bytes(left, "big") ^ int.from_bytes(right, "big")).to_bytes(size, "big")


def _base64(data: bytes) -> str:
    return b64encode(data).decode()
