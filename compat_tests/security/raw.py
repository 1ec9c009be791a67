"""Somebody who logs in by PLAIN and asks request by request, and the delegation tokens that it has.

It does nothing by itself: neither does it log in again, nor connect again.
"""

from base64 import b64encode
from types import TracebackType
from typing import Any, NamedTuple, Self

from compat_tests.differ import logins
from compat_tests.differ.side import Side, newest
from compat_tests.security.servers import PASSWORD, USER, Secured
from compat_tests.waiting import wait_for
from kafkapy.protocol.api_keys import ApiKey

K = ApiKey
_LONG_MS = 3_600_000


def side(server: Secured, listener: str) -> Side:
    return Side(server.address(listener), K.METADATA, newest(K.METADATA), "raw")


def log_in(who: Side, password: str = PASSWORD) -> Any:
    """As alice; the answer to what shows the password."""
    return logins.log_in(who, USER, password)


class Token(NamedTuple):
    id: str
    hmac: bytes

    @property
    def hmac_text(self) -> str:
        """Which is the password that goes with the id."""
        return b64encode(self.hmac).decode()


class Tokens:
    """Alice's."""

    def __init__(self, server: Secured) -> None:
        self._side = side(server, "SASL_PLAINTEXT")
        answer = log_in(self._side)
        assert not answer.error_code.value, answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._side.close()

    def make(self) -> Token:
        owner = {"owner_principal_type": "", "owner_principal_name": ""}
        body = {**owner, "renewers": [], "max_lifetime": _LONG_MS}
        answer = self._side.call(K.CREATE_DELEGATION_TOKEN, body)
        assert not answer.error_code.value, answer
        token = Token(answer.token_id, bytes(answer.hmac))
        wait_for("the node knows the token", lambda: token.id in self._known())
        return token

    def end(self, token: Token) -> None:
        body = {"hmac": token.hmac, "expiry_time_period": -1}
        answer = self._side.call(K.EXPIRE_DELEGATION_TOKEN, body)
        assert not answer.error_code.value, answer
        wait_for("the token has ended", lambda: token.id not in self._known())

    def _known(self) -> set[str]:
        answer = self._side.call(K.DESCRIBE_DELEGATION_TOKEN, {"owners": None})
        return {one.token_id for one in answer.tokens}
