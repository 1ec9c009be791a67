"""An authorizer with a hook behind it.

    a super user, this node      yes: nobody else is asked
    all others                   the hook, which is told what the ACLs say
    the hook has no answer       no: what nobody judges is not allowed

Whether somebody may do something to any resource at all is asked of the ACLs alone: the hook
judges each resource when its time comes. Answers count for `kafkapy.hook.authorize.cache.ms`, or
until an ACL changes: then `version` is another, and whoever keeps one (the cache of Produce
frames) asks again.
"""

from collections.abc import Iterable

from kafkapy.broker.requests.request import Peer
from kafkapy.broker.security.authorizer.authorizer import SUPER_USER, THIS_NODE, Authorizer
from kafkapy.core.seams import Clock, Journal, Timer
from kafkapy.core.time import later
from kafkapy.hooks.api import Asked, Client
from kafkapy.hooks.guarded import Guarded, HookFailed, kind_of
from kafkapy.kraft.acls import Operation, ResourceType


class HookedAuthorizer(Authorizer):
    def __init__(
        self,
        super_users: Iterable[str],
        *,
        allows_without_acl: bool,
        journal: Journal,
        hook: Guarded,
        clock: Clock,
        cache_ms: int,
    ) -> None:
        super().__init__(super_users, allows_without_acl=allows_without_acl, journal=journal)
        self._hook = hook
        self._clock = clock
        self._cache_ms = cache_ms
        self._forgetting: Timer | None = None

    def _rule(self, peer: Peer, operation: int, resource_type: int, name: str) -> tuple[bool, str]:
        allowed, rule = self._rule_of_acls(peer, operation, resource_type, name)
        if rule in (SUPER_USER, THIS_NODE):
            return allowed, rule
        if self._forgetting is None:
            when = later(self._clock.now(), self._cache_ms)
            self._forgetting = self._clock.call_at(when, self._forget)
        client = Client(peer.principal, peer.host, peer.listener)
        asked = Asked(Operation(operation).name, ResourceType(resource_type).name, name, allowed)
        try:
            judged = self._hook(client, asked)
            if type(judged) is not bool:
                what = f"it returned {kind_of(judged)} instead of True or False"
                raise self._hook.failed(what, what)
        except HookFailed as failed:
            return False, str(failed)
        return judged, f"hook {self._hook.name}"

    def _forget(self) -> None:
        self._forgetting = None
        self._changed()
