"""Who asks: a principal, from what a request or its connection shows.

    Authorization: Basic     the security listener's users, of PLAIN and SCRAM
    Authorization: Bearer    its OAUTHBEARER
    a client certificate     as ssl.principal.mapping.rules say
    nothing                  User:ANONYMOUS where no listener of the broker asks; else 401

The security listener is http.security.listener, or the first of the broker's that has SASL.
Basic takes the same passwords as SASL does: what SCRAM keeps is computed from the password, on a
thread, and the last that were right are remembered by their hash.
"""

import hmac
from base64 import b64decode
from collections import OrderedDict
from hashlib import sha256
from typing import Final, NamedTuple

import trio

from kafkapy.broker.config.security.listener_security import (
    OAUTHBEARER,
    PLAIN,
    SCRAMS,
    ListenerSecurity,
)
from kafkapy.broker.requests.request import ANONYMOUS
from kafkapy.broker.security.mechanism import LoginFailed
from kafkapy.broker.security.mechanisms import ServerMechanisms
from kafkapy.broker.security.oauthbearer import BadToken, Token
from kafkapy.http.entrance.security import security_listener
from kafkapy.http.kafka.link import NodeLink
from kafkapy.protocol import scram
from kafkapy.protocol.scram import Credential, ScramMechanism

_MOST_REMEMBERED: Final = 1000


class Known(NamedTuple):
    """Who asks. `by`: which mechanism the request has shown it by; None: the connection has, or
    nobody asks."""

    principal: str
    by: str | None = None


class NotLetIn(LoginFailed):
    """`mechanism` and `user`: as far as is known by what and who it says it is."""

    def __init__(self, reason: str, *, mechanism: str = "", user: str = "") -> None:
        super().__init__(reason)
        self.mechanism = mechanism
        self.user = user


class Logins:
    """`log_in` raises NotLetIn; its text is for the journal."""

    def __init__(self, link: NodeLink) -> None:
        config = link.node.config
        name = security_listener(config)
        self._link = link
        self._security: ListenerSecurity | None = None
        self._mechanisms: ServerMechanisms | None = None
        if name is not None:
            self._security = ListenerSecurity(config, name)
            self._mechanisms = ServerMechanisms(link.node, self._security)
        self._right: OrderedDict[tuple[str, str], tuple[Credential, bytes]] = OrderedDict()

    @property
    def challenges(self) -> tuple[str, ...]:
        """What WWW-Authenticate says; nothing where nobody is asked."""
        if self._security is None:
            return ()
        ways = []
        if any(one != OAUTHBEARER for one in self._security.mechanisms):
            ways.append('Basic realm="kafkapy", charset="UTF-8"')
        if OAUTHBEARER in self._security.mechanisms:
            ways.append('Bearer realm="kafkapy"')
        return tuple(ways)

    @property
    def failure_delay_seconds(self) -> float:
        return self._link.node.config.connection_failed_authentication_delay_ms / 1000

    def throttled_ms(self, principal: str, host: str) -> int:
        """How long whoever has logged in is not heard."""
        return self._link.throttled.wait_ms(principal, host, self._link.node.clock.now())

    async def log_in(self, authorization: str | None, certified: str | None) -> Known:
        """`certified` is the principal of the connection's certificate, if it has one."""
        if authorization is None:
            if certified is not None:
                return Known(certified)
            if self._security is None:
                return Known(ANONYMOUS)
            raise NotLetIn("no credentials")
        kind, _, given = authorization.partition(" ")
        if kind.lower() == "basic":
            return await self._basic(given.strip())
        if kind.lower() == "bearer":
            return Known(f"User:{await self._bearer(given.strip())}", OAUTHBEARER)
        raise NotLetIn("an authorization that is neither Basic nor Bearer")

    async def _basic(self, given: str) -> Known:
        try:
            user, colon, password = b64decode(given, validate=True).decode().partition(":")
        except ValueError:
            raise NotLetIn("no credentials of Basic") from None
        if not colon:
            raise NotLetIn("no credentials of Basic")
        if self._security is None or self._mechanisms is None:
            raise NotLetIn("no user is known here", user=user)
        reasons = []
        names = [one for one in self._security.mechanisms if one == PLAIN or one in SCRAMS]
        for name in names:
            if name == PLAIN:
                try:
                    self._mechanisms.make(name).evaluate(f"\0{user}\0{password}".encode())
                    return Known(f"User:{user}", name)
                except LoginFailed as failed:
                    reasons.append(str(failed))
            elif await self._is_scrams(name, user, password):
                return Known(f"User:{user}", name)
        reason = reasons[0] if reasons else "unknown user or wrong password"
        raise NotLetIn(reason, mechanism=",".join(names), user=user)

    async def _is_scrams(self, name: str, user: str, password: str) -> bool:
        mechanism = scram.MECHANISMS[name]
        found = self._link.image.scram.get((user, mechanism.type))
        if found is None:
            return False
        credential = Credential(found.salt, found.stored_key, found.server_key, found.iterations)
        digest = sha256(credential.salt + password.encode()).digest()
        known = self._right.get((name, user))
        if known is not None and known[0] == credential and hmac.compare_digest(known[1], digest):
            return True
        if not await trio.to_thread.run_sync(_is_password, mechanism, credential, password):
            return False
        self._right[name, user] = credential, digest
        if len(self._right) > _MOST_REMEMBERED:
            self._right.popitem(last=False)
        return True

    async def _bearer(self, token: str) -> str:
        mechanisms = self._mechanisms
        if self._security is None or mechanisms is None:
            raise NotLetIn("no token is known here", mechanism=OAUTHBEARER)
        if OAUTHBEARER not in self._security.mechanisms:
            raise NotLetIn("OAUTHBEARER is not enabled", mechanism=OAUTHBEARER)
        try:
            judged: Token = await self._link.call(lambda: mechanisms.judge()(token))
        except BadToken as bad:
            raise NotLetIn(str(bad), mechanism=OAUTHBEARER) from None
        return judged.user


def _is_password(mechanism: ScramMechanism, credential: Credential, password: str) -> bool:
    salt, iterations = credential.salt, credential.iterations
    salted = scram.salted_password(mechanism, password, salt, iterations)
    made = scram.credential_of(mechanism, salted, salt, iterations)
    return hmac.compare_digest(made.stored_key, credential.stored_key)
