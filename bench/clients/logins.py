"""Connect over TLS, log in by SCRAM-SHA-256, ask one thing and go, over and over, by so many at a
time: {"connections", "seconds"}.
"""

import json
import socket
import ssl
import struct
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kafkapy.broker.security.scram import ScramClient
from kafkapy.protocol import scram
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import frame, read_response_head, request_head
from kafkapy.protocol.messages import decode_response, encode_request
from kafkapy.server.rng import SystemRng


def run(given: dict[str, Any]) -> dict[str, float]:
    context = ssl.create_default_context(cafile=given["security"]["ssl.ca.location"])
    begun = time.perf_counter()
    end = begun + given["seconds"]

    def work() -> int:
        count = 0
        while not count or time.perf_counter() < end:
            _log_in(context, given["security"])
            count += 1
        return count

    _log_in(context, given["security"])
    with ThreadPoolExecutor(given["at_a_time"]) as pool:
        counts = [one.result() for one in [pool.submit(work) for _ in range(given["at_a_time"])]]
    return {"connections": sum(counts), "seconds": time.perf_counter() - begun}


def _log_in(context: ssl.SSLContext, security: dict[str, str]) -> None:
    host, _, port = security["bootstrap.servers"].rpartition(":")
    user, password = security["sasl.username"], security["sasl.password"]
    own = ScramClient(scram.SHA_256, user, password, SystemRng())
    with socket.create_connection((host, int(port))) as plain:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with context.wrap_socket(plain, server_hostname=host) as sock:
            _ask(sock, ApiKey.SASL_HANDSHAKE, 1, mechanism=own.name)
            token = own.first()
            while not own.is_complete:
                answer = _ask(sock, ApiKey.SASL_AUTHENTICATE, 2, auth_bytes=token)
                if answer.error_code:
                    raise SystemExit(f"refused: {answer.error_message}")
                token = own.evaluate(bytes(answer.auth_bytes))
            _ask(sock, ApiKey.METADATA, 9, topics=[])


def _ask(sock: ssl.SSLSocket, api: ApiKey, version: int, **body: Any) -> Any:
    sock.sendall(frame(request_head(api, version, 1, "bench"), encode_request(api, version, body)))
    (size,) = struct.unpack(">i", _received(sock, 4))
    data = memoryview(_received(sock, size))
    _, at = read_response_head(api, version, data)
    return decode_response(api, version, data[at:])


def _received(sock: ssl.SSLSocket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            raise SystemExit("the connection was closed")
        data += more
    return bytes(data)


if __name__ == "__main__":
    print(json.dumps(run(json.loads(sys.argv[1]))))
