"""Why a broker that takes connections does not serve who asks: TLS, or the login."""

import socket
import ssl
import struct
from typing import Final

from kafkapy.cli.checks.certificates import judged
from kafkapy.cli.checks.findings import Finding
from kafkapy.cli.client import host_and_port
from kafkapy.cli.login import LoginRefused, NotOffered, chosen
from kafkapy.cli.main import Failed
from kafkapy.core.errors import Corrupt, ErrorCode
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import frame, read_response_head, request_head
from kafkapy.protocol.messages import decode_response, encode_request

_LARGEST_ANSWER: Final = 64 * 1024


def refusal(about: str, where: str, failed: Failed, timeout_s: float) -> Finding | None:
    """None if it was something else that failed."""
    cause = failed.__cause__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return judged(about, cause)
    if isinstance(failed, NotOffered):
        return Finding(
            "login-not-offered", about, str(failed),
            "Log in by one of these (sasl.mechanism), or enable it on the listener.",
        )  # fmt: skip
    if isinstance(failed, LoginRefused):
        return Finding(
            "login-refused", about, str(failed),
            "Correct sasl.jaas.config, or add the user (kafkapy users add, or the listener's "
            "JAAS line).",
        )  # fmt: skip
    if isinstance(cause, ssl.SSLError) and "CERTIFICATE" in (cause.reason or ""):
        return Finding(
            "certificate-not-trusted", about, f"it does not take the client's: {cause.reason}",
            "Give the client a certificate (ssl.keystore.*) of an authority that the listener "
            "trusts.",
        )  # fmt: skip
    spoken = spoken_at(where, timeout_s)
    if spoken is not None and spoken != chosen().protocol:
        return Finding(
            "security-protocol-differs", about,
            f"{where} speaks {spoken}, and was asked by {chosen().protocol}",
            f"--command-config with security.protocol={spoken}, or another listener's port.",
        )  # fmt: skip
    return None


def spoken_at(where: str, timeout_s: float) -> str | None:
    """Which security protocol a listener has; None if it is not Kafka's, or not there."""
    address = host_and_port(where)
    has_tls = _has_tls(address, timeout_s)
    if has_tls is None:
        return None
    has_sasl = _has_sasl(address, timeout_s, has_tls=has_tls)
    if has_sasl is None:
        return "SSL" if has_tls else None
    return f"{'SASL_' if has_sasl else ''}{'SSL' if has_tls else 'PLAINTEXT'}"


def _has_tls(address: tuple[str, int], timeout_s: float) -> bool | None:
    try:
        sock = socket.create_connection(address, timeout_s)
    except (OSError, UnicodeError):
        return None
    with sock:
        try:
            _trusting().wrap_socket(sock, server_hostname=address[0]).close()
        except ssl.SSLError as failed:
            # Only who speaks TLS objects in TLS: to ask for a certificate, for one.
            return "ALERT" in (failed.reason or "")
        except OSError:
            return False
    return True


def _has_sasl(address: tuple[str, int], timeout_s: float, *, has_tls: bool) -> bool | None:
    """A login by a mechanism that nobody has: who knows logins names those that it has."""
    body = {"mechanism": ""}
    head = request_head(ApiKey.SASL_HANDSHAKE, 1, 1, "kafkapy-cli")
    asked = frame(head, encode_request(ApiKey.SASL_HANDSHAKE, 1, body))
    try:
        with socket.create_connection(address, timeout_s) as plain:
            sock = _trusting().wrap_socket(plain) if has_tls else plain
            with sock, sock.makefile("rb") as answers:
                sock.sendall(asked)
                (size,) = struct.unpack(">i", answers.read(4))
                if not 0 < size <= _LARGEST_ANSWER:
                    return None
                answer = memoryview(answers.read(size)).toreadonly()
        _, at = read_response_head(ApiKey.SASL_HANDSHAKE, 1, answer)
        code = decode_response(ApiKey.SASL_HANDSHAKE, 1, answer[at:]).error_code
    except (OSError, struct.error, Corrupt):
        return None
    return bool(code == ErrorCode.UNSUPPORTED_SASL_MECHANISM)


def _trusting() -> ssl.SSLContext:
    """Nothing is told to whoever it is."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
