"""What a runtime needs of the log below its machine: records in, records out.

A shard of groups or transactions has one over its partition (coordinator/shard_records.py),
the controller one over the metadata quorum (kraft/controller/controller.py). Errors are in
the words of the machine's clients.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from kafkapy.core.errors import ErrorCode
from kafkapy.core.jobs import Steps

Committed = Callable[[ErrorCode | None], None]

Rec = TypeVar("Rec", contravariant=True)


class RecordLog(Protocol[Rec]):
    @property
    def end_offset(self) -> int:
        """Where the log ends: when it is replayed, all below counts once it is committed."""

    def replay(self, apply: Callable[[Any], None]) -> Steps:
        """`apply` every record there is, in order, as the steps of a job.

        Corrupt where the bytes cannot be read; Refused if the disk does not give them.
        """

    def append(self, records: Sequence[Rec]) -> int:
        """Append them as one batch, all or none; the offset behind it. Refused: nothing was
        appended."""

    def when_committed(self, end_offset: int, then: Committed) -> None:
        """`then(None)` once everything below `end_offset` is committed: at once if it is.

        `then(error)` if it never will be here: leadership lost, the disk failed.
        Calls come in the order of the offsets.
        """
