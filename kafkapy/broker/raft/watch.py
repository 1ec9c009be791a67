"""What this node knows of reaching the other controllers, and what it says of it.

no leader for some seconds   one line: who is waited for, and why each is not there; again
                             now and then, seldom and seldomer
a majority is of another     this node can never join them: it ends with the reason
cluster                      (before it has known a leader; later it is theirs to notice)
a majority refuses           nobody is left who could lead (`majority_is_gone`). Whom a leader found
                             away, and who has fetched from it since, is there
"""

from collections.abc import Callable
from typing import Final

from kafkapy.broker.node.identity import CannotStart
from kafkapy.broker.peers.failures import CallFailed, Why
from kafkapy.core.addresses import Address, shown
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.seams import Clock, Journal, Timer
from kafkapy.core.time import Instant, later
from kafkapy.kraft.metadata_quorum import MetadataQuorum

# Longer than an election among living nodes takes, with the default timeouts.
FIRST_AFTER_MS: Final = 4000
_MOST_MS: Final = 60_000


class QuorumWatch:
    """`note` is told how each call to a controller ended; `start` once the quorum is."""

    def __init__(
        self,
        quorum: MetadataQuorum,
        clock: Clock,
        journal: Journal,
        address_of: Callable[[int], Address | None],
        give_up: Callable[[CannotStart], None],
    ) -> None:
        self._quorum = quorum
        self._clock = clock
        self._journal = journal
        self._address_of = address_of
        self._give_up = give_up
        self._failures: dict[Address, Exception | None] = {}
        self._refused_at: dict[Address, Instant] = {}
        self._wait_ms = FIRST_AFTER_MS
        self._timer: Timer | None = None
        self._has_been_led = False

    def start(self) -> None:
        """A quorum of one waits for nobody."""
        self._quorum.when_led(self._led)
        if self._others() or not self._quorum.voters.ids:
            self._arm()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def note(self, address: Address, failure: Exception | None) -> None:
        self._failures[address] = failure
        if _is_refused(failure):
            self._refused_at[address] = self._clock.now()
        if _is_of_another_cluster(failure) and not self._has_been_led:
            strangers = [one for one in self._others() if _is_of_another_cluster(self._why(one))]
            if self._has_no_majority_without(strangers):
                self._give_up(_stranger(self._quorum.settings.cluster_id, self._named(strangers)))

    @property
    def majority_is_gone(self) -> bool:
        """So many voters have no process that the others cannot elect anybody."""
        return self._has_no_majority_without([one for one in self._others() if self._is_gone(one)])

    def _is_gone(self, node_id: int) -> bool:
        address = self._address_of(node_id)
        if address is None or not _is_refused(self._failures.get(address)):
            return False
        return self._quorum.last_fetch_by(node_id) <= self._refused_at[address]

    def _has_no_majority_without(self, some: list[int]) -> bool:
        voters = len(self._quorum.voters.ids)
        return voters > 0 and (voters - len(some)) * 2 <= voters

    def _others(self) -> list[int]:
        own = self._quorum.settings.local.id
        return [one for one in self._quorum.voters.ids if one != own]

    def _why(self, node_id: int) -> Exception | None:
        address = self._address_of(node_id)
        return None if address is None else self._failures.get(address)

    def _led(self) -> None:
        """Who failed before may be there by now, and nobody asks him."""
        self._has_been_led = True
        self._failures.clear()

    # Telling.

    def _arm(self) -> None:
        when = later(self._clock.now(), self._wait_ms)
        self._timer = self._clock.call_at(when, self._look)

    def _look(self) -> None:
        if self._quorum.leader_id is not None:
            self._wait_ms = FIRST_AFTER_MS
        else:
            self._wait_ms = min(2 * self._wait_ms, _MOST_MS)
            self._tell()
        self._arm()

    def _tell(self) -> None:
        own = self._quorum.settings.local.id
        if own in self._quorum.voters.ids:
            self._journal.warning(
                "waiting for a majority of the quorum", voters=self._named(self._others())
            )
        elif self._others():
            self._journal.warning("waiting for a controller", voters=self._named(self._others()))
        else:
            asked = ", ".join(map(_at, self._failures.items()))
            self._journal.warning("waiting for a controller", asked=asked)

    def _named(self, node_ids: list[int]) -> str:
        return ", ".join(map(self._name, node_ids))

    def _name(self, node_id: int) -> str:
        address = self._address_of(node_id)
        if address is None:
            return f"{node_id} at an unknown address"
        return f"{node_id}@{_at((address, self._failures.get(address)))}"


def _at(one: tuple[Address, Exception | None]) -> str:
    address, failure = one
    return f"{shown(address.host, address.port)} {_reason(failure)}"


def _reason(failure: Exception | None) -> str:
    if failure is None:
        return "answers"
    if isinstance(failure, CallFailed):
        return failure.why.value
    if isinstance(failure, Refused):
        return failure.code.name
    return str(failure)


def _is_refused(failure: Exception | None) -> bool:
    return isinstance(failure, CallFailed) and failure.why is Why.REFUSED


def _is_of_another_cluster(failure: Exception | None) -> bool:
    return isinstance(failure, Refused) and failure.code is ErrorCode.INCONSISTENT_CLUSTER_ID


def _stranger(cluster_id: str, others: str) -> CannotStart:
    return CannotStart(
        f"this node's directories are of cluster {cluster_id}, the other controllers are of "
        f"another one ({others}); format all of them with the same id "
        "(kafkapy format --cluster-id ID), or correct controller.quorum.voters"
    )
