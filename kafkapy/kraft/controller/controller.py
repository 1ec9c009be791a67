"""The active controller: its machine, run over the metadata quorum while this node leads it.

    lead(committed image) --> Runtime(ControllerMachine) over the quorum's log --> resign

One runtime a term (runtime/runtime.py, which has the rule for what is applied and answered
when); it begins with a copy of what is committed. The image here runs ahead of the brokers':
uncommitted records are in it. An append that fails means that this node leads no more:
everybody who waits gets NOT_CONTROLLER and the image is dropped.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.jobs import Steps
from kafkapy.core.seams import Clock, Rng
from kafkapy.core.time import Instant
from kafkapy.kraft.controller.facts import Fact, KRaftVersionRaised
from kafkapy.kraft.controller.machine import ControllerMachine, Event
from kafkapy.kraft.controller.partitions.index import PartitionIndex
from kafkapy.kraft.controller.partitions.parts import parts_of, submit_parts
from kafkapy.kraft.controller.rules import ConfigRules
from kafkapy.kraft.controller.state import ControllerSettings, ControllerState
from kafkapy.kraft.image.image import MetadataImage
from kafkapy.kraft.records.metadata import MetadataRecord
from kafkapy.runtime.record_log import Committed
from kafkapy.runtime.runtime import Runtime, RuntimeSettings, State

Then = Callable[[Any], None]

_SETTINGS = RuntimeSettings(loading=ErrorCode.NOT_CONTROLLER, closed=ErrorCode.NOT_CONTROLLER)


class QuorumLog(Protocol):
    """What the controller asks of the quorum's leader."""

    @property
    def next_offset(self) -> int:
        """The offset that the next appended record gets."""

    @property
    def leader_id(self) -> int | None:
        """Who leads, as far as is known here."""

    def append(self, records: Sequence[MetadataRecord]) -> int:
        """Append one batch; the offset behind it. Refused if this node does not lead."""

    def when_committed(self, end_offset: int, then: Committed) -> None:
        """As in RecordLog."""

    def cannot_raise_kraft_version(self) -> str | None:
        """Why kraft.version may not go to 1 now; None if it may."""

    def raise_kraft_version(self) -> None:
        """Append the control records that say so. Refused if this node does not lead."""


class Controller:
    """Hand it the log and tell it when this node starts (`lead`) and stops (`resign`)
    leading the quorum."""

    def __init__(
        self,
        *,
        settings: ControllerSettings,
        rules: ConfigRules,
        clock: Clock,
        rng: Rng,
        log: QuorumLog,
    ) -> None:
        self.settings = settings
        self._rules = rules
        self._clock = clock
        self._rng = rng
        self._log = log
        self._machine: ControllerMachine | None = None
        self._runtime: Runtime[Fact, Any] | None = None

    def lead(
        self,
        committed: MetadataImage,
        bootstrap: Sequence[MetadataRecord],
        *,
        kraft_version: int = 1,
    ) -> None:
        """This node leads the quorum and has read everything there is: `committed`.

        On an empty log the `bootstrap` records are written first.
        """
        assert self._runtime is None, "leads already"
        image = committed.copy()
        state = ControllerState(
            self.settings, self._rules, self._rng, image, PartitionIndex(image), kraft_version
        )
        state.cannot_raise_kraft_version = self._log.cannot_raise_kraft_version
        self._machine = ControllerMachine(state, bootstrap, lambda: self._log.next_offset)
        records = _MetadataRecords(self._log, committed.offset + 1, self.resign)
        self._runtime = Runtime(
            self._machine, records, self._clock, _SETTINGS, on_closed=self._closed
        )
        self._runtime.load()

    def resign(self) -> None:
        """Another node leads, or none does."""
        if self._runtime is not None:
            self._runtime.close()

    def submit(self, event: Event, then: Then) -> None:
        """`then` gets the machine's reply, or Refused, once it cannot be lost any more."""
        machine = self._machine
        parts = None if machine is None else parts_of(event, machine.state)
        if parts is None:
            self._submit(event, then)
        else:
            submit_parts(*parts, self._submit, self._clock, then)

    def _submit(self, event: Event, then: Then) -> None:
        if self._runtime is None:
            then(self._not_active())
        else:
            self._runtime.submit(event, then)

    @property
    def is_active(self) -> bool:
        return self._runtime is not None and self._runtime.state is State.ACTIVE

    @property
    def image(self) -> MetadataImage:
        """What is decided so far, committed or not; empty while another node leads."""
        return MetadataImage() if self._machine is None else self._machine.state.image

    def is_awaited(self, broker_id: int, since: Instant) -> bool:
        """Whether a broker should have been heard of by now; False while another node leads."""
        machine = self._machine
        return machine is not None and machine.state.is_awaited(broker_id, since)

    def _not_active(self) -> Refused:
        leader_id = self._log.leader_id
        who = "No controller" if leader_id is None else f"Node {leader_id}"
        return Refused(ErrorCode.NOT_CONTROLLER, f"{who} appears to be active.")

    def _closed(self, error: ErrorCode, why: str | None) -> None:
        self._runtime = self._machine = None


class _MetadataRecords:
    """The quorum's log as the runtime wants it (runtime/record_log.py)."""

    def __init__(self, log: QuorumLog, end_offset: int, lost: Callable[[], None]) -> None:
        self.end_offset = end_offset
        self._log = log
        self._lost = lost

    def replay(self, apply: Callable[[Fact], None]) -> Steps:
        """The quorum has: the image that the machine begins with is what it came to."""
        yield from ()

    def append(self, records: Sequence[Any]) -> int:
        try:
            if isinstance(records[0], KRaftVersionRaised):
                self._log.raise_kraft_version()
                records = records[1:]
            return self._log.append(records)
        except Refused:
            self._lost()
            raise

    def when_committed(self, end_offset: int, then: Committed) -> None:
        self._log.when_committed(end_offset, then)
