"""Producer ids, handed out from blocks that the controller allocates.

    next() --> [block 4000..4999] --> one id          every id is used once, ever
                     | 90 % used, or empty
                     +--> AllocateProducerIds --> the next block, kept beside it

A block lost in a crash is lost: ids are 63 bits wide. Whoever asks while both blocks are
empty waits for the answer to the allocation under way.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, Protocol

from kafkapy.core.errors import ErrorCode, Refused

GotId = Callable[[int | Refused], None]
Block = range
Allocate = Callable[[Callable[[Block | Refused], None]], None]

# As Kafka: ask for the next block early enough that nobody waits for it.
_PREFETCH_AT: Final = 0.9


class ProducerIds(Protocol):
    def next(self, then: GotId) -> None:
        """An id that nobody else gets; or why there is none now (the client retries)."""


class BlockProducerIds:
    """`allocate` asks the controller for a block (AllocateProducerIds, formats/controller 4)."""

    def __init__(self, allocate: Allocate) -> None:
        self._allocate = allocate
        self._block: Block = range(0)
        self._used = 0
        self._next_block: Block | None = None
        self._is_allocating = False
        self._waiting: deque[GotId] = deque()

    def next(self, then: GotId) -> None:
        self._waiting.append(then)
        self._serve()

    def _serve(self) -> None:
        while self._waiting:
            if self._used == len(self._block):
                if self._next_block is None:
                    break
                self._block, self._next_block, self._used = self._next_block, None, 0
            producer_id = self._block[self._used]
            self._used += 1
            self._waiting.popleft()(producer_id)
        if self._next_block is None and self._used >= len(self._block) * _PREFETCH_AT:
            self._fetch()

    def _fetch(self) -> None:
        if self._is_allocating:
            return
        self._is_allocating = True
        self._allocate(self._allocated)

    def _allocated(self, block: Block | Refused) -> None:
        assert self._is_allocating, ("a block that nobody asked for", block)
        self._is_allocating = False
        if isinstance(block, Refused):
            waiting, self._waiting = self._waiting, deque()
            for then in waiting:
                then(Refused(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, block.message))
            return
        assert len(block) > 0, block
        self._next_block = block
        self._serve()
