"""AllocateProducerIds: brokers get blocks of producer ids that nobody else will get."""

from typing import Final

from kafkapy.core.data import dataclass
from kafkapy.core.errors import ErrorCode, Refused
from kafkapy.core.step import Step
from kafkapy.core.time import Instant
from kafkapy.kraft.controller.facts import Fact
from kafkapy.kraft.controller.state import ControllerState
from kafkapy.kraft.records.metadata import ProducerIdsRecord

# Kafka's ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE.
BLOCK_SIZE: Final = 1000
_LARGEST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class AllocateProducerIds:
    broker_id: int
    broker_epoch: int


@dataclass(frozen=True, slots=True)
class ProducerIdBlock:
    first: int
    count: int = BLOCK_SIZE


class ProducerIdMachine:
    def __init__(self, state: ControllerState) -> None:
        self._state = state

    def decide(self, event: AllocateProducerIds, now: Instant) -> Step[Fact, ProducerIdBlock]:
        broker = self._state.broker(event.broker_id, event.broker_epoch)
        first = max(self._state.image.next_producer_id, 0)
        if first > _LARGEST - BLOCK_SIZE:
            raise Refused(ErrorCode.UNKNOWN_SERVER_ERROR, "All producer ids have been given out.")
        record = ProducerIdsRecord(
            broker_id=broker.id,
            broker_epoch=broker.epoch,
            next_producer_id=first + BLOCK_SIZE,
        )
        return Step(records=(record,), reply=ProducerIdBlock(first))
