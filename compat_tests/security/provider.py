"""An identity provider on loopback: tokens by the client credentials grant, keys as a JWKS.

    POST /token    for those it knows; what it issues says the client's name
    GET  /keys     by which tokens are checked

Not everything that it issues is good: "forger" gets tokens signed by another key of the same
name, "stranger" such that are meant for somebody else.
"""

import json
import threading
import time
from base64 import b64decode, urlsafe_b64encode
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

AUDIENCE: Final = "kafka"
FORGER, STRANGER = "forger", "stranger"
_KEY_ID: Final = "first"


def _new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Provider:
    """`clients`: secrets by names."""

    def __init__(self, clients: dict[str, str], lifetime_s: int = 3600) -> None:
        self.lifetime_s = lifetime_s
        self.issued: Counter[str] = Counter()
        self._clients = clients
        self._key, self._forged = _new_key(), _new_key()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def token_url(self) -> str:
        return f"{self.issuer}/token"

    @property
    def keys_url(self) -> str:
        return f"{self.issuer}/keys"

    @property
    def java_option(self) -> str:
        """Kafka asks nobody whose URL is not named so."""
        name = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
        return f"-D{name}={self.token_url},{self.keys_url}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def token(self, client: str) -> str:
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "sub": client,
            "aud": "somebody else" if client == STRANGER else AUDIENCE,
            "scope": "kafka",
            "iat": now,
            "exp": now + self.lifetime_s,
        }
        header = {"alg": "RS256", "typ": "JWT", "kid": _KEY_ID}
        data = ".".join(_encoded(json.dumps(one).encode()) for one in (header, claims))
        key = self._forged if client == FORGER else self._key
        signature = key.sign(data.encode(), padding.PKCS1v15(), hashes.SHA256())
        self.issued[client] += 1
        return f"{data}.{_encoded(signature)}"

    def _keys(self) -> dict[str, Any]:
        numbers = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "kid": _KEY_ID, "use": "sig", "alg": "RS256"}
        return {"keys": [key | {"n": _number(numbers.n), "e": _number(numbers.e)}]}

    def _grant(self, authorization: str, body: str) -> tuple[int, dict[str, Any]]:
        form = parse_qs(body)
        if form.get("grant_type") != ["client_credentials"]:
            return 400, {"error": "unsupported_grant_type"}
        kind, _, login = authorization.partition(" ")
        name, _, secret = b64decode(login).decode().partition(":")
        if kind != "Basic" or self._clients.get(name) != secret:
            return 401, {"error": "invalid_client"}
        answer = {"access_token": self.token(name), "token_type": "Bearer"}
        return 200, answer | {"expires_in": self.lifetime_s}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._say(200, provider._keys())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                self._say(*provider._grant(self.headers.get("Authorization", ""), body))

            def _say(self, status: int, answer: dict[str, Any]) -> None:
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _number(value: int) -> str:
    return _encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))
