"""What a shard needs of the partition it lives on, and of the records it writes.

A `ShardLog` is one partition as its leader sees it, narrowed to three verbs: append a
batch, be told when it is committed, read from the start. The node implements it over its
Partition; tests and the simulator over a list of bytes. shard_records.py makes of it and a
codec what the runtime runs on.

A `RecordCodec` turns a machine's records into keys and values and back (registry.py).
"""

from typing import Protocol, TypeVar

from kafkapy.log.producers.guards import VerificationGuard
from kafkapy.runtime.record_log import Committed

Rec = TypeVar("Rec")


class ShardLog(Protocol):
    @property
    def start_offset(self) -> int: ...

    @property
    def end_offset(self) -> int:
        """Where the next record goes (the log end offset, not the high watermark)."""

    def append(
        self,
        batch: bytes,
        *,
        transaction_version: int = 0,
        guard: VerificationGuard | None = None,
    ) -> int:
        """Append one whole batch as leader; the end offset behind it.

        Refused if nothing was appended. A batch is data or one transaction marker;
        `transaction_version` says how the marker's epoch is judged (formats/producers 2);
        `guard` is the one under which transactional data was verified.
        """

    def when_committed(self, end_offset: int, then: Committed) -> None:
        """`then(None)` once the high watermark reached `end_offset`: at once if it has.

        `then(error)` if it never will here: leadership lost, the disk failed.
        Calls come in the order of the offsets.
        """

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Whole batches from the one that holds `offset`, at least one if there is any.

        Refused if the disk failed, or `offset` is below the start by now.
        """


class RecordCodec(Protocol[Rec]):
    def encode(self, record: Rec) -> tuple[bytes, bytes | None]:
        """Key and value; a value of None is a tombstone. Refused if a client's text is longer
        than records can hold."""

    def decode(self, key: bytes, value: bytes | None) -> Rec | None:
        """None for a type that this version does not know: it is skipped, as Kafka does.

        Corrupt if a known type's bytes are wrong or of an unknown version.
        """
